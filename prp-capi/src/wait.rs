//! Waiting for any of several streams and listeners.

use std::ffi::c_int;
use std::io;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

use prp_sock::{Awaited, wait_any_polling};

use crate::error_number::invalid;
use crate::listener::{LISTENERS, Listener};
use crate::stream::{STREAMS, Stream};
use crate::sys::export as names;
use crate::sys::pointer::{ListenerPtr, StreamPtr};

/// `prp_wait`.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct WaitEntry {
    stream: *mut StreamPtr,
    listener: *mut ListenerPtr,
    events: c_int,
    ready: c_int,
}

/// What an entry waits for.
enum Source {
    Stream(Arc<Stream>),
    Listener(Arc<Listener>),
}

impl Source {
    fn of(entry: &WaitEntry) -> io::Result<Self> {
        let known = names::PRP_READ | names::PRP_WRITE;
        if entry.events & known == 0 || entry.events & !known != 0 {
            return Err(invalid(format!("events {}: PRP_READ, PRP_WRITE or both", entry.events)));
        }
        if entry.stream.is_null() {
            if entry.events != names::PRP_READ {
                return Err(invalid("a listener is waited for with PRP_READ"));
            }
            return LISTENERS.get().find(entry.listener.addr()).map(Self::Listener);
        }
        STREAMS.get().find(entry.stream.addr()).map(Self::Stream)
    }

    /// What to wait for, each with its event.
    fn awaited(&self, events: c_int) -> impl Iterator<Item = (c_int, Awaited<'_>)> {
        let both = match self {
            Self::Listener(l) => [Some((names::PRP_READ, Awaited::accept(&l.listener))), None],
            Self::Stream(s) => {
                let read = events & names::PRP_READ != 0;
                let write = events & names::PRP_WRITE != 0;
                [
                    read.then(|| (names::PRP_READ, Awaited::read(&s.stream))),
                    write.then(|| (names::PRP_WRITE, Awaited::write(&s.stream))),
                ]
            }
        };
        both.into_iter().flatten()
    }
}

/// Waits for any of `entries`, or until `other` is readable; how many are ready.
pub(crate) fn wait_for_any(
    entries: &mut [WaitEntry],
    other: Option<BorrowedFd<'_>>,
    timeout: Option<Duration>,
) -> io::Result<usize> {
    entries.iter_mut().for_each(|entry| entry.ready = 0);
    let sources = entries.iter().map(Source::of).collect::<io::Result<Vec<_>>>()?;
    let (mut places, mut awaited) = (Vec::new(), Vec::new());
    for (at, source) in sources.iter().enumerate() {
        for (event, one) in source.awaited(entries[at].events) {
            places.push((at, event));
            awaited.push(one);
        }
    }
    wait_any_polling(&mut awaited, other, timeout)?;
    for ((at, event), one) in places.into_iter().zip(&awaited) {
        if one.is_ready() {
            entries[at].ready |= event;
        }
    }
    Ok(entries.iter().filter(|entry| entry.ready != 0).count())
}
