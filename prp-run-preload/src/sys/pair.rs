//! The program's end of a pair: what it is called, and putting it in the place of a socket.

use std::ffi::c_int;
use std::mem::{offset_of, zeroed};
use std::os::fd::{AsRawFd, OwnedFd};

use prp_run::{PENDING_BUFFER, PairName};

use super::call::{self, Errno};
use super::process::settings;
use super::{epoll, family, linger};

/// Returns the name of the pair whose end `fd` is; `None` if it is none.
pub(super) fn name_of(fd: c_int) -> Option<PairName> {
    // SAFETY: all zeros is a value of this type.
    let mut storage: libc::sockaddr_storage = unsafe { zeroed() };
    let len = call::local_address(fd, &mut storage).ok()?;
    if c_int::from(storage.ss_family) != libc::AF_UNIX {
        return None;
    }
    // The family, and the zero byte of an abstract name.
    let name_at = offset_of!(libc::sockaddr_un, sun_path) + 1;
    let len = len.checked_sub(name_at)?;
    // SAFETY: the kernel has written that many bytes behind the family.
    let name = unsafe {
        let at = (&raw const storage).cast::<u8>().add(name_at);
        std::slice::from_raw_parts(at, len.min(size_of_val(&storage) - name_at))
    };
    PairName::parse(name).filter(|_| is_of_holder(fd))
}

/// Whether the holder, or root, has made the pair: anybody can give a socket such a name.
fn is_of_holder(fd: c_int) -> bool {
    let mut maker = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let known = call::option(fd, libc::SOL_SOCKET, libc::SO_PEERCRED, &mut maker);
    known.is_ok() && settings().is_some_and(|settings| maker.uid == settings.user || maker.uid == 0)
}

/// The state of a pair's connection.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) enum State {
    /// It is still to come.
    Pending,
    /// It has not come, and will not.
    Failed,
    /// It was there, and may be over.
    Connected,
}

/// Returns the state of a pair's connection.
pub(super) fn state(fd: c_int) -> State {
    let size = call::number_option(fd, libc::SO_SNDBUF);
    if size.is_ok_and(|size| size >= PENDING_BUFFER as c_int) || size.is_err() {
        return State::Connected;
    }
    match call::poll(fd, 0, false) {
        Ok(shown) if shown & libc::POLLHUP != 0 => State::Failed,
        _ => State::Pending,
    }
}

/// Puts `end` in the place of the socket `fd`, with its flags and timeouts.
pub(super) fn place(fd: c_int, end: &OwnedFd) -> Result<(), Errno> {
    let flag = take_settings(fd, end)?;
    let registered = epoll::registrations(fd)?;
    let done = call::dup3(end, fd, flag);
    registered.renew(fd);
    done
}

/// As [`place`], for a socket that `accept` has just returned: no set of epoll has it.
pub(super) fn place_accepted(fd: c_int, end: &OwnedFd) -> Result<(), Errno> {
    let flag = take_settings(fd, end)?;
    call::dup3(end, fd, flag)
}

/// Gives `end` the flags and timeouts of the socket `fd`. Returns the flag of its descriptor.
fn take_settings(fd: c_int, end: &OwnedFd) -> Result<c_int, Errno> {
    let flags = call::fcntl(fd, libc::F_GETFL, 0)?;
    let close = call::fcntl(fd, libc::F_GETFD, 0)? & libc::FD_CLOEXEC;
    let kept = flags & (libc::O_NONBLOCK | libc::O_ASYNC);
    if kept != 0 {
        call::fcntl(end.as_raw_fd(), libc::F_SETFL, kept)?;
    }
    for name in [libc::SO_RCVTIMEO, libc::SO_SNDTIMEO] {
        let mut time = libc::timeval { tv_sec: 0, tv_usec: 0 };
        if call::option(fd, libc::SOL_SOCKET, name, &mut time).is_ok()
            && (time.tv_sec, time.tv_usec) != (0, 0)
        {
            let _ = call::set_option(end.as_raw_fd(), libc::SOL_SOCKET, name, &time);
        }
    }
    if let Ok(1) = call::number_option(fd, libc::SO_KEEPALIVE) {
        let _ = call::set_option(end.as_raw_fd(), libc::SOL_SOCKET, libc::SO_KEEPALIVE, &1_i32);
    }
    if let Some(settings) = settings() {
        linger::pass_on(settings, fd, end);
    }
    family::pass_on(fd, end)?;
    Ok(if close == 0 { 0 } else { libc::O_CLOEXEC })
}
