//! The two-way handshake (paper section 2.4; SPEC PRP-CONN-1 to 12).

use alloc::boxed::Box;
use core::time::Duration;

use super::classic::ClassicAnswer;
use super::{Connection, Protection, Seed, Terms};
use crate::config::Classic;
use crate::error::ConnError;
use crate::seq::Seq;
use crate::state::{State, StateEvent};
use crate::stats::DropReason;
use crate::time::Instant;
use crate::timing::{REQUEST_FIRST, REQUEST_MAX};
use crate::wire::{CrcKey, Frame, Offer, Reliability, ReliabilitySet, ResetReason};

/// A request in progress.
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct Request {
    pause: Duration,
    /// When it is repeated.
    pub(super) next: Instant,
    pub(super) give_up: Instant,
    /// What the peer asks of us meanwhile, by its own request.
    pub(super) crossing: Option<Offer>,
    /// An answer has come as of a classic server.
    pub(super) classic: Option<Box<ClassicAnswer>>,
    /// An odd number of requests has been repeated.
    odd: bool,
}

/// What a server-side connection is made from.
#[derive(Copy, Clone, Debug)]
pub(crate) enum RequestKind {
    /// A request with options.
    Offer(Offer),
    /// The paper's.
    Classic,
}

impl Connection {
    /// A connection that asks for itself. CREQ goes out with the next transmission.
    pub(crate) fn connect(seed: &Seed) -> Box<Self> {
        let mut conn = Self::new(seed);
        conn.step(StateEvent::Request);
        conn.pending.request = true;
        let give_up = seed.now + conn.config.connect_timeout;
        conn.request = Request {
            pause: REQUEST_FIRST,
            next: (seed.now + REQUEST_FIRST).min(give_up),
            give_up,
            ..Request::default()
        };
        conn.set_request_timer();
        conn
    }

    /// A connection that the peer asked for, granted as far as both can; CACK goes out with the
    /// next transmission. `first` is the peer's initial number.
    ///
    /// # Errors
    /// Why it is not granted.
    pub(crate) fn accept(
        seed: &Seed,
        asked: RequestKind,
        first: Seq,
        protection: Option<Box<Protection>>,
    ) -> Result<Box<Self>, ResetReason> {
        let mut conn = Self::new(seed);
        conn.protection = protection;
        match asked {
            RequestKind::Offer(offer) => {
                let common = conn.config.reliability.strongest_common(offer.reliability);
                let reliability = common.ok_or(ResetReason::NoCommonPolicy)?;
                let crc = conn.config.crc && offer.crc;
                conn.adopt(reliability, crc, &offer);
            }
            RequestKind::Classic if conn.config.classic == Classic::Refuse => {
                return Err(ResetReason::NoCommonPolicy);
            }
            RequestKind::Classic => conn.adopt_classic(),
        }
        conn.server = true;
        conn.accepted = false;
        conn.recv.start(first, &conn.terms);
        conn.step(StateEvent::Creq);
        conn.pending.accept = true;
        conn.arm_keepalive(seed.now);
        Ok(conn)
    }

    /// CREQ for a connection that exists: the same request gets the same answer; another one means
    /// that the peer restarted or that a host forges, so the peer is asked (SPEC PRP-CONN-7).
    pub(crate) fn on_repeated_request(
        &mut self,
        now: Instant,
        offer: Option<&Offer>,
    ) -> Result<(), DropReason> {
        let same = match offer {
            Some(offer) => self.terms.extended && offer.id == self.ids.remote,
            None => !self.terms.extended && !self.confirmed,
        };
        match self.state {
            State::Established { .. } => {}
            State::ConnWait => return self.on_crossing(offer),
            State::Close | State::Listen => return Err(DropReason::BadState),
        }
        if same {
            self.pending.accept = true;
            return Ok(());
        }
        if self.terms.extended {
            self.challenge(now);
        }
        Err(DropReason::BadId)
    }

    /// CREQ while a request of our own is out: both ends ask each other. It names no id of ours, so
    /// any host can have sent it: it is answered, and what makes the connection is the answer to
    /// our own (SPEC PRP-CONN-13).
    fn on_crossing(&mut self, offer: Option<&Offer>) -> Result<(), DropReason> {
        let offer = offer.filter(|_| self.config.classic != Classic::Only);
        let offer = offer.ok_or(DropReason::BadState)?;
        let common = self.config.reliability.strongest_common(offer.reliability);
        common.ok_or(DropReason::Refused)?;
        self.request.crossing = Some(*offer);
        self.pending.accept = true;
        Ok(())
    }

    /// The options block of our answer to the request that crossed ours.
    fn crossing_grant(&self) -> Option<Offer> {
        let asked = self.request.crossing.as_ref()?;
        let common = self.config.reliability.strongest_common(asked.reliability)?;
        let own = self.own_request()?;
        Some(Offer {
            echo: asked.id,
            reliability: ReliabilitySet::only(common),
            crc: self.config.crc && asked.crc,
            ..own
        })
    }

    /// CACK.
    pub(crate) fn on_accept(&mut self, now: Instant, frame: &Frame<'_>) -> Result<(), DropReason> {
        let offer = match frame.payload {
            [] => None,
            payload => Some(Offer::parse(payload).map_err(|_| DropReason::Malformed)?),
        };
        if offer.is_some_and(|o| o.echo != self.ids.local) {
            return Err(DropReason::BadId);
        }
        if self.state != State::ConnWait {
            let known = offer.is_none_or(|o| o.id == self.ids.remote);
            return Err(if known { DropReason::Duplicate } else { DropReason::BadId });
        }
        let Some(offer) = offer else {
            // SPEC PRP-UDP-5, PRP-UNIX-5.
            let no_classic = frame.from.is_datagram();
            return if no_classic {
                Err(DropReason::Refused)
            } else {
                self.on_classic_answer(now, frame)
            };
        };
        if self.config.classic == Classic::Only {
            return Err(DropReason::Malformed);
        }
        if !frame.crc_ok(CrcKey::NONE) {
            return Err(DropReason::BadCrc);
        }
        self.settle_protection();
        self.agree(&offer)?;
        self.establish(now, frame.head.transport.first_seq(self.terms.width()));
        if self.is_protected() {
            // The server's application gets it once something of ours is authentic (SPEC
            // PRP-KEY-16).
            self.ack_now();
        }
        Ok(())
    }

    /// Repeats the request or gives it up.
    pub(super) fn repeat_request(&mut self, now: Instant) {
        if now >= self.request.give_up {
            self.fail(ConnError::TimedOut { waited: self.config.connect_timeout });
            return;
        }
        self.pending.request = true;
        self.lost |= self.request.odd;
        self.request.odd = !self.request.odd;
        self.request.pause = (self.request.pause * 2).min(REQUEST_MAX);
        self.request.next = (now + self.request.pause).min(self.request.give_up);
        self.set_request_timer();
    }

    /// The options block of our CREQ; `None` if we are to seem classic.
    pub(super) fn own_request(&self) -> Option<Offer> {
        (self.config.classic != Classic::Only).then(|| Offer {
            id: self.ids.local,
            echo: 0,
            reliability: self.config.reliability,
            crc: self.config.crc,
            mss: self.segment,
            window: self.recv.window_at(self.segment),
        })
    }

    /// The options block of our CACK.
    pub(super) fn own_grant(&self) -> Option<Offer> {
        if self.state == State::ConnWait {
            return self.crossing_grant();
        }
        self.terms.extended.then(|| Offer {
            id: self.ids.local,
            echo: self.ids.remote,
            reliability: ReliabilitySet::only(self.terms.reliability),
            crc: self.terms.crc,
            mss: self.segment,
            window: self.recv.window_at(self.segment).min(self.recv.max_advertised),
        })
    }

    /// Takes what the server granted.
    fn agree(&mut self, offer: &Offer) -> Result<(), DropReason> {
        let granted = self.config.reliability.strongest_common(offer.reliability);
        let Some(reliability) = granted else {
            self.ids.remote = offer.id;
            self.pending.reset = Some(ResetReason::NoCommonPolicy);
            self.fail(ConnError::NoCommonPolicy);
            return Err(DropReason::Refused);
        };
        self.adopt(reliability, offer.crc, offer);
        Ok(())
    }

    fn adopt(&mut self, reliability: Reliability, crc: bool, offer: &Offer) {
        self.segment = self.segment.min(offer.mss);
        let (security, key) = self.security();
        // The key's trailer takes the place of the CRC's (SPEC PRP-KEY-15).
        let crc = crc && !self.is_protected();
        let terms = Terms { extended: true, reliability, mss: self.segment, crc, security, key };
        // The trailer takes its room from the segment.
        self.terms = Terms { mss: self.segment - terms.trailer(), ..terms };
        self.ids.remote = offer.id;
        self.send.start(&self.terms, offer.window, self.path.to.is_udp());
        self.note_window(offer.window);
    }
}
