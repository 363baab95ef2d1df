//! When a direct way, out or in, is opened and closed.

use std::io;
use std::time::Duration;

use prp_proto::time::Instant;

/// Frames that make a flow: three quarters of a megabyte, or as many messages.
pub(super) const FLOW: u64 = 512;

/// A flow has its frames in so much time: 600 Mbit/s, or a message every 20 us, as a process that
/// sleeps between two hardly sends them. Slower ones cost little either way.
const WITHIN: Duration = Duration::from_millis(10);

/// Frames of a flow that was too slow, before it is looked at again: twelve megabytes, or as many messages.
const SLOW: u64 = 16 * FLOW;

/// How often to look whether the way is still free: a program that begins to listen, or sets a
/// queue, misses so much at most. A flow that has become 20 % of one is over, or pauses.
const LOOK: Duration = Duration::from_millis(50);

/// How soon to try again where the way was not free.
const RETRY: Duration = Duration::from_secs(1);

/// What a direct way waits for.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) enum Phase {
    /// For a flow to begin, after so many frames.
    Closed { frames: u64 },
    /// For somebody to look.
    Called,
    /// To see whether it was a flow, which had so many frames then.
    Measured { frames: u64, since: Instant },
    /// To try again.
    Blocked { until: Instant },
    /// For the flow to end, which was last `seen` to be one, and had so many frames when it was `looked` at.
    Open { frames: u64, seen: Instant, looked: Instant },
    /// For nothing: it cannot be had.
    Barred,
}

impl Default for Phase {
    fn default() -> Self {
        Self::Closed { frames: 0 }
    }
}

/// What is to be done.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) enum Step {
    /// Nothing.
    Rest,
    /// It is to be opened, if it is free.
    Open,
    /// It is to be closed unless it is still free.
    Check,
    /// It is to be closed.
    Close,
}

impl Phase {
    /// At how many frames somebody is to be called.
    pub(super) const fn threshold(self) -> u64 {
        match self {
            Self::Closed { frames } => frames + FLOW,
            _ => u64::MAX,
        }
    }

    /// Whether somebody is to be called, now that there were so many frames.
    pub(super) const fn is_flow(self, frames: u64) -> bool {
        frames >= self.threshold()
    }

    /// What comes next, after so many frames, and whether the way has turned out to be of no use. A flow may `pause` for so long.
    pub(super) fn look(
        self,
        now: Instant,
        frames: u64,
        broken: bool,
        pause: Duration,
    ) -> (Self, Step) {
        match self {
            Self::Called => (Self::Measured { frames, since: now }, Step::Rest),
            Self::Blocked { until } if now >= until => {
                (Self::Measured { frames, since: now }, Step::Rest)
            }
            Self::Measured { frames: before, since } if now >= since + WITHIN => {
                let elapsed = now.since(since).as_nanos();
                let is_flow =
                    u128::from(frames - before) * WITHIN.as_nanos() >= u128::from(FLOW) * elapsed;
                if is_flow {
                    (Self::Open { frames, seen: now, looked: now }, Step::Open)
                } else {
                    (Self::Closed { frames: frames + SLOW }, Step::Rest)
                }
            }
            Self::Open { .. } if broken => (Self::Blocked { until: now + RETRY }, Step::Close),
            Self::Open { frames: before, seen, looked } if now >= looked + LOOK => {
                if frames - before >= FLOW {
                    (Self::Open { frames, seen: now, looked: now }, Step::Check)
                } else if now >= seen + pause {
                    (Self::Closed { frames }, Step::Close)
                } else {
                    (Self::Open { frames, seen, looked: now }, Step::Check)
                }
            }
            other => (other, Step::Rest),
        }
    }

    /// It cannot be opened, or not stay open, for the time being; for ever if the kernel has no such thing, or does not let us.
    pub(super) fn after(error: &io::Error, now: Instant) -> Self {
        match error.raw_os_error() {
            // EPERM, EAFNOSUPPORT and others: not ours to have. ENOBUFS: of memory that may be locked.
            Some(libc::EPERM | libc::EACCES | libc::EAFNOSUPPORT | libc::EOPNOTSUPP) => {
                Self::Barred
            }
            Some(libc::EINVAL | libc::ENOPROTOOPT | libc::ENOSYS | libc::ENOBUFS) => Self::Barred,
            // Nor has it what a program needs.
            _ if matches!(
                error.kind(),
                io::ErrorKind::Unsupported | io::ErrorKind::InvalidData
            ) =>
            {
                Self::Barred
            }
            _ => Self::Blocked { until: now + RETRY },
        }
    }

    /// When to look again.
    pub(super) fn due(self) -> Option<Instant> {
        match self {
            Self::Closed { .. } | Self::Called | Self::Barred => None,
            Self::Measured { since, .. } => Some(since + WITHIN),
            Self::Blocked { until } => Some(until),
            Self::Open { looked, .. } => Some(looked + LOOK),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_secs(5);

    /// A way, the time, and the frames so far.
    struct Case {
        phase: Phase,
        now: Instant,
        frames: u64,
    }

    impl Case {
        fn closed() -> Self {
            Self { phase: Phase::default(), now: Instant::from_nanos(1_000_000), frames: 0 }
        }

        /// So many frames later, which have been on their way for so long.
        fn look(&mut self, frames: u64, time: Duration) -> Step {
            self.frames += frames;
            self.now = self.now + time;
            if self.phase.is_flow(self.frames) {
                self.phase = Phase::Called;
            }
            let (phase, step) = self.phase.look(self.now, self.frames, false, PAUSE);
            self.phase = phase;
            step
        }

        fn open() -> Self {
            let mut case = Self::closed();
            assert_eq!(case.look(FLOW, WITHIN), Step::Rest);
            assert_eq!(case.look(FLOW, WITHIN), Step::Open);
            case
        }
    }

    #[test]
    fn look__a_flow_opens_it_and_less_does_not() {
        let mut case = Case::closed();
        assert_eq!((case.look(FLOW - 1, WITHIN), case.phase.due()), (Step::Rest, None));
        assert_eq!(case.look(1, WITHIN), Step::Rest);
        assert_eq!(case.phase.due(), Some(case.now + WITHIN));
        // Called too early.
        assert_eq!(case.look(FLOW, WITHIN / 2), Step::Rest);
        assert_eq!(case.look(0, WITHIN / 2), Step::Open);

        let mut slow = Case::closed();
        slow.look(FLOW, WITHIN);
        assert_eq!(slow.look(2 * FLOW - 1, 2 * WITHIN), Step::Rest);
        assert_eq!(slow.phase, Phase::Closed { frames: 3 * FLOW - 1 + SLOW });
        // Expect: it takes many more to be called again.
        assert!(!slow.phase.is_flow(slow.frames + SLOW + FLOW - 1));
        assert!(slow.phase.is_flow(slow.frames + SLOW + FLOW));
    }

    #[test]
    fn look__is_checked_while_it_is_open_and_closed_after_a_pause() {
        let mut case = Case::open();
        assert_eq!(case.look(10_000, LOOK / 2), Step::Rest);
        assert_eq!(case.look(0, LOOK / 2), Step::Check);
        let looks = (PAUSE.as_nanos() / LOOK.as_nanos()) as u64;
        for n in 1..looks {
            assert_eq!(case.look(FLOW - 1, LOOK), Step::Check, "look {n}, of less than a flow");
        }
        assert_eq!(case.look(0, LOOK), Step::Close);
        assert_eq!((case.phase.due(), case.phase.is_flow(case.frames)), (None, false));

        let mut case = Case::open();
        for n in 0..2 * looks {
            assert_eq!(case.look(FLOW, LOOK), Step::Check, "look {n}");
        }
    }

    #[test]
    fn look__broken_it_is_closed_and_tried_again_while_there_is_a_flow() {
        let mut case = Case::open();
        let (phase, step) = case.phase.look(case.now, case.frames, true, PAUSE);
        assert_eq!((phase, step), (Phase::Blocked { until: case.now + RETRY }, Step::Close));
        case.phase = phase;
        assert_eq!(case.look(1000, RETRY / 2), Step::Rest);
        assert_eq!(case.phase.due(), Some(case.now + RETRY / 2));
        assert_eq!(case.look(1000, RETRY / 2), Step::Rest);
        assert_eq!(case.look(FLOW, WITHIN), Step::Open);
    }

    #[test]
    fn after__what_may_change_is_tried_again() {
        let now = Instant::from_nanos(1);
        let after = |code| Phase::after(&io::Error::from_raw_os_error(code), now);
        let blocked = Phase::Blocked { until: now + RETRY };
        for code in [libc::EBUSY, libc::ENODEV, libc::ENETDOWN, libc::ENOMEM, libc::EMFILE] {
            assert_eq!(after(code), blocked, "{code}");
        }
        assert_eq!(Phase::after(&io::ErrorKind::WouldBlock.into(), now), blocked);
        assert_eq!(Phase::after(&io::ErrorKind::InvalidData.into(), now), Phase::Barred);
        for code in [libc::EPERM, libc::EAFNOSUPPORT, libc::EINVAL] {
            assert_eq!((after(code), after(code).due()), (Phase::Barred, None), "{code}");
        }
    }
}
