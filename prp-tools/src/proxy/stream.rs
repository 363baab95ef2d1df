//! Connections of each kind: of TCP, of the Unix family, and of PRP.

use std::fs;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use prp_node::printable_path;
use prp_sock::{Builder, NodeId, Port, PrpListener, PrpStream};
use socket2::SockRef;

/// How long a write may last before it is found out whether the connection has broken meanwhile.
const WRITE_TIMEOUT: Duration = Duration::from_millis(200);

/// What connections come from.
#[derive(Debug)]
pub(super) enum ProxyListener {
    Tcp(TcpListener),
    Unix(UnixListener),
    Prp(PrpListener),
}

/// What connections are passed on to.
#[derive(Debug)]
pub(super) enum Target {
    Tcp(String),
    Unix(PathBuf),
    Prp(Box<Builder>, NodeId, Port),
}

/// A connection. It is reset when it is dropped, however that comes, until it has ended in order.
#[derive(Debug)]
pub(super) enum ProxyStream {
    Tcp(TcpStream),
    Unix(UnixStream),
    Prp(PrpStream),
}

impl ProxyListener {
    /// Listens at the Unix socket `path`, in the place of a program that has ended.
    pub(super) fn unix(path: &Path) -> io::Result<Self> {
        let bound = UnixListener::bind(path);
        let is_stale = |e: &io::Error| {
            e.kind() == ErrorKind::AddrInUse
                && fs::symlink_metadata(path).is_ok_and(|it| it.file_type().is_socket())
                && UnixStream::connect(path)
                    .is_err_and(|e| e.kind() == ErrorKind::ConnectionRefused)
        };
        match bound {
            Err(e) if is_stale(&e) => {
                fs::remove_file(path)?;
                UnixListener::bind(path).map(Self::Unix)
            }
            bound => bound.map(Self::Unix),
        }
    }

    /// Waits for the next connection; the connection, and its client.
    pub(super) fn accept(&self) -> io::Result<(ProxyStream, String)> {
        let (stream, peer) = match self {
            Self::Tcp(listener) => {
                let (stream, peer) = listener.accept()?;
                (ProxyStream::Tcp(stream), peer.to_string())
            }
            Self::Unix(listener) => {
                let (stream, _) = listener.accept()?;
                (ProxyStream::Unix(stream), "a local client".to_owned())
            }
            Self::Prp(listener) => {
                let (stream, peer) = listener.accept()?;
                (ProxyStream::Prp(stream), peer.to_string())
            }
        };
        stream.prepare()?;
        Ok((stream, peer))
    }

    /// Where it listens, as a client writes it.
    pub(super) fn title(&self) -> io::Result<String> {
        Ok(match self {
            Self::Tcp(listener) => format!("tcp:{}", listener.local_addr()?),
            Self::Unix(listener) => {
                let addr = listener.local_addr()?;
                let path = addr.as_pathname().unwrap_or_else(|| Path::new(""));
                format!("unix:{}", printable_path(path))
            }
            Self::Prp(listener) => format!("prp:{}", listener.local_addr()?),
        })
    }
}

impl Target {
    /// Connects to it.
    pub(super) fn connect(&self) -> io::Result<ProxyStream> {
        let stream = match self {
            Self::Tcp(address) => TcpStream::connect(address).map(ProxyStream::Tcp),
            Self::Unix(path) => UnixStream::connect(path).map(ProxyStream::Unix),
            Self::Prp(builder, node, port) => builder.connect((*node, *port)).map(ProxyStream::Prp),
        }?;
        stream.prepare()?;
        Ok(stream)
    }
}

impl ProxyStream {
    /// Makes it one that sends at once (PRP has no Nagle's algorithm either), that does not wait
    /// for long in a write, and that is reset when the process ends.
    fn prepare(&self) -> io::Result<()> {
        let (timeout, at_once) = (Some(WRITE_TIMEOUT), Some(Duration::ZERO));
        match self {
            Self::Tcp(stream) => {
                stream.set_nodelay(true)?;
                SockRef::from(stream).set_linger(at_once)?;
                stream.set_write_timeout(timeout)
            }
            Self::Unix(stream) => stream.set_write_timeout(timeout),
            Self::Prp(stream) => {
                stream.set_linger(at_once)?;
                stream.set_write_timeout(timeout)
            }
        }
    }

    /// Both directions have ended in order: it is closed so, too.
    pub(super) fn close(self) {
        // If this fails the connection is over.
        let _ = match &self {
            Self::Tcp(stream) => SockRef::from(stream).set_linger(None),
            Self::Unix(_) => Ok(()),
            Self::Prp(stream) => stream.set_linger(None),
        };
    }

    /// The error that it has broken with, unless that was reported.
    pub(super) fn take_error(&self) -> io::Result<Option<io::Error>> {
        match self {
            Self::Tcp(stream) => stream.take_error(),
            Self::Unix(stream) => stream.take_error(),
            Self::Prp(stream) => stream.take_error(),
        }
    }

    /// Ends one direction.
    pub(super) fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.shutdown(how),
            Self::Unix(stream) => stream.shutdown(how),
            Self::Prp(stream) => stream.shutdown(how),
        }
    }
}

impl Read for &ProxyStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            ProxyStream::Tcp(stream) => (&*stream).read(buffer),
            ProxyStream::Unix(stream) => (&*stream).read(buffer),
            ProxyStream::Prp(stream) => (&*stream).read(buffer),
        }
    }
}

impl Write for &ProxyStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            ProxyStream::Tcp(stream) => (&*stream).write(bytes),
            ProxyStream::Unix(stream) => (&*stream).write(bytes),
            ProxyStream::Prp(stream) => (&*stream).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
