//! A wire between two devices that loses, repeats, reorders and changes frames: what `topo up
//! --loss` puts into a link, in user space because not every kernel has netem, and not every user
//! may load a program into the kernel. Every frame, of whatever protocol, gets the same treatment.
//!
//! One seed decides all of it, for each direction on its own: the same frames in the same order
//! meet the same faults. On a real device the order is the machine's, so a seed makes runs alike,
//! not equal; what replays exactly is the simulator.

mod faults;
mod impairment;
mod link;

pub use faults::{Faults, Settings};
pub use impairment::{Counters, Impairment};
pub use link::Link;
