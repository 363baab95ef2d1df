//! Bytes between the application and the segments.

mod receive;
mod ring;
mod send;

pub(crate) use receive::RecvBuffer;
pub use receive::{MessagePart, Sink};
pub use send::Ending;
pub(crate) use send::SendBuffer;

#[cfg(test)]
mod tests;
