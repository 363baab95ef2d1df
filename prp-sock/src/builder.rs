//! Streams and listeners with other settings than the default ones.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use prp_device::waiting::WaitSettings;
use prp_proto::addr::{NodeId, Port, PrpAddr};
use prp_proto::config::{Classic, ConnConfig, Keepalive};
use prp_proto::congestion::Controller;
use prp_proto::wire::{Reliability, ReliabilitySet};

use crate::addr::{Resolver, ToPrpAddrs};
use crate::engine::{Engine, EngineKey, engine_for};
use crate::error;
use crate::listener::PrpListener;
use crate::stream::{PrpStream, check_keepalive, check_timeout};
use prp_node::hosts::{HostsFile, node_from_environment};

/// Connections that may wait to be accepted. As many as Linux allows by default.
const BACKLOG: usize = 4096;

/// Largest message that [`PrpStream::recv_message`] takes. Libraries that send messages over TCP
/// take 4 to 16 MiB by default.
const MAX_MESSAGE: usize = 16 << 20;

/// How a stream behaves towards the threads that use it. The protocol sees none of it.
#[derive(Copy, Clone, Debug)]
pub(crate) struct StreamOptions {
    pub(crate) waits: WaitSettings,
    pub(crate) max_message: usize,
}

impl Default for StreamOptions {
    fn default() -> Self {
        Self { waits: WaitSettings::default(), max_message: MAX_MESSAGE }
    }
}

/// Settings of streams and listeners to be made.
///
/// ```no_run
/// use std::time::Duration;
/// use prp_sock::{Builder, Reliability};
///
/// let stream = Builder::new()
///     .reliability(Reliability::GoBackN)
///     .max_segment(1000)
///     .user_timeout(Some(Duration::from_secs(5)))
///     .connect("gamma:80")?;
/// # std::io::Result::Ok(())
/// ```
#[derive(Clone, Debug)]
pub struct Builder {
    pub(crate) config: ConnConfig,
    pub(crate) options: StreamOptions,
    backlog: usize,
    hosts: Option<PathBuf>,
    node: Option<NodeId>,
    device: Option<String>,
    pub(crate) local_port: Option<Port>,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            config: ConnConfig::default(),
            options: StreamOptions::default(),
            backlog: BACKLOG,
            hosts: None,
            node: None,
            device: None,
            local_port: None,
        }
    }
}

impl Builder {
    /// The settings a `PrpStream` has without a builder.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks for this policy (connecting) or accepts only this one (listening). By default selective
    /// repeat is asked for, and go-back-N accepted; `detect` has to be asked for, since it loses
    /// data.
    #[must_use]
    pub fn reliability(self, policy: Reliability) -> Self {
        self.reliability_any(ReliabilitySet::only(policy))
    }

    /// Asks for or accepts any of several policies; the strongest both ends have is used.
    #[must_use]
    pub fn reliability_any(mut self, policies: ReliabilitySet) -> Self {
        self.config.reliability = policies;
        self
    }

    /// Whether peers that know only the paper's header of 1997 are acceptable. Such a connection
    /// has the policy `detect` whatever was asked for.
    #[must_use]
    pub fn classic(mut self, classic: Classic) -> Self {
        self.config.classic = classic;
        self
    }

    /// Whether frames carry a CRC-32 from end to end, as they do by default: it finds what is
    /// changed in switches and software routers, at which Ethernet's own checksum ends. Either end
    /// does without for both. A node's connections with itself have none (SPEC PRP-CRC-5).
    #[must_use]
    pub fn crc(mut self, crc: bool) -> Self {
        self.config.crc = crc;
        self
    }

    /// The congestion controller of this end: how much may be in flight where the network, not the
    /// receiver, is the bottleneck. [`Controller::Delay`] by default.
    #[must_use]
    pub fn congestion(mut self, controller: Controller) -> Self {
        self.config.congestion = controller;
        self
    }

    /// Largest segment in bytes; the device's MTU lowers it.
    #[must_use]
    pub fn max_segment(mut self, bytes: u16) -> Self {
        self.config.max_segment = bytes;
        self
    }

    /// Bytes written and not yet acknowledged that are kept, whatever the peer does. By default it
    /// is 512 KiB, or over UDP up to 1 MiB for a peer with so large a window, and grows
    /// ([`Self::send_buffer_max`]).
    #[must_use]
    pub fn send_buffer(mut self, bytes: usize) -> Self {
        self.config.send_buffer = bytes;
        self.config.send_buffer_max = bytes;
        self
    }

    /// Bytes that the send buffer may grow to while its writer waits for a peer that does not read;
    /// 4 MiB by default. It doubles after every 20 ms or more of waiting. All connections together
    /// grow by 256 MiB at most.
    #[must_use]
    pub fn send_buffer_max(mut self, bytes: usize) -> Self {
        self.config.send_buffer_max = bytes;
        self
    }

    /// Bytes received and not yet read that are kept. Bounds the window. By default it is 512 KiB;
    /// over UDP up to 1 MiB, 12.5 % of the socket's buffer as the kernel counts it.
    #[must_use]
    pub fn recv_buffer(mut self, bytes: usize) -> Self {
        self.config.recv_buffer = Some(bytes);
        self
    }

    /// Probing of an idle peer; `None` never asks. On by default, unlike TCP's: after 30 s of
    /// silence a probe every 10 s, and after six without an answer the connection ends with
    /// `TimedOut`, however long [`user_timeout`](Self::user_timeout) is.
    #[must_use]
    pub fn keepalive(mut self, keepalive: Option<Keepalive>) -> Self {
        self.config.keepalive = keepalive;
        self
    }

    /// Longest wait for the peer to acknowledge data before the connection ends with `TimedOut`: 60
    /// s by default; `None` waits for ever.
    #[must_use]
    pub fn user_timeout(mut self, timeout: Option<Duration>) -> Self {
        self.config.user_timeout = timeout;
        self
    }

    /// Longest wait for an answer when connecting; 15 s by default.
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.config.connect_timeout = timeout;
        self
    }

    /// How long a waiting thread polls for frames before it sleeps. Zero always sleeps at once.
    /// Without this it polls for some 20 us, as long as that has been paying and no other thread
    /// competes for its processor.
    #[must_use]
    pub fn spin(mut self, budget: Duration) -> Self {
        self.options.waits = WaitSettings::fixed(budget);
        self
    }

    /// Largest message in bytes that [`PrpStream::recv_message`] takes; 16 MiB by default.
    #[must_use]
    pub fn max_message(mut self, bytes: usize) -> Self {
        self.options.max_message = bytes;
        self
    }

    /// Connections that may wait to be accepted.
    #[must_use]
    pub fn backlog(mut self, connections: usize) -> Self {
        self.backlog = connections;
        self
    }

    /// The prphosts to use instead of `PRP_HOSTS` or `/etc/prphosts`. A relative path means what it
    /// means now, also after the process has changed its directory.
    #[must_use]
    pub fn hosts(mut self, path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        self.hosts = Some(std::path::absolute(&path).unwrap_or(path));
        self
    }

    /// The node this process is, where hardware addresses do not tell.
    #[must_use]
    pub fn node(mut self, node: NodeId) -> Self {
        self.node = Some(node);
        self
    }

    /// The device to use in place of those prphosts names.
    #[must_use]
    pub fn device(mut self, name: impl Into<String>) -> Self {
        self.device = Some(name.into());
        self
    }

    /// The port to connect from; 0 stands for any that is free, as by default.
    #[must_use]
    pub fn local_port(mut self, port: impl Into<Port>) -> Self {
        self.local_port = Some(port.into()).filter(|port| *port != Port::CONTROL);
        self
    }

    /// Connects to the first of the addresses that answers.
    ///
    /// # Errors
    /// `ConnectionRefused`, `TimedOut`, `HostUnreachable` (prphosts has no route there, or a router
    /// on the path has none on), `NetworkUnreachable` (the device that leads there is down),
    /// `NotFound` (no such name), `InvalidInput` (port 0, no address, or a timeout or keepalive of
    /// zero), `PermissionDenied` (CAP_NET_RAW is missing), `Unsupported` (no policy in common),
    /// `InvalidData` (a mistake in prphosts); the error of the last address where there are
    /// several. [`StreamError`](crate::StreamError) is inside the first three.
    pub fn connect(&self, addr: impl ToPrpAddrs) -> io::Result<PrpStream> {
        self.each_peer(addr, |engine, addr| PrpStream::open(engine, addr, self.local_port, self))
    }

    /// As [`Self::connect`], without waiting for the answer: the stream becomes writable when it
    /// has come, and [`PrpStream::take_error`] tells what it was.
    ///
    /// # Errors
    /// Those that are known without asking the peer.
    pub fn connect_nonblocking(&self, addr: impl ToPrpAddrs) -> io::Result<PrpStream> {
        self.each_peer(addr, |engine, addr| PrpStream::request(engine, addr, self.local_port, self))
    }

    /// Listens on the first of the addresses that can be had; port 0 stands for any free one.
    ///
    /// # Errors
    /// `AddrInUse`, `AddrNotAvailable` (not the local node), and as [`Self::connect`].
    pub fn bind(&self, addr: impl ToPrpAddrs) -> io::Result<PrpListener> {
        self.each_addr(addr, |_, engine, addr| PrpListener::open(engine, addr, self.backlog, self))
    }

    /// The addresses `addr` stands for.
    #[cfg(feature = "tokio")]
    pub(crate) fn resolve<A: ToPrpAddrs>(&self, addr: A) -> io::Result<A::Iter> {
        let (file, node) = self.place()?;
        addr.to_prp_addrs_with(Some(&Resolver::new(file, node)))
    }

    /// prphosts, and the node this is to be if the caller or `PRP_NODE` says so.
    fn place(&self) -> io::Result<(HostsFile, Option<NodeId>)> {
        let path = self.hosts.clone().unwrap_or_else(HostsFile::default_path);
        let node = match self.node {
            Some(node) => Some(node),
            None => node_from_environment()?,
        };
        Ok((HostsFile::cached(&path)?, node))
    }

    /// Refuses what a stream refuses that is made already.
    fn check(&self) -> io::Result<()> {
        let ConnConfig { keepalive, user_timeout, connect_timeout, .. } = self.config;
        check_keepalive(keepalive)?;
        check_timeout(user_timeout)?;
        check_timeout(Some(connect_timeout))
    }

    /// Connects to each of the addresses until one answers.
    fn each_peer(
        &self,
        addr: impl ToPrpAddrs,
        mut f: impl FnMut(&Arc<Engine>, PrpAddr) -> io::Result<PrpStream>,
    ) -> io::Result<PrpStream> {
        self.each_addr(addr, |file, engine, addr| {
            if addr.port == Port::CONTROL {
                return Err(error::control_port(addr));
            }
            f(engine, addr).map_err(|e| match file.hosts().entry(addr.node) {
                Some(_) => e,
                None => error::by_hosts(e, file.path()),
            })
        })
    }

    fn each_addr<T>(
        &self,
        addr: impl ToPrpAddrs,
        mut f: impl FnMut(&HostsFile, &Arc<Engine>, PrpAddr) -> io::Result<T>,
    ) -> io::Result<T> {
        self.check()?;
        let (file, node) = self.place()?;
        let path = file.path().to_owned();
        let addrs = addr.to_prp_addrs_with(Some(&Resolver::new(file.clone(), node)))?;
        let engine = engine_for(&EngineKey::new(path, node, self.device.clone()))?;
        engine.follow_hosts(&file);
        engine.follow_key()?;
        let mut last = None;
        for addr in addrs {
            match f(&file, &engine, addr) {
                Ok(made) => return Ok(made),
                Err(e) => last = Some(e),
            }
        }
        Err(last.unwrap_or_else(error::no_address))
    }
}
