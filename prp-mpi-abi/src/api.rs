//! The functions of the standard, with the parameters of C and `Result`s. Those that take counts
//! serve both sizes.

pub(crate) mod attribute;
pub(crate) mod buffer;
pub(crate) mod collective;
pub(crate) mod communicator;
pub(crate) mod datatype;
pub(crate) mod dynamic;
pub(crate) mod early;
pub(crate) mod environment;
pub(crate) mod error;
pub(crate) mod file;
pub(crate) mod group;
pub(crate) mod handle_number;
pub(crate) mod info;
pub(crate) mod message;
pub(crate) mod operation;
pub(crate) mod request;
pub(crate) mod session;
pub(crate) mod tool;
pub(crate) mod topology;
pub(crate) mod window;

pub(crate) use attribute::*;
pub(crate) use buffer::*;
pub(crate) use collective::*;
pub(crate) use communicator::*;
pub(crate) use datatype::*;
pub(crate) use dynamic::*;
pub(crate) use environment::*;
pub(crate) use error::*;
pub(crate) use file::*;
pub(crate) use group::*;
pub(crate) use handle_number::*;
pub(crate) use info::*;
pub(crate) use message::*;
pub(crate) use operation::*;
pub(crate) use request::*;
pub(crate) use session::*;
pub(crate) use tool::*;
pub(crate) use topology::*;
pub(crate) use window::*;

pub(crate) const ANY_SOURCE: i32 = -1;
pub(crate) const ANY_TAG: i32 = -2;
pub(crate) const PROC_NULL: i32 = -3;
/// The root of an operation between two groups, as itself says it.
pub(crate) const ROOT: i32 = -4;
pub(crate) const UNDEFINED: i32 = -32766;
pub(crate) const IDENT: i32 = 201;
pub(crate) const CONGRUENT: i32 = 202;
pub(crate) const SIMILAR: i32 = 203;
pub(crate) const UNEQUAL: i32 = 204;
