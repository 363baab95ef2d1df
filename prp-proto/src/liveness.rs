//! Is a neighbour's router alive? A session of probes with it, after the state machine of BFD (RFC
//! 5880, asynchronous mode, section 6.8), without authentication, echo and demand (SPEC PRP-LIVE).
//!
//! Both ends send a probe every interval, which states what they have received. A session is up
//! when each end knows that the other receives its probes, and goes down when nothing has come for
//! the detection time: the interval times the multiplier of the end that sends.

use core::time::Duration;

use crate::time::Instant;
use crate::timing::LIVENESS_SLOW;
use crate::wire::LivenessBlock;

/// The state of a session (RFC 5880, 6.2).
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum LivenessState {
    /// The other end has said that it stops on purpose.
    AdminDown,
    /// Nothing has been received, or no longer.
    #[default]
    Down,
    /// The other end's probes arrive, and do not state that ours do.
    Init,
    /// Each end hears the other.
    Up,
}

impl LivenessState {
    /// Its code on the wire.
    pub const fn code(self) -> u8 {
        match self {
            Self::AdminDown => 0,
            Self::Down => 1,
            Self::Init => 2,
            Self::Up => 3,
        }
    }

    /// The state of a code; unknown ones are none.
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::AdminDown),
            1 => Some(Self::Down),
            2 => Some(Self::Init),
            3 => Some(Self::Up),
            _ => None,
        }
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AdminDown => "admin-down",
            Self::Down => "down",
            Self::Init => "init",
            Self::Up => "up",
        }
    }
}

/// How often to probe.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct LivenessConfig {
    /// Time from one probe to the next; also the fastest the other end may send.
    pub interval: Duration,
    /// Intervals without a probe after which the sender counts as dead.
    pub multiplier: u8,
}

/// Passive probes after which the other end has got one (SPEC PRP-LIVE-5).
const PASSIVE_PROBES: u8 = 3;

/// Our end of a session with one neighbour.
#[derive(Clone, Debug)]
pub struct Session {
    config: LivenessConfig,
    state: LivenessState,
    /// Our number for it, which the other end repeats.
    own: u32,
    /// The other end's; 0 until it is known.
    theirs: u32,
    /// The fastest the other end wants to hear from us.
    their_least: Duration,
    /// How long we wait for its next probe.
    detection: Duration,
    last_received: Option<Instant>,
    next_send: Instant,
    /// This end has it for the other one's sake (SPEC PRP-LIVE-5).
    is_passive: bool,
    passive_sent: u8,
    /// The other end has it for ours.
    peer_is_passive: bool,
}

impl Session {
    /// A session that begins `now`, by our number `own`, which is not 0 and which we use for no
    /// other.
    pub fn new(config: LivenessConfig, own: u32, now: Instant) -> Self {
        Self {
            config,
            state: LivenessState::Down,
            own,
            theirs: 0,
            their_least: Duration::ZERO,
            detection: config.interval * u32::from(config.multiplier),
            last_received: None,
            next_send: now,
            is_passive: false,
            passive_sent: 0,
            peer_is_passive: false,
        }
    }

    /// Has it go on by our number `own`, which is not 0 and which we have used for no other: probes
    /// that were recorded before name none of ours (SPEC PRP-LIVE-6).
    pub fn renumber(&mut self, own: u32) {
        self.own = own;
    }

    /// Sets whether this end has it for the other one's sake.
    pub fn set_passive(&mut self, is_passive: bool) {
        self.is_passive = is_passive;
        if !is_passive {
            self.passive_sent = 0;
        }
    }

    /// Whether neither end needs it, and the other one has been told so, or is gone (SPEC
    /// PRP-LIVE-5).
    pub fn is_over(&self) -> bool {
        let is_known = self.passive_sent >= PASSIVE_PROBES || self.state == LivenessState::Down;
        self.is_passive && self.peer_is_passive && is_known
    }

    /// Its state.
    pub const fn state(&self) -> LivenessState {
        self.state
    }

    /// Without a probe for this time the other end counts as dead.
    pub const fn detection(&self) -> Duration {
        self.detection
    }

    /// Takes a probe; whether the state has changed (RFC 5880, 6.8.6).
    pub fn handle(&mut self, now: Instant, probe: &LivenessBlock) -> bool {
        // Not for this session: the other end means one before we restarted, and will learn our new
        // number. That it speaks at all is not news about us.
        let stale = probe.yours != 0 && probe.yours != self.own;
        let early = probe.yours == 0
            && !matches!(probe.state, LivenessState::Down | LivenessState::AdminDown);
        if stale || early || probe.mine == 0 || probe.multiplier == 0 {
            return false;
        }
        self.theirs = probe.mine;
        self.peer_is_passive = probe.passive;
        self.their_least = micros(probe.least_us);
        let interval = self.config.interval.max(micros(probe.interval_us));
        self.detection = interval * u32::from(probe.multiplier);
        self.last_received = Some(now);
        let before = self.state;
        self.state = match (self.state, probe.state) {
            (LivenessState::Up | LivenessState::Init, LivenessState::AdminDown)
            | (LivenessState::AdminDown | LivenessState::Down, LivenessState::AdminDown) => {
                LivenessState::AdminDown
            }
            (LivenessState::Down | LivenessState::AdminDown, LivenessState::Down) => {
                LivenessState::Init
            }
            (LivenessState::Down | LivenessState::AdminDown, LivenessState::Init)
            | (LivenessState::Init, LivenessState::Init | LivenessState::Up) => LivenessState::Up,
            (LivenessState::Up, LivenessState::Down) => LivenessState::Down,
            (same, _) => same,
        };
        if self.state != before {
            // News travel at once.
            self.next_send = now;
        }
        self.state != before
    }

    /// Lets time act; whether the state has changed (RFC 5880, 6.8.4).
    pub fn handle_timeout(&mut self, now: Instant) -> bool {
        let silent = self.last_received.is_some_and(|at| now >= at + self.detection);
        let listening = matches!(self.state, LivenessState::Up | LivenessState::Init);
        if !silent || !listening {
            return false;
        }
        self.state = LivenessState::Down;
        self.theirs = 0;
        self.last_received = None;
        self.next_send = now;
        true
    }

    /// The probe that is due, if one is.
    pub fn poll(&mut self, now: Instant) -> Option<LivenessBlock> {
        if now < self.next_send {
            return None;
        }
        self.next_send = now + self.pause();
        self.passive_sent = self.passive_sent.saturating_add(self.is_passive.into());
        Some(self.block(match self.state {
            // The other end has stopped on purpose; we have not.
            LivenessState::AdminDown => LivenessState::Down,
            state => state,
        }))
    }

    /// What to send before stopping on purpose, so that no neighbour takes it for a failure.
    pub fn farewell(&self) -> LivenessBlock {
        self.block(LivenessState::AdminDown)
    }

    /// When [`Self::poll`] or [`Self::handle_timeout`] has something to do.
    pub fn next_timeout(&self) -> Instant {
        let listening = matches!(self.state, LivenessState::Up | LivenessState::Init);
        let silence = self.last_received.filter(|_| listening).map(|at| at + self.detection);
        silence.map_or(self.next_send, |at| at.min(self.next_send))
    }

    fn pause(&self) -> Duration {
        let wanted = self.config.interval.max(self.their_least);
        if self.state == LivenessState::Up { wanted } else { wanted.max(LIVENESS_SLOW) }
    }

    fn block(&self, state: LivenessState) -> LivenessBlock {
        let interval = self.config.interval.as_micros();
        let interval_us = u32::try_from(interval).unwrap_or(u32::MAX);
        LivenessBlock {
            state,
            multiplier: self.config.multiplier,
            passive: self.is_passive,
            mine: self.own,
            yours: self.theirs,
            interval_us,
            least_us: interval_us,
        }
    }
}

fn micros(us: u32) -> Duration {
    Duration::from_micros(u64::from(us))
}

#[cfg(test)]
mod tests;
