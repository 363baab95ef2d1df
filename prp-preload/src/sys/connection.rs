//! Connecting, accepting and closing connections.

use std::ffi::c_int;
use std::io;
use std::net::Shutdown;
use std::os::fd::{FromRawFd, OwnedFd};

use libc::{sockaddr, socklen_t};
use prp_sock::{Builder, Port, PrpStream};

use super::socket_address::{self, checked};
use crate::descriptor::{self, Descriptor};
use crate::network;

/// `connect` to the address of a node opens a stream.
///
/// # Safety
/// As for `connect`.
pub(super) unsafe fn connect(
    fd: c_int,
    address: *const sockaddr,
    len: socklen_t,
) -> Option<io::Result<c_int>> {
    if let Some(known) = descriptor::find(fd) {
        let is_connected = known.as_stream().is_ok_and(|s| s.peer_addr().is_ok());
        let number = if is_connected { libc::EISCONN } else { libc::EALREADY };
        return Some(Err(io::Error::from_raw_os_error(number)));
    }
    // SAFETY: as the caller says.
    let address = unsafe { socket_address::read(address, len) }?;
    socket_address::of_kernel_stream(fd)?;
    let network = match network::of_process() {
        Ok(network) => network?,
        Err(e) => return Some(Err(e)),
    };
    let peer = network.node(address)?;
    let connect = || {
        let bits = flags(fd)?;
        let is_nonblocking = bits & libc::O_NONBLOCK != 0;
        let builder = Builder::new();
        let stream = if is_nonblocking {
            builder.connect_nonblocking(peer)?
        } else {
            builder.connect(peer)?
        };
        descriptor::insert(fd, Descriptor::stream(stream, bits)?);
        super::report_at_exit();
        if is_nonblocking { Err(io::Error::from_raw_os_error(libc::EINPROGRESS)) } else { Ok(0) }
    };
    Some(connect())
}

/// `listen` on an address of the network, or on all addresses, opens a listener.
///
/// # Safety
/// As for `listen`.
pub(super) unsafe fn listen(fd: c_int, _backlog: c_int) -> Option<io::Result<c_int>> {
    if descriptor::find(fd).is_some() {
        return Some(Ok(0));
    }
    let address = socket_address::of_kernel_stream(fd)?;
    let network = match network::of_process() {
        Ok(network) => network?,
        Err(e) => return Some(Err(e)),
    };
    if !address.ip().is_unspecified() && network.node(address).is_none() {
        return None;
    }
    let listen = || {
        let bits = flags(fd)?;
        let listener = Builder::new().bind(Port::new(address.port()))?;
        // SAFETY: the kernel has just made this descriptor, and nothing else knows of it.
        let port =
            unsafe { OwnedFd::from_raw_fd(checked(libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 0))?) };
        descriptor::insert(fd, Descriptor::listener(listener, port, bits));
        super::report_at_exit();
        Ok(0)
    };
    Some(listen())
}

/// `accept` from a listener.
///
/// # Safety
/// As for `accept`.
pub(super) unsafe fn accept(
    fd: c_int,
    address: *mut sockaddr,
    len: *mut socklen_t,
) -> Option<io::Result<c_int>> {
    // SAFETY: as the caller says.
    unsafe { accept4(fd, address, len, 0) }
}

/// `accept4` from a listener.
///
/// # Safety
/// As for `accept4`.
pub(super) unsafe fn accept4(
    fd: c_int,
    address: *mut sockaddr,
    len: *mut socklen_t,
    flags: c_int,
) -> Option<io::Result<c_int>> {
    let known = descriptor::find(fd)?;
    let accept = || {
        let (stream, peer) = known.accept()?;
        if let Some(network) = network::of_process()?
            && let Some(peer) = network.address(peer)
        {
            // SAFETY: as the caller says.
            unsafe { socket_address::write(peer, address, len) };
        }
        let bits = if flags & libc::SOCK_NONBLOCK != 0 { libc::O_NONBLOCK } else { 0 };
        adopt(stream, bits, flags & libc::SOCK_CLOEXEC)
    };
    Some(accept())
}

/// Makes a descriptor for a stream. A kernel socket that is never connected reserves the number.
fn adopt(stream: PrpStream, bits: c_int, close_on_exec: c_int) -> io::Result<c_int> {
    let made = Descriptor::stream(stream, bits)?;
    // SAFETY: no memory is involved.
    let fd = checked(unsafe { libc::socket(libc::AF_INET, libc::SOCK_STREAM | close_on_exec, 0) })?;
    descriptor::insert(fd, made);
    Ok(fd)
}

/// `shutdown` of a stream.
///
/// # Safety
/// As for `shutdown`.
pub(super) unsafe fn shutdown(fd: c_int, how: c_int) -> Option<io::Result<c_int>> {
    let known = descriptor::find(fd)?;
    let how = match how {
        libc::SHUT_RD => Shutdown::Read,
        libc::SHUT_WR => Shutdown::Write,
        libc::SHUT_RDWR => Shutdown::Both,
        _ => return Some(Err(io::ErrorKind::InvalidInput.into())),
    };
    Some(known.as_stream().and_then(|stream| stream.shutdown(how)).map(|()| 0))
}

/// `close` drops the stream or listener; the kernel then closes its own socket.
///
/// # Safety
/// As for `close`.
pub(super) unsafe fn close(fd: c_int) -> Option<io::Result<c_int>> {
    descriptor::remove(fd);
    None
}

/// The flags of a descriptor of the kernel's.
fn flags(fd: c_int) -> io::Result<c_int> {
    // SAFETY: no memory is involved.
    checked(unsafe { libc::fcntl(fd, libc::F_GETFL) })
}
