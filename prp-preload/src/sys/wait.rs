//! Waiting for several descriptors.

use std::ffi::c_int;
use std::io;
use std::os::fd::AsRawFd;
use std::slice;
use std::sync::Arc;
use std::time::{Duration, Instant};

use libc::{epoll_event, nfds_t, pollfd};
use prp_sock::{Awaited, PrpStream, wait_any};

use super::socket_address::checked;
use crate::descriptor::{self, Descriptor};

/// How long the thread polls one kind of descriptor before it checks the others. Those have events
/// only at the start and the end of a job.
const SLICE: Duration = Duration::from_millis(1);

/// `poll` with at least one descriptor of PRP.
///
/// # Safety
/// As for `poll`.
pub(super) unsafe fn poll(
    fds: *mut pollfd,
    count: nfds_t,
    timeout: c_int,
) -> Option<io::Result<c_int>> {
    if fds.is_null() {
        return None;
    }
    // SAFETY: the caller has passed an array of that many.
    let fds = unsafe { slice::from_raw_parts_mut(fds, count as usize) };
    let known: Vec<_> = fds.iter().map(|fd| descriptor::find(fd.fd)).collect();
    if known.iter().all(Option::is_none) {
        return None;
    }
    let timeout = u64::try_from(timeout).ok().map(Duration::from_millis);
    Some(poll_until(fds, &known, timeout.map(|t| Instant::now() + t)))
}

/// Polls until a descriptor is ready or the timeout has passed.
fn poll_until(
    fds: &mut [pollfd],
    known: &[Option<Arc<Descriptor>>],
    deadline: Option<Instant>,
) -> io::Result<c_int> {
    let streams: Vec<Option<&PrpStream>> =
        known.iter().map(|d| d.as_ref()?.as_stream().ok()).collect();
    let has_streams = streams.iter().any(Option::is_some);
    let has_others = fds.iter().zip(&streams).any(|(fd, stream)| fd.fd >= 0 && stream.is_none());
    loop {
        for fd in &mut *fds {
            fd.revents = 0;
        }
        let left = deadline.map(|d| d.saturating_duration_since(Instant::now()));
        let slice = if has_others { Some(left.map_or(SLICE, |l| l.min(SLICE))) } else { left };
        let mut ready = if has_streams { poll_streams(fds, &streams, slice)? } else { 0 };
        // If a descriptor is ready, the call returns at once. Only otherwise it waits.
        if has_others && ready == 0 {
            let slice = if has_streams { Duration::ZERO } else { slice.unwrap_or(SLICE) };
            ready = poll_listeners(fds, known, slice) + poll_others(fds, known)?;
        }
        if ready > 0 || left.is_some_and(|l| l.is_zero()) {
            return Ok(ready);
        }
    }
}

/// Waits for each listener for the timeout, and records those with a connection.
fn poll_listeners(
    fds: &mut [pollfd],
    known: &[Option<Arc<Descriptor>>],
    timeout: Duration,
) -> c_int {
    let mut ready = 0;
    for (fd, known) in fds.iter_mut().zip(known) {
        let Some(known) = known else { continue };
        if fd.events & libc::POLLIN != 0 && known.has_connection(timeout) {
            fd.revents = libc::POLLIN;
            ready += 1;
        }
    }
    ready
}

/// Waits for the streams, and records which operations they are ready for.
fn poll_streams(
    fds: &mut [pollfd],
    streams: &[Option<&PrpStream>],
    timeout: Option<Duration>,
) -> io::Result<c_int> {
    let mut places = Vec::with_capacity(fds.len());
    let mut awaited = Vec::with_capacity(fds.len());
    for (at, (fd, stream)) in fds.iter().zip(streams).enumerate() {
        let Some(stream) = stream else { continue };
        if fd.events & libc::POLLIN != 0 {
            places.push((at, libc::POLLIN));
            awaited.push(Awaited::read(stream));
        }
        if fd.events & libc::POLLOUT != 0 {
            places.push((at, libc::POLLOUT));
            awaited.push(Awaited::write(stream));
        }
    }
    if awaited.is_empty() {
        std::thread::sleep(timeout.unwrap_or(SLICE));
        return Ok(0);
    }
    wait_any(&mut awaited, None, timeout)?;
    let mut ready = 0;
    for ((at, event), _) in places.iter().zip(&awaited).filter(|(_, a)| a.is_ready()) {
        ready += c_int::from(fds[*at].revents == 0);
        fds[*at].revents |= event;
    }
    Ok(ready)
}

/// Polls the kernel's own descriptors without waiting.
fn poll_others(fds: &mut [pollfd], known: &[Option<Arc<Descriptor>>]) -> io::Result<c_int> {
    if known.iter().all(Option::is_some) {
        return Ok(0);
    }
    let mut others: Vec<_> = fds
        .iter()
        .zip(known)
        // The kernel ignores a negative descriptor.
        .map(|(fd, known)| if known.is_some() { pollfd { fd: -1, ..*fd } } else { *fd })
        .collect();
    // SAFETY: an array of that many.
    let ready = checked(unsafe { libc::poll(others.as_mut_ptr(), others.len() as nfds_t, 0) })?;
    for ((fd, other), _) in
        fds.iter_mut().zip(&others).zip(known).filter(|(_, known)| known.is_none())
    {
        fd.revents = other.revents;
    }
    Ok(ready)
}

/// `epoll_ctl` first replaces the kernel socket by the readiness descriptor of the stream or
/// listener, and then registers it with the kernel.
///
/// # Safety
/// As for `epoll_ctl`.
pub(super) unsafe fn epoll_ctl(
    _epoll: c_int,
    operation: c_int,
    fd: c_int,
    _event: *mut epoll_event,
) -> Option<io::Result<c_int>> {
    let known = descriptor::find(fd)?;
    if operation != libc::EPOLL_CTL_ADD {
        return None;
    }
    let readiness = match &*known {
        Descriptor::Stream { stream, .. } => stream.readiness(),
        Descriptor::Listener { listener, .. } => listener.readiness(),
    };
    let shown = readiness.and_then(|readiness| {
        // SAFETY: both are open descriptors.
        checked(unsafe { libc::dup2(readiness.as_raw_fd(), fd) })
    });
    shown.err().map(Err)
}
