//! Errors of the protocol as `std::io` has them: one table.
//!
//! An `io::Error` has a code of the operating system or a sentence of ours, not both. Where the
//! system's own sentence says all there is to say, an error is its code, as it is from a kernel
//! socket. Where there is more to say, such as which address does not answer, an error is a
//! sentence, and the code is its source.

mod number;
mod partial_message;
mod stream_error;

use std::io::{self, ErrorKind};
use std::net::SocketAddr;

use prp_node::worded;
use prp_proto::addr::{NodeId, PrpAddr};
use prp_proto::error::{ConnError, ConnectError, ListenError, ReadError, WriteError};
use prp_proto::stats::Drops;

use crate::engine::WaitError;
pub use number::error_number;
pub use partial_message::PartialMessage;
pub(crate) use stream_error::by_hosts;
pub use stream_error::{StreamError, conn_error};

/// Why a connection ended.
pub(crate) fn conn(error: ConnError) -> io::Error {
    match error {
        ConnError::Reset => code(libc::ECONNRESET),
        ConnError::PeerClosed => code(libc::EPIPE),
        error => StreamError::from(error).into(),
    }
}

/// Why not everything was delivered, where the application was told how the connection ended.
pub(crate) fn lost_data() -> io::Error {
    worded(libc::EPIPE, "the connection ended before the peer had all of the data".into())
}

/// Why there is no connection to `peer`.
pub(crate) fn connecting(error: ConnError, peer: PrpAddr) -> io::Error {
    StreamError::connecting(error, peer).into()
}

/// As [`connecting`], where frames of the peer were dropped.
pub(crate) fn unanswered(error: ConnError, peer: PrpAddr, drops: &Drops) -> io::Error {
    StreamError::unanswered(error, peer, drops).into()
}

pub(crate) fn read(error: ReadError) -> io::Error {
    match error {
        ReadError::Blocked => would_block(),
        ReadError::Conn(error) => conn(error),
    }
}

pub(crate) fn write(error: WriteError) -> io::Error {
    match error {
        WriteError::Blocked => would_block(),
        WriteError::Closed => code(libc::EPIPE),
        WriteError::NoMemory => code(libc::ENOMEM),
        WriteError::Conn(error) => conn(error),
    }
}

/// Why no connection to `peer` could be asked for.
pub(crate) fn connect(error: ConnectError, peer: PrpAddr) -> io::Error {
    match error {
        ConnectError::NoRoute(node) => connecting(ConnError::NoRoute(node), peer),
        ConnectError::InUse => worded(
            libc::EADDRINUSE,
            format!("connect to {peer}: no port is free for a connection to this peer"),
        ),
        ConnectError::MtuTooSmall => {
            let text = format!("connect to {peer}: the device's MTU is too small to carry PRP");
            io::Error::new(ErrorKind::InvalidInput, text)
        }
    }
}

pub(crate) fn listen(error: ListenError, addr: PrpAddr) -> io::Error {
    match error {
        ListenError::InUse => in_use(addr),
    }
}

/// No frame can leave for `peer`: `device`, which leads there, is down.
pub(crate) fn device_down(peer: PrpAddr, device: &str) -> io::Error {
    let text = format!("connect to {peer}: {device} of this machine is down or has no link");
    worded(libc::ENETUNREACH, text)
}

/// Another listener or another process has the port.
pub(crate) fn in_use(addr: PrpAddr) -> io::Error {
    worded(libc::EADDRINUSE, format!("{addr} is in use"))
}

/// A program that is none of PRP's has the node's own UDP port `own`.
pub(crate) fn foreign_port(own: SocketAddr) -> io::Error {
    let (ip, port) = (own.ip(), own.port());
    let text = format!(
        "another program has udp:{own}, the node's own port, and does not answer as PRP does, so no \
         connection would get here: `ss -ulpn 'sport = :{port}'` names it; end it, or give this node \
         another port in the prphosts of all (udp:{ip}:PORT)"
    );
    worded(libc::EADDRINUSE, text)
}

/// All automatic ports of `node` are in use.
pub(crate) fn no_port(node: NodeId) -> io::Error {
    worded(libc::EADDRINUSE, format!("no port of node {node} is free"))
}

/// A listener's address is another node's.
pub(crate) fn not_here(addr: PrpAddr, node: NodeId) -> io::Error {
    worded(libc::EADDRNOTAVAIL, format!("{addr}: this machine is node {node}"))
}

/// No process can listen on port 0 of a node.
pub(crate) fn control_port(addr: PrpAddr) -> io::Error {
    let text = format!("connect to {addr}: port 0 is the node's own: 1 to 65535");
    io::Error::new(ErrorKind::InvalidInput, text)
}

/// The kernel makes no thread and says `error`. Its own kind is `WouldBlock`, which programs take
/// for "when it is ready"; but there is nothing to wait for.
pub(crate) fn no_thread(error: &io::Error) -> io::Error {
    let text = format!(
        "no thread can be made: {error}; raise the limit of processes (RLIMIT_NPROC, ulimit -u), \
         or of the control group (pids.max, TasksMax=)"
    );
    io::Error::new(ErrorKind::OutOfMemory, text)
}

/// A timeout of zero, as `TcpStream` refuses it.
pub(crate) fn zero_timeout() -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, "cannot set a 0 duration timeout")
}

/// A name or a list of addresses that stands for none.
pub(crate) fn no_address() -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, "could not resolve to any address")
}

/// There is nothing to do without waiting.
pub(crate) fn would_block() -> io::Error {
    code(libc::EAGAIN)
}

/// There is no connection, or none yet.
pub(crate) fn not_connected() -> io::Error {
    code(libc::ENOTCONN)
}

/// A wait that ended without result: a timeout is `WouldBlock`, as from a kernel socket.
pub(crate) fn wait(error: WaitError) -> io::Error {
    match error {
        WaitError::TimedOut => would_block(),
        WaitError::Interrupted => code(libc::EINTR),
    }
}

/// The stream belongs to the process this one was forked from.
pub(crate) fn forked() -> io::Error {
    io::Error::new(
        ErrorKind::Unsupported,
        "this stream belongs to the process that called fork; connect anew in the child",
    )
}

fn code(code: i32) -> io::Error {
    io::Error::from_raw_os_error(code)
}

#[cfg(test)]
mod tests;
