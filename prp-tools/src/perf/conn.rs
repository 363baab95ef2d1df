//! One connection of a measurement, whichever transport it is.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use prp_sock::{Awaited, PrpListener, PrpStream, wait_any};
use socket2::SockRef;

use crate::accepting::is_broken;

/// How long a server waits for the connection a client has announced.
const ARRIVAL: Duration = Duration::from_secs(10);

/// How long a server waits without checking whether the client is still there.
const GLANCE: Duration = Duration::from_millis(200);

/// A stream to the other end.
#[derive(Debug)]
pub(super) enum Conn {
    Prp(PrpStream),
    /// Nonblocking if it is to spin: a system call each time round, as nothing else makes it spin.
    Tcp {
        stream: TcpStream,
        spin: bool,
    },
}

impl Conn {
    /// `stream`, which waits so.
    ///
    /// # Errors
    /// If an option cannot be set.
    pub(super) fn tcp(stream: TcpStream, spin: bool) -> io::Result<Self> {
        // Nagle's algorithm would delay messages; a program that cares for latency turns it off.
        stream.set_nodelay(true)?;
        stream.set_nonblocking(spin)?;
        Ok(Self::Tcp { stream, spin })
    }

    /// Ends the sending direction.
    pub(super) fn end(&self) -> io::Result<()> {
        match self {
            Self::Prp(stream) => stream.shutdown(Shutdown::Write),
            Self::Tcp { stream, .. } => stream.shutdown(Shutdown::Write),
        }
    }
}

/// Repeats `call` until it does not ask to be called later.
fn spinning(spin: bool, mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(e) if spin && e.kind() == ErrorKind::WouldBlock => std::hint::spin_loop(),
            done => return done,
        }
    }
}

impl Read for &Conn {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self {
            Conn::Prp(stream) => (&*stream).read(buf),
            Conn::Tcp { stream, spin } => spinning(*spin, || (&*stream).read(buf)),
        }
    }
}

impl Write for &Conn {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        match self {
            Conn::Prp(stream) => (&*stream).write(buf),
            Conn::Tcp { stream, spin } => spinning(*spin, || (&*stream).write(buf)),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Where a server takes the connections of a leg.
#[derive(Debug)]
pub(super) struct LegListener<'a> {
    pub(super) socket: ServerSocket<'a>,
    /// The client. It sends nothing here until it has connected.
    pub(super) control: &'a PrpStream,
}

/// What a server listens on.
#[derive(Debug)]
pub(super) enum ServerSocket<'a> {
    Prp(PrpListener),
    Tcp { listener: &'a TcpListener, spin: bool },
}

impl LegListener<'_> {
    /// Its port.
    pub(super) fn port(&self) -> io::Result<u16> {
        Ok(match &self.socket {
            ServerSocket::Prp(listener) => listener.local_addr()?.port.number(),
            ServerSocket::Tcp { listener, .. } => listener.local_addr()?.port(),
        })
    }

    /// The next connection.
    ///
    /// # Errors
    /// `TimedOut` if none comes, that the client has gone, and what accepting says.
    pub(super) fn accept(&self) -> io::Result<Conn> {
        let begun = Instant::now();
        loop {
            match self.socket.accept_within(GLANCE) {
                Err(e) if e.kind() == ErrorKind::TimedOut => {
                    if has_gone(self.control) {
                        return Err(io::Error::other("the client has gone"));
                    }
                    if begun.elapsed() >= ARRIVAL {
                        return Err(e);
                    }
                }
                Err(e) if is_broken(&e) => {}
                done => return done,
            }
        }
    }

    /// Forgets connections that a client asked for and left.
    pub(super) fn clear(&self) -> io::Result<()> {
        let ServerSocket::Tcp { listener, .. } = &self.socket else { return Ok(()) };
        listener.set_nonblocking(true)?;
        while listener.accept().is_ok() {}
        listener.set_nonblocking(false)
    }
}

impl ServerSocket<'_> {
    fn accept_within(&self, patience: Duration) -> io::Result<Conn> {
        match self {
            Self::Prp(listener) => Ok(Conn::Prp(listener.accept_timeout(patience)?.0)),
            Self::Tcp { listener, spin } => {
                // Linux heeds it when accepting too, and the connection inherits it.
                SockRef::from(*listener).set_read_timeout(Some(patience))?;
                let (stream, _) = listener.accept().map_err(|e| match e.kind() {
                    ErrorKind::WouldBlock => ErrorKind::TimedOut.into(),
                    _ => e,
                })?;
                stream.set_read_timeout(None)?;
                Conn::tcp(stream, *spin)
            }
        }
    }
}

/// Returns whether the client behind `control`, which has nothing to say now, has left, or begun
/// anew. Several threads may ask.
pub(super) fn has_gone(control: &PrpStream) -> bool {
    matches!(wait_any(&mut [Awaited::read(control)], None, Some(Duration::ZERO)), Ok(1..))
}
