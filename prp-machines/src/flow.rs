//! A program for scenes: a connection whose bytes, or messages, are known in advance in both
//! directions, so that the first one that is wrong is named with its place.

mod connection;
mod pattern;

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use clap::Args;

use crate::failure::{Context, Failure, Outcome};
use crate::output;
use connection::{Connection, accept, connect};
use pattern::{Pattern, message_len};

/// Bytes that are written at a time.
const CHUNK: usize = 64 * 1024;

/// How often progress is written to its file.
const REPORT: Duration = Duration::from_millis(50);

/// Send known bytes in both directions over a connection and check them
#[derive(Clone, Debug, Args)]
pub(crate) struct FlowArgs {
    /// Waits for the other end at this port
    #[arg(long, conflicts_with = "connect", required_unless_present = "connect")]
    listen: Option<u16>,
    /// Connects to the other end: NODE:PORT, or IP:PORT with --tcp
    #[arg(long)]
    connect: Option<String>,
    /// Bytes to send
    #[arg(long, default_value_t = 20_000_000)]
    bytes: u64,
    /// Sends until this file exists, in place of a number of bytes
    #[arg(long)]
    until: Option<PathBuf>,
    /// Milliseconds between two pieces of 64 KiB
    #[arg(long, default_value_t = 0)]
    pause: u64,
    /// Sends a piece of 64 KiB only when as much has arrived as was sent before: a connection that
    /// repairs no loss must not lose what a queue cannot take
    #[arg(long)]
    lockstep: bool,
    /// Sends messages of many sizes, in place of a stream
    #[arg(long)]
    messages: bool,
    /// Knows only the header of 1997
    #[arg(long)]
    classic: bool,
    /// Over TCP
    #[arg(long, conflicts_with_all = ["messages", "classic"])]
    tcp: bool,
    /// Seconds until data without an acknowledgement end the connection; no keepalive does before
    #[arg(long)]
    user_timeout: Option<u64>,
    /// Writes the number of received bytes to this file now and then
    #[arg(long)]
    progress: Option<PathBuf>,
}

/// What the threads of an end know of each other.
#[derive(Debug, Default)]
struct Progress {
    /// Bytes that have arrived.
    received: AtomicU64,
    /// Nothing is received any more.
    is_over: AtomicBool,
}

impl Progress {
    /// Whether less has arrived than was sent, and more may.
    fn is_behind(&self, sent: u64) -> bool {
        self.received.load(Ordering::Relaxed) < sent && !self.is_over.load(Ordering::Relaxed)
    }
}

/// Runs an end of a flow; prints how much was sent and received.
///
/// # Errors
/// The connection breaks, or a byte or a message is not what was sent.
pub(crate) fn run(args: &FlowArgs) -> Outcome {
    let connection = match (&args.connect, args.listen) {
        (Some(peer), _) => connect(args, peer).context(format!("connect to {peer}"))?,
        (None, port) => accept(args, port.unwrap_or_default()).context("accept")?,
    };
    // Each direction has bytes of its own.
    let (own, other) = if args.connect.is_some() { (1, 2) } else { (2, 1) };
    let progress = Progress::default();
    thread::scope(|scope| {
        let sender = scope.spawn(|| send(args, &connection, own, &progress));
        if let Some(path) = &args.progress {
            scope.spawn(|| report(path, &progress));
        }
        let got = receive(args, &connection, other, &progress);
        progress.is_over.store(true, Ordering::Relaxed);
        if got.is_err() {
            // The sender would wait for an end that does not read any more.
            connection.close();
        }
        let sent = sender.join().unwrap_or_else(|_| Err(Failure::new("the sender has panicked")));
        let (got, sent) = (got?, sent?);
        output::line(format_args!("{sent} bytes sent, {got} received"));
        Ok(())
    })
}

/// Whether more is to be sent after `sent` bytes.
fn goes_on(args: &FlowArgs, sent: u64) -> bool {
    match &args.until {
        Some(file) => !file.exists(),
        None => sent < args.bytes,
    }
}

/// Sends all and ends this direction; returns the number of bytes.
fn send(
    args: &FlowArgs,
    connection: &Connection,
    direction: u64,
    progress: &Progress,
) -> Outcome<u64> {
    let (mut pattern, mut piece, mut sent, mut number) =
        (Pattern::new(direction), Vec::new(), 0, 0);
    let during = |sent: u64| format!("sending, after {sent} bytes");
    while goes_on(args, sent) {
        let len = if args.messages { message_len(number) } else { CHUNK };
        piece.resize(len, 0);
        pattern.fill(&mut piece);
        let written =
            if args.messages { connection.send_message(&piece) } else { connection.write(&piece) };
        written.with_context(|| during(sent))?;
        sent += len as u64;
        number += 1;
        while args.lockstep && progress.is_behind(sent) {
            thread::sleep(Duration::from_millis(1));
        }
        if args.pause > 0 {
            thread::sleep(Duration::from_millis(args.pause));
        }
    }
    connection.end().with_context(|| during(sent))?;
    Ok(sent)
}

/// Receives and checks all until the other end has ended; returns the number of bytes.
fn receive(
    args: &FlowArgs,
    connection: &Connection,
    direction: u64,
    progress: &Progress,
) -> Outcome<u64> {
    let (mut pattern, mut piece, mut number) = (Pattern::new(direction), vec![0; CHUNK], 0);
    let mut count = 0;
    let during = |count: u64| format!("receiving, after {count} bytes");
    loop {
        let got = if args.messages {
            piece.clear();
            let is_there = connection.recv_message(&mut piece).with_context(|| during(count))?;
            is_there.then_some(piece.len())
        } else {
            Some(connection.read(&mut piece).with_context(|| during(count))?).filter(|n| *n > 0)
        };
        let Some(len) = got else { return Ok(count) };
        if args.messages && len != message_len(number) {
            let wanted = message_len(number);
            return Err(Failure::new(format!("message {number} has {len} bytes, not {wanted}")));
        }
        if let Some(at) = pattern.first_difference(&piece[..len]) {
            return Err(Failure::new(format!("byte {} is not what was sent", count + at as u64)));
        }
        count += len as u64;
        number += 1;
        progress.received.store(count, Ordering::Relaxed);
    }
}

/// Writes the number of received bytes to `path` until all is over.
fn report(path: &Path, progress: &Progress) {
    let fresh = path.with_extension("new");
    while !progress.is_over.load(Ordering::Relaxed) {
        let count = format!("{}\n", progress.received.load(Ordering::Relaxed));
        // A reader never sees half a number.
        let _ = fs::write(&fresh, count).and_then(|()| fs::rename(&fresh, path));
        thread::sleep(REPORT);
    }
}

/// As [`Context`], with text that is made only if it is needed.
trait WithContext<T> {
    fn with_context(self, during: impl FnOnce() -> String) -> Outcome<T>;
}

impl<T> WithContext<T> for io::Result<T> {
    fn with_context(self, during: impl FnOnce() -> String) -> Outcome<T> {
        self.map_err(|e| {
            let kind: ErrorKind = e.kind();
            Failure::new(format!("{}: {e} ({kind:?})", during()))
        })
    }
}
