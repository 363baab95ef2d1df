//! How a thread waits for frames: it polls, lets some gather, or sleeps.
//!
//! [`WaitPolicy`] is told what happened, and answers what to do [`Next`]; it reads no clock and
//! makes no system call. What kind of waiting it is, [`WaitSettings`] say.
//!
//! | module | noun |
//! | --- | --- |
//! | `policy` | the answer, from what the others know |
//! | `settings` | kinds of waiting: of a thread for its own messages, of a router, of a rank |
//! | `history` | whether polling has been paying |
//! | `polling` | a wait that polls, and when it yields the processor |
//! | `contention` | whether other threads compute on the same processor |
//! | `flow`, `gather_limits` | how fast frames pour in, and how many may gather |
//! | `rate_meter` | whether bytes pour through |
//! | `timers` | when a background thread reads the clock for threads that sleep |
//! | `tuning` | the parameters |

mod contention;
mod flow;
mod gather_limits;
mod history;
mod policy;
mod polling;
mod rate_meter;
mod settings;
mod timers;
mod tuning;

pub use flow::Polled;
pub use gather_limits::GatherLimits;
pub use policy::{Next, WaitPolicy, WaitTarget};
pub use polling::Polling;
pub use settings::WaitSettings;
pub use timers::TimerLoad;
pub use tuning::{BATCH_FRAMES, BUDGET, QUIET_TICKS, SHORTEST_TICK, TICK, TIMER_SLACK};
