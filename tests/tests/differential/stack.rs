//! Kernel TCP and PRP behind one trait.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;

use prp_sock::{Builder, NodeId, Port, PrpAddr, PrpListener, PrpStream};
use prp_tests::namespace::{hosts, on_node};
use socket2::{Domain, SockRef, Socket, Type};

/// The error of a nonblocking connect.
const EINPROGRESS: i32 = nix::errno::Errno::EINPROGRESS as i32;

/// A stack that connects nodes.
pub(crate) trait Stack: 'static {
    /// Its name in messages.
    const NAME: &str;
    /// One end of a connection.
    type Stream: Stream;
    /// A listener.
    type Listener: Listener<Stream = Self::Stream>;

    /// Listens on `port` of `node`.
    fn bind(node: u8, port: u16) -> io::Result<Self::Listener>;

    /// Tries to listen on `port` of node `of` from node `on`.
    fn bind_elsewhere(on: u8, of: u8, port: u16) -> io::Result<Self::Listener>;

    /// Connects from node `from` to `port` of node `to`.
    fn connect(from: u8, to: u8, port: u16) -> io::Result<Self::Stream>;

    /// As [`Self::connect`], without waiting for an answer.
    fn connect_nonblocking(from: u8, to: u8, port: u16) -> io::Result<Self::Stream>;

    /// As [`Self::connect`], with a time limit.
    fn connect_timeout(from: u8, to: u8, port: u16, limit: Duration) -> io::Result<Self::Stream>;
}

/// The common methods of `TcpStream` and `PrpStream`, with ports instead of addresses.
pub(crate) trait Stream: AsFd + Send + Sync + Sized + 'static {
    fn get(&self, buf: &mut [u8]) -> io::Result<usize>;
    fn get_vectored(&self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize>;
    fn put(&self, bytes: &[u8]) -> io::Result<usize>;
    fn put_vectored(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize>;
    fn flush(&self) -> io::Result<()>;
    fn peek(&self, buf: &mut [u8]) -> io::Result<usize>;
    fn shutdown(&self, how: Shutdown) -> io::Result<()>;
    fn try_clone(&self) -> io::Result<Self>;
    fn take_error(&self) -> io::Result<Option<io::Error>>;
    fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()>;
    fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()>;
    fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()>;
    fn set_linger(&self, linger: Option<Duration>) -> io::Result<()>;
    fn local_port(&self) -> io::Result<u16>;
    fn peer_port(&self) -> io::Result<u16>;
}

/// The common methods of `TcpListener` and `PrpListener`.
pub(crate) trait Listener: AsFd + Send + Sync + Sized + 'static {
    type Stream: Stream;

    /// The next connection, and the port of its peer.
    fn accept(&self) -> io::Result<(Self::Stream, u16)>;
    fn port(&self) -> io::Result<u16>;
    fn try_clone(&self) -> io::Result<Self>;
    fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()>;
    fn take_error(&self) -> io::Result<Option<io::Error>>;
}

/// The methods have the same names on both. Only the linger time is not stable in std.
macro_rules! same_names {
    ($stream:ident, $listener:ident, $set_linger:expr) => {
        impl Stream for $stream {
            fn get(&self, buf: &mut [u8]) -> io::Result<usize> {
                (&mut &*self).read(buf)
            }
            fn get_vectored(&self, bufs: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
                (&mut &*self).read_vectored(bufs)
            }
            fn put(&self, bytes: &[u8]) -> io::Result<usize> {
                (&mut &*self).write(bytes)
            }
            fn put_vectored(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
                (&mut &*self).write_vectored(bufs)
            }
            fn flush(&self) -> io::Result<()> {
                (&mut &*self).flush()
            }
            fn peek(&self, buf: &mut [u8]) -> io::Result<usize> {
                $stream::peek(self, buf)
            }
            fn shutdown(&self, how: Shutdown) -> io::Result<()> {
                $stream::shutdown(self, how)
            }
            fn try_clone(&self) -> io::Result<Self> {
                $stream::try_clone(self)
            }
            fn take_error(&self) -> io::Result<Option<io::Error>> {
                $stream::take_error(self)
            }
            fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
                $stream::set_nonblocking(self, nonblocking)
            }
            fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
                $stream::set_read_timeout(self, timeout)
            }
            fn set_write_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
                $stream::set_write_timeout(self, timeout)
            }
            fn set_linger(&self, linger: Option<Duration>) -> io::Result<()> {
                $set_linger(self, linger)
            }
            fn local_port(&self) -> io::Result<u16> {
                self.local_addr().map(|addr| addr.port())
            }
            fn peer_port(&self) -> io::Result<u16> {
                self.peer_addr().map(|addr| addr.port())
            }
        }

        impl Listener for $listener {
            type Stream = $stream;

            fn accept(&self) -> io::Result<($stream, u16)> {
                $listener::accept(self).map(|(stream, peer)| (stream, peer.port()))
            }
            fn port(&self) -> io::Result<u16> {
                self.local_addr().map(|addr| addr.port())
            }
            fn try_clone(&self) -> io::Result<Self> {
                $listener::try_clone(self)
            }
            fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
                $listener::set_nonblocking(self, nonblocking)
            }
            fn take_error(&self) -> io::Result<Option<io::Error>> {
                $listener::take_error(self)
            }
        }
    };
}

same_names!(TcpStream, TcpListener, |stream: &TcpStream, linger| {
    SockRef::from(stream).set_linger(linger)
});
same_names!(PrpStream, PrpListener, PrpStream::set_linger);

/// TCP of the kernel.
pub(crate) struct Kernel;

impl Kernel {
    fn addr(node: u8, port: u16) -> SocketAddr {
        (Ipv4Addr::new(10, 99, 0, node), port).into()
    }
}

impl Stack for Kernel {
    const NAME: &str = "TCP";
    type Stream = TcpStream;
    type Listener = TcpListener;

    fn bind(node: u8, port: u16) -> io::Result<TcpListener> {
        Self::bind_elsewhere(node, node, port)
    }

    fn bind_elsewhere(on: u8, of: u8, port: u16) -> io::Result<TcpListener> {
        on_node(on, || TcpListener::bind(Self::addr(of, port)))
    }

    fn connect(from: u8, to: u8, port: u16) -> io::Result<TcpStream> {
        on_node(from, || TcpStream::connect(Self::addr(to, port)))
    }

    fn connect_nonblocking(from: u8, to: u8, port: u16) -> io::Result<TcpStream> {
        on_node(from, || {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
            socket.set_nonblocking(true)?;
            match socket.connect(&Self::addr(to, port).into()) {
                Err(e) if e.raw_os_error() != Some(EINPROGRESS) => Err(e),
                _ => Ok(socket.into()),
            }
        })
    }

    fn connect_timeout(from: u8, to: u8, port: u16, limit: Duration) -> io::Result<TcpStream> {
        on_node(from, || TcpStream::connect_timeout(&Self::addr(to, port), limit))
    }
}

/// PRP.
pub(crate) struct Prp;

impl Prp {
    fn addr(node: u8, port: u16) -> PrpAddr {
        PrpAddr::new(NodeId::new(node.into()).expect("1 and 2 are nodes"), Port::new(port))
    }

    fn builder(node: u8) -> Builder {
        Builder::new().hosts(hosts(node))
    }
}

impl Stack for Prp {
    const NAME: &str = "PRP";
    type Stream = PrpStream;
    type Listener = PrpListener;

    fn bind(node: u8, port: u16) -> io::Result<PrpListener> {
        Self::bind_elsewhere(node, node, port)
    }

    fn bind_elsewhere(on: u8, of: u8, port: u16) -> io::Result<PrpListener> {
        on_node(on, || Self::builder(on).bind(Self::addr(of, port)))
    }

    fn connect(from: u8, to: u8, port: u16) -> io::Result<PrpStream> {
        on_node(from, || Self::builder(from).connect(Self::addr(to, port)))
    }

    fn connect_nonblocking(from: u8, to: u8, port: u16) -> io::Result<PrpStream> {
        on_node(from, || {
            let stream = Self::builder(from).connect_nonblocking(Self::addr(to, port))?;
            stream.set_nonblocking(true)?;
            Ok(stream)
        })
    }

    fn connect_timeout(from: u8, to: u8, port: u16, limit: Duration) -> io::Result<PrpStream> {
        // With the prphosts in force, which is node 1's.
        assert_eq!(from, 1);
        on_node(from, || PrpStream::connect_timeout(&Self::addr(to, port), limit))
    }
}
