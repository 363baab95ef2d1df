//! When a fast path, out or in, is opened and closed.

use std::io;
use std::time::Duration;

use prp_proto::time::Instant;

/// Frames that make a flow: 750 kB at an MTU of 1500, or as many messages.
pub(super) const FLOW: u64 = 512;

/// The time in which a flow has its [`FLOW`] frames: 600 Mbit/s, or a message every 20 us, as a
/// process that sleeps between two hardly sends them. Slower ones cost little in either case.
const WITHIN: Duration = Duration::from_millis(10);

/// Frames of a flow that was too slow, before it is measured again: twelve megabytes, or as many
/// messages.
const SLOW: u64 = 16 * FLOW;

/// How often to check whether the path is still free: a program that begins to listen, or sets a
/// queue, misses at most the frames of this time. A flow that has become 20 % of one is over, or
/// pauses.
const CHECK_EVERY: Duration = Duration::from_millis(50);

/// How soon to try again where the path was not free.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// What a fast path waits for.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) enum FastPathState {
    /// For a flow to begin, after this number of frames.
    Idle { frames: u64 },
    /// For its thread to service it.
    Requested,
    /// To see whether it was a flow, which had this number of frames at `since`.
    Measuring { frames: u64, since: Instant },
    /// To try again.
    Backoff { until: Instant },
    /// For the flow to end. It was a flow at `seen`, and had `frames` frames at `checked_at`.
    Active { frames: u64, seen: Instant, checked_at: Instant },
    /// For nothing: it cannot be had.
    Unsupported,
}

impl Default for FastPathState {
    fn default() -> Self {
        Self::Idle { frames: 0 }
    }
}

/// What is to be done.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) enum Action {
    /// Nothing.
    Rest,
    /// It is to be opened, if it is free.
    Open,
    /// It is to be closed unless it is still free.
    Check,
    /// It is to be closed.
    Close,
}

impl FastPathState {
    /// The number of frames at which service is requested.
    pub(super) const fn threshold(self) -> u64 {
        match self {
            Self::Idle { frames } => frames + FLOW,
            _ => u64::MAX,
        }
    }

    /// Whether to request service after `frames` frames.
    pub(super) const fn is_flow(self, frames: u64) -> bool {
        frames >= self.threshold()
    }

    /// The next state, after `frames` frames; `broken` if the path has turned out to be of no use.
    /// A flow may pause for `pause`.
    pub(super) fn advance(
        self,
        now: Instant,
        frames: u64,
        broken: bool,
        pause: Duration,
    ) -> (Self, Action) {
        match self {
            Self::Requested => (Self::Measuring { frames, since: now }, Action::Rest),
            Self::Backoff { until } if now >= until => {
                (Self::Measuring { frames, since: now }, Action::Rest)
            }
            Self::Measuring { frames: before, since } if now >= since + WITHIN => {
                let elapsed = now.since(since).as_nanos();
                let is_flow =
                    u128::from(frames - before) * WITHIN.as_nanos() >= u128::from(FLOW) * elapsed;
                #[cfg(feature = "testing")]
                let is_flow = is_flow || frames > before && crate::idle_machine::is_assumed();
                if is_flow {
                    (Self::Active { frames, seen: now, checked_at: now }, Action::Open)
                } else {
                    (Self::Idle { frames: frames + SLOW }, Action::Rest)
                }
            }
            Self::Active { .. } if broken => {
                (Self::Backoff { until: now + RETRY_INTERVAL }, Action::Close)
            }
            Self::Active { frames: before, seen, checked_at }
                if now >= checked_at + CHECK_EVERY =>
            {
                if frames - before >= FLOW {
                    (Self::Active { frames, seen: now, checked_at: now }, Action::Check)
                } else if now >= seen + pause {
                    (Self::Idle { frames }, Action::Close)
                } else {
                    (Self::Active { frames, seen, checked_at: now }, Action::Check)
                }
            }
            other => (other, Action::Rest),
        }
    }

    /// It cannot be opened, or not stay open, for the time being; for ever if the kernel has no
    /// such thing, or does not let us.
    pub(super) fn after(error: &io::Error, now: Instant) -> Self {
        match error.raw_os_error() {
            // EPERM, EAFNOSUPPORT and others: not ours to have. ENOBUFS: of memory that may be
            // locked.
            Some(libc::EPERM | libc::EACCES | libc::EAFNOSUPPORT | libc::EOPNOTSUPP) => {
                Self::Unsupported
            }
            Some(libc::EINVAL | libc::ENOPROTOOPT | libc::ENOSYS | libc::ENOBUFS) => {
                Self::Unsupported
            }
            // Nor has it what a program needs.
            _ if matches!(
                error.kind(),
                io::ErrorKind::Unsupported | io::ErrorKind::InvalidData
            ) =>
            {
                Self::Unsupported
            }
            _ => Self::Backoff { until: now + RETRY_INTERVAL },
        }
    }

    /// When to check again.
    pub(super) fn due(self) -> Option<Instant> {
        match self {
            Self::Idle { .. } | Self::Requested | Self::Unsupported => None,
            Self::Measuring { since, .. } => Some(since + WITHIN),
            Self::Backoff { until } => Some(until),
            Self::Active { checked_at, .. } => Some(checked_at + CHECK_EVERY),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAX_FLOW_PAUSE: Duration = Duration::from_secs(5);

    /// A fast path, the time, and the frames so far.
    struct Case {
        phase: FastPathState,
        now: Instant,
        frames: u64,
    }

    impl Case {
        fn closed() -> Self {
            Self { phase: FastPathState::default(), now: Instant::from_nanos(1_000_000), frames: 0 }
        }

        /// Advances after `frames` more frames, which took `time`.
        fn advance(&mut self, frames: u64, time: Duration) -> Action {
            self.frames += frames;
            self.now = self.now + time;
            if self.phase.is_flow(self.frames) {
                self.phase = FastPathState::Requested;
            }
            let (phase, action) = self.phase.advance(self.now, self.frames, false, MAX_FLOW_PAUSE);
            self.phase = phase;
            action
        }

        fn open() -> Self {
            let mut case = Self::closed();
            assert_eq!(case.advance(FLOW, WITHIN), Action::Rest);
            assert_eq!(case.advance(FLOW, WITHIN), Action::Open);
            case
        }
    }

    #[test]
    fn advance__a_flow_opens_it_and_less_does_not() {
        let mut case = Case::closed();
        assert_eq!((case.advance(FLOW - 1, WITHIN), case.phase.due()), (Action::Rest, None));
        assert_eq!(case.advance(1, WITHIN), Action::Rest);
        assert_eq!(case.phase.due(), Some(case.now + WITHIN));
        // Called too early.
        assert_eq!(case.advance(FLOW, WITHIN / 2), Action::Rest);
        assert_eq!(case.advance(0, WITHIN / 2), Action::Open);

        let mut slow = Case::closed();
        slow.advance(FLOW, WITHIN);
        assert_eq!(slow.advance(2 * FLOW - 1, 2 * WITHIN), Action::Rest);
        assert_eq!(slow.phase, FastPathState::Idle { frames: 3 * FLOW - 1 + SLOW });
        // Expect: it takes many more to be called again.
        assert!(!slow.phase.is_flow(slow.frames + SLOW + FLOW - 1));
        assert!(slow.phase.is_flow(slow.frames + SLOW + FLOW));
    }

    #[test]
    fn advance__is_checked_while_it_is_open_and_closed_after_a_pause() {
        let mut case = Case::open();
        assert_eq!(case.advance(10_000, CHECK_EVERY / 2), Action::Rest);
        assert_eq!(case.advance(0, CHECK_EVERY / 2), Action::Check);
        let checks = (MAX_FLOW_PAUSE.as_nanos() / CHECK_EVERY.as_nanos()) as u64;
        for n in 1..checks {
            assert_eq!(
                case.advance(FLOW - 1, CHECK_EVERY),
                Action::Check,
                "look {n}, of less than a flow"
            );
        }
        assert_eq!(case.advance(0, CHECK_EVERY), Action::Close);
        assert_eq!((case.phase.due(), case.phase.is_flow(case.frames)), (None, false));

        let mut case = Case::open();
        for n in 0..2 * checks {
            assert_eq!(case.advance(FLOW, CHECK_EVERY), Action::Check, "look {n}");
        }
    }

    #[test]
    fn advance__broken_it_is_closed_and_tried_again_while_there_is_a_flow() {
        let mut case = Case::open();
        let (phase, action) = case.phase.advance(case.now, case.frames, true, MAX_FLOW_PAUSE);
        assert_eq!(
            (phase, action),
            (FastPathState::Backoff { until: case.now + RETRY_INTERVAL }, Action::Close)
        );
        case.phase = phase;
        assert_eq!(case.advance(1000, RETRY_INTERVAL / 2), Action::Rest);
        assert_eq!(case.phase.due(), Some(case.now + RETRY_INTERVAL / 2));
        assert_eq!(case.advance(1000, RETRY_INTERVAL / 2), Action::Rest);
        assert_eq!(case.advance(FLOW, WITHIN), Action::Open);
    }

    #[test]
    fn after__what_may_change_is_tried_again() {
        let now = Instant::from_nanos(1);
        let after = |code| FastPathState::after(&io::Error::from_raw_os_error(code), now);
        let blocked = FastPathState::Backoff { until: now + RETRY_INTERVAL };
        for code in [libc::EBUSY, libc::ENODEV, libc::ENETDOWN, libc::ENOMEM, libc::EMFILE] {
            assert_eq!(after(code), blocked, "{code}");
        }
        assert_eq!(FastPathState::after(&io::ErrorKind::WouldBlock.into(), now), blocked);
        assert_eq!(
            FastPathState::after(&io::ErrorKind::InvalidData.into(), now),
            FastPathState::Unsupported
        );
        for code in [libc::EPERM, libc::EAFNOSUPPORT, libc::EINVAL] {
            assert_eq!(
                (after(code), after(code).due()),
                (FastPathState::Unsupported, None),
                "{code}"
            );
        }
    }
}
