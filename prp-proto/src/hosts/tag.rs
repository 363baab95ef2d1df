//! VLANs and priorities of devices: the tags of their frames (SPEC PRP-HOSTS-17).

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use core::fmt;

use super::error::HostsErrorKind;
use super::fields::{self, once};

/// The EtherType in front of a tag (IEEE 802.1Q).
const TAG_TYPE: u16 = 0x8100;
/// The bits of a tag that say the VLAN.
const VLAN_BITS: u16 = 0x0fff;
const PRIORITY_SHIFT: u32 = 13;

/// What stands between a device's name and the VLAN in the name that both have together. No device
/// of Linux has a colon in its name.
const VLAN_MARK: &str = ":vlan";

/// The tag of the frames that a node sends by a device: a VLAN, a priority, both or neither.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Tag {
    vlan: u16,
    priority: u8,
}

impl Tag {
    /// The tag of VLAN `vlan`, 0 if it is none, with `priority`. More than a tag can say is cut.
    pub const fn new(vlan: u16, priority: u8) -> Self {
        Self { vlan: vlan & VLAN_BITS, priority: priority & 7 }
    }

    /// Returns the number of the VLAN, if it is one.
    pub const fn vlan(self) -> Option<u16> {
        if self.vlan == 0 { None } else { Some(self.vlan) }
    }

    /// Returns the priority, from 0 to 7.
    pub const fn priority(self) -> u8 {
        self.priority
    }

    /// Returns what is put between the addresses of a frame and its EtherType; nothing where there
    /// is neither VLAN nor priority.
    pub fn bytes(self) -> Option<[u8; 4]> {
        let said = u16::from(self.priority) << PRIORITY_SHIFT | self.vlan;
        let ([a, b], [c, d]) = (TAG_TYPE.to_be_bytes(), said.to_be_bytes());
        (said != 0).then_some([a, b, c, d])
    }

    /// Returns the tag whose second half is `said`.
    pub const fn of(said: u16) -> Self {
        Self::new(said, (said >> PRIORITY_SHIFT) as u8)
    }
}

/// As prphosts has it, each part behind a space.
impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.vlan != 0 {
            write!(f, " vlan={}", self.vlan)?;
        }
        if self.priority != 0 {
            write!(f, " priority={}", self.priority)?;
        }
        Ok(())
    }
}

/// What the words behind a device say of its tag.
#[derive(Default)]
pub(super) struct TagFields {
    vlan: Option<u16>,
    priority: Option<u8>,
}

impl TagFields {
    /// Reads a word, if it is one of them.
    pub(super) fn read(&mut self, word: &str) -> Option<Result<(), HostsErrorKind>> {
        match word.split_once('=')? {
            ("vlan", value) => Some(once(&mut self.vlan, fields::vlan(value))),
            ("priority", value) => Some(once(&mut self.priority, fields::priority(value))),
            _ => None,
        }
    }

    /// Whether a word is one of them, right or wrong.
    pub(super) fn has(word: &str) -> bool {
        Self::default().read(word).is_some()
    }

    /// The tag.
    pub(super) fn tag(self) -> Tag {
        let Self { vlan, priority } = self;
        Tag::new(vlan.unwrap_or_default(), priority.unwrap_or_default())
    }
}

/// The name of the VLAN of `tag` on the device `name`, or of the device alone: VLANs of one device
/// are apart, as devices are.
pub(super) fn segment_name(name: &str, tag: Tag) -> Cow<'_, str> {
    tag.vlan().map_or(Cow::Borrowed(name), |vlan| format!("{name}{VLAN_MARK}{vlan}").into())
}

/// Returns the name that Linux has for a device that [`Hosts::devices`](super::Hosts::devices)
/// names: without its VLAN.
pub fn interface_name(device: &str) -> &str {
    device.split_once(VLAN_MARK).map_or(device, |(name, _)| name)
}

/// Returns what [`Hosts::devices`](super::Hosts::devices) calls `device` if Linux calls it `name`
/// by now: its VLAN is the same.
pub fn renamed(device: &str, name: &str) -> String {
    format!("{name}{}", &device[interface_name(device).len()..])
}
