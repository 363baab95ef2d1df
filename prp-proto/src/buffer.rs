//! Bytes between the application and the segments.

mod queue;
mod receive;
mod send;
mod stock;

pub(crate) use receive::RecvBuffer;
pub use receive::{MessagePart, Sink};
pub use send::Ending;
pub(crate) use send::{SendBuffer, Span};
pub(crate) use stock::Stock;

#[cfg(test)]
mod tests;
