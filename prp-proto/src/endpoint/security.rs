//! The cluster key: frames are checked before anything is done about them (SPEC section 14).

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem;

use prp_key::{Aes128Gcm, Keyring, Member, Mode, Nonce, wish};
use rand_chacha::rand_core::Rng;

use super::Endpoint;
use crate::addr::{DeviceId, NodeId, Port, PrpAddr};
use crate::buffer::Sink;
use crate::config::{Classic, ConnConfig};
use crate::connection::{Connection, Protection};
use crate::device::PacketRun;
use crate::event::{ConnHandle, Disposition};
use crate::state::State;
use crate::stats::DropReason;
use crate::time::Instant;
use crate::token_bucket::TokenBucket;
use crate::wire::{Flags, Frame, Offer, ResetBlock, ResetReason};

/// Processes heard of for the first time whose requests are answered, a second: each takes 0.1 ms
/// of public-key work, and recorded ones can ask for that again after a restart.
const PAIRS_PER_SECOND: u32 = 1000;

/// A process that has the cluster's key.
#[derive(Debug)]
#[cfg_attr(any(test, feature = "testing"), derive(Clone))]
pub(super) struct Security {
    member: Member<Aes128Gcm>,
    keyring: Arc<Keyring>,
    pub(super) pairs: TokenBucket,
    /// Memory for the text of a frame.
    text: Vec<u8>,
}

impl Security {
    /// The keys in force.
    pub(super) fn keyring(&self) -> &Keyring {
        &self.keyring
    }

    fn least(&self, node: NodeId) -> Mode {
        self.keyring.least(node.number())
    }
}

/// What the check of a frame has found.
enum Checked {
    /// It is to be heard as without a key.
    AsItIs,
    /// A key vouches for it, and its payload can be read.
    Signed,
    /// A key vouches for it, and its payload was decrypted.
    Opened,
}

impl Endpoint {
    /// Protects new connections with the keys of `member`. Those that there are stay as they are.
    pub fn set_member(&mut self, member: Member<Aes128Gcm>) {
        let keyring = Arc::new(member.keyring().clone());
        let pairs = TokenBucket::new(PAIRS_PER_SECOND);
        self.security = Some(Box::new(Security { member, keyring, pairs, text: Vec::new() }));
    }

    /// Puts other keys of the cluster in force, where there were some. Connections keep theirs
    /// (SPEC PRP-KEY-3).
    pub fn set_keyring(&mut self, keyring: Keyring) {
        let Some(security) = self.security.as_deref_mut() else { return };
        security.keyring = Arc::new(keyring.clone());
        security.member.set_keyring(keyring);
        for handle in self.table.handles() {
            let conn = self.table.get_mut(handle);
            if let Some(protection) = conn.and_then(|conn| conn.protection.as_deref_mut()) {
                protection.keyring = Arc::clone(&security.keyring);
            }
        }
    }

    /// Returns the keys of the cluster in force, if there are any.
    pub fn keyring(&self) -> Option<&Keyring> {
        self.security.as_deref().map(Security::keyring)
    }

    /// Settings of a connection with `node`: a classic peer has no key.
    pub(super) fn config_with_key(&self, node: NodeId, config: ConnConfig) -> ConnConfig {
        let least = self.security.as_deref().map_or(Mode::Off, |security| security.least(node));
        let classic = if least == Mode::Off { config.classic } else { Classic::Refuse };
        ConnConfig { classic, ..config }
    }

    /// What a connection needs that is to be protected, if this endpoint has a key.
    pub(super) fn new_protection(&mut self, now: Instant) -> Option<Box<Protection>> {
        let keyring = Arc::clone(&self.security.as_deref()?.keyring);
        let mut nonce = [0; 16];
        self.rng.fill_bytes(&mut nonce);
        Some(Protection::new(keyring, Nonce::new(nonce), now))
    }

    /// Has `conn` ask with the key, if this endpoint has one.
    pub(super) fn ask_with_key(&mut self, now: Instant, conn: &mut Connection) {
        if let Some(protection) = self.new_protection(now)
            && let Some(security) = self.security.as_deref()
        {
            conn.ask_with_key(&security.member, None, protection);
        }
    }

    /// Returns whether CREQ asks for protection that its connection is to have.
    ///
    /// # Errors
    /// It asks for more or less than this end has, or no member has made it; or its port may be
    /// another process's, whose key decides.
    pub(super) fn check_request(
        &mut self,
        now: Instant,
        frame: &Frame<'_>,
    ) -> Result<bool, DropReason> {
        let wished = wish(frame.payload).map(|(mode, _)| mode);
        let node = frame.head.network.src;
        let outcome = match self.security.as_deref() {
            None if wished.is_none_or(|mode| mode == Mode::Off) => Ok(false),
            None => Err(DropReason::UnknownKey),
            Some(security) => match wished.unwrap_or_default().max(security.least(node)) {
                Mode::Off => Ok(false),
                Mode::Sign | Mode::Seal => {
                    let checked =
                        security.member.check_request(frame.packet_header(), frame.payload);
                    checked.map(|_| true).map_err(DropReason::from)
                }
            },
        };
        // A classic peer knows no refusal (SPEC PRP-RST-5).
        if matches!(outcome, Err(DropReason::UnknownKey | DropReason::Unsigned))
            && !frame.payload.is_empty()
        {
            // It names no id, so it ends nothing, and its sender counts why.
            let block = ResetBlock { reason: ResetReason::Refused, receiver: 0, sender: 0 };
            if !self.ports.owns(frame.head.transport.dst_port) {
                self.ask_owner(now, frame, block);
                return Err(DropReason::NotOurPort);
            }
            self.send_refusal(now, frame, block);
        }
        outcome
    }

    /// Answers the request that `conn` was made from, if it is to be protected.
    ///
    /// # Errors
    /// Why the request is dropped.
    pub(super) fn answer_first(
        &mut self,
        now: Instant,
        conn: &mut Connection,
        frame: &Frame<'_>,
        offer: Option<&Offer>,
    ) -> Result<(), DropReason> {
        let (Some(security), Some(offer), true) =
            (self.security.as_deref_mut(), offer, conn.is_protected())
        else {
            return Ok(());
        };
        let Security { member, pairs, .. } = security;
        conn.answer_with_key(member, frame, offer, || pairs.take(now))
    }

    /// Answers a request that has come again, or that has crossed ours.
    ///
    /// # Errors
    /// Why the request is dropped.
    pub(super) fn answer_again(
        &mut self,
        now: Instant,
        handle: ConnHandle,
        frame: &Frame<'_>,
        offer: &Offer,
    ) -> Result<(), DropReason> {
        let (Some(security), Some(conn)) =
            (self.security.as_deref_mut(), self.table.get_mut(handle))
        else {
            return Err(DropReason::BadState);
        };
        let Security { member, pairs, keyring, .. } = security;
        let ours = conn.protection.as_deref().and_then(Protection::asked_key);
        let of_theirs = || member.check_request(frame.packet_header(), frame.payload).ok();
        if conn.state == State::ConnWait
            && let theirs = of_theirs()
            && theirs != ours
        {
            // Both must have the same secret: that of the lower address.
            if conn.local < conn.remote {
                conn.pending.accept = false;
                return Err(DropReason::BadState);
            }
            let protection =
                conn.protection.take().map(|keyed| keyed.anew(Arc::clone(keyring), now));
            if let Some(protection) = protection {
                conn.ask_with_key(member, theirs, protection);
                conn.pending.request = true;
            }
        }
        let outcome = conn.answer_with_key(member, frame, offer, || pairs.take(now));
        conn.pending.accept &= outcome.is_ok();
        outcome
    }

    /// Returns whether `frame`, if it is believed, may say by which path its peer is reached. Of a
    /// connection with a key it is one that the key vouches for: until it is established, the
    /// request or the answer, and then none of those, which can be recorded (SPEC PRP-KEY-17).
    #[inline]
    pub(super) fn may_move_port(&self, known: Option<ConnHandle>, frame: &Frame<'_>) -> bool {
        self.security.is_none()
            || frame.is_authentic()
            || known
                .and_then(|handle| self.table.get(handle))
                .is_none_or(|conn| !conn.needs_key() || moves_early(conn, frame))
    }

    /// As [`Self::sort`], for an endpoint with a key: what its sender cannot prove to have made is
    /// dropped before anything is done about it.
    #[cold]
    #[inline(never)]
    pub(super) fn sort_with_key(
        &mut self,
        now: Instant,
        device: DeviceId,
        frame: &Frame<'_>,
        sink: Option<&mut Sink<'_>>,
    ) -> Result<Disposition, DropReason> {
        // Each frame is checked by itself.
        let none = &mut PacketRun::default();
        if frame.head.network.dst != self.routes.local() || !self.is_genuine(device, frame) {
            return self.sort(now, device, frame, none, sink);
        }
        let mut text =
            self.security.as_deref_mut().map(|s| mem::take(&mut s.text)).unwrap_or_default();
        let outcome = match self.check(frame, &mut text) {
            Err(why) => Err(why),
            Ok(Checked::AsItIs) => self.sort(now, device, frame, none, sink),
            Ok(Checked::Signed) => self.sort(now, device, &frame.opened(frame.payload), none, sink),
            Ok(Checked::Opened) => self.sort(now, device, &frame.opened(&text), none, sink),
        };
        if let Some(security) = self.security.as_deref_mut() {
            security.text = text;
        }
        outcome
    }

    /// Checks `frame`, which is for this node; its text is in `text` if it was opened.
    fn check(&mut self, frame: &Frame<'_>, text: &mut Vec<u8>) -> Result<Checked, DropReason> {
        // Whether a router is believed depends on what it speaks of.
        let ended = self.ended_by_router(frame);
        let Some(security) = self.security.as_deref_mut() else { return Ok(Checked::AsItIs) };
        let (ports, flags) = (frame.head.transport, frame.flags());
        if flags.contains(Flags::CREQ) {
            // A request has a tag of its own.
            return Ok(Checked::AsItIs);
        }
        let (src, src_port) = (frame.head.network.src, ports.src_port);
        let peer = PrpAddr::new(src, src_port);
        let handle = ended.or_else(|| self.table.find_for_frame(ports.dst_port, peer));
        let conn = handle.and_then(|handle| self.table.get_mut(handle));
        let is_router = flags.contains(Flags::CTL)
            && (src_port == Port::CONTROL || ports.dst_port == Port::CONTROL);
        if flags.contains(Flags::RST) || is_router {
            // A connection of before there was a key lives on without one, and ends so.
            let is_needed = conn
                .as_deref()
                .map_or_else(|| security.least(src) > Mode::Off, Connection::needs_key);
            // Whoever is asked for an echo says nothing that anyone needs to believe.
            let is_required = is_needed && !(is_router && ports.dst_port == Port::CONTROL);
            return match security.keyring.check(frame.packet_header(), frame.payload, frame.rest())
            {
                Ok(_) => Ok(Checked::Signed),
                Err(why) if is_required => Err(note(conn, why.into())),
                Err(_) => Ok(Checked::AsItIs),
            };
        }
        let Some(conn) = conn else { return Ok(Checked::AsItIs) };
        let is_answer = flags.contains(Flags::CACK);
        let Some(protection) = conn.protection.as_deref_mut() else { return Ok(Checked::AsItIs) };
        if is_answer && conn.state == State::ConnWait {
            if wish(frame.payload).is_none() && protection.may_be_off() {
                return Ok(Checked::AsItIs);
            }
            let finished = protection.finish(&mut security.member, frame);
            return finished.map_err(|why| note(Some(conn), why.into())).map(|()| Checked::AsItIs);
        }
        let Some(session) = protection.session().filter(|_| !is_answer) else {
            return Ok(Checked::AsItIs);
        };
        let opened = match session.mode() {
            Mode::Seal => Checked::Opened,
            Mode::Off | Mode::Sign => Checked::Signed,
        };
        match session.open(frame.packet_header(), frame.payload, frame.rest(), text) {
            Ok(_) => Ok(opened),
            Err(why) => Err(note(Some(conn), why.into())),
        }
    }
}

/// Returns whether `frame` is what makes `conn`, which is not established yet at both ends.
fn moves_early(conn: &Connection, frame: &Frame<'_>) -> bool {
    let maker = if conn.state == State::ConnWait { Flags::CACK } else { Flags::CREQ };
    !conn.confirmed && frame.flags().contains(maker)
}

/// Counts `why` at the connection as well.
fn note(conn: Option<&mut Connection>, why: DropReason) -> DropReason {
    if let Some(conn) = conn {
        conn.stats.drops.count(why);
    }
    why
}
