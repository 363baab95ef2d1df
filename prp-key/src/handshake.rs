//! The handshake in CREQ and CACK (SPEC PRP-KEY-4 to 8).

mod capture;
mod offer;
mod pairs;

use alloc::vec::Vec;
use core::fmt::{self, Debug, Formatter};
use core::marker::PhantomData;

use x25519_dalek::{PublicKey, StaticSecret};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::cipher::Cipher;
use crate::keyring::{ClusterKey, KeyName, Keyring, receiver, sender};
use crate::mode::Mode;
use crate::node::agree;
use crate::refusal::Refusal;
use crate::schedule::{self, Purpose};
use crate::secret::Secret;
use crate::session::{Header, Session, without_hops};

pub use capture::{check_answer, check_request, names_node_keys};
use offer::Offer;
pub use offer::{OPTION_BYTES, OPTION_TYPE};
pub use pairs::MAX_PAIRS;
use pairs::Pairs;

/// Bytes of a nonce.
const NONCE_BYTES: usize = 16;

/// Bytes of a public key of X25519.
const SHARE_BYTES: usize = 32;

/// Where a block of options has the connection id of its sender.
const ID: usize = 4;

/// Random bytes that one end of a connection adds to its keys. Each connection has fresh ones, and
/// its request and its answer have the same (SPEC PRP-KEY-4).
#[derive(Copy, Clone, Debug, Eq, Hash, PartialEq)]
pub struct Nonce([u8; NONCE_BYTES]);

impl Nonce {
    /// The nonce with these random bytes.
    #[must_use]
    pub const fn new(bytes: [u8; NONCE_BYTES]) -> Self {
        Self(bytes)
    }
}

/// Random bytes from which a process makes its key for Diffie-Hellman. A process and the child that
/// it forks must not have the same.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct Seed([u8; SHARE_BYTES]);

impl Seed {
    /// The seed with these random bytes.
    #[must_use]
    pub const fn new(bytes: [u8; SHARE_BYTES]) -> Self {
        Self(bytes)
    }
}

impl Debug for Seed {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Seed")
    }
}

/// A request that is out: what its answer is checked against.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "testing", derive(Hash))]
pub struct Asked {
    header: Header,
    block: Vec<u8>,
    key: KeyName,
}

impl Asked {
    /// Returns the block of options of the request.
    #[must_use]
    pub fn block(&self) -> &[u8] {
        &self.block
    }

    /// Returns the key that it was made with.
    #[must_use]
    pub const fn key(&self) -> KeyName {
        self.key
    }
}

/// Returns what a block of options says of protection, which nobody has checked: the least that its
/// sender takes (in an answer, what is agreed), and the id of the key. `None` if it says nothing.
#[must_use]
pub fn wish(block: &[u8]) -> Option<(Mode, u16)> {
    Offer::read(block).ok().map(|(offer, ..)| (offer.mode, offer.key_id))
}

/// A process that has the cluster's key.
///
/// It makes one key for Diffie-Hellman when it begins, which only its memory has, and one secret
/// with each process that it speaks to. Connections of the pair need no more public-key work.
#[cfg_attr(feature = "testing", derive(Clone))]
pub struct Member<C> {
    keyring: Keyring,
    own: StaticSecret,
    share: [u8; SHARE_BYTES],
    pairs: Pairs,
    sessions: PhantomData<fn() -> C>,
}

impl<C: Cipher> Member<C> {
    /// A process with these keys.
    #[must_use]
    pub fn new(keyring: Keyring, seed: Seed) -> Self {
        let own = StaticSecret::from(seed.0);
        let share = PublicKey::from(&own).to_bytes();
        drop(seed);
        Self { keyring, own, share, pairs: Pairs::default(), sessions: PhantomData }
    }

    /// Returns the keys in force.
    #[must_use]
    pub const fn keyring(&self) -> &Keyring {
        &self.keyring
    }

    /// Puts other keys in force, for handshakes from now on. Connections keep theirs.
    pub fn set_keyring(&mut self, keyring: Keyring) {
        self.keyring = keyring;
        // A secret of the cluster may have changed and kept its id.
        self.pairs = Pairs::default();
    }

    /// Adds to `block`, the options of a request without a key, what the handshake needs. `header`
    /// is that of the request, which is repeated as it is.
    ///
    /// It asks for the protection that this end wants of the node at least. With [`Mode::Off`] an
    /// answer without a key is one as well.
    ///
    /// # Panics
    /// `block` is no block of options.
    pub fn ask(&self, header: &Header, nonce: Nonce, block: &mut Vec<u8>) -> Asked {
        self.ask_under(self.keyring.used(receiver(header)), header, nonce, block)
    }

    /// As [`ask`](Self::ask), with the key `name` in place of the one in use: of two ends whose
    /// requests cross, one takes the key of the other. `None` if there is no such key.
    ///
    /// # Panics
    /// `block` is no block of options.
    pub fn ask_with(
        &self,
        name: KeyName,
        header: &Header,
        nonce: Nonce,
        block: &mut Vec<u8>,
    ) -> Option<Asked> {
        let key = self.keyring.named(receiver(header), name)?;
        Some(self.ask_under(key, header, nonce, block))
    }

    fn ask_under(
        &self,
        key: &ClusterKey,
        header: &Header,
        nonce: Nonce,
        block: &mut Vec<u8>,
    ) -> Asked {
        let header = without_hops(header);
        let offer = Offer {
            mode: self.keyring.least(receiver(&header)),
            with_nodes: key.nodes.is_some(),
            key_id: key.id,
            share: self.share,
            nonce: nonce.0,
        };
        offer.append(block, |unsigned| schedule::code(&key.request, &[&header, unsigned]));
        Asked { header, block: block.clone(), key: key.name() }
    }

    /// Checks that a member has made the request with this header and block of options, which may
    /// have come before. Returns the key that it was made with.
    ///
    /// # Errors
    /// Why the request is to be dropped.
    pub fn check_request(&self, header: &Header, block: &[u8]) -> Result<KeyName, Refusal> {
        let (_, key) = read_request(&self.keyring, &without_hops(header), block)?;
        Ok(key.name())
    }

    /// Checks the request `asked`, its header and its block of options, and adds to the block of
    /// `answer` what the handshake needs. Returns the protection of the connection.
    ///
    /// Where the process that asks is a new one, the answer needs public-key work (0.1 ms), which a
    /// recorded request can ask for again: `may_pair` is asked then whether there is a budget for
    /// it.
    ///
    /// # Errors
    /// Why the request is to be dropped; [`Refusal::Unsigned`] if both ends want no protection,
    /// which is what a handshake without a key is for.
    ///
    /// # Panics
    /// The block of `answer` is no block of options.
    pub fn answer(
        &mut self,
        (asked_header, asked): (&Header, &[u8]),
        nonce: Nonce,
        (header, block): (&Header, &mut Vec<u8>),
        may_pair: impl FnOnce() -> bool,
    ) -> Result<Session<C>, Refusal> {
        let (asked_header, header) = (without_hops(asked_header), without_hops(header));
        let (theirs, key) = read_request(&self.keyring, &asked_header, asked)?;
        let mode = theirs.mode.max(self.keyring.least(receiver(&header)));
        if mode == Mode::Off {
            return Err(Refusal::Unsigned);
        }
        let name = key.name();
        let pair = match self.pairs.find(name, &theirs.share) {
            Some(pair) => pair,
            None if !may_pair() => return Err(Refusal::Busy),
            None => pair_secret(&self.own, &self.share, key, &theirs.share)?,
        };
        self.pairs.note(name, &theirs.share, &pair);
        let ours = Offer { mode, share: self.share, nonce: nonce.0, ..theirs };
        ours.append(block, |unsigned| {
            schedule::code(&key.answer, &[&asked_header, asked, &header, unsigned])
        });
        let ends = Ends { header: &header, own: (id(block), &ours), peer: (id(asked), &theirs) };
        Ok(ends.session(mode, &pair))
    }

    /// Checks the answer, its header and its block of options, to the request `asked`. Returns the
    /// protection of the connection.
    ///
    /// # Errors
    /// Why the answer is to be dropped; the request still waits for another one.
    pub fn finish(
        &mut self,
        asked: &Asked,
        (header, block): (&Header, &[u8]),
    ) -> Result<Session<C>, Refusal> {
        let header = without_hops(header);
        let (ours, ..) = Offer::read(&asked.block)?;
        let said = (&asked.header, &asked.block[..]);
        let (theirs, key) = read_answer(&self.keyring, said, (&header, block))?;
        let name = key.name();
        if name != asked.key {
            return Err(Refusal::BadTag);
        }
        if theirs.mode < ours.mode.max(Mode::Sign) {
            return Err(Refusal::Unsigned);
        }
        let pair = match self.pairs.find(name, &theirs.share) {
            Some(pair) => pair,
            None => pair_secret(&self.own, &self.share, key, &theirs.share)?,
        };
        self.pairs.note(name, &theirs.share, &pair);
        let own = (id(&asked.block), &ours);
        let ends = Ends { header: &asked.header, own, peer: (id(block), &theirs) };
        Ok(ends.session(theirs.mode, &pair))
    }
}

impl<C> Debug for Member<C> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Member").field("keyring", &self.keyring).finish_non_exhaustive()
    }
}

/// The offer of the request with this header and block of options, and the key it names, if a
/// member has made it.
fn read_request<'a>(
    keyring: &'a Keyring,
    header: &Header,
    block: &[u8],
) -> Result<(Offer, &'a ClusterKey), Refusal> {
    let (theirs, unsigned, tag) = Offer::read(block)?;
    let mut keys = keyring.candidates(sender(header), theirs.key_id, theirs.with_nodes)?;
    let key = keys.find(|key| schedule::is_code(&key.request, &[header, unsigned], tag));
    key.map(|key| (theirs, key)).ok_or(Refusal::BadTag)
}

/// The offer of the answer with this header and block of options, and the key it names, if a member
/// has made it for the request `asked`.
fn read_answer<'a>(
    keyring: &'a Keyring,
    (asked_header, asked): (&Header, &[u8]),
    (header, block): (&Header, &[u8]),
) -> Result<(Offer, &'a ClusterKey), Refusal> {
    let (theirs, unsigned, tag) = Offer::read(block)?;
    let mut keys = keyring.candidates(sender(header), theirs.key_id, theirs.with_nodes)?;
    let said: [&[u8]; 4] = [asked_header, asked, header, unsigned];
    let key = keys.find(|key| schedule::is_code(&key.answer, &said, tag));
    key.map(|key| (theirs, key)).ok_or(Refusal::BadTag)
}

/// Computes the secret of two processes under a key of the cluster (PRP-KEY-6 and 23): the same at
/// both, whichever asked.
fn pair_secret(
    own: &StaticSecret,
    own_share: &[u8; SHARE_BYTES],
    key: &ClusterKey,
    share: &[u8; SHARE_BYTES],
) -> Result<Secret, Refusal> {
    let (low, high) = (own_share.min(share), own_share.max(share));
    let ours = agree(own, share).ok_or(Refusal::BadTag)?;
    let mut agreed = Zeroizing::new([0; 3 * SHARE_BYTES]);
    let (processes, nodes) = agreed.split_at_mut(SHARE_BYTES);
    processes.copy_from_slice(ours.as_bytes());
    let mut length = SHARE_BYTES;
    if let Some((own_node, peer_node, _)) = &key.nodes {
        let with_node = agree(own, peer_node.bytes()).ok_or(Refusal::BadTag)?;
        let of_node = own_node.agree(share).ok_or(Refusal::BadTag)?;
        let (first, second) =
            if own_share == low { (&with_node, &of_node) } else { (&of_node, &with_node) };
        nodes[..SHARE_BYTES].copy_from_slice(first.as_bytes());
        nodes[SHARE_BYTES..].copy_from_slice(second.as_bytes());
        length += nodes.len();
    }
    let shared = schedule::extract(key.root.bytes(), &agreed[..length]);
    Ok(schedule::derive(&shared, Purpose::Pair, &[low, high]))
}

/// The two ends of a connection, as one of them sees them.
struct Ends<'a> {
    /// Of the frame that this end has sent.
    header: &'a Header,
    own: ([u8; 4], &'a Offer),
    peer: ([u8; 4], &'a Offer),
}

impl Ends<'_> {
    /// The protection of the connection (PRP-KEY-8): it depends on nonces, addresses, ids and mode,
    /// and not on who asked, since requests may cross. The end with the lower address leads.
    fn session<C: Cipher>(&self, mode: Mode, pair: &Secret) -> Session<C> {
        let [a, b, c, d, e, f, g, h, ..] = *self.header;
        let own = ([a, b, e, f], self.own.0, self.own.1.nonce);
        let peer = ([c, d, g, h], self.peer.0, self.peer.1.nonce);
        let (low, high) = (own.min(peer), own.max(peer));
        let connection = schedule::extract(&[low.2, high.2].concat(), pair.bytes());
        let direction = |is_upward: bool| {
            let ends = [low.0, low.1, high.0, high.1].concat();
            let direction = [mode.wire(), u8::from(is_upward)];
            schedule::derive(&connection, Purpose::Frames, &[&ends, &direction])
        };
        let leads = own < peer;
        let (outgoing, incoming) = (direction(leads), direction(!leads));
        Session::new(mode, self.own.1.key_id, leads, &outgoing, &incoming)
    }
}

/// The connection id of the sender of a block of options.
fn id(block: &[u8]) -> [u8; 4] {
    block.get(ID..).and_then(<[u8]>::first_chunk).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests;
