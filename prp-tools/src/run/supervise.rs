//! The place seccomp: the kernel shows calls of the program to the holder.

use std::fs;
use std::io::{self, IoSlice, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};

use nix::errno::Errno;
use nix::libc;
use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};
use nix::unistd::geteuid;
use prp_run::{Answer, Request, RequestKind, Settings};

use super::filter;
use crate::exit::{Code, Failure};
use crate::sys::seccomp;

/// Who may look into others' processes (Yama): from 2 on only who has the capability for it.
const SCOPE: &str = "/proc/sys/kernel/yama/ptrace_scope";

/// What ordinary users may do no more.
const RESTRICTED: u32 = 2;

/// Checks what can be told before a holder is started.
///
/// # Errors
/// This machine's kernel does not show calls to this user.
pub(super) fn check() -> Result<(), Failure> {
    let scope = fs::read_to_string(SCOPE).ok().and_then(|text| text.trim().parse().ok());
    if scope.unwrap_or(0) < RESTRICTED || geteuid().is_root() {
        return Ok(());
    }
    let text = format!("the program's memory cannot be read ({SCOPE} is above 1)");
    Err(Failure::new(Code::NotPermitted, text))
}

/// The descriptor on which the kernel shows calls, and a way to the holder: from now on this
/// process can make no other one, since to connect is a call that is shown.
#[derive(Debug)]
pub(super) struct Shown {
    listener: OwnedFd,
    holder: UnixStream,
}

/// Has the kernel show the calls of this process, and of what it becomes and starts.
///
/// # Errors
/// The kernel does not, and calls are as before; or the holder has ended.
pub(super) fn begin(settings: &Settings) -> Result<Shown, Failure> {
    let holder = SocketAddr::from_abstract_name(settings.socket_name())
        .and_then(|name| UnixStream::connect_addr(&name))
        .map_err(|e| failed(&e))?;
    let Some(filter) = filter::program() else {
        return Err(Failure::new(Code::Failed, "no filter for this kind of machine".to_owned()));
    };
    let listener = seccomp::install(&filter).map_err(|e| refused(&e))?;
    Ok(Shown { listener, holder })
}

impl Shown {
    /// Hands the calls over to the holder. Returns its number as a process.
    ///
    /// # Errors
    /// The holder has ended: nobody answers calls that are shown.
    pub(super) fn hand_over(self, settings: &Settings) -> Result<i32, Failure> {
        let bytes = Request::new(RequestKind::Supervise, settings.token).to_bytes();
        let fds = [self.listener.as_raw_fd()];
        let rights = [ControlMessage::ScmRights(&fds)];
        let (socket, parts) = (self.holder.as_raw_fd(), [IoSlice::new(&bytes)]);
        sendmsg::<()>(socket, &parts, &rights, MsgFlags::MSG_NOSIGNAL, None)
            .map_err(|e| failed(&e.into()))?;
        let mut bytes = [0; Answer::SIZE];
        (&self.holder).read_exact(&mut bytes).map_err(|e| failed(&e))?;
        match Answer::parse(&bytes) {
            Some(Answer { errno: 0, ip, .. }) => Ok(i32::from_ne_bytes(ip)),
            Some(Answer { errno, .. }) => Err(failed(&Errno::from_raw(errno).into())),
            None => Err(failed(&io::ErrorKind::InvalidData.into())),
        }
    }
}

fn failed(error: &io::Error) -> Failure {
    Failure::local("the holder of connections", error)
}

/// Says why the kernel shows no calls.
fn refused(error: &io::Error) -> Failure {
    let text = match error.raw_os_error() {
        Some(libc::EINVAL | libc::ENOSYS) => {
            "the kernel shows no calls to other processes: Linux 5.19 is needed".to_owned()
        }
        Some(libc::EBUSY) => {
            "the calls are shown to another process already, such as an outer prp run".to_owned()
        }
        _ => format!("seccomp: {error}"),
    };
    Failure::new(Code::Failed, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refused__tells_what_is_needed() {
        for (errno, part) in
            [(libc::EINVAL, "5.19"), (libc::EBUSY, "outer"), (libc::EPERM, "seccomp")]
        {
            let failure = refused(&io::Error::from_raw_os_error(errno));
            assert!(failure.text().contains(part), "{}", failure.text());
        }
    }
}
