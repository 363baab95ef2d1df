//! A link with the sender at one end and the tcx receive path at the other.

use std::io;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Wake, Waker};
use std::time::Duration;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use prp_device::{
    FrameProgram, Interface, KernelDevice, Managed, PacketDevice, Peek, PortFilter, TcxRx,
    Underlay, interfaces,
};
use prp_proto::time::Instant;
use prp_sock::{MacAddr, NodeId, Port};
use prp_tests::harness::skip;
use prp_tests::namespace::on_node;
use prp_tests::privilege;
use prp_tests::wait::until_taken;

/// The EtherType for local experiments (IEEE 802), which nothing else in this project uses.
pub(crate) const ETHERTYPE: u16 = 0x88b6;

/// Longer than any delay of the kernel.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) const BATCH: u32 = 32;

/// The capacities of the tcx receive path and of the socket's ring, in frames.
pub(crate) const SLOTS: u32 = 512;

/// A number of frames that is certainly a flow, and long enough for another check.
pub(crate) const FLOW: u32 = 1024;
pub(crate) const WITHIN: Duration = Duration::from_millis(10);
pub(crate) const SERVICE_INTERVAL: Duration = Duration::from_millis(50);
pub(crate) const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// The port of the tests.
pub(crate) const NODE: u16 = 2;
pub(crate) const PORT: u16 = 80;

// The offset of a frame's number, behind both headers.
const NUMBER: usize = 30;
const SHORTEST: usize = NUMBER + 4;
const LONGEST: usize = 1514;

/// How often the waker was called.
#[derive(Default)]
struct Calls(AtomicU32);

impl Wake for Calls {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Calls a function when it is dropped, also after a panic.
pub(crate) struct Restore(pub(crate) Box<dyn Fn()>);

impl Drop for Restore {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// One end of a link.
#[derive(Clone, Debug)]
pub(crate) struct End {
    pub(crate) node: u8,
    pub(crate) name: String,
}

impl End {
    /// The device of the topology on node `node`.
    pub(crate) fn of(node: u8) -> Self {
        let found = on_node(node, || interfaces().into_iter().find(|i| !i.loopback));
        Self { node, name: found.expect("a device").name }
    }

    pub(crate) fn interface(&self) -> Interface {
        let found = on_node(self.node, || interfaces().into_iter().find(|i| i.name == self.name));
        found.expect("it is there")
    }

    /// A socket for frames of `ethertype` that `filter` passes.
    pub(crate) fn device(&self, ethertype: u16, filter: &PortFilter) -> PacketDevice {
        let interface = self.interface();
        on_node(self.node, || {
            let device = PacketDevice::open(&interface, ethertype).expect("it opens");
            device.set_filter(filter).expect("a filter");
            device
        })
    }

    /// Runs `program` with `words`, in which `DEV` stands for the name of the device. It must
    /// succeed.
    pub(crate) fn run(&self, program: &str, words: &str) {
        let words = words.replace("DEV", &self.name);
        let done = on_node(self.node, || Command::new(program).args(words.split(' ')).status());
        assert!(done.expect("it runs").success(), "{program} {words}");
    }
}

pub(crate) fn node(number: u16) -> NodeId {
    NodeId::new(number).expect("a node")
}

/// A filter for one port of the tests.
pub(crate) fn filter(port: u16) -> PortFilter {
    PortFilter::new(node(NODE), false, [Port::new(port)].into_iter())
}

/// Skips the test if the kernel has no tcx, or the privileges are missing.
pub(crate) fn need_tcx_rx(at: &End) {
    if privilege::in_user_namespace() {
        skip("root: in a user namespace nobody may load programs");
    }
    // r0 = TCX_NEXT; exit
    let nothing = [0xffff_ffff_0000_00b7, 0x95];
    let index = at.interface().index;
    let tried = on_node(at.node, || FrameProgram::load("prp_test", &nothing)?.hook(index));
    match tried.map_err(|e| (e.kind(), e)) {
        Ok(_) => {}
        Err((io::ErrorKind::PermissionDenied, e)) => skip(format!("CAP_BPF ({e})")),
        Err((io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported, e)) => {
            skip(format!("tcx (Linux 6.6: {e})"));
        }
        Err((_, e)) => panic!("the kernel runs programs at a device: {e}"),
    }
}

/// Pins this thread to the first or the last processor on which it may run. Frames that are sent
/// from one processor do not overtake each other. If the sender runs on another processor than the
/// polling thread, their instructions interleave at every point.
pub(crate) fn run_on_processor(last: bool) {
    static MINE: OnceLock<CpuSet> = OnceLock::new();
    let mine = MINE.get_or_init(|| sched_getaffinity(Pid::from_raw(0)).expect("it is known"));
    let mut those = (0..CpuSet::count()).filter(|at| mine.is_set(*at) == Ok(true));
    let one = if last { those.next_back() } else { those.next() };
    let mut set = CpuSet::new();
    set.set(one.expect("one at least")).expect("it fits");
    sched_setaffinity(Pid::from_raw(0), &set).expect("it may");
}

/// The address of the frames.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Address {
    mac: MacAddr,
    port: u16,
}

/// A process that sends to one address.
pub(crate) struct Source {
    pub(crate) device: PacketDevice,
    pub(crate) to: Address,
}

impl Source {
    pub(crate) fn frame(&self, number: u32) -> Vec<u8> {
        frame(self.to, number)
    }

    /// Sends `frames`. The device must lose none.
    pub(crate) fn send(&mut self, frames: &[Vec<u8>]) {
        let mut at = 0;
        while at < frames.len() {
            let rest = frames[at..].iter().map(|f| [&f[..], &[], &[], &[]]);
            let sent = until_taken(|| self.device.send_frames(&mut rest.clone()));
            assert!(sent.lost == 0 && sent.refused.is_none(), "{sent:?}");
            at += sent.done;
        }
    }
}

/// Frame `number` to `to`. Its length depends on its number.
fn frame(to: Address, number: u32) -> Vec<u8> {
    let len = SHORTEST + (number as usize * 97) % (LONGEST - SHORTEST + 1);
    let mut frame: Vec<u8> = (0..len).map(|at| (at + number as usize) as u8).collect();
    frame[..6].copy_from_slice(&to.mac.0);
    frame[6..12].copy_from_slice(&[2, 0, 0, 0, 0, 1]);
    frame[12..14].copy_from_slice(&ETHERTYPE.to_be_bytes());
    frame[16..18].copy_from_slice(&NODE.to_be_bytes());
    frame[20..22].copy_from_slice(&to.port.to_be_bytes());
    frame[NUMBER..SHORTEST].copy_from_slice(&number.to_be_bytes());
    frame
}

/// Whether poll reports a frame at `device`.
pub(crate) fn waits(device: &PacketDevice) -> bool {
    device.tcx_rx().has_frame() || matches!(device.peek(), Peek::Ring(ring) if ring.has_frame())
}

/// The number of a received frame.
pub(crate) fn number(frame: &[u8]) -> u32 {
    u32::from_be_bytes(frame[NUMBER..SHORTEST].try_into().expect("so many"))
}

/// Receives frames for `to`, of which `received` have been received before. They must be the next
/// ones, and unchanged.
pub(crate) fn next(to: Address, received: &mut u32) -> impl FnMut(&[u8]) {
    move |f| {
        let came = number(f);
        assert_eq!(came, *received, "in order, and each once");
        assert!(f == frame(to, came), "frame {came} is whole");
        *received += 1;
    }
}

/// Both ends of a link, and a number for each frame.
pub(crate) struct Link {
    pub(crate) from: Source,
    /// The device with the tcx receive path.
    pub(crate) at: End,
    pub(crate) to: PacketDevice,
    pub(crate) tcx_rx: Arc<TcxRx>,
    calls: Arc<Calls>,
    now: Instant,
    pub(crate) sent: u32,
    pub(crate) received: u32,
}

impl Link {
    /// From node 1 to node 2.
    pub(crate) fn new() -> Self {
        Self::between(&End::of(1), &End::of(2), PORT)
    }

    /// A link for one port.
    pub(crate) fn between(from: &End, at: &End, port: u16) -> Self {
        need_tcx_rx(at);
        run_on_processor(false);
        let device = from.device(ETHERTYPE, &filter(port));
        let from = Source { device, to: Address { mac: at.interface().mac, port } };
        let to = at.device(ETHERTYPE, &filter(port));
        let tcx_rx = to.tcx_rx().clone();
        tcx_rx.own([Port::new(port)], true);
        let calls = Arc::<Calls>::default();
        tcx_rx.set_waker(&Waker::from(calls.clone()));
        let now = Instant::from_nanos(0);
        Self { from, at: at.clone(), to, tcx_rx, calls, now, sent: 0, received: 0 }
    }

    /// A link whose tcx receive path is open, but not enabled.
    pub(crate) fn open() -> Self {
        let mut link = Self::new();
        link.open_tcx_rx();
        link
    }

    pub(crate) fn open_tcx_rx(&mut self) {
        self.flow();
        self.pass_until_open();
        self.tcx_rx.disable();
    }

    /// How often the waker was called.
    pub(crate) fn calls(&self) -> u32 {
        self.calls.0.load(Ordering::Relaxed)
    }

    /// Sends the next `count` frames.
    pub(crate) fn send(&mut self, count: u32) {
        let end = self.sent + count;
        while self.sent < end {
            let next = self.sent..end.min(self.sent + BATCH);
            self.sent = next.end;
            let frames: Vec<_> = next.map(|number| self.from.frame(number)).collect();
            self.from.send(&frames);
        }
    }

    /// Receives up to `max` frames, which must be the next ones, and unchanged; returns their
    /// number.
    pub(crate) fn receive(&mut self, max: usize) -> u32 {
        let mut take = next(self.from.to, &mut self.received);
        self.to.receive_frames(max, &mut take).expect("they can be had").frames
    }

    /// Waits for all frames that were sent.
    pub(crate) fn receive_all(&mut self) {
        let deadline = std::time::Instant::now() + TIMEOUT;
        while self.received < self.sent {
            let late = std::time::Instant::now() > deadline;
            assert!(!late, "frame {} of {} does not come", self.received, self.sent);
            if self.receive(64) == 0 {
                std::thread::yield_now();
            }
        }
        assert_eq!(self.receive(64), 0, "no more than were sent");
    }

    /// Prepares to poll, as a thread of the engine does.
    pub(crate) fn enable(&self) {
        self.tcx_rx.enable(!waits(&self.to));
    }

    /// Sends `count` frames to a polling thread; returns the number that arrived by the tcx receive
    /// path.
    pub(crate) fn pass(&mut self, count: u32) -> u32 {
        self.to.take_tcx_rx();
        let end = self.sent + count;
        while self.sent < end {
            self.enable();
            self.send(BATCH.min(end - self.sent));
            self.receive_all();
        }
        self.to.take_tcx_rx() as u32
    }

    /// Services the tcx receive path at a time that is `later` than before.
    pub(crate) fn service(&mut self, later: Duration) -> Option<Instant> {
        self.now = self.now + later;
        on_node(self.at.node, || self.tcx_rx.service(self.now))
    }

    /// Sends a flow, and services the path.
    pub(crate) fn flow(&mut self) {
        self.pass(FLOW);
        self.service(Duration::ZERO);
        self.pass(FLOW);
        self.service(WITHIN);
    }

    /// Sends a flow until the path has been tried again after a conflict.
    pub(crate) fn pass_until_open(&mut self) {
        let deadline = std::time::Instant::now() + TIMEOUT;
        while self.pass(BATCH) == 0 {
            assert!(std::time::Instant::now() < deadline, "the tcx receive path stays closed");
            self.retry();
        }
    }

    /// Sends a flow until the device has been checked for conflicts again.
    pub(crate) fn retry(&mut self) {
        self.pass(FLOW);
        self.service(RETRY_INTERVAL);
        self.pass(FLOW);
        self.service(WITHIN);
    }
}
