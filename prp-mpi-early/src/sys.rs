//! All of this library: functions that C calls, with pointers of C.
#![allow(unsafe_code, reason = "functions that C calls, with pointers of C")]
#![allow(unreachable_pub, reason = "exported to C")]

mod interface;
mod mask;
mod memory;
mod next;
mod stacks;
