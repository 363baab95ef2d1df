//! How packets are protected by the cluster's key, as far as a capture and key files say.

mod verdict;

use std::collections::HashMap;
use std::fmt;
use std::path::Path;

use prp_node::key;
use prp_proto::addr::Port;
use prp_proto::hosts::Hosts;
use prp_proto::key::{
    HEADER_BYTES, KeyFile, Keyring, Mode, TAG_BYTES, TRAILER_BYTES, check_answer, check_request,
    names_node_keys, wish,
};
use prp_proto::wire::{CrcKey, Flags, Frame};

use crate::exit::Failure;
pub(super) use verdict::Unchecked;
use verdict::{Verdict, WhyNot};

/// What the id at the end of a frame outside connections has where node keys vouch for it
/// (PRP-KEY-22).
const NODE_KEYS: u32 = 1 << 16;

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
    /// What the key files say of its tag, if there are some.
    pub(super) verdict: Option<Verdict>,
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

    /// And with the private key of a node of `hosts`, in the file at `path`.
    ///
    /// # Errors
    /// It cannot be read, has a mistake, or is of no node of `hosts`.
    pub(super) fn with_node(mut self, path: &Path, hosts: &Hosts) -> Result<Self, Failure> {
        let keys = key::read_captured_node(hosts, path);
        let keys = keys.map_err(|e| Failure::local("the key of a node", &e))?;
        self.keyring = self.keyring.map(|ring| ring.with_nodes(Some(keys)));
        Ok(self)
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
        let verdict = self.keyring.as_ref().map(|_| Verdict::Unchecked(WhyNot::Inside));
        Some(Protection { role: Role::Inside, mode, key, counter, verdict })
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
        let of = |checked| Verdict::of(checked, names_node_keys(frame.payload));
        let (role, verdict) = if is_request {
            if self.requests.len() >= MOST_KNOWN {
                self.requests.clear();
            }
            if is_cut {
                self.requests.remove(&[from, to]);
            } else {
                self.requests.insert([from, to], (*said.0, said.1.to_vec()));
            }
            let check = |ring: &Keyring| of(check_request(ring, said.0, said.1));
            (Role::Request, self.keyring.as_ref().map(check))
        } else {
            if self.agreed.len() >= MOST_KNOWN {
                self.agreed.clear();
            }
            self.agreed.insert(both, (mode, key));
            let check = |ring: &Keyring| match self.requests.get(&[to, from]) {
                Some((header, block)) => of(check_answer(ring, (header, block), said)),
                None => Verdict::Unchecked(WhyNot::Cut),
            };
            (Role::Answer, self.keyring.as_ref().map(check))
        };
        let cut = Verdict::Unchecked(WhyNot::Cut);
        let verdict = verdict.map(|verdict| if is_cut { cut } else { verdict });
        Some(Protection { role, mode: Some(mode), key: Some(key), counter: None, verdict })
    }

    fn read_outside(&self, frame: &Frame<'_>, is_cut: bool) -> Option<Protection> {
        if is_cut || !frame.seems_signed() || frame.crc_ok(CrcKey::NONE) {
            return None;
        }
        let id = frame.rest().first_chunk().map(|id| u32::from_be_bytes(*id));
        let check = |ring: &Keyring| {
            let checked = ring.check_captured(frame.packet_header(), frame.payload, frame.rest());
            Verdict::of(checked, id.is_some_and(|id| id & NODE_KEYS != 0))
        };
        Some(Protection {
            role: Role::Outside,
            mode: Some(Mode::Sign),
            key: id.map(|id| id as u16),
            counter: None,
            verdict: self.keyring.as_ref().map(check),
        })
    }
}

impl Protection {
    /// Whether its payload cannot be read.
    pub(super) fn is_sealed(&self) -> bool {
        self.role == Role::Inside && self.mode == Some(Mode::Seal)
    }

    /// Its tag, in a word; none without a key file, and inside connections, which none opens.
    pub(super) fn tag(&self) -> Option<&'static str> {
        match self.verdict? {
            Verdict::Right => Some("right"),
            Verdict::Wrong => Some("wrong"),
            Verdict::Unchecked(WhyNot::Inside) => None,
            Verdict::Unchecked(_) => Some("unchecked"),
        }
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
