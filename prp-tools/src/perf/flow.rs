//! What both ends of a leg do with their connections.

use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use prp_sock::PrpStream;

use super::conn::Conn;
use super::control::Amount;

/// Bytes of a write and of a read: as iperf3 does, enough that system calls do not count.
const CHUNK: usize = 128 * 1024;

/// What streams are made of. All of them the same: memory each of hundreds would touch first is not
/// to be part of a measurement.
static SOURCE: [u8; CHUNK] = [0x5a; CHUNK];

/// Sends back each message of `size` bytes until there are no more, and calls `answered` after
/// each; how many bytes came.
///
/// # Errors
/// Those of the connection.
pub(super) fn echo(mut conn: &Conn, size: usize, mut answered: impl FnMut()) -> io::Result<u64> {
    if size == 0 {
        return echo_nothing(conn, answered).map(|()| 0);
    }
    let mut message = vec![0; size];
    let mut total = 0;
    loop {
        let mut filled = 0;
        while filled < message.len() {
            match conn.read(&mut message[filled..])? {
                0 if filled == 0 => return Ok(total),
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                n => filled += n,
            }
        }
        total += filled as u64;
        conn.write_all(&message)?;
        answered();
    }
}

/// Sends back messages without a byte in them.
fn echo_nothing(conn: &Conn, mut answered: impl FnMut()) -> io::Result<()> {
    let (stream, mut message) = (messages(conn)?, Vec::new());
    while stream.recv_message(&mut message)? {
        stream.send_message(&message)?;
        answered();
    }
    Ok(())
}

/// The stream of a transport that has messages.
fn messages(conn: &Conn) -> io::Result<&PrpStream> {
    match conn {
        Conn::Prp(stream) => Ok(stream),
        Conn::Tcp { .. } => Err(io::Error::other("TCP has no messages of 0 bytes")),
    }
}

/// Sends and receives one message of `message.len()` bytes; how long that took.
///
/// # Errors
/// Those of the connection.
pub(super) fn round_trip(mut conn: &Conn, message: &mut Vec<u8>) -> io::Result<Duration> {
    let begun = Instant::now();
    if message.is_empty() {
        let stream = messages(conn)?;
        stream.send_message(message)?;
        stream.recv_message(message)?;
    } else {
        conn.write_all(message)?;
        conn.read_exact(message)?;
    }
    Ok(begun.elapsed())
}

/// Sends a byte over a new connection and waits for the answer.
///
/// # Errors
/// Those of the connection.
pub(super) fn request(mut conn: &Conn) -> io::Result<()> {
    conn.write_all(&[1])?;
    conn.read_exact(&mut [0])
}

/// The other end's part in [`request`].
///
/// # Errors
/// Those of the connection.
pub(super) fn answer(mut conn: &Conn) -> io::Result<()> {
    conn.read_exact(&mut [0])?;
    conn.write_all(&[1])
}

/// Sends `amount`, ends the sending direction, and counts in `sent` meanwhile.
///
/// # Errors
/// Those of the connection.
pub(super) fn source(conn: &Conn, amount: Amount, sent: &AtomicU64) -> io::Result<()> {
    let begun = Instant::now();
    let mut done = 0;
    feed(conn, |last| {
        done += last as u64;
        sent.fetch_add(last as u64, Ordering::Relaxed);
        match amount {
            Amount::Seconds(s) if begun.elapsed().as_secs_f64() >= s => 0,
            Amount::Seconds(_) => CHUNK,
            Amount::Bytes(n) => usize::try_from(n - done).unwrap_or(CHUNK).min(CHUNK),
        }
    })
}

/// Sends as long as there are to be `more`, and ends the sending direction; how many bytes.
///
/// # Errors
/// Those of the connection.
pub(super) fn flood(conn: &Conn, more: impl Fn() -> bool) -> io::Result<u64> {
    let mut done = 0;
    feed(conn, |last| {
        done += last as u64;
        if more() { CHUNK } else { 0 }
    })?;
    Ok(done)
}

/// Sends as much as `next` says, at most [`CHUNK`], until that is nothing; then ends the sending
/// direction. `next` gets the number of bytes that were sent the time before.
fn feed(mut conn: &Conn, mut next: impl FnMut(usize) -> usize) -> io::Result<()> {
    let mut len = 0;
    loop {
        len = next(len);
        if len == 0 {
            return conn.end();
        }
        conn.write_all(&SOURCE[..len])?;
    }
}

/// Memory for [`sink`], touched already for the same reason as [`SOURCE`] is shared: the kernel
/// gives zeros only once they are read.
pub(super) fn chunk() -> Vec<u8> {
    vec![0x5a; CHUNK]
}

/// Receives into `chunk` until the end, and counts in `received` meanwhile.
///
/// # Errors
/// Those of the connection.
pub(super) fn sink(mut conn: &Conn, received: &AtomicU64, chunk: &mut [u8]) -> io::Result<()> {
    loop {
        match conn.read(chunk)? {
            0 => return Ok(()),
            n => received.fetch_add(n as u64, Ordering::Relaxed),
        };
    }
}
