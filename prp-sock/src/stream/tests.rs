//! Streams over a wire made of pipes, as a program that used TCP sees them.

mod close;
mod connect;
mod delivered;
mod messages;
mod nonblocking;
mod options;
mod readiness;
mod transfer;

/// Bytes that tell where in a stream they belong.
fn pattern(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i % 251) as u8).collect()
}
