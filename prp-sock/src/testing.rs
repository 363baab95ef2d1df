//! Two nodes in one process, on a link made of pipes: tests of streams and of what is built on
//! them, without any privileges. Everything above the devices is the real thing: endpoint, engine,
//! threads.

mod faulty;

use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;
use std::{fmt, io, thread};

use prp_device::{PipeDevice, Underlay, UnixDevice};
use prp_proto::addr::{DeviceId, LinkAddr, MacAddr, NodeId, Port, PrpAddr};
use prp_proto::config::EndpointConfig;
use prp_proto::endpoint::{Device, Endpoint};
use prp_proto::hosts::Hosts;
use prp_proto::route::RouteTable;

use crate::builder::Builder;
use crate::engine::{Engine, enlist};
use crate::listener::PrpListener;
use crate::stream::PrpStream;

pub(crate) use faulty::FaultyDevice;
pub use faulty::{FrameAction, Rule};

/// How long anything may take before it counts as stuck: far longer than the slowest, most loaded
/// machine needs, and than every timeout of the protocol that a test does not mean to wait for.
pub const TEST_TIMEOUT: Duration = Duration::from_secs(60);

/// MTU of a link unless a test wants another.
pub(crate) const MTU: u32 = 1500;

/// Node numbers for pairs: away from those people give to machines.
const FIRST_NODE: u16 = 20_000;
const PAIRS: u16 = 20_000;

/// Two node numbers that no other test in this network namespace uses, as long as this lives: ports
/// and stewardship are claimed by node number, and tests run in parallel.
#[derive(Clone, Debug)]
pub struct Numbers {
    alpha: NodeId,
    beta: NodeId,
    _claim: Arc<UnixDatagram>,
    #[cfg(test)]
    _permit: Arc<PairPermit>,
}

/// A permit to have a pair, for unit tests of this crate that run at the same time. A pair has some
/// 30 descriptors until its engines have ended, 250 ms after the test, and a machine
/// with 64 processors runs 64 tests at a time: without permits they need more than the usual limit
/// of 1,024.
#[cfg(test)]
#[derive(Debug)]
struct PairPermit;

/// Permits that are taken, and the condition that one has been given back.
#[cfg(test)]
static PERMITS: (parking_lot::Mutex<usize>, parking_lot::Condvar) =
    (parking_lot::Mutex::new(0), parking_lot::Condvar::new());

#[cfg(test)]
impl PairPermit {
    /// More than there are tests that hold several pairs at once, so those cannot wait for each
    /// other for ever.
    const ALL: usize = 16;

    /// Waits for a place.
    fn take() -> Arc<Self> {
        let (taken, left) = &PERMITS;
        let mut taken = taken.lock();
        left.wait_while(&mut taken, |taken| *taken == Self::ALL);
        *taken += 1;
        Arc::new(Self)
    }
}

#[cfg(test)]
impl Drop for PairPermit {
    fn drop(&mut self) {
        let (taken, left) = &PERMITS;
        *taken.lock() -= 1;
        left.notify_one();
    }
}

impl Numbers {
    /// A pair of numbers that is free.
    ///
    /// # Panics
    /// If there is none.
    pub fn reserve() -> Self {
        static NEXT: AtomicU16 = AtomicU16::new(0);
        let start = (std::process::id() as u16).wrapping_mul(97) % PAIRS;
        (0..PAIRS)
            .find_map(|_| {
                Self::claim((start + NEXT.fetch_add(1, Ordering::Relaxed) % PAIRS) % PAIRS)
            })
            .expect("some pair of node numbers is free")
    }

    /// A socket with a name of its own under these numbers.
    #[cfg(test)]
    pub(crate) fn socket(&self, name: &str) -> UnixDatagram {
        let name = SocketAddr::from_abstract_name(format!("prp-testing/{}/{name}", self.alpha));
        UnixDatagram::bind_addr(&name.expect("a short name")).expect("the name is ours")
    }

    fn claim(pair: u16) -> Option<Self> {
        let name = SocketAddr::from_abstract_name(format!("prp-testing/{pair}")).ok()?;
        let claim = UnixDatagram::bind_addr(&name).ok()?;
        let number = FIRST_NODE + 2 * pair;
        Some(Self {
            alpha: NodeId::new(number)?,
            beta: NodeId::new(number + 1)?,
            _claim: Arc::new(claim),
            #[cfg(test)]
            _permit: PairPermit::take(),
        })
    }
}

/// Which of the two nodes.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum Side {
    /// The first.
    Alpha,
    /// The second.
    Beta,
}

/// A node: an engine of its own, with a link to the other node and a loopback device.
#[derive(Debug)]
pub struct Node {
    number: NodeId,
    engine: Arc<Engine>,
}

impl Node {
    /// The node that is `side` of `numbers`, with one end of a link and devices that lead nowhere.
    pub(crate) fn new(
        numbers: &Numbers,
        side: Side,
        device: Box<dyn Underlay>,
        others: Vec<Box<dyn Underlay>>,
    ) -> Self {
        let Numbers { alpha, beta, .. } = numbers;
        let text =
            format!("{alpha} 02:00:00:00:00:01 eth0 alpha\n{beta} 02:00:00:00:00:02 eth0 beta\n");
        let hosts = Hosts::parse(text.as_bytes()).expect("the text above is well formed");
        let (number, last) = match side {
            Side::Alpha => (*alpha, 1),
            Side::Beta => (*beta, 2),
        };
        let routes = RouteTable::build(&hosts, number, |_| Some(DeviceId(0)));
        let devices =
            vec![Device::ethernet(MacAddr([2, 0, 0, 0, 0, last]), MTU), Device::loopback(MTU)];
        let endpoint = Endpoint::new(EndpointConfig::default(), routes, devices, [last; 32]);
        let looped = PipeDevice::looped(MTU).expect("a socket");
        let looped = FaultyDevice::new(looped, None, numbers.clone());
        let looped: Box<dyn Underlay> = Box::new(looped);
        let io = [device, looped].into_iter().chain(others).collect();
        let names = vec!["eth0".into(), "lo".into()];
        let engine = Engine::start(endpoint, io, names, None).expect("an engine on pipes");
        Self { number, engine }
    }

    /// The node that is `side` of `numbers`, reached by Unix sockets in `folder`, where `rule` says
    /// what becomes of packets that arrive.
    fn on_unix(numbers: &Numbers, side: Side, folder: &Path, rule: Option<Rule>) -> Self {
        let Numbers { alpha, beta, .. } = numbers;
        let path = folder.display();
        let text = format!("{alpha} unix:{path} alpha\n{beta} unix:{path} beta\n");
        let hosts = Hosts::parse(text.as_bytes()).expect("the path is short");
        let number = if side == Side::Alpha { *alpha } else { *beta };
        let routes = RouteTable::build(&hosts, number, |_| Some(DeviceId(0)));
        let device = UnixDevice::open(folder, number).expect("a socket");
        let own = LinkAddr::Unix { node: number, process: 0 };
        let devices = vec![Device::new(own, device.capabilities())];
        let seed = [number.number() as u8; 32];
        let endpoint = Endpoint::new(EndpointConfig::default(), routes, devices, seed);
        let device = FaultyDevice::new(device, rule, numbers.clone());
        let engine = Engine::start(endpoint, vec![Box::new(device)], vec!["unix".into()], None);
        Self { number, engine: engine.expect("an engine on a Unix socket") }
    }

    /// The node at one end of a link that leaves this process: `socket` is a datagram socket
    /// connected to its peer's. Like an engine of the real world it delivers what is left when the
    /// process exits.
    ///
    /// # Panics
    /// If the operating system has no threads or descriptors left.
    pub fn on_socket(numbers: &Numbers, side: Side, socket: OwnedFd) -> Self {
        let pipe = PipeDevice::new(socket.into(), MTU).expect("a socket");
        let device = Box::new(FaultyDevice::new(pipe, None, numbers.clone()));
        let node = Self::new(numbers, side, device, Vec::new());
        enlist(&node.engine, &format!("prp-testing/{}", node.number));
        node
    }

    /// The engine behind it.
    #[cfg(test)]
    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// The address of `port` on this node.
    pub fn addr(&self, port: u16) -> PrpAddr {
        PrpAddr::new(self.number, Port::new(port))
    }

    /// Listens on `port`, or on any if it is zero.
    ///
    /// # Errors
    /// As [`Builder::bind`].
    pub fn listen(&self, port: u16, builder: &Builder) -> io::Result<PrpListener> {
        PrpListener::open(&self.engine, self.addr(port), 4096, builder)
    }

    /// Connects to `peer`.
    ///
    /// # Errors
    /// As [`Builder::connect`].
    pub fn connect(&self, peer: PrpAddr, builder: &Builder) -> io::Result<PrpStream> {
        PrpStream::open(&self.engine, peer, builder.local_port, builder)
    }

    /// Asks for a connection to `peer` without waiting for it.
    ///
    /// # Errors
    /// As [`Builder::connect_nonblocking`].
    pub fn connect_nonblocking(&self, peer: PrpAddr, builder: &Builder) -> io::Result<PrpStream> {
        PrpStream::request(&self.engine, peer, builder.local_port, builder)
    }
}

/// Two nodes and the link between them.
#[derive(Debug)]
pub struct Pair {
    /// The first node.
    pub alpha: Node,
    /// The second node.
    pub beta: Node,
}

impl Default for Pair {
    fn default() -> Self {
        Self::new()
    }
}

impl Pair {
    /// Two nodes on a link that loses nothing.
    pub fn new() -> Self {
        Self::with_rules(None, None)
    }

    /// Two nodes on a link that does with frames towards each what a rule says.
    ///
    /// # Panics
    /// If the operating system has no threads or descriptors left.
    pub fn with_rules(to_alpha: Option<Rule>, to_beta: Option<Rule>) -> Self {
        let numbers = Numbers::reserve();
        let (a, b) = PipeDevice::pair(MTU).expect("a socket pair");
        let a = Box::new(FaultyDevice::new(a, to_alpha, numbers.clone()));
        let b = Box::new(FaultyDevice::new(b, to_beta, numbers.clone()));
        Self {
            alpha: Node::new(&numbers, Side::Alpha, a, Vec::new()),
            beta: Node::new(&numbers, Side::Beta, b, Vec::new()),
        }
    }

    /// As [`Self::with_rules`], of nodes that are reached by Unix sockets in `folder`.
    ///
    /// # Panics
    /// If the operating system has no threads or descriptors left, or the folder takes no sockets.
    pub fn on_unix(folder: &Path, to_alpha: Option<Rule>, to_beta: Option<Rule>) -> Self {
        let numbers = Numbers::reserve();
        Self {
            alpha: Node::on_unix(&numbers, Side::Alpha, folder, to_alpha),
            beta: Node::on_unix(&numbers, Side::Beta, folder, to_beta),
        }
    }

    /// An established connection: alpha's end, which asked for it, and beta's.
    pub fn streams(&self) -> (PrpStream, PrpStream) {
        self.streams_with(&Builder::new(), &Builder::new())
    }

    /// An established connection with settings.
    ///
    /// # Panics
    /// If it cannot be made.
    pub fn streams_with(&self, alpha: &Builder, beta: &Builder) -> (PrpStream, PrpStream) {
        let listener = self.beta.listen(0, beta).expect("a port is free");
        let addr = listener.local_addr().expect("it has one");
        let accepting = thread::spawn(move || listener.accept());
        let ours = self.alpha.connect(addr, alpha).expect("beta listens");
        let (theirs, _) = accepting.join().expect("accepting does not panic").expect("alpha asked");
        (ours, theirs)
    }
}

/// Runs `test` and fails if it takes longer than [`TEST_TIMEOUT`]: a blocking call that is never
/// woken would otherwise hang the whole run.
///
/// # Panics
/// If `test` does, and if it is stuck.
pub fn within_patience<T: Send + 'static>(test: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, over) = channel();
    let body = thread::spawn(move || {
        let _done = done;
        test()
    });
    match over.recv_timeout(TEST_TIMEOUT) {
        Err(RecvTimeoutError::Timeout) => panic!("stuck for {TEST_TIMEOUT:?}"),
        // The body is over, by success or not: it has dropped its end.
        Ok(()) | Err(RecvTimeoutError::Disconnected) => {}
    }
    match body.join() {
        Ok(value) => value,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Waits until `condition` holds.
///
/// # Panics
/// If it does not within [`TEST_TIMEOUT`].
pub fn wait_until(what: impl fmt::Display, mut condition: impl FnMut() -> bool) {
    let pause = Duration::from_millis(1);
    for _ in 0..TEST_TIMEOUT.as_millis() {
        if condition() {
            return;
        }
        thread::sleep(pause);
    }
    panic!("{what}: not within {TEST_TIMEOUT:?}");
}
