//! Which frames of a device are those of a network: its EtherType, and its VLAN.

use libc::sock_filter as Instruction;
use prp_proto::hosts::{Hosts, Tag, interface_name};

use crate::filter::{DROP, JEQ, LDB_ABS, LDH_ABS, RET, op};

/// Other VLANs of a device that the kernel tells apart for a socket: each costs a frame of another
/// VLAN an instruction.
const MAX_SIBLINGS: usize = 16;

// What the kernel knows of a frame beside its bytes.
const PROTOCOL: u32 = (libc::SKF_AD_OFF + libc::SKF_AD_PROTOCOL).cast_unsigned();
const VLAN_TAG: u32 = (libc::SKF_AD_OFF + libc::SKF_AD_VLAN_TAG).cast_unsigned();
const VLAN_TAG_PRESENT: u32 = (libc::SKF_AD_OFF + libc::SKF_AD_VLAN_TAG_PRESENT).cast_unsigned();
const VLAN_TAG_TYPE: u32 = (libc::SKF_AD_OFF + libc::SKF_AD_VLAN_TPID).cast_unsigned();

// Classic BPF, from linux/bpf_common.h.
const AND: u16 = 0x54;

const VLAN_BITS: u32 = 0x0fff;

/// The frames of a network on a device.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Framing {
    ethertype: u16,
    tag: Tag,
    /// Other VLANs of the device that have sockets of their own.
    siblings: Vec<u16>,
}

impl Framing {
    /// Frames of `ethertype` without a tag.
    pub fn untagged(ethertype: u16) -> Self {
        Self::tagged(ethertype, Tag::default())
    }

    /// Frames of `ethertype` in the VLAN of `tag`, and with its priority.
    pub const fn tagged(ethertype: u16, tag: Tag) -> Self {
        Self { ethertype, tag, siblings: Vec::new() }
    }

    /// Those of the device that `hosts` calls `device` ([`Hosts::devices`]).
    pub fn of(hosts: &Hosts, device: &str) -> Self {
        let own = interface_name(device);
        let siblings = hosts.devices().filter(|it| *it != device && interface_name(it) == own);
        let siblings = siblings.filter_map(|sibling| hosts.tag(sibling).vlan());
        Self {
            ethertype: hosts.ethertype(),
            tag: hosts.tag(device),
            siblings: siblings.take(MAX_SIBLINGS).collect(),
        }
    }

    /// Returns their EtherType.
    pub const fn ethertype(&self) -> u16 {
        self.ethertype
    }

    /// Returns the VLAN and the priority of those that are sent.
    pub const fn tag(&self) -> Tag {
        self.tag
    }

    /// The EtherType that a socket is bound to. Only sockets for all protocols get frames before
    /// the kernel forgets the VLAN of those that no VLAN device is for.
    pub(crate) fn bound_ethertype(&self) -> u16 {
        self.tag.vlan().map_or(self.ethertype, |_| libc::ETH_P_ALL as u16)
    }

    /// The beginning of a filter: it drops what is of another EtherType or has no tag, and goes on
    /// with the rest. That has VLANs as well that prphosts does not name of the device, so that
    /// they are counted, where the reader tells VLANs apart. Empty where there is no VLAN.
    pub(crate) fn program(&self, reader_tells: bool) -> Vec<Instruction> {
        let Some(vlan) = self.tag.vlan() else { return Vec::new() };
        let mut program = vec![
            op(LDH_ABS, 0, 0, PROTOCOL),
            op(JEQ, 1, 0, self.ethertype.into()),
            op(RET, 0, 0, DROP),
            op(LDB_ABS, 0, 0, VLAN_TAG_PRESENT),
            op(JEQ, 0, 1, 0),
            op(RET, 0, 0, DROP),
            op(LDH_ABS, 0, 0, VLAN_TAG_TYPE),
            op(JEQ, 1, 0, libc::ETH_P_8021Q.cast_unsigned()),
            op(RET, 0, 0, DROP),
            op(LDH_ABS, 0, 0, VLAN_TAG),
            op(AND, 0, 0, VLAN_BITS),
        ];
        if !reader_tells {
            program.extend([op(JEQ, 1, 0, vlan.into()), op(RET, 0, 0, DROP)]);
            return program;
        }
        for sibling in &self.siblings {
            program.extend([op(JEQ, 0, 1, u32::from(*sibling)), op(RET, 0, 0, DROP)]);
        }
        program
    }
}
