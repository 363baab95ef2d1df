//! Bytes between the application and the segments.

mod pool;
mod queue;
mod receive;
mod send;

pub(crate) use pool::BufferPool;
pub(crate) use receive::RecvBuffer;
pub use receive::{MessagePart, Sink};
pub use send::Ending;
pub(crate) use send::{SendBuffer, Span};

#[cfg(test)]
mod tests;
