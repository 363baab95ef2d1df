//! A connection over PRP, or over TCP beside it.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::Duration;

use prp_sock::{Builder, Classic, PrpListener, PrpStream, Reliability};

use super::FlowArgs;

/// An established connection.
#[derive(Debug)]
pub(super) enum Connection {
    Prp(PrpStream),
    Tcp(TcpStream),
}

/// What `args` ask for, in the words of PRP.
fn builder(args: &FlowArgs, classic: Classic) -> Builder {
    let mut builder = PrpStream::builder();
    if args.classic {
        builder = builder.classic(classic).reliability(Reliability::Detect);
    }
    if let Some(seconds) = args.user_timeout {
        builder = builder.user_timeout(Some(Duration::from_secs(seconds))).keepalive(None);
    }
    builder
}

/// Connects to `peer`.
pub(super) fn connect(args: &FlowArgs, peer: &str) -> io::Result<Connection> {
    if args.tcp {
        return TcpStream::connect(peer).map(Connection::Tcp);
    }
    builder(args, Classic::Only).connect(peer).map(Connection::Prp)
}

/// Waits for a connection at `port`.
pub(super) fn accept(args: &FlowArgs, port: u16) -> io::Result<Connection> {
    if args.tcp {
        let listener = TcpListener::bind(("0.0.0.0", port))?;
        return Ok(Connection::Tcp(listener.accept()?.0));
    }
    let listener: PrpListener = builder(args, Classic::Allow).bind(format!("self:{port}"))?;
    Ok(Connection::Prp(listener.accept()?.0))
}

impl Connection {
    /// Writes all of `bytes`.
    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Prp(stream) => (&mut &*stream).write_all(bytes),
            Self::Tcp(stream) => (&mut &*stream).write_all(bytes),
        }
    }

    /// Reads what is there, at least a byte, or nothing at the end.
    pub(super) fn read(&self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Prp(stream) => (&mut &*stream).read(buf),
            Self::Tcp(stream) => (&mut &*stream).read(buf),
        }
    }

    /// Sends a message, which only PRP has.
    pub(super) fn send_message(&self, message: &[u8]) -> io::Result<()> {
        self.prp()?.send_message(message)
    }

    /// Receives a message; returns whether there was one.
    pub(super) fn recv_message(&self, message: &mut Vec<u8>) -> io::Result<bool> {
        self.prp()?.recv_message(message)
    }

    /// Ends this direction, when the other end has all of it.
    pub(super) fn end(&self) -> io::Result<()> {
        match self {
            Self::Prp(stream) => {
                stream.shutdown(Shutdown::Write)?;
                stream.wait_delivered()
            }
            Self::Tcp(stream) => stream.shutdown(Shutdown::Write),
        }
    }

    /// Ends both directions, whatever the other end has.
    pub(super) fn close(&self) {
        // It may have ended by itself.
        let _ = match self {
            Self::Prp(stream) => stream.shutdown(Shutdown::Both),
            Self::Tcp(stream) => stream.shutdown(Shutdown::Both),
        };
    }

    fn prp(&self) -> io::Result<&PrpStream> {
        match self {
            Self::Prp(stream) => Ok(stream),
            Self::Tcp(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}
