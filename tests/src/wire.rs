//! A wire between two devices that loses, repeats, reorders, changes and delays frames. `topo up
//! --loss` or `--delay` puts it into a link. It runs in user space, because not every kernel has
//! netem, and not every user may load a program into the kernel. It treats frames of all protocols
//! alike.
//!
//! One seed decides all faults, separately for each direction: the same frames in the same order
//! have the same faults. On a real device the order of frames varies, so that runs with one seed
//! are similar, but not equal. Only the simulator repeats a run exactly.

mod delay;
mod end;
mod faults;
mod impairment;
mod link;

pub use delay::{BothDirections, DelayLine};
pub use faults::{Faults, Settings};
pub use impairment::{Counters, Impairment};
pub use link::Link;
