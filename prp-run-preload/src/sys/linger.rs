//! `SO_LINGER` of zero: the connection is reset when it is closed. The kernel keeps the option with
//! a pair, and the holder is told, which alone sees that no process has the pair any more.

use std::ffi::c_int;
use std::os::fd::{AsRawFd, OwnedFd};

use prp_run::{Request, RequestKind, Settings};

use super::process::unconfined;
use super::{call, holder, pair};

fn of(fd: c_int) -> Option<libc::linger> {
    let mut linger = libc::linger { l_onoff: 0, l_linger: 0 };
    call::option(fd, libc::SOL_SOCKET, libc::SO_LINGER, &mut linger).ok().map(|()| linger)
}

/// Whether the option has the connection be reset.
pub(super) fn resets(fd: c_int) -> bool {
    of(fd).is_some_and(|linger| linger.l_onoff != 0 && linger.l_linger == 0)
}

/// Tells the holder what the option of a pair says, if it said otherwise `before`.
pub(super) fn tell(settings: &Settings, fd: c_int, before: bool) {
    let now = resets(fd);
    if now == before || unconfined().is_none() {
        return;
    }
    // Another holder counts its connections alike.
    let name = pair::name_of(fd).filter(|name| name.session == settings.session as u32);
    let Some(name) = name else { return };
    let mut request = Request::new(RequestKind::ResetOnClose, settings.token);
    (request.number, request.port) = (name.number, now.into());
    let _ = holder::ask_soon(settings, &request);
}

/// Gives `end` the option of the socket `fd`, whose place it takes.
pub(super) fn pass_on(settings: &Settings, fd: c_int, end: &OwnedFd) {
    if let Some(linger) = of(fd).filter(|linger| linger.l_onoff != 0) {
        let end = end.as_raw_fd();
        let _ = call::set_option(end, libc::SOL_SOCKET, libc::SO_LINGER, &linger);
        tell(settings, end, false);
    }
}
