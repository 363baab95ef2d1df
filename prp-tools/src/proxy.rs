//! `prp proxy`: connections of TCP as connections of PRP and back, so that programs for TCP cross a
//! PRP network.

use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::PathBuf;
use std::str::FromStr;
use std::thread;

use clap::Args;
use prp_node::descriptors;
use prp_sock::{Builder, NodeId, Port, PrpListener, PrpStream, reset_all};

use crate::accepting::Acceptor;
use crate::argument::port;
use crate::exit::{Code, Failure, help, notice};
use crate::hosts;
use crate::semaphore::Semaphore;
use crate::signals::{Signals, die_of};

/// Connections at a time, each with two threads; others wait to be accepted.
const MAX_CONNECTIONS: usize = 1024;

/// Descriptors of a connection from TCP to TCP; with PRP at one end it has fewer.
const DESCRIPTORS: u64 = 2;

/// Descriptors for all that is not a connection: standard streams, listener, the engine of PRP with
/// the ports and devices that it has.
const RESERVE: u64 = 32;

/// Bytes read at once: what iperf3 does, enough that system calls do not count.
const CHUNK: usize = 128 * 1024;

/// Pass connections of TCP on over PRP, or of PRP over TCP.
///
/// It listens at FROM, and connects to TO for each connection that comes. Ends of one direction are
/// passed on. An address is `tcp:HOST:PORT`, `prp:NODE:PORT`, or `prp:PORT` to listen.
#[derive(Debug, Args)]
#[command(after_help = help("\
  prp proxy tcp:127.0.0.1:8080 prp:beta:80    here: http://127.0.0.1:8080 is node beta's port 80
  prp proxy prp:80 tcp:127.0.0.1:80           and on beta: its port 80 is the web server there
"))]
pub(crate) struct ProxyArgs {
    /// Where to listen
    from: Address,
    /// What to connect to
    to: Address,
    /// The prphosts to use [default: $PRP_HOSTS, else /etc/prphosts]
    #[arg(long, value_name = "FILE")]
    hosts: Option<PathBuf>,
    /// Say which clients connect
    #[arg(short, long)]
    verbose: bool,
}

/// An end of the proxy.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Address {
    /// A host and a port.
    Tcp(String),
    /// A node and a port; no node where it listens.
    Prp { node: Option<String>, port: u16 },
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            Some(("tcp", rest)) if rest.contains(':') => {
                let (_, number) = rest.rsplit_once(':').unwrap_or_default();
                port(number)?;
                Ok(Self::Tcp(rest.to_owned()))
            }
            Some(("prp", rest)) => match rest.rsplit_once(':') {
                Some((node, number)) => {
                    Ok(Self::Prp { node: Some(node.to_owned()), port: port(number)? })
                }
                None => Ok(Self::Prp { node: None, port: port(rest)? }),
            },
            _ => Err("expected tcp:HOST:PORT, prp:NODE:PORT, or prp:PORT to listen".into()),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "tcp:{address}"),
            Self::Prp { node: Some(node), port } => write!(f, "prp:{node}:{port}"),
            Self::Prp { node: None, port } => write!(f, "prp:{port}"),
        }
    }
}

/// What connections come from.
enum ProxyListener {
    Tcp(TcpListener),
    Prp(PrpListener),
}

/// What connections are passed on to.
enum Target {
    Tcp(String),
    Prp(Box<Builder>, NodeId, Port),
}

/// A connection of either kind.
#[derive(Debug)]
enum Stream {
    Tcp(TcpStream),
    Prp(PrpStream),
}

/// Runs `prp proxy`.
pub(crate) fn run(args: &ProxyArgs) -> Result<(), Failure> {
    let signals = Signals::watch().map_err(|e| Failure::local("waiting for signals", &e))?;
    signals.set_listener(|signal| {
        // TCP's peers are told by the kernel.
        reset_all();
        die_of(signal);
    });
    let path = hosts::path_or_default(args.hosts.as_deref());
    let builder = Builder::new().hosts(&path);
    let target = match &args.to {
        Address::Tcp(address) => Target::Tcp(address.clone()),
        Address::Prp { node: None, .. } | Address::Prp { port: 0, .. } => {
            let text = format!("{}: which node and port? `prp:NODE:PORT`", args.to);
            return Err(Failure::new(Code::Usage, text));
        }
        Address::Prp { node: Some(node), port } => {
            let node = hosts::find(&hosts::load(&path)?, node)?;
            check_permission(&builder)?;
            Target::Prp(Box::new(builder.clone()), node, Port::new(*port))
        }
    };
    let failed = |e: io::Error| {
        let is_low =
            matches!(args.from, Address::Tcp(_)) && e.kind() == ErrorKind::PermissionDenied;
        let fix = if is_low {
            " (ports below 1024 need CAP_NET_BIND_SERVICE; or take another)"
        } else {
            ""
        };
        Failure::network(format_args!("listening at {}{fix}", args.from), &e)
    };
    let listener = match &args.from {
        Address::Tcp(address) => ProxyListener::Tcp(TcpListener::bind(address).map_err(failed)?),
        Address::Prp { node: Some(_), .. } => {
            let text = format!("{}: it listens on this node: `prp:PORT`", args.from);
            return Err(Failure::new(Code::Usage, text));
        }
        Address::Prp { node: None, port } => {
            ProxyListener::Prp(builder.bind(Port::new(*port)).map_err(failed)?)
        }
    };
    serve(args, &listener, &target).map_err(failed)
}

/// Whether this process may send at all: no client should be the first to find out. Devices may
/// come later.
fn check_permission(builder: &Builder) -> Result<(), Failure> {
    match builder.bind(Port::new(0)) {
        Err(e) if e.kind() == ErrorKind::PermissionDenied => Err(Failure::network("PRP", &e)),
        _ => Ok(()),
    }
}

fn serve(args: &ProxyArgs, listener: &ProxyListener, target: &Target) -> io::Result<()> {
    let permits = Semaphore::new(most_connections(descriptors::raise_limit()));
    let mut acceptor = Acceptor::default();
    thread::scope(|scope| {
        loop {
            let permit = permits.take();
            let (stream, peer) = acceptor.next(|| listener.accept())?;
            if args.verbose {
                notice(format_args!("connection from {peer}"));
            }
            let failed = format!("{peer}: to {}", args.to);
            let name = failed.clone();
            let work = move || {
                // Others may fare better.
                if let Err(e) = pass(&stream, target) {
                    notice(format_args!("{name}: {e}"));
                }
                drop(permit);
            };
            if let Err(e) = thread::Builder::new().spawn_scoped(scope, work) {
                notice(format_args!("{failed}: a thread: {e}"));
            }
        }
    })
}

/// Connections at a time with `descriptors` descriptors: one that was accepted and then lacked some
/// for its other half would break in place of waiting.
fn most_connections(descriptors: u64) -> usize {
    let most = descriptors.saturating_sub(RESERVE) / DESCRIPTORS;
    usize::try_from(most).map_or(MAX_CONNECTIONS, |most| most.clamp(1, MAX_CONNECTIONS))
}

/// Passes on both directions of `stream` until both have ended.
fn pass(stream: &Stream, target: &Target) -> io::Result<()> {
    stream.send_at_once()?;
    let other = target.connect()?;
    other.send_at_once()?;
    thread::scope(|scope| {
        let back = thread::Builder::new().spawn_scoped(scope, || copy(&other, stream))?;
        let there = copy(stream, &other);
        let back = back.join().unwrap_or_else(|_| Err(io::Error::other("a thread panicked")));
        there.and(back)
    })
}

/// Copies one direction to its end. Where it breaks both connections end, since neither end could
/// tell what is missing.
fn copy(mut from: &Stream, mut to: &Stream) -> io::Result<()> {
    let mut buffer = vec![0; CHUNK];
    let mut done = || loop {
        match from.read(&mut buffer) {
            Ok(0) => return to.shutdown(Shutdown::Write),
            Ok(n) => to.write_all(&buffer[..n])?,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    };
    done().inspect_err(|_| {
        // They may be over already.
        let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
    })
}

impl ProxyListener {
    fn accept(&self) -> io::Result<(Stream, String)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, peer) = listener.accept()?;
                Ok((Stream::Tcp(stream), peer.to_string()))
            }
            Self::Prp(listener) => {
                let (stream, peer) = listener.accept()?;
                Ok((Stream::Prp(stream), peer.to_string()))
            }
        }
    }
}

impl Target {
    fn connect(&self) -> io::Result<Stream> {
        match self {
            Self::Tcp(address) => TcpStream::connect(address).map(Stream::Tcp),
            Self::Prp(builder, node, port) => builder.connect((*node, *port)).map(Stream::Prp),
        }
    }
}

impl Stream {
    /// What has come is passed on at once: PRP has no Nagle's algorithm either.
    fn send_at_once(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.set_nodelay(true),
            Self::Prp(_) => Ok(()),
        }
    }

    fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.shutdown(how),
            Self::Prp(stream) => stream.shutdown(how),
        }
    }
}

impl Read for &Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => (&*stream).read(buffer),
            Stream::Prp(stream) => (&*stream).read(buffer),
        }
    }
}

impl Write for &Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => (&*stream).write(bytes),
            Stream::Prp(stream) => (&*stream).write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address__is_of_either_kind() {
        for text in ["tcp:127.0.0.1:80", "tcp:[::1]:80", "prp:beta:80", "prp:2:0", "prp:80"] {
            let address: Address = text.parse().unwrap_or_else(|e| panic!("{text}: {e}"));
            assert_eq!(address.to_string(), text);
        }
        for text in [
            "80",
            "tcp:80",
            "tcp:localhost:http",
            "tcp:[::1]:65536",
            "udp:1:2",
            "prp:",
            "prp:beta:http",
            "prp:beta:65536",
        ] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }

    #[test]
    fn most_connections__as_many_as_there_are_descriptors_for() {
        assert_eq!(most_connections(1_048_576), MAX_CONNECTIONS);
        assert_eq!(most_connections(u64::MAX), MAX_CONNECTIONS);
        assert_eq!((most_connections(132), most_connections(8)), (50, 1));
    }
}
