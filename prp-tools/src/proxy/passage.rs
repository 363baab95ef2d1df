//! A connection and the one that it is passed on to: both directions, until both have ended in
//! order, or one has broken.

use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use parking_lot::Mutex;

use super::stream::ProxyStream;

/// Bytes read at once: what iperf3 does, enough that system calls do not count.
const CHUNK: usize = 128 * 1024;

/// Which of the two connections.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) enum PassageSide {
    /// The one that came.
    Client,
    /// The one that it is passed on to.
    Target,
}

/// The first thing that broke.
#[derive(Debug)]
pub(super) struct Breakage {
    pub(super) side: PassageSide,
    pub(super) error: io::Error,
}

/// One of the two connections.
#[derive(Debug)]
struct PassageEnd {
    side: PassageSide,
    stream: ProxyStream,
    /// The direction to its peer was ended, in order.
    is_ended: AtomicBool,
    /// Held while anything is written to it, until it is known whether that broke. The error of a
    /// connection is reported once: after a write that got it, a read gives an end.
    sending: Mutex<()>,
}

/// What broke first, if anything has.
type Broken = Mutex<Option<Breakage>>;

/// Passes both directions of `client` and `target` on. Where one of the connections breaks, both
/// are reset, since no peer could tell what is missing from an orderly end; but one whose peer has
/// all that was to come for it is closed.
///
/// # Errors
/// What broke first.
pub(super) fn pass(client: ProxyStream, target: ProxyStream) -> Result<(), Breakage> {
    let [client, target] =
        [(PassageSide::Client, client), (PassageSide::Target, target)].map(|(side, stream)| {
            PassageEnd { side, stream, is_ended: AtomicBool::new(false), sending: Mutex::new(()) }
        });
    let broken = Broken::default();
    thread::scope(|scope| {
        let back = || copy(&target, &client, &broken);
        match thread::Builder::new().spawn_scoped(scope, back) {
            Ok(_) => copy(&client, &target, &broken),
            Err(error) => client.break_with(error, &broken),
        }
    });
    for end in [client, target] {
        if end.is_ended.into_inner() {
            end.stream.close();
        }
    }
    broken.into_inner().map_or(Ok(()), Err)
}

/// Copies one direction until it ends, or until anything breaks.
fn copy(from: &PassageEnd, to: &PassageEnd, broken: &Broken) {
    let mut buffer = vec![0; CHUNK];
    let is_broken = || broken.lock().is_some();
    while !is_broken() {
        match (&from.stream).read(&mut buffer) {
            Ok(0) => {
                drop(from.sending.lock());
                if !is_broken() {
                    to.end(broken);
                }
                break;
            }
            Ok(count) => {
                let mut left = &buffer[..count];
                while !left.is_empty() && !is_broken() {
                    left = &left[to.send(left, broken)..];
                }
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => from.break_with(e, broken),
        }
    }
    if is_broken() {
        // The other direction ends as well, and sees why.
        for end in [from, to] {
            let _ = end.stream.shutdown(Shutdown::Read);
        }
    }
}

impl PassageEnd {
    /// Sends some of `bytes`; how many.
    fn send(&self, bytes: &[u8], broken: &Broken) -> usize {
        let _sending = self.sending.lock();
        match (&self.stream).write(bytes) {
            Ok(count) => return count,
            Err(e) if matches!(e.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock) => {}
            Err(e) => self.break_with(e, broken),
        }
        0
    }

    /// Ends the direction to its peer.
    fn end(&self, broken: &Broken) {
        let _sending = self.sending.lock();
        let ended = match self.stream.shutdown(Shutdown::Write) {
            // A peer that has all, and has left, may be through with the connection.
            Err(e) if e.kind() == ErrorKind::NotConnected => {
                self.stream.take_error().and_then(|error| error.map_or(Ok(()), Err))
            }
            ended => ended,
        };
        match ended {
            Ok(()) => self.is_ended.store(true, Ordering::Relaxed),
            Err(e) => self.break_with(e, broken),
        }
    }

    /// Notes that it has broken, unless anything has before.
    fn break_with(&self, error: io::Error, broken: &Broken) {
        broken.lock().get_or_insert(Breakage { side: self.side, error });
    }
}
