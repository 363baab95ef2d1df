//! `prp perf serve`: the other end of measurements, one client after another.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use clap::Args;
use prp_sock::{Builder, HostsFile, Port, PrpListener, PrpStream};
use socket2::SockRef;

use super::conn::{self, Conn, LegListener, ServerSocket};
use super::control::{self, Amount, Job, MAX_STREAMS, Outcome, Reply, Request, VERSION, Work};
use super::counters::Counters;
use super::machine::Machine;
use super::offload::OffloadsOff;
use super::raw::RawLink;
use super::transport::{Transport, WaitMode};
use super::usage::Spent;
use super::{DEFAULT_PORT, flow, mesh, parallel};
use crate::argument::{input_file, port};
use crate::exit::{Failure, report_missing, words};
use crate::hosts;
use crate::print::notice;

/// Connections of TCP that may wait to be accepted: as many as a client makes at a time, and as PRP
/// keeps.
const BACKLOG: i32 = MAX_STREAMS as i32;

/// Do the other end's part of measurements, for one client after another, until killed.
///
/// Any host that can reach the node can make it receive, and send to itself and to other nodes: not
/// for networks with strangers in them.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::help("\
  prp perf serve
  prp perf serve --port 7000 --tcp-port 0
  prp perf serve --no-tcp    for --vs raw and PRP alone
"))]
pub(crate) struct ServeArgs {
    /// The PRP port to listen on (0: any free one)
    #[arg(short, long, default_value_t = DEFAULT_PORT, value_parser = port)]
    port: u16,

    /// The TCP port to listen on, at all addresses (0: any free one)
    #[arg(long, value_name = "PORT", default_value_t = DEFAULT_PORT, value_parser = port)]
    tcp_port: u16,

    /// Do not listen on TCP: measurements with --vs tcp fail
    #[arg(long, conflicts_with = "tcp_port")]
    no_tcp: bool,

    /// The prphosts to use [default: $PRP_HOSTS, else /etc/prphosts]
    #[arg(long, value_name = "FILE", value_parser = input_file())]
    hosts: Option<PathBuf>,
}

/// Runs `prp perf serve`.
pub(super) fn run(args: &ServeArgs) -> Result<(), Failure> {
    let path = hosts::path_or_default(args.hosts.as_deref());
    hosts::load(&path)?;
    let port = args.tcp_port;
    let bind = |port| {
        TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).map_err(|e| {
            Failure::network(format_args!("listening on TCP port {port} (--tcp-port)"), &e)
        })
    };
    let tcp = (!args.no_tcp).then(|| bind(port)).transpose()?;
    // Calls listen again, for a longer queue: the standard library's of 128 overflows under
    // hundreds of streams, and TCP asks those it lost again after a second.
    tcp.iter().for_each(|tcp| drop(SockRef::from(tcp).listen(BACKLOG)));
    let failed = |e: io::Error| {
        Failure::network(format_args!("listening on port {} (--port)", args.port), &e)
    };
    let listener = Builder::new().hosts(&path).bind(Port::new(args.port)).map_err(failed)?;
    let mut places = listener.local_addr().map_err(failed)?.to_string();
    if let Some(tcp) = &tcp {
        places.push_str(&format!(" and TCP {}", tcp.local_addr().map_err(failed)?));
    }
    notice(format_args!("listening on {places}"));
    report_missing(&path);
    let server = Server { hosts: path, tcp };
    loop {
        // While a client is served this thread does not wait: it would take frames for the others
        // off the device, and hinder them.
        let (control, peer) = listener.accept().map_err(failed)?;
        if let Err(e) = server.session(&control) {
            notice(format_args!("{peer}: {e}"));
        }
    }
}

/// What all sessions need.
struct Server {
    hosts: PathBuf,
    /// None: with --no-tcp.
    tcp: Option<TcpListener>,
}

impl Server {
    /// One client, until it leaves.
    fn session(&self, control: &PrpStream) -> io::Result<()> {
        let mut waiting = None;
        while let Some(request) = control::receive(control)? {
            let reply = match request {
                Request::Listen => match self.prp_listener(WaitMode::Adaptive) {
                    Ok((listener, port)) => {
                        waiting = Some(listener);
                        Reply::Ready { port }
                    }
                    Err(e) => Reply::Failed(e.to_string()),
                },
                Request::Mesh(part) => match (part.check(), waiting.take()) {
                    (Err(why), _) => Reply::Failed(why),
                    (Ok(()), None) => Reply::Failed("it does not listen".to_owned()),
                    (Ok(()), Some(listener)) => {
                        match mesh::part::play(&self.hosts, listener, control, &part) {
                            Ok(outcome) => Reply::Mesh(outcome),
                            Err(e) if conn::has_gone(control) => return Err(e),
                            Err(e) => Reply::Failed(words(&e)),
                        }
                    }
                },
                Request::Hello { version: VERSION } => {
                    Reply::Hello { version: VERSION, machine: Machine::here() }
                }
                Request::Hello { version } => Reply::Failed(format!(
                    "this prp perf speaks version {VERSION}, the client {version}: use the same on both nodes"
                )),
                Request::Run(job) => match job.check() {
                    Err(why) => Reply::Failed(why),
                    Ok(()) => match self.leg(control, &job) {
                        Ok(outcome) => Reply::Done(outcome),
                        // There is no client to tell.
                        Err(e) if conn::has_gone(control) => return Err(e),
                        Err(e) => Reply::Failed(e.to_string()),
                    },
                },
            };
            control::send(control, &reply)?;
        }
        Ok(())
    }

    fn leg(&self, control: &PrpStream, job: &Job) -> io::Result<Outcome> {
        let (hosts, peer) = (HostsFile::cached(&self.hosts)?, control.peer_addr()?.node);
        let _offloads = OffloadsOff::of(job.transport, &hosts, peer)?;
        if job.transport == Transport::Raw {
            let mut link = RawLink::open(&hosts, peer, job.leg, job.wait)?;
            let counters = Counters::read(job.transport, control);
            control::send(control, &Reply::Ready { port: 0 })?;
            raw_work(&mut link, &job.work)?;
            return Ok(counters.raw_outcome(&mut link));
        }
        let listener = self.listener(control, job)?;
        listener.clear()?;
        let counters = Counters::read(job.transport, control);
        control::send(control, &Reply::Ready { port: listener.port()? })?;
        let Done { received, conns, spent } = work(&listener, job)?;
        let outcome = counters.outcome(control, &conns).spending(spent);
        Ok(Outcome { received, ..outcome })
    }

    /// A listener for connections that wait so, and its port.
    fn prp_listener(&self, wait: WaitMode) -> io::Result<(PrpListener, u16)> {
        let listener = builder(&self.hosts, wait).bind(Port::CONTROL)?;
        let port = listener.local_addr()?.port.number();
        Ok((listener, port))
    }

    fn listener<'a>(&'a self, control: &'a PrpStream, job: &Job) -> io::Result<LegListener<'a>> {
        let socket = match job.transport {
            Transport::Prp => ServerSocket::Prp(self.prp_listener(job.wait)?.0),
            _ => {
                let listener = self.tcp.as_ref().ok_or_else(|| {
                    io::Error::other("this prp perf serve runs with --no-tcp: no --vs tcp")
                })?;
                ServerSocket::Tcp { listener, spin: job.wait == WaitMode::Spin }
            }
        };
        Ok(LegListener { socket, control })
    }
}

/// Streams that wait so.
pub(super) fn builder(hosts: &Path, wait: WaitMode) -> Builder {
    let builder = Builder::new().hosts(hosts);
    match wait {
        WaitMode::Block => builder.spin(Duration::ZERO),
        // Longer than any wait of a measurement.
        WaitMode::Spin => builder.spin(Duration::from_secs(3600)),
        WaitMode::Adaptive => builder,
    }
}

/// What came of the server's part.
#[derive(Debug, Default)]
struct Done {
    received: u64,
    conns: Vec<Conn>,
    /// What exchanging messages took, without beginning and end, where nothing else was done.
    spent: Option<Spent>,
}

/// Does the server's part.
fn work(listener: &LegListener<'_>, job: &Job) -> io::Result<Done> {
    let received = AtomicU64::new(0);
    let (conns, spent) = match job.work {
        Work::Echo { size, beside } => echo(listener, size as usize, beside, &received)?,
        Work::Stream { streams, send } => (transfer(listener, streams, send, &received)?, None),
        Work::Accept { count } => {
            for _ in 0..count {
                flow::answer(&listener.accept()?)?;
            }
            return Ok(Done { received: count, ..Done::default() });
        }
    };
    Ok(Done { received: received.into_inner(), conns, spent })
}

/// Does the server's part with raw frames.
fn raw_work(link: &mut RawLink, work: &Work) -> io::Result<()> {
    match *work {
        Work::Echo { size, beside: 0 } => link.echo(size as usize),
        Work::Stream { streams: 1, send: None } => link.sink(),
        Work::Echo { .. } | Work::Stream { .. } | Work::Accept { .. } => {
            Err(io::Error::other("raw frames know neither connections nor two directions at once"))
        }
    }
}

/// Sends back what comes over the first connection, and receives on `beside` more until their ends;
/// the connections, and what the messages after the first took if there are no others.
fn echo(
    listener: &LegListener<'_>,
    size: usize,
    beside: u32,
    received: &AtomicU64,
) -> io::Result<(Vec<Conn>, Option<Spent>)> {
    let spent = &OnceLock::new();
    let part = |number: u32, conn: Conn| {
        move || {
            if number == 0 {
                let mut begun = None;
                let answered = || {
                    begun.get_or_insert_with(Spent::now);
                };
                received.fetch_add(flow::echo(&conn, size, answered)?, Ordering::Relaxed);
                begun.map(|begun| spent.set(Spent::now() - begun));
            } else {
                flow::sink(&conn, received, &mut flow::chunk()).and_then(|()| conn.end())?;
            }
            Ok(conn)
        }
    };
    let parts = (0..=beside).map(|number| listener.accept().map(|conn| part(number, conn)));
    let conns = parallel::each(parts)?;
    Ok((conns, spent.get().copied().filter(|_| beside == 0)))
}

/// Accepts the given number of connections, receives on all until their ends, sends if asked to,
/// and ends the own directions; the connections. Each has its thread before the next one is
/// accepted, and all have their memory before the first: when the client begins to send there is
/// nothing left to set up.
pub(super) fn transfer(
    listener: &LegListener<'_>,
    streams: u32,
    send: Option<Amount>,
    received: &AtomicU64,
) -> io::Result<Vec<Conn>> {
    let chunks: Vec<_> = (0..streams).map(|_| flow::chunk()).collect();
    let sent = AtomicU64::new(0);
    let one = |conn: &Conn, chunk: &mut [u8]| match send {
        None => flow::sink(conn, received, chunk).and_then(|()| conn.end()),
        Some(amount) => thread::scope(|both| {
            let send = || flow::source(conn, amount, &sent);
            let sender = thread::Builder::new().spawn_scoped(both, send)?;
            flow::sink(conn, received, chunk).and_then(|()| parallel::joined(sender.join()))
        }),
    };
    let one = &one;
    // Its memory is given back when all are through, too.
    let part =
        |conn: Conn, mut chunk: Vec<u8>| move || one(&conn, &mut chunk).map(|()| (conn, chunk));
    let parts = chunks.into_iter().map(|chunk| listener.accept().map(|conn| part(conn, chunk)));
    Ok(parallel::each(parts)?.into_iter().map(|(conn, _)| conn).collect())
}
