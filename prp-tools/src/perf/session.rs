//! The client's side of the control connection.

mod mesh;

use std::cell::Cell;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use prp_sock::{Builder, Controller, HostsFile, NodeId, Port, PrpStream};

use super::Common;
use super::conn::Conn;
use super::control::{self, Job, Outcome, Reply, Request, VERSION, Work};
use super::counters::Counters;
use super::machine::Machine;
use super::offload::OffloadsOff;
use super::raw::RawLink;
use super::report;
use super::serve::builder;
use super::steal::Steal;
use super::transport::{Transport, WaitMode};
use crate::exit::{Code, Failure, words};
use crate::hosts;
use crate::policy::Policy;

/// How long it is tried to connect to a server. Requests are repeated meanwhile.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a server may take to answer: it answers at once unless it serves another client.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// What is likely where no program answers: a node without any program that speaks PRP refuses
/// nothing.
const UNANSWERED: &str =
    "; is `prp perf serve` running there? `prp ping NODE` asks whether the node is up";

/// A server that waits for jobs.
#[derive(Debug)]
pub(super) struct Session {
    control: PrpStream,
    hosts: HostsFile,
    node: NodeId,
    name: String,
    tcp: IpAddr,
    reliability: Option<Policy>,
    congestion: Option<Controller>,
    crc: bool,
    /// The number of the next leg.
    next_leg: Cell<u32>,
    /// Where the server runs.
    pub(super) server: Machine,
    /// What had been stolen when it began.
    steal: Option<Steal>,
}

/// A leg that the server is ready for.
#[derive(Debug)]
pub(super) struct Leg<'a> {
    session: &'a Session,
    transport: Transport,
    wait: WaitMode,
    port: u16,
    number: u32,
    /// What makes connections of PRP.
    builder: Builder,
    counters: Counters,
    /// Turns them off while the leg lasts.
    _offloads: Option<OffloadsOff>,
}

impl Session {
    /// Finds the server.
    pub(super) fn open(common: &Common) -> Result<Self, Failure> {
        common.json.as_deref().map_or(Ok(()), report::check_writable)?;
        let path = hosts::path_or_default(common.hosts.as_deref());
        let file = hosts::load(&path)?;
        if let Some((node, port)) = common.node.split_once(':') {
            let text =
                format!("{}: a node, without a port: try `{node} --port {port}`", common.node);
            return Err(Failure::new(Code::Usage, text));
        }
        let node = hosts::find(&file, &common.node)?;
        let tcp = common.versus.iter().find_map(|versus| versus.addr);
        let name = format!("{}:{}", common.node, common.port);
        let builder = Builder::new().hosts(&path).connect_timeout(CONNECT_TIMEOUT);
        let connected = builder.connect((node, Port::new(common.port)));
        let control = connected.map_err(|e| match e.kind() {
            ErrorKind::ConnectionRefused => {
                let text = format!("{name}: {}; is `prp perf serve` running there?", words(&e));
                Failure::new(Code::Refused, text)
            }
            _ => Failure::connecting(&name, &e, &path, UNANSWERED),
        })?;
        let mut session = Self {
            control,
            hosts: file,
            // Any number that an earlier run is unlikely to have had.
            next_leg: Cell::new(std::process::id() << 16),
            node,
            name,
            tcp: tcp.unwrap_or_else(|| tcp_default(node)),
            reliability: common.reliability,
            congestion: common.congestion,
            crc: !common.no_crc,
            server: Machine::default(),
            steal: Steal::now(),
        };
        session.greet()?;
        Ok(session)
    }

    /// The part of the processor time this machine wanted since it began that a hypervisor gave to
    /// others.
    pub(super) fn stolen(&self) -> Option<f64> {
        Some(Steal::now()?.share_since(self.steal?))
    }

    fn greet(&mut self) -> Result<(), Failure> {
        let hello = Request::Hello { version: VERSION };
        let answer = self.ask(&hello).map_err(|e| match e.kind() {
            ErrorKind::WouldBlock => Failure::new(
                Code::TimedOut,
                format!("{}: no answer; it serves one client at a time", self.name),
            ),
            _ => self.failure(&e),
        })?;
        match answer {
            Reply::Hello { machine, .. } => self.server = machine,
            Reply::Failed(why) => return Err(self.refused(&why)),
            Reply::Ready { .. } | Reply::Done(_) | Reply::Mesh(_) => {
                return Err(self.refused("an answer out of turn"));
            }
        }
        Ok(())
    }

    fn ask(&self, request: &Request) -> io::Result<Reply> {
        self.control.set_read_timeout(Some(ANSWER_TIMEOUT))?;
        control::send(&self.control, request)?;
        self.answer()
    }

    fn answer(&self) -> io::Result<Reply> {
        control::receive(&self.control)?.ok_or_else(|| ErrorKind::UnexpectedEof.into())
    }

    /// Makes the server, and this end, ready for a leg.
    pub(super) fn begin(
        &self,
        transport: Transport,
        wait: WaitMode,
        work: Work,
    ) -> Result<Leg<'_>, Failure> {
        let number = self.next_leg.replace(self.next_leg.get().wrapping_add(1));
        let job = Job { leg: number, transport, wait, work };
        let offloads = OffloadsOff::of(transport, &self.hosts, self.node)
            .map_err(|e| Failure::local("turning offloads off", &e))?;
        let counters = Counters::read(transport, &self.control);
        match self.ask(&Request::Run(job)).map_err(|e| self.failure(&e))? {
            Reply::Ready { port } => Ok(Leg {
                session: self,
                transport,
                wait,
                port,
                number,
                builder: self.builder(wait),
                counters,
                _offloads: offloads,
            }),
            Reply::Failed(why) => Err(self.refused(&why)),
            Reply::Hello { .. } | Reply::Done(_) | Reply::Mesh(_) => {
                Err(self.refused("an answer out of turn"))
            }
        }
    }

    /// Returns what makes the connections of a leg: once, since names of files are resolved there.
    fn builder(&self, wait: WaitMode) -> Builder {
        let mut builder = builder(self.hosts.path(), wait).crc(self.crc);
        if let Some(policy) = self.reliability {
            builder = builder.reliability(policy.into());
        }
        if let Some(controller) = self.congestion {
            builder = builder.congestion(controller);
        }
        builder
    }

    /// A network error as the end of the program.
    fn failure(&self, error: &io::Error) -> Failure {
        Failure::network(&self.name, error)
    }

    fn refused(&self, why: &str) -> Failure {
        Failure::new(Code::Failed, format!("{}: the server says: {why}", self.name))
    }
}

impl Leg<'_> {
    /// A connection to the server's end of this leg.
    pub(super) fn connect(&self) -> io::Result<Conn> {
        match self.transport {
            Transport::Prp => {
                self.builder.connect((self.session.node, Port::new(self.port))).map(Conn::Prp)
            }
            Transport::Raw => Err(io::Error::other("raw frames know no connections")),
            Transport::Tcp | Transport::TcpNoOffload | Transport::TcpNoSegmentation => {
                let addr = SocketAddr::new(self.session.tcp, self.port);
                Conn::tcp(TcpStream::connect(addr)?, self.wait == WaitMode::Spin)
            }
        }
    }

    /// `error` of this leg as the end of the program.
    pub(super) fn failure(&self, error: &io::Error) -> Failure {
        let Session { tcp, name, .. } = self.session;
        match self.transport {
            Transport::Prp => Failure::network(format_args!("PRP to {name}"), error),
            Transport::Tcp | Transport::TcpNoOffload | Transport::TcpNoSegmentation => {
                let what = format_args!(
                    "--vs tcp={tcp}, the server's address for TCP, port {}",
                    self.port
                );
                Failure::network(what, error)
            }
            Transport::Raw if error.kind() == ErrorKind::TimedOut => {
                let text = format!(
                    "raw frames to {name}: one was lost, and raw frames are not sent again"
                );
                Failure::new(Code::TimedOut, text)
            }
            Transport::Raw => Failure::network(format_args!("raw frames to {name}"), error),
        }
    }

    /// The transport of the leg.
    pub(super) fn transport(&self) -> Transport {
        self.transport
    }

    /// This end of a leg of raw frames.
    pub(super) fn raw(&self) -> Result<RawLink, Failure> {
        let Session { hosts, node, .. } = self.session;
        RawLink::open(hosts, *node, self.number, self.wait).map_err(|e| {
            // The server notices that nothing comes, and does its part of the next leg.
            let _ = self.server_outcome();
            self.failure(&e)
        })
    }

    /// Ends it, and says what this end and the server counted. `conns` are closed here.
    pub(super) fn end(self, conns: Vec<Conn>) -> Result<(Outcome, Outcome), Failure> {
        let ours = self.counters.outcome(&self.session.control, &conns);
        drop(conns);
        Ok((ours, self.server_outcome()?))
    }

    /// As [`Self::end`], for raw frames.
    pub(super) fn end_raw(self, mut link: RawLink) -> Result<(Outcome, Outcome), Failure> {
        Ok((self.counters.raw_outcome(&mut link), self.server_outcome()?))
    }

    /// Gives up a leg of raw frames for `error`: the server is told, and does its part of the next
    /// leg.
    pub(super) fn give_up_raw(self, mut link: RawLink, error: &io::Error) -> Failure {
        let failure = self.failure(error);
        // If this message is lost as well, the server notices that nothing comes.
        let _ = link.finish();
        let _ = self.server_outcome();
        failure
    }

    fn server_outcome(&self) -> Result<Outcome, Failure> {
        let session = self.session;
        match session.answer().map_err(|e| session.failure(&e))? {
            Reply::Done(theirs) => Ok(theirs),
            Reply::Failed(why) => Err(session.refused(&why)),
            Reply::Hello { .. } | Reply::Ready { .. } | Reply::Mesh(_) => {
                Err(session.refused("an answer out of turn"))
            }
        }
    }
}

/// Where netns-scripts/topo puts the TCP of a node.
fn tcp_default(node: NodeId) -> IpAddr {
    let [high, low] = node.number().to_be_bytes();
    Ipv4Addr::new(10, 99, high, low).into()
}
