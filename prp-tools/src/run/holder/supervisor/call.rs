//! A call that waits for its answer.

use std::fs;
use std::io::{self, IoSlice, IoSliceMut};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use nix::errno::Errno;
use nix::libc;
use nix::sys::uio::{RemoteIoVec, process_vm_readv, process_vm_writev};
use nix::unistd::Pid;

use super::address;
use super::task::Status;
use crate::sys::pidfd;
use crate::sys::seccomp::{self, Notification, Outcome};

/// Has the kernel look at the signals of the thread, and make the call anew if no handler wants
/// otherwise (`ERESTARTSYS` of the kernel). A program sees it if there is no signal.
pub(super) const RESTART: i32 = 512;

/// A call. If it is dropped without an answer, the kernel goes on with it, or has it fail.
pub(super) struct Call {
    listener: Arc<OwnedFd>,
    notification: Notification,
    /// The thread, or where kernels have none of threads, its process; or why there is none.
    process: Result<OwnedFd, Errno>,
    is_answered: bool,
    /// The answer of a call that is dropped.
    otherwise: Outcome,
}

impl Call {
    /// Returns the call that was shown on `listener`.
    pub(super) fn new(listener: &Arc<OwnedFd>, notification: Notification) -> Self {
        let tid = notification.tid;
        let process = pidfd::open_thread(tid).or_else(|e| {
            let status = Status::of(tid).ok_or(e)?;
            pidfd::open(status.pid)
        });
        let process = process.map_err(|e| e.raw_os_error().map_or(Errno::ESRCH, Errno::from_raw));
        let (listener, otherwise) = (listener.clone(), Outcome::Continue);
        Self { listener, notification, process, is_answered: false, otherwise }
    }

    /// Returns the number of the system call.
    pub(super) const fn number(&self) -> i64 {
        self.notification.number
    }

    /// Returns the thread that calls.
    pub(super) const fn tid(&self) -> i32 {
        self.notification.tid
    }

    /// Returns an argument that is an `int`.
    pub(super) const fn int(&self, index: usize) -> i32 {
        self.notification.arguments[index] as i32
    }

    /// Returns an argument that is a pointer.
    pub(super) const fn pointer(&self, index: usize) -> usize {
        self.notification.arguments[index] as usize
    }

    /// Returns the descriptor that the call is about, its first argument.
    pub(super) const fn fd(&self) -> i32 {
        self.int(0)
    }

    /// Returns what becomes readable when the process has ended.
    ///
    /// # Errors
    /// There is none.
    pub(super) fn process(&self) -> io::Result<BorrowedFd<'_>> {
        let process = self.process.as_ref().map_err(|errno| io::Error::from(*errno))?;
        Ok(process.as_fd())
    }

    /// Returns a copy of a descriptor of the program.
    ///
    /// # Errors
    /// It has none; or the holder may not look into the process.
    pub(super) fn copy(&self, fd: i32) -> io::Result<OwnedFd> {
        let copied = pidfd::copy(self.process()?, fd)?;
        // Else the number may have become another thread's.
        if self.is_waiting() { Ok(copied) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    /// Returns the inode of the socket that the call is about; it takes no descriptor.
    pub(super) fn inode(&self) -> Option<u64> {
        let link = fs::read_link(format!("/proc/{}/fd/{}", self.tid(), self.fd())).ok()?;
        link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
    }

    /// Returns a copy of the descriptor that the call is about.
    ///
    /// # Errors
    /// As for [`Self::copy`].
    pub(super) fn socket(&self) -> io::Result<OwnedFd> {
        self.copy(self.fd())
    }

    /// Reads bytes of the program's memory.
    ///
    /// # Errors
    /// They are not there; or the holder may not look into the process.
    pub(super) fn read(&self, at: usize, bytes: &mut [u8]) -> io::Result<()> {
        let remote = [RemoteIoVec { base: at, len: bytes.len() }];
        let expected = bytes.len();
        let pid = Pid::from_raw(self.tid());
        let count = process_vm_readv(pid, &mut [IoSliceMut::new(bytes)], &remote)?;
        if count == expected && self.is_waiting() {
            return Ok(());
        }
        Err(io::Error::from_raw_os_error(libc::EFAULT))
    }

    /// Writes bytes of the program's memory.
    ///
    /// # Errors
    /// As for [`Self::read`].
    pub(super) fn write(&self, at: usize, bytes: &[u8]) -> io::Result<()> {
        let remote = [RemoteIoVec { base: at, len: bytes.len() }];
        if !self.is_waiting() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let count = process_vm_writev(Pid::from_raw(self.tid()), &[IoSlice::new(bytes)], &remote)?;
        if count == bytes.len() { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::EFAULT)) }
    }

    /// Reads an `int` of the program's memory.
    ///
    /// # Errors
    /// As for [`Self::read`].
    pub(super) fn read_int(&self, at: usize) -> io::Result<i32> {
        let mut bytes = [0; 4];
        self.read(at, &mut bytes)?;
        Ok(i32::from_ne_bytes(bytes))
    }

    /// Writes `bytes` where the argument `to` points, cut to the length where `len` points, and
    /// their number, or how many were written if `is_cut`.
    ///
    /// # Errors
    /// As for [`Self::read`]; `EINVAL` if the length is below zero.
    pub(super) fn write_sized(
        &self,
        to: usize,
        len: usize,
        bytes: &[u8],
        is_cut: bool,
    ) -> io::Result<()> {
        let (to, len) = (self.pointer(to), self.pointer(len));
        let room = usize::try_from(self.read_int(len)?)
            .map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?
            .min(bytes.len());
        self.write(to, &bytes[..room])?;
        let told = if is_cut { room } else { bytes.len() };
        self.write(len, &(told as i32).to_ne_bytes())
    }

    /// Reads the address that the second and third argument are about; `None` if it is of neither
    /// IPv4 nor IPv6.
    ///
    /// # Errors
    /// As for [`Self::read`].
    pub(super) fn address(&self) -> io::Result<Option<SocketAddr>> {
        let mut bytes = [0; address::LONGEST];
        let len = usize::try_from(self.int(2)).unwrap_or(0).min(bytes.len());
        let bytes = &mut bytes[..len];
        if len < address::SHORTEST {
            return Ok(None);
        }
        self.read(self.pointer(1), bytes)?;
        Ok(address::parse(bytes))
    }

    /// Whether the call still waits.
    pub(super) fn is_waiting(&self) -> bool {
        seccomp::is_waiting(&self.listener, self.notification.id)
    }

    /// Whether the call is over, or a signal of its thread wants it to be.
    pub(super) fn is_interrupted(&self) -> bool {
        !self.is_waiting() || Status::of(self.tid()).is_none_or(|status| status.has_signal)
    }

    /// Puts `file` in the place of the descriptor that the call is about.
    ///
    /// # Errors
    /// The thread has ended, or closed the descriptor.
    pub(super) fn put(&self, file: impl AsFd, is_closed_on_exec: bool) -> io::Result<()> {
        let flags = if is_closed_on_exec { libc::O_CLOEXEC } else { 0 };
        seccomp::put(&self.listener, self.notification.id, file, self.fd(), flags)
    }

    /// Answers by a descriptor that the program gets.
    ///
    /// # Errors
    /// The program may have no more; the call still waits then, and the call comes back.
    pub(super) fn hand_over(
        mut self,
        file: impl AsFd,
        is_closed_on_exec: bool,
    ) -> Result<(), (Self, io::Error)> {
        let flags = if is_closed_on_exec { libc::O_CLOEXEC } else { 0 };
        match seccomp::hand_over(&self.listener, self.notification.id, file, flags) {
            Ok(()) => {
                self.is_answered = true;
                Ok(())
            }
            Err(e) => Err((self, e)),
        }
    }

    /// Has the call fail with this number of errno if it is dropped without an answer.
    pub(super) const fn fail_otherwise(&mut self, errno: i32) {
        self.otherwise = Outcome::Fail(errno);
    }

    /// Answers.
    pub(super) fn answer(mut self, outcome: Outcome) {
        self.is_answered = true;
        // The thread may have ended.
        let _ = seccomp::answer(&self.listener, self.notification.id, outcome);
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if !self.is_answered {
            let _ = seccomp::answer(&self.listener, self.notification.id, self.otherwise);
        }
    }
}
