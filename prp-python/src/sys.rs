//! Memory of Python objects, used while other Python threads run. The only unsafe code of this
//! crate.
#![allow(unsafe_code, reason = "Python's objects are lent to calls that do not hold its lock")]

pub(crate) mod buffer;
pub(crate) mod descriptor;
