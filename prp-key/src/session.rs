//! The frames of one connection: tags, encryption, replay, new keys.

mod counter;
mod incoming;
mod outgoing;
mod replay;

use alloc::vec::Vec;
use core::error::Error;
use core::fmt::{self, Debug, Display, Formatter};

use crate::cipher::{Cipher, TAG_BYTES, Tag};
use crate::mode::Mode;
use crate::refusal::Refusal;
use crate::secret::Secret;

use counter::{Counter, WIRE_BYTES};
use incoming::Incoming;
use outgoing::Outgoing;

/// Bytes of the network and transport headers.
pub const HEADER_BYTES: usize = 16;

/// The network and transport headers of a packet, as on the wire.
pub type Header = [u8; HEADER_BYTES];

/// Bytes behind the payload: the frame counter and the tag (SPEC PRP-KEY-9).
pub const TRAILER_BYTES: usize = WIRE_BYTES + TAG_BYTES;

/// What follows the payload of a frame.
pub type Trailer = [u8; TRAILER_BYTES];

/// After how many frames of a direction its keys are renewed (SPEC PRP-KEY-11).
pub const RENEW_AFTER: u32 = 1 << 22;

/// Where HOPS is in the header, and its bits there.
const HOPS: (usize, u8) = (14, 0xf0);

/// Where CTL is in the header, and its bit there.
const CTL: (usize, u8) = (15, 1 << 5);

/// How much of a control block stays readable: kind, flags, count, number and ids.
const CONTROL_FRONT_BYTES: usize = 12;

/// The protection of one connection's frames at one end (SPEC PRP-KEY-8 to 12).
///
/// It is made by the handshake and cannot be copied, so that no nonce is used twice; but for
/// checkers, by the feature `testing`.
#[cfg_attr(feature = "testing", derive(Clone))]
pub struct Session<C> {
    mode: Mode,
    key_id: u16,
    /// Whether this end is the one that begins new epochs.
    leads: bool,
    renews_after: u32,
    is_due: bool,
    outgoing: Outgoing<C>,
    incoming: Incoming<C>,
}

impl<C: Cipher> Session<C> {
    /// The session with the secrets of its two directions. One of the two ends `leads`.
    pub(crate) fn new(
        mode: Mode,
        key_id: u16,
        leads: bool,
        outgoing: &Secret,
        incoming: &Secret,
    ) -> Self {
        Self {
            mode,
            key_id,
            leads,
            renews_after: RENEW_AFTER,
            is_due: false,
            outgoing: Outgoing::new(outgoing),
            incoming: Incoming::new(incoming),
        }
    }

    /// Returns the agreed protection: [`Mode::Sign`] or [`Mode::Seal`].
    #[must_use]
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// Returns the id of the cluster's key that the handshake used.
    #[must_use]
    pub const fn key_id(&self) -> u16 {
        self.key_id
    }

    /// Returns how often the keys of outgoing frames have been renewed.
    #[must_use]
    pub const fn epoch(&self) -> u32 {
        self.outgoing.epoch()
    }

    /// Renews the keys after `frames` of a direction in place of [`RENEW_AFTER`].
    pub fn set_renews_after(&mut self, frames: u32) {
        self.renews_after = frames.clamp(1, RENEW_AFTER);
    }

    /// Renews the keys as soon as both ends have the present ones, for a driver that has a clock.
    ///
    /// One of the two ends renews them; at the other one this does nothing.
    pub const fn renew(&mut self) {
        self.is_due = self.leads;
    }

    /// Protects a frame that is about to be sent. In mode seal, encrypts `payload` in place: all of
    /// it, or of a control block what follows its ids. Returns what follows it on the wire.
    ///
    /// A frame that is sent again is protected again, and has another counter.
    ///
    /// # Errors
    /// The counter has come to its end, since the peer has not renewed its keys for 2^24 frames.
    #[inline]
    pub fn protect(&mut self, header: &Header, payload: &mut [u8]) -> Result<Trailer, Exhausted> {
        match self.mode {
            Mode::Seal => self.seal(header, payload),
            Mode::Off | Mode::Sign => self.sign(header, payload),
        }
    }

    /// Checks a frame that has come. Returns what its payload says: in mode sign the payload
    /// itself, in mode seal `text`, where it is decrypted to. `rest` is what follows the payload in
    /// the frame, with padding. Changes nothing of itself if it refuses the frame.
    ///
    /// # Errors
    /// Why the frame is to be dropped (SPEC PRP-KEY-14).
    #[inline]
    pub fn open<'a>(
        &mut self,
        header: &Header,
        payload: &'a [u8],
        rest: &[u8],
        text: &'a mut Vec<u8>,
    ) -> Result<&'a [u8], Refusal> {
        let header = &without_hops(header);
        let (counter, tag) = split(rest)?;
        match self.mode {
            Mode::Seal => self.incoming.open(counter, |cipher, nonce| {
                let (front, sealed) = payload.split_at(readable(header, payload.len()));
                let (associated, length) = join(header, front);
                text.resize(payload.len(), 0);
                let (opened_front, opened) = text.split_at_mut(front.len());
                opened_front.copy_from_slice(front);
                cipher.open(nonce, &associated[..length], sealed, opened, tag)
            })?,
            Mode::Off | Mode::Sign => self
                .incoming
                .open(counter, |cipher, nonce| cipher.is_tag(nonce, header, payload, tag))?,
        }
        // The leader renews the keys of both directions; the other end follows (PRP-KEY-12).
        if !self.leads {
            self.outgoing.follow(self.incoming.epoch());
        }
        Ok(if self.mode == Mode::Seal { text } else { payload })
    }

    /// Protects a frame of mode sign, whose payload stays where it is.
    ///
    /// # Errors
    /// As [`protect`](Self::protect).
    ///
    /// # Panics
    /// In mode seal, where the payload must not leave as it is.
    #[inline]
    pub fn sign(&mut self, header: &Header, payload: &[u8]) -> Result<Trailer, Exhausted> {
        assert_ne!(self.mode, Mode::Seal, "the payload is to be encrypted");
        self.renew_if_due();
        let header = without_hops(header);
        let (counter, cipher) = self.outgoing.next()?;
        Ok(trailer(counter, cipher.tag(&counter.nonce(), &header, payload)))
    }

    fn seal(&mut self, header: &Header, payload: &mut [u8]) -> Result<Trailer, Exhausted> {
        self.renew_if_due();
        let header = without_hops(header);
        let (counter, cipher) = self.outgoing.next()?;
        let (front, text) = payload.split_at_mut(readable(&header, payload.len()));
        let (associated, length) = join(&header, front);
        Ok(trailer(counter, cipher.seal(&counter.nonce(), &associated[..length], text)))
    }

    /// Begins the next epoch where this end leads, it is due, and the peer is seen in the present
    /// one, be it the first (PRP-KEY-12): so no more than two epochs are on the path.
    fn renew_if_due(&mut self) {
        let is_due = self.is_due
            || self.outgoing.sent() >= self.renews_after
            || self.incoming.reached() >= self.renews_after;
        let is_heard =
            self.incoming.epoch() == self.outgoing.epoch() && self.incoming.reached() > 0;
        if is_due && self.leads && is_heard {
            self.outgoing.follow(self.outgoing.epoch() + 1);
            self.is_due = false;
        }
    }
}

/// What decides what it does next.
#[cfg(feature = "testing")]
impl<C> core::hash::Hash for Session<C> {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        (self.mode, self.key_id, self.leads, self.renews_after, self.is_due).hash(state);
        self.outgoing.hash(state);
        self.incoming.hash(state);
    }
}

impl<C> Debug for Session<C> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("mode", &self.mode)
            .field("key_id", &self.key_id)
            .field("leads", &self.leads)
            .field("outgoing", &self.outgoing)
            .field("incoming", &self.incoming)
            .finish_non_exhaustive()
    }
}

/// The header as it is authenticated: routers change HOPS (PRP-KEY-10).
pub(crate) const fn without_hops(header: &Header) -> Header {
    let mut header = *header;
    header[HOPS.0] &= !HOPS.1;
    header
}

/// How many bytes of a payload of `length` stay readable in mode seal (PRP-KEY-10).
fn readable(header: &Header, length: usize) -> usize {
    if header[CTL.0] & CTL.1 == 0 { 0 } else { length.min(CONTROL_FRONT_BYTES) }
}

/// The associated data of mode seal, and its length.
fn join(header: &Header, front: &[u8]) -> ([u8; HEADER_BYTES + CONTROL_FRONT_BYTES], usize) {
    let mut joined = [0; HEADER_BYTES + CONTROL_FRONT_BYTES];
    joined[..HEADER_BYTES].copy_from_slice(header);
    let length = HEADER_BYTES + front.len();
    joined[HEADER_BYTES..length].copy_from_slice(front);
    (joined, length)
}

fn trailer(counter: Counter, tag: Tag) -> Trailer {
    let mut trailer = [0; TRAILER_BYTES];
    trailer[..WIRE_BYTES].copy_from_slice(&counter.wire());
    trailer[WIRE_BYTES..].copy_from_slice(&tag);
    trailer
}

/// The counter and the tag at the beginning of `rest`.
pub(crate) fn split(rest: &[u8]) -> Result<([u8; WIRE_BYTES], &Tag), Refusal> {
    let (counter, rest) = rest.split_first_chunk().ok_or(Refusal::Unsigned)?;
    let tag = rest.first_chunk().ok_or(Refusal::Unsigned)?;
    Ok((*counter, tag))
}

/// The counter of a direction has come to its end: the connection is over.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct Exhausted;

impl Display for Exhausted {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("the peer has not renewed its keys for 2^24 frames")
    }
}

impl Error for Exhausted {}

#[cfg(test)]
mod tests;
