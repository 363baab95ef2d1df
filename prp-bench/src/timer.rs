//! `prp-bench timer`: what it takes to arm a timer. In a virtual machine that may be an exit to the
//! hypervisor.

use std::time::{Duration, Instant};

use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use serde_json::json;

use crate::{Done, print};

/// How often, which takes a fraction of a second.
const TIMES: u32 = 10_000;

/// So long ahead that it never expires here.
const AHEAD: Duration = Duration::from_micros(300);

/// Runs `prp-bench timer`.
pub(super) fn run() -> Done {
    let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::empty())?;
    let start = Instant::now();
    for _ in 0..TIMES {
        let expiration = Expiration::OneShot(TimeSpec::from_duration(AHEAD));
        timer.set(expiration, TimerSetTimeFlags::empty())?;
    }
    let took = start.elapsed() / TIMES;
    print(&format!("{}\n", json!({"timer_us": took.as_secs_f64() * 1e6})))
}
