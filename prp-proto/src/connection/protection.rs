//! The cluster key at one connection: what its handshake frames carry, and what protects the others
//! (SPEC section 14).

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};

use prp_key::{
    Aes128Gcm, Asked, HEADER_BYTES, KeyName, Keyring, Member, Mode, Nonce, OPTION_BYTES, Refusal,
    Session, wish,
};

use super::Connection;
use crate::seq::Seq;
use crate::stats::DropReason;
use crate::time::Instant;
use crate::timing::KEY_AGE;
use crate::wire::{Flags, Frame, Offer};

/// The headers of a packet, as on the wire.
type Header = [u8; HEADER_BYTES];

/// A connection with a node that the key file asks to protect, or that asks for it.
#[derive(Debug)]
#[cfg_attr(any(test, feature = "testing"), derive(Clone))]
pub(crate) struct Protection {
    /// For resets, which the cluster's key signs.
    pub(crate) keyring: Arc<Keyring>,
    /// This end's, in its request and in its answer.
    nonce: Nonce,
    /// The request of this end.
    asked: Option<Asked>,
    /// The one before it, which was asked with another secret: the peer may have answered that.
    asked_before: Option<Asked>,
    /// The id of the request that was answered, and the options block of the answer: a repeat gets
    /// the same (SPEC PRP-CONN-5).
    answer: Option<(u32, Vec<u8>)>,
    /// Keys and counters, once both ends have said what they add to them.
    session: Option<Session<Aes128Gcm>>,
    /// When keys were last made, as far as this end knows.
    renewed: Instant,
}

impl Protection {
    pub(crate) fn new(keyring: Arc<Keyring>, nonce: Nonce, now: Instant) -> Box<Self> {
        let (asked, asked_before, answer, session) = (None, None, None, None);
        Box::new(Self { keyring, nonce, asked, asked_before, answer, session, renewed: now })
    }

    /// As it was before this end has asked, but that an answer to what it has asked first is one.
    pub(crate) fn anew(self, keyring: Arc<Keyring>, now: Instant) -> Box<Self> {
        let mut anew = Self::new(keyring, self.nonce, now);
        anew.asked_before = self.asked_before.or(self.asked);
        anew
    }

    /// Keys and counters of the connection, if both ends have agreed on them.
    #[inline]
    pub(crate) const fn session(&mut self) -> Option<&mut Session<Aes128Gcm>> {
        self.session.as_mut()
    }

    /// Returns whether the peer has agreed on keys.
    pub(crate) const fn has_session(&self) -> bool {
        self.session.is_some()
    }

    /// Returns the protection agreed on, or the least there can be until it is known.
    fn mode(&self) -> Mode {
        self.session.as_ref().map_or(Mode::Sign, Session::mode)
    }

    /// Returns whether an answer without a key would do.
    pub(crate) fn may_be_off(&self) -> bool {
        let asked = self.asked.as_ref().and_then(|asked| wish(asked.block()));
        asked.is_some_and(|(mode, _)| mode == Mode::Off)
    }

    /// The options block of the request, if there is one.
    pub(super) fn request(&self) -> Option<&[u8]> {
        self.asked.as_ref().map(Asked::block)
    }

    /// The options block of the answer to the request `id`.
    pub(super) fn answer_to(&self, id: u32) -> Option<&[u8]> {
        self.answer.as_ref().filter(|(asked, _)| *asked == id).map(|(_, block)| &block[..])
    }

    /// The key that this end asks with.
    pub(crate) fn asked_key(&self) -> Option<KeyName> {
        self.asked.as_ref().map(Asked::key)
    }

    /// Has keys renewed that are old (SPEC PRP-KEY-18). Something is about to be sent.
    #[inline]
    pub(super) fn renew_if_old(&mut self, now: Instant) {
        if now.since(self.renewed) >= KEY_AGE
            && let Some(session) = &mut self.session
        {
            self.renewed = now;
            session.renew();
        }
    }

    /// Checks the answer to the request of this end, and takes the keys that follow from both.
    pub(crate) fn finish(
        &mut self,
        member: &mut Member<Aes128Gcm>,
        frame: &Frame<'_>,
    ) -> Result<(), Refusal> {
        let asked = self.asked.as_ref().ok_or(Refusal::Unsigned)?;
        let answer = (frame.packet_header(), frame.payload);
        let session = member.finish(asked, answer).or_else(|why| {
            let before = self.asked_before.as_ref().ok_or(why)?;
            member.finish(before, answer).map_err(|_| why)
        })?;
        self.session = Some(session);
        Ok(())
    }
}

/// Only checkers copy connections: no counter of a frame may come twice.
#[cfg(not(any(test, feature = "testing")))]
impl Clone for Protection {
    fn clone(&self) -> Self {
        unreachable!("a connection with a key is not copied")
    }
}

/// What decides what it does next. Only checkers ask.
impl Hash for Protection {
    fn hash<H: Hasher>(&self, _state: &mut H) {
        #[cfg(any(test, feature = "testing"))]
        {
            (self.nonce, &self.asked, &self.asked_before, &self.answer).hash(_state);
            (&self.session, self.renewed).hash(_state);
        }
    }
}

impl Connection {
    /// Returns whether its frames are protected, or are to be.
    pub(crate) const fn is_protected(&self) -> bool {
        self.protection.is_some()
    }

    /// Returns whether what its peer sends is to be signed: a request that may be answered without
    /// a key may be refused without one.
    pub(crate) fn needs_key(&self) -> bool {
        let protection = self.protection.as_deref();
        protection.is_some_and(|keyed| keyed.has_session() || !keyed.may_be_off())
    }

    /// Asks with the cluster's key, and with that called `name` if it is not to be the one in use.
    /// An end that seems classic asks without.
    pub(crate) fn ask_with_key(
        &mut self,
        member: &Member<Aes128Gcm>,
        name: Option<KeyName>,
        mut protection: Box<Protection>,
    ) {
        let Some(offer) = self.own_request() else { return };
        let mut block = offer.emit().to_vec();
        let header = self.outside_bits(Flags::CREQ, self.first, block.len() + OPTION_BYTES);
        let nonce = protection.nonce;
        protection.asked = match name {
            None => Some(member.ask(&header, nonce, &mut block)),
            Some(name) => member.ask_with(name, &header, nonce, &mut block),
        };
        self.protection = Some(protection);
    }

    /// Answers the request in `frame`, which `offer` is of, with the cluster's key, if that is not
    /// done: `may_pair` says whether there is a budget for public-key work.
    ///
    /// # Errors
    /// Why the request is dropped.
    pub(crate) fn answer_with_key(
        &mut self,
        member: &mut Member<Aes128Gcm>,
        frame: &Frame<'_>,
        offer: &Offer,
        may_pair: impl FnOnce() -> bool,
    ) -> Result<(), DropReason> {
        let grant = self.own_grant().ok_or(DropReason::BadState)?;
        let mut block = grant.emit().to_vec();
        let header = self.outside_bits(Flags::CACK, self.first, block.len() + OPTION_BYTES);
        let is_server = self.is_server();
        let protection = self.protection.as_deref_mut().ok_or(DropReason::BadState)?;
        if protection.answer_to(offer.id).is_some() {
            return Ok(());
        }
        let asked = (frame.packet_header(), frame.payload);
        let answer = (&header, &mut block);
        let session = member.answer(asked, protection.nonce, answer, may_pair)?;
        protection.answer = Some((offer.id, block));
        if is_server {
            (self.terms.security, self.terms.key) = (session.mode(), Some(session.key_id()));
            protection.session = Some(session);
        }
        Ok(())
    }

    /// Takes the protection that the answer to its request has agreed on into its terms: none, if
    /// the answer has none.
    pub(super) fn settle_protection(&mut self) {
        if self.protection.as_deref().is_some_and(|protection| !protection.has_session()) {
            self.protection = None;
        }
    }

    /// The protection of its frames, and the id of the key that it was agreed on with.
    pub(super) fn security(&self) -> (Mode, Option<u16>) {
        self.protection.as_deref().map_or((Mode::Off, None), |protection| {
            (protection.mode(), protection.session.as_ref().map(Session::key_id))
        })
    }

    /// The headers of a frame without segment, as they are signed.
    fn outside_bits(&self, flags: Flags, seq: Seq, len: usize) -> Header {
        let header = self.outside_header(flags, seq, len, true);
        self.path.head(header).packet_bits().to_be_bytes()
    }
}
