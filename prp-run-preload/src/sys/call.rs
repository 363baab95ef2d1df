//! System calls without the functions of the C library, which other libraries may have replaced.

use std::ffi::{CStr, c_int, c_long, c_short};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::address::RawAddress;

/// A number of errno.
pub(super) type Errno = c_int;

/// The number of errno that the last call of this thread has set.
pub(super) fn errno() -> Errno {
    // SAFETY: the place of `errno` of this thread.
    unsafe { *libc::__errno_location() }
}

/// Sets errno, and returns -1.
pub(super) fn fail(number: Errno) -> c_int {
    // SAFETY: the place of `errno` of this thread.
    unsafe { *libc::__errno_location() = number };
    -1
}

/// Turns what a system call returned into a result.
pub(super) fn checked(answer: c_long) -> Result<c_long, Errno> {
    if answer < 0 { Err(errno()) } else { Ok(answer) }
}

/// Returns a socket.
pub(super) fn socket(family: c_int, kind: c_int) -> Result<OwnedFd, Errno> {
    // SAFETY: no memory is involved.
    let fd = checked(unsafe { libc::syscall(libc::SYS_socket, family, kind, 0) })?;
    // SAFETY: the kernel has just made this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as c_int) })
}

/// Connects a socket to the abstract name `name` of a Unix socket.
pub(super) fn connect_unix(socket: &OwnedFd, name: &[u8]) -> Result<(), Errno> {
    // SAFETY: all zeros is a value of this type.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::AF_UNIX as libc::sa_family_t;
    for (to, byte) in address.sun_path.iter_mut().skip(1).zip(name) {
        *to = *byte as _;
    }
    let len = std::mem::offset_of!(libc::sockaddr_un, sun_path) + 1 + name.len();
    // SAFETY: the address lives for as long as the call, and has more than `len` bytes.
    let done =
        unsafe { libc::syscall(libc::SYS_connect, socket.as_raw_fd(), &raw const address, len) };
    checked(done).map(drop)
}

/// Reads the address of a socket by `getsockname`; how many of its bytes there are.
pub(super) fn local_address(
    fd: c_int,
    address: &mut libc::sockaddr_storage,
) -> Result<usize, Errno> {
    let mut len = size_of_val(address) as libc::socklen_t;
    // SAFETY: the address has the bytes that `len` says.
    checked(unsafe { libc::syscall(libc::SYS_getsockname, fd, &raw mut *address, &raw mut len) })?;
    Ok(len as usize)
}

/// Reads an option of a socket.
pub(super) fn option<T>(fd: c_int, level: c_int, name: c_int, value: &mut T) -> Result<(), Errno> {
    let mut len = size_of::<T>() as libc::socklen_t;
    // SAFETY: the value has the bytes that `len` says; the options that are read here are plain
    // numbers.
    let done = unsafe {
        libc::syscall(libc::SYS_getsockopt, fd, level, name, &raw mut *value, &raw mut len)
    };
    checked(done).map(drop)
}

/// Reads an option of `SOL_SOCKET` that is a number.
pub(super) fn number_option(fd: c_int, name: c_int) -> Result<c_int, Errno> {
    let mut value = 0;
    option(fd, libc::SOL_SOCKET, name, &mut value).map(|()| value)
}

/// Returns how long a call that sends or connects by a socket may wait, if that is limited.
pub(super) fn send_timeout(fd: c_int) -> Option<std::time::Duration> {
    let mut time = libc::timeval { tv_sec: 0, tv_usec: 0 };
    option(fd, libc::SOL_SOCKET, libc::SO_SNDTIMEO, &mut time).ok()?;
    let time = std::time::Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1000);
    (!time.is_zero()).then_some(time)
}

/// Sets an option of a socket.
pub(super) fn set_option<T>(fd: c_int, level: c_int, name: c_int, value: &T) -> Result<(), Errno> {
    let len = size_of::<T>();
    // SAFETY: the value has the bytes that `len` says.
    let done =
        unsafe { libc::syscall(libc::SYS_setsockopt, fd, level, name, &raw const *value, len) };
    checked(done).map(drop)
}

/// Calls fcntl(2) with a number.
pub(super) fn fcntl(fd: c_int, command: c_int, argument: c_int) -> Result<c_int, Errno> {
    // SAFETY: the commands that are used here take no pointer.
    checked(unsafe { libc::syscall(libc::SYS_fcntl, fd, command, argument) }).map(|n| n as c_int)
}

/// Whether calls on a descriptor do not wait.
pub(super) fn is_nonblocking(fd: c_int) -> bool {
    fcntl(fd, libc::F_GETFL, 0).is_ok_and(|flags| flags & libc::O_NONBLOCK != 0)
}

/// Returns which of `events`, or of `POLLHUP` and `POLLERR`, a descriptor shows; `waits` until one
/// does.
pub(super) fn poll(fd: c_int, events: c_short, waits: bool) -> Result<c_short, Errno> {
    let mut asked = libc::pollfd { fd, events, revents: 0 };
    // SAFETY: all zeros is a value of this type.
    let mut time: libc::timespec = unsafe { std::mem::zeroed() };
    let time = if waits { std::ptr::null_mut() } else { &raw mut time };
    let mask = std::ptr::null::<libc::sigset_t>();
    // SAFETY: there is one descriptor; it and the time live for as long as the call.
    let done = unsafe { libc::syscall(libc::SYS_ppoll, &raw mut asked, 1, time, mask, 0) };
    checked(done).map(|_| asked.revents)
}

/// Calls bind(2).
pub(super) fn bind(fd: c_int, address: &RawAddress) -> Result<(), Errno> {
    // SAFETY: the address lives for as long as the call, and has as many bytes as it says.
    let done = unsafe { libc::syscall(libc::SYS_bind, fd, address.as_ptr(), address.len()) };
    checked(done).map(drop)
}

/// Calls listen(2).
pub(super) fn listen(fd: c_int, backlog: c_int) -> Result<(), Errno> {
    // SAFETY: no memory is involved.
    checked(unsafe { libc::syscall(libc::SYS_listen, fd, backlog) }).map(drop)
}

/// Puts `from` in the place of the descriptor `to`.
pub(super) fn dup3(from: &OwnedFd, to: c_int, flags: c_int) -> Result<(), Errno> {
    // SAFETY: no memory is involved.
    checked(unsafe { libc::syscall(libc::SYS_dup3, from.as_raw_fd(), to, flags) }).map(drop)
}

/// Closes the descriptor that a call has just returned to this library, and to nobody else.
pub(super) fn close(fd: c_int) {
    // SAFETY: no memory is involved.
    let _ = unsafe { libc::syscall(libc::SYS_close, fd) };
}

/// Whether this process may have two descriptors more.
pub(super) fn has_two_more(fd: c_int) -> bool {
    let copies = [(); 2].map(|()| fcntl(fd, libc::F_DUPFD_CLOEXEC, 0));
    copies.iter().flatten().for_each(|copy| close(*copy));
    copies.iter().all(Result::is_ok)
}

/// Sends bytes.
pub(super) fn send(socket: &OwnedFd, bytes: &[u8]) -> Result<usize, Errno> {
    let none = std::ptr::null::<libc::sockaddr>();
    // SAFETY: the bytes live for as long as the call.
    let sent = unsafe {
        libc::syscall(
            libc::SYS_sendto,
            socket.as_raw_fd(),
            bytes.as_ptr(),
            bytes.len(),
            libc::MSG_NOSIGNAL,
            none,
            0,
        )
    };
    checked(sent).map(|count| count as usize)
}

/// Receives bytes, and a descriptor if one comes along.
pub(super) fn receive(
    socket: &OwnedFd,
    bytes: &mut [u8],
) -> Result<(usize, Option<OwnedFd>), Errno> {
    /// Room for the header and a descriptor, with the alignment of a header.
    const ROOM: usize = 4;
    let mut control = [0_usize; ROOM];
    let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
    // SAFETY: all zeros is a value of this type.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control) as _;
    // SAFETY: the message and what it points to live for as long as the call.
    let count = checked(unsafe {
        libc::syscall(
            libc::SYS_recvmsg,
            socket.as_raw_fd(),
            &raw mut message,
            libc::MSG_CMSG_CLOEXEC,
        )
    })?;
    // SAFETY: the kernel has written the control messages, and a descriptor that is this process's
    // from now on.
    let fd = unsafe {
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        let is_fd = !header.is_null()
            && (*header).cmsg_level == libc::SOL_SOCKET
            && (*header).cmsg_type == libc::SCM_RIGHTS;
        is_fd
            .then(|| OwnedFd::from_raw_fd(libc::CMSG_DATA(header).cast::<c_int>().read_unaligned()))
    };
    Ok((count as usize, fd))
}

/// Opens a file for reading.
pub(super) fn open(path: &CStr) -> Result<OwnedFd, Errno> {
    let flags = libc::O_RDONLY | libc::O_CLOEXEC;
    // SAFETY: the path is a string of C.
    let fd = checked(unsafe {
        libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags, 0)
    })?;
    // SAFETY: the kernel has just made this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as c_int) })
}

/// Reads bytes of a file.
pub(super) fn read(file: &OwnedFd, bytes: &mut [u8]) -> Result<usize, Errno> {
    // SAFETY: the bytes live for as long as the call.
    let count = checked(unsafe {
        libc::syscall(libc::SYS_read, file.as_raw_fd(), bytes.as_mut_ptr(), bytes.len())
    })?;
    Ok(count as usize)
}

/// Opens a folder.
pub(super) fn open_folder(path: &CStr) -> Result<OwnedFd, Errno> {
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
    // SAFETY: the path is a string of C.
    let fd = checked(unsafe {
        libc::syscall(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags, 0)
    })?;
    // SAFETY: the kernel has just made this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as c_int) })
}

/// Reads entries of a folder, as getdents64(2) writes them; how many bytes these are.
pub(super) fn entries(folder: &OwnedFd, bytes: &mut [u8]) -> Result<usize, Errno> {
    // SAFETY: the bytes live for as long as the call.
    let count = checked(unsafe {
        libc::syscall(libc::SYS_getdents64, folder.as_raw_fd(), bytes.as_mut_ptr(), bytes.len())
    })?;
    Ok(count as usize)
}

/// Returns the name in the first of some entries, and the others.
pub(super) fn first_entry(bytes: &[u8]) -> Option<(&CStr, &[u8])> {
    const LEN: usize = std::mem::offset_of!(libc::dirent64, d_reclen);
    const NAME: usize = std::mem::offset_of!(libc::dirent64, d_name);
    let len = u16::from_ne_bytes(bytes.get(LEN..LEN + 2)?.try_into().ok()?);
    let (entry, others) = bytes.split_at_checked(len.into())?;
    let name = CStr::from_bytes_until_nul(entry.get(NAME..)?).ok()?;
    Some((name, others))
}

/// Reads where a symbolic link leads; how many bytes that has, cut to the room for them.
pub(super) fn read_link(path: &CStr, bytes: &mut [u8]) -> Result<usize, Errno> {
    // SAFETY: the path is a string of C, and the bytes live for as long as the call.
    let count = checked(unsafe {
        libc::syscall(
            libc::SYS_readlinkat,
            libc::AT_FDCWD,
            path.as_ptr(),
            bytes.as_mut_ptr(),
            bytes.len(),
        )
    })?;
    Ok(count as usize)
}

/// Calls epoll_ctl(2).
pub(super) fn epoll_ctl(
    set: c_int,
    operation: c_int,
    fd: c_int,
    event: &mut libc::epoll_event,
) -> Result<(), Errno> {
    // SAFETY: the event lives for as long as the call.
    let done = unsafe { libc::syscall(libc::SYS_epoll_ctl, set, operation, fd, &raw mut *event) };
    checked(done).map(drop)
}

/// Returns the time since some moment before, which is the same for all callers.
pub(super) fn monotonic() -> std::time::Duration {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time lives for as long as the call.
    let _ = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    std::time::Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// Returns the inode of a descriptor.
pub(super) fn inode(fd: c_int) -> Option<u64> {
    // SAFETY: all zeros is a value of this type.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the C library's `fstat` is no call of sockets that anybody replaces, and fills in its
    // own structure.
    let done = unsafe { libc::fstat(fd, &raw mut stat) };
    (done == 0).then_some(stat.st_ino)
}
