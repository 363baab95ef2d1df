//! The two directions: standard input to a stream, a stream to standard output.

use std::io::{self, ErrorKind, PipeReader, Read, Write};
use std::time::Duration;

use nix::sys::signal::Signal;
use prp_sock::PrpStream;

use super::input::{CHUNK, Input};
use super::output::Output;
use super::progress::{Counts, Progress};

/// What broke, and how.
#[derive(Debug)]
pub(super) enum CopyError {
    /// Standard input.
    Input(io::Error),
    /// Standard output.
    Output(io::Error),
    /// The connection.
    Stream(io::Error),
    /// Nothing has moved for the time of --timeout.
    Idle(Duration),
    /// Nothing: the program is to end.
    Signal(Signal),
}

/// Sends `input` until it ends or the other end of `stop` is closed.
pub(super) fn send_bytes(
    mut stream: &PrpStream,
    input: &mut Input,
    stop: &PipeReader,
    counts: &Counts,
) -> Result<(), CopyError> {
    loop {
        let chunk = input.fill(stop).map_err(CopyError::Input)?;
        if chunk.is_empty() {
            return Ok(());
        }
        stream.write_all(chunk).map_err(CopyError::Stream)?;
        let len = chunk.len();
        counts.add_sent(len);
        input.consume(len);
    }
}

/// As [`send_bytes`], each line as a message without its line break.
pub(super) fn send_lines(
    stream: &PrpStream,
    input: &mut Input,
    stop: &PipeReader,
    counts: &Counts,
) -> Result<(), CopyError> {
    let send = |message: &[u8]| {
        counts.add_sent(message.len());
        stream.send_message(message).map_err(CopyError::Stream)
    };
    // The beginning of a line that is not here whole.
    let mut begun = Vec::new();
    loop {
        let chunk = input.fill(stop).map_err(CopyError::Input)?;
        let break_at = chunk.iter().position(|b| *b == b'\n');
        let used = match break_at {
            Some(at) if begun.is_empty() => {
                send(&chunk[..at])?;
                at + 1
            }
            Some(at) => {
                begun.extend_from_slice(&chunk[..at]);
                send(&begun)?;
                begun.clear();
                at + 1
            }
            None if chunk.is_empty() => {
                // A last line need not have a line break.
                return if begun.is_empty() { Ok(()) } else { send(&begun) };
            }
            None => {
                begun.extend_from_slice(chunk);
                chunk.len()
            }
        };
        input.consume(used);
    }
}

/// Writes what comes to `output` until the peer ends it; then that has ended too.
pub(super) fn receive_bytes(
    mut stream: &PrpStream,
    mut output: Output,
    counts: &Counts,
    progress: &Progress,
) -> Result<(), CopyError> {
    let mut buf = vec![0; CHUNK];
    loop {
        match stream.read(&mut buf) {
            Ok(0) => return Ok(()),
            Ok(n) => {
                counts.add_received(n);
                progress.yield_terminal();
                output.put(&buf[..n]).map_err(CopyError::Output)?;
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(CopyError::Stream(e)),
        }
    }
}

/// As [`receive_bytes`], with a line break after each message.
pub(super) fn receive_lines(
    stream: &PrpStream,
    mut output: Output,
    counts: &Counts,
    progress: &Progress,
) -> Result<(), CopyError> {
    // With room for the line break, so that a message and its break are one write.
    let mut buf = vec![0; CHUNK + 1];
    loop {
        match stream.recv_message_part(&mut buf[..CHUNK]) {
            Ok(None) => return Ok(()),
            Ok(Some(part)) => {
                counts.add_received(part.len);
                progress.yield_terminal();
                buf[part.len] = b'\n';
                let len = part.len + usize::from(part.end);
                output.put(&buf[..len]).map_err(CopyError::Output)?;
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(CopyError::Stream(e)),
        }
    }
}
