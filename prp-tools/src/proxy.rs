//! `prp proxy`: connections of TCP as connections of PRP and back, so that programs for TCP cross a
//! PRP network.

mod address;
mod passage;
mod stream;

use std::fs;
use std::io::{self, ErrorKind};
use std::net::TcpListener;
use std::path::PathBuf;
use std::thread;

use clap::Args;
use prp_node::descriptors;
use prp_sock::{Builder, Port, reset_all};

use crate::accepting::Acceptor;
use crate::argument::input_file;
use crate::exit::{Code, Failure, help, words};
use crate::hosts;
use crate::print::notice;
use crate::semaphore::Semaphore;
use crate::signals::{Signals, die_of};
use address::ProxyAddr;
use passage::{Breakage, PassageSide, pass};
use stream::{ProxyListener, ProxyStream, Target};

/// Connections at a time, each with two threads; others wait to be accepted.
const MAX_CONNECTIONS: usize = 1024;

/// Descriptors of a connection from TCP to PRP, at most.
const DESCRIPTORS: u64 = 2;

/// Descriptors for all that is not a connection: standard streams, listener, the engine of PRP with
/// the ports and devices that it has.
const RESERVE: u64 = 32;

/// Pass connections of TCP on over PRP, or of PRP over TCP.
///
/// It listens at FROM, and connects to TO for each connection that comes. An address is
/// `tcp:HOST:PORT`, `unix:PATH`, `prp:NODE:PORT`, or `prp:PORT` to listen. Ends of one direction
/// are passed on. Where a connection breaks, the other one is reset, so that no peer takes a part
/// for all there was; a Unix socket has no reset, and its peer sees an end.
#[derive(Debug, Args)]
#[command(after_help = help("\
  prp proxy tcp:127.0.0.1:8080 prp:beta:80    here: http://127.0.0.1:8080 is node beta's port 80
  prp proxy prp:80 tcp:127.0.0.1:80           and on beta: its port 80 is the web server there
  prp proxy prp:80 unix:/run/web.sock         ... at a Unix socket
"))]
pub(crate) struct ProxyArgs {
    /// Where to listen
    from: ProxyAddr,
    /// What to connect to
    to: ProxyAddr,
    /// The prphosts to use [default: $PRP_HOSTS, else /etc/prphosts]
    #[arg(long, value_name = "FILE", value_parser = input_file())]
    hosts: Option<PathBuf>,
    /// Say which clients connect
    #[arg(short, long)]
    verbose: bool,
}

/// Runs `prp proxy`.
pub(crate) fn run(args: &ProxyArgs) -> Result<(), Failure> {
    if !args.from.is_prp() && !args.to.is_prp() {
        let text = format!("{} to {}: neither end is PRP: `prp:NODE:PORT`", args.from, args.to);
        return Err(Failure::new(Code::Usage, text));
    }
    let signals = Signals::watch().map_err(|e| Failure::local("waiting for signals", &e))?;
    let path = hosts::path_or_default(args.hosts.as_deref());
    let builder = Builder::new().hosts(&path);
    let target = target(&args.to, &builder, &path)?;
    let failed = |e: io::Error| Failure::network(format_args!("listening at {}", args.from), &e);
    let listener = listen(&args.from, &builder)?;
    let socket = match &args.from {
        ProxyAddr::Unix(path) => Some(path.clone()),
        ProxyAddr::Tcp(_) | ProxyAddr::Prp { .. } => None,
    };
    signals.set_listener(move |signal| {
        // TCP's peers are told by the kernel.
        reset_all();
        socket.iter().for_each(|path| drop(fs::remove_file(path)));
        die_of(signal);
    });
    notice(format_args!("listening at {}, for {}", listener.title().map_err(failed)?, args.to));
    serve(args, &listener, &target).map_err(failed)
}

fn target(to: &ProxyAddr, builder: &Builder, path: &std::path::Path) -> Result<Target, Failure> {
    match to {
        ProxyAddr::Tcp(address) => Ok(Target::Tcp(address.clone())),
        ProxyAddr::Unix(path) => Ok(Target::Unix(path.clone())),
        ProxyAddr::Prp { node: None, .. } | ProxyAddr::Prp { port: 0, .. } => {
            let text = format!("{to}: which node and port? `prp:NODE:PORT`");
            Err(Failure::new(Code::Usage, text))
        }
        ProxyAddr::Prp { node: Some(node), port } => {
            let node = hosts::find(&hosts::load(path)?, node)?;
            check_permission(builder)?;
            Ok(Target::Prp(Box::new(builder.clone()), node, Port::new(*port)))
        }
    }
}

fn listen(from: &ProxyAddr, builder: &Builder) -> Result<ProxyListener, Failure> {
    let failed = |e: io::Error| {
        let fix = match (from, e.kind()) {
            (ProxyAddr::Tcp(_), ErrorKind::PermissionDenied) => {
                " (ports below 1024 need CAP_NET_BIND_SERVICE; or take another)"
            }
            (ProxyAddr::Unix(_), ErrorKind::AddrInUse) => {
                " (a program listens there, or the file is no socket; or take another)"
            }
            _ => "",
        };
        Failure::network(format_args!("listening at {from}{fix}"), &e)
    };
    match from {
        ProxyAddr::Tcp(address) => {
            TcpListener::bind(address).map(ProxyListener::Tcp).map_err(failed)
        }
        ProxyAddr::Unix(path) => ProxyListener::unix(path).map_err(failed),
        ProxyAddr::Prp { node: Some(_), .. } => {
            let text = format!("{from}: it listens on this node: `prp:PORT`");
            Err(Failure::new(Code::Usage, text))
        }
        ProxyAddr::Prp { node: None, port } => {
            builder.bind(Port::new(*port)).map(ProxyListener::Prp).map_err(failed)
        }
    }
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
            let name = peer.clone();
            let work = move || {
                // Others may fare better.
                if let Err(Breakage { side, error }) = connect(stream, target) {
                    let to = args.to.to_string();
                    let end = if side == PassageSide::Client { &name } else { &to };
                    notice(format_args!("{name} to {to}: {end}: {}", words(&error)));
                }
                drop(permit);
            };
            if let Err(e) = thread::Builder::new().spawn_scoped(scope, work) {
                notice(format_args!("{peer} to {}: a thread: {e}", args.to));
            }
        }
    })
}

/// Passes `stream` on to `target`.
fn connect(stream: ProxyStream, target: &Target) -> Result<(), Breakage> {
    match target.connect() {
        Ok(other) => pass(stream, other),
        Err(error) => Err(Breakage { side: PassageSide::Target, error }),
    }
}

/// Connections at a time with `descriptors` descriptors: one that was accepted and then lacked some
/// for its other half would break in place of waiting.
fn most_connections(descriptors: u64) -> usize {
    let most = descriptors.saturating_sub(RESERVE) / DESCRIPTORS;
    usize::try_from(most).map_or(MAX_CONNECTIONS, |most| most.clamp(1, MAX_CONNECTIONS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_connections__as_many_as_there_are_descriptors_for() {
        assert_eq!(most_connections(1_048_576), MAX_CONNECTIONS);
        assert_eq!(most_connections(u64::MAX), MAX_CONNECTIONS);
        assert_eq!((most_connections(132), most_connections(8)), (50, 1));
    }
}
