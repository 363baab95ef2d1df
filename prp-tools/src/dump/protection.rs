//! How packets are protected by the cluster's key, as far as a capture and a key file say.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;

use prp_node::key;
use prp_proto::addr::Port;
use prp_proto::key::{
    HEADER_BYTES, KeyFile, Keyring, Mode, Refusal, TAG_BYTES, TRAILER_BYTES, check_answer,
    check_request, wish,
};
use prp_proto::wire::{CrcKey, Flags, Frame};

use crate::exit::Failure;

/// Connections that are remembered: those of before are forgotten.
const MOST_KNOWN: usize = 1 << 16;

/// A node and a port.
type End = (u16, u16);

/// A request: its header and its options block.
type Request = ([u8; HEADER_BYTES], Vec<u8>);

/// How a packet is protected.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) struct Protection {
    role: Role,
    /// None if the capture does not have the beginning of the connection.
    pub(super) mode: Option<Mode>,
    /// The id of the secret; none where the mode is unknown.
    pub(super) key: Option<u16>,
    /// The low bits of the epoch and the frame's place in it.
    pub(super) counter: Option<(u8, u32)>,
    /// Whether its tag is right, where the key file says that.
    pub(super) is_right: Option<bool>,
}

/// What the key has to do with a packet.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
enum Role {
    Request,
    Answer,
    /// A frame of a connection.
    Inside,
    /// A frame outside connections.
    Outside,
}

/// What is known of connections.
#[derive(Debug, Default)]
pub(super) struct ProtectionReader {
    keyring: Option<Keyring>,
    requests: HashMap<[End; 2], Request>,
    /// By both ends, the lower one first.
    agreed: HashMap<[End; 2], (Mode, u16)>,
}

impl ProtectionReader {
    /// With the secrets of the key file at `path`, if there is one.
    ///
    /// # Errors
    /// It cannot be read, or has a mistake.
    pub(super) fn new(path: Option<&Path>) -> Result<Self, Failure> {
        let read = |path: &Path| -> Result<KeyFile, Failure> {
            let keys = key::read(path).and_then(|keys| keys.ok_or_else(|| key::missing(path)));
            keys.map_err(|e| Failure::local("the cluster key", &e))
        };
        let keyring = path.map(read).transpose()?.map(|keys| Keyring::new(&keys));
        Ok(Self { keyring, ..Self::default() })
    }

    /// How `frame` is protected, if it is; `is_cut` if not all of it was captured.
    pub(super) fn read(&mut self, frame: &Frame<'_>, is_cut: bool) -> Option<Protection> {
        let (n, t) = (frame.head.network, frame.head.transport);
        let [from, to] =
            [(n.src.number(), t.src_port.number()), (n.dst.number(), t.dst_port.number())];
        let flags = frame.flags();
        if flags.intersects(Flags::CREQ | Flags::CACK) {
            return self.read_handshake(frame, [from, to], is_cut);
        }
        let is_outside = flags.contains(Flags::RST)
            || flags.contains(Flags::CTL) && [from.1, to.1].contains(&Port::CONTROL.number());
        if is_outside {
            return self.read_outside(frame, is_cut);
        }
        let agreed = self.agreed.get(&[from.min(to), from.max(to)]).copied();
        let trailer = frame.rest().get(..TRAILER_BYTES).filter(|_| !is_cut);
        // Of a connection that began before: a CRC trailer and zeros as padding are no tag.
        let seems_keyed = |trailer: &[u8]| trailer[TRAILER_BYTES - TAG_BYTES..] != [0; TAG_BYTES];
        if agreed.is_none() && !trailer.is_some_and(seems_keyed) {
            return None;
        }
        let word = trailer.and_then(<[u8]>::first_chunk).map(|word| u32::from_be_bytes(*word));
        let counter = word.map(|word| ((word >> 24) as u8, word & 0xff_ffff));
        let (mode, key) = agreed.unzip();
        Some(Protection { role: Role::Inside, mode, key, counter, is_right: None })
    }

    fn read_handshake(
        &mut self,
        frame: &Frame<'_>,
        [from, to]: [End; 2],
        is_cut: bool,
    ) -> Option<Protection> {
        let both = [from.min(to), from.max(to)];
        let is_request = frame.flags().contains(Flags::CREQ);
        let Some((mode, key)) = wish(frame.payload) else {
            if !is_request {
                self.agreed.remove(&both);
            }
            return None;
        };
        let said = (frame.packet_header(), frame.payload);
        let (role, is_right) = if is_request {
            if self.requests.len() >= MOST_KNOWN {
                self.requests.clear();
            }
            if is_cut {
                self.requests.remove(&[from, to]);
            } else {
                self.requests.insert([from, to], (*said.0, said.1.to_vec()));
            }
            let checked = self.keyring.as_ref().map(|ring| check_request(ring, said.0, said.1));
            (Role::Request, checked.and_then(verdict))
        } else {
            if self.agreed.len() >= MOST_KNOWN {
                self.agreed.clear();
            }
            self.agreed.insert(both, (mode, key));
            let asked = self.requests.get(&[to, from]);
            let checked = self.keyring.as_ref().zip(asked);
            let checked =
                checked.map(|(ring, (header, block))| check_answer(ring, (header, block), said));
            (Role::Answer, checked.and_then(verdict))
        };
        let is_right = is_right.filter(|_| !is_cut);
        Some(Protection { role, mode: Some(mode), key: Some(key), counter: None, is_right })
    }

    fn read_outside(&self, frame: &Frame<'_>, is_cut: bool) -> Option<Protection> {
        if is_cut || !frame.seems_signed() || frame.crc_ok(CrcKey::NONE) {
            return None;
        }
        let id = frame.rest().first_chunk().map(|id| u32::from_be_bytes(*id));
        let check = |ring: &Keyring| ring.check(frame.packet_header(), frame.payload, frame.rest());
        Some(Protection {
            role: Role::Outside,
            mode: Some(Mode::Sign),
            // Node keys add 2^16 (PRP-KEY-22).
            key: id.map(|id| id as u16),
            counter: None,
            is_right: self.keyring.as_ref().map(check).and_then(verdict),
        })
    }
}

/// Whether a member has made a frame; none where the file does not have its key, or nodes have keys
/// of their own.
fn verdict(checked: Result<u16, Refusal>) -> Option<bool> {
    match checked {
        Ok(_) => Some(true),
        Err(Refusal::UnknownKey) => None,
        Err(_) => Some(false),
    }
}

impl Protection {
    /// Whether its payload cannot be read.
    pub(super) fn is_sealed(&self) -> bool {
        self.role == Role::Inside && self.mode == Some(Mode::Seal)
    }

    /// Its tag, in a word; none where nothing says it.
    pub(super) fn tag(&self) -> Option<&'static str> {
        self.is_right.map(|is_right| if is_right { "right" } else { "wrong" })
    }
}

impl fmt::Display for Protection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.role, self.mode) {
            (Role::Request, Some(mode)) => write!(f, "asks for {mode}")?,
            (Role::Answer, Some(mode)) => write!(f, "agrees on {mode}")?,
            (_, Some(mode)) => write!(f, "{mode}")?,
            (_, None) => f.write_str("a key")?,
        }
        if let Some(key) = self.key {
            write!(f, " key {key}")?;
        }
        if let Some((epoch, place)) = self.counter {
            write!(f, " epoch {epoch} frame {place}")?;
        }
        self.tag().map_or(Ok(()), |tag| write!(f, " tag {tag}"))
    }
}

#[cfg(test)]
mod tests;
