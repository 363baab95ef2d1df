//! Errors of the protocol as `std::io` has them: one table.

use std::io::{self, ErrorKind};

use prp_proto::addr::PrpAddr;
use prp_proto::error::{ConnError, ConnectError, ListenError, ReadError, WriteError};

use crate::engine::WaitError;

/// Why a connection ended, as an `io::Error` that carries the [`ConnError`] inside.
pub(crate) fn conn(error: ConnError) -> io::Error {
    let kind = match error {
        ConnError::Refused => ErrorKind::ConnectionRefused,
        ConnError::Reset => ErrorKind::ConnectionReset,
        ConnError::PeerClosed => ErrorKind::BrokenPipe,
        // The bytes that are missing make the rest of the stream meaningless.
        ConnError::Gap { .. } => ErrorKind::InvalidData,
        ConnError::PeerGap | ConnError::Aborted => ErrorKind::ConnectionAborted,
        ConnError::TimedOut { .. } => ErrorKind::TimedOut,
        ConnError::NoRoute(_) => ErrorKind::HostUnreachable,
        ConnError::ClassicPeer | ConnError::NoCommonPolicy => ErrorKind::Unsupported,
    };
    io::Error::new(kind, error)
}

pub(crate) fn read(error: ReadError) -> io::Error {
    match error {
        ReadError::Blocked => ErrorKind::WouldBlock.into(),
        ReadError::Conn(error) => conn(error),
    }
}

pub(crate) fn write(error: WriteError) -> io::Error {
    match error {
        WriteError::Blocked => ErrorKind::WouldBlock.into(),
        WriteError::Closed => ErrorKind::BrokenPipe.into(),
        WriteError::NoMemory => ErrorKind::OutOfMemory.into(),
        WriteError::Conn(error) => conn(error),
    }
}

pub(crate) fn connect(error: ConnectError) -> io::Error {
    match error {
        ConnectError::NoRoute(node) => conn(ConnError::NoRoute(node)),
        ConnectError::InUse => {
            io::Error::new(ErrorKind::AddrInUse, "no port is free for a connection to this peer")
        }
        ConnectError::MtuTooSmall => {
            io::Error::new(ErrorKind::InvalidInput, "the device's MTU is too small to carry PRP")
        }
    }
}

pub(crate) fn listen(error: ListenError, addr: PrpAddr) -> io::Error {
    match error {
        ListenError::InUse => in_use(addr),
    }
}

/// Another listener or another process has the port.
pub(crate) fn in_use(addr: PrpAddr) -> io::Error {
    io::Error::new(ErrorKind::AddrInUse, format!("{addr} is in use"))
}

/// A wait that ended without result: a timeout is `WouldBlock`, as from a kernel socket.
pub(crate) fn wait(error: WaitError) -> io::Error {
    match error {
        WaitError::TimedOut => ErrorKind::WouldBlock.into(),
        WaitError::Interrupted => ErrorKind::Interrupted.into(),
    }
}

/// The stream belongs to the process this one was forked from.
pub(crate) fn forked() -> io::Error {
    io::Error::new(
        ErrorKind::Unsupported,
        "this stream belongs to the process that called fork; connect anew in the child",
    )
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use prp_proto::addr::NodeId;
    use prp_proto::seq::Seq;

    use super::*;

    #[test]
    fn conn__kinds_are_those_a_tcp_program_looks_for() {
        let node = NodeId::MIN;
        let table = [
            (ConnError::Refused, ErrorKind::ConnectionRefused),
            (ConnError::Reset, ErrorKind::ConnectionReset),
            (ConnError::PeerClosed, ErrorKind::BrokenPipe),
            (
                ConnError::Gap { expected: Seq::new(1), received: Seq::new(3) },
                ErrorKind::InvalidData,
            ),
            (ConnError::PeerGap, ErrorKind::ConnectionAborted),
            (ConnError::TimedOut { waited: Duration::ZERO }, ErrorKind::TimedOut),
            (ConnError::NoRoute(node), ErrorKind::HostUnreachable),
            (ConnError::ClassicPeer, ErrorKind::Unsupported),
            (ConnError::NoCommonPolicy, ErrorKind::Unsupported),
            (ConnError::Aborted, ErrorKind::ConnectionAborted),
        ];
        for (error, kind) in table {
            let io = conn(error);
            assert_eq!(io.kind(), kind, "{error}");
            assert_eq!(io.get_ref().and_then(|e| e.downcast_ref()), Some(&error));
        }
    }
}
