//! A link: the sender, and the tcx receive path at its other end.

use std::io;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Wake, Waker};
use std::time::Duration;

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;
use prp_device::{
    FrameIo, FrameProgram, Interface, KernelDevice, Managed, PacketDevice, Peek, PortFilter, TcxRx,
    interfaces,
};
use prp_proto::time::Instant;
use prp_sock::{MacAddr, NodeId, Port};
use prp_tests::harness::skip;
use prp_tests::namespace::on_node;
use prp_tests::privilege;
use prp_tests::wait::until_taken;

/// For local experiments (IEEE 802), and used by nothing else here.
pub(crate) const ETHERTYPE: u16 = 0x88b6;

/// Longer than the kernel ever takes.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) const BATCH: u32 = 32;

/// Frames the tcx receive path holds, and the socket's ring.
pub(crate) const SLOTS: u32 = 512;

/// Frames that are certainly a flow, and enough that it is checked once more.
pub(crate) const FLOW: u32 = 1024;
pub(crate) const WITHIN: Duration = Duration::from_millis(10);
pub(crate) const SERVICE_INTERVAL: Duration = Duration::from_millis(50);
pub(crate) const RETRY: Duration = Duration::from_secs(1);

/// Ours.
pub(crate) const NODE: u16 = 2;
pub(crate) const PORT: u16 = 80;

// In a frame: both headers, and then its number.
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

/// Does something in the end, however that comes.
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
    /// The device that node `node` has anyway.
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

    /// Runs `program` with `words`, where `DEV` is the name of the device, and wants it to succeed.
    pub(crate) fn run(&self, program: &str, words: &str) {
        let words = words.replace("DEV", &self.name);
        let done = on_node(self.node, || Command::new(program).args(words.split(' ')).status());
        assert!(done.expect("it runs").success(), "{program} {words}");
    }
}

pub(crate) fn node(number: u16) -> NodeId {
    NodeId::new(number).expect("a node")
}

/// A filter for one port of ours.
pub(crate) fn filter(port: u16) -> PortFilter {
    PortFilter::new(node(NODE), false, [Port::new(port)].into_iter())
}

/// Skips the test where the kernel has no such thing, or not for us.
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

/// Has this thread run on the first processor it may run on, or on the last. Frames that are sent
/// from one processor do not overtake each other, and only those that come on another than the
/// thread that polls meet it at every instruction.
pub(crate) fn run_on_processor(last: bool) {
    static MINE: OnceLock<CpuSet> = OnceLock::new();
    let mine = MINE.get_or_init(|| sched_getaffinity(Pid::from_raw(0)).expect("it is known"));
    let mut those = (0..CpuSet::count()).filter(|at| mine.is_set(*at) == Ok(true));
    let one = if last { those.next_back() } else { those.next() };
    let mut set = CpuSet::new();
    set.set(one.expect("one at least")).expect("it fits");
    sched_setaffinity(Pid::from_raw(0), &set).expect("it may");
}

/// To whom frames are.
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

    /// Sends `frames`, of which the device may lose none.
    pub(crate) fn send(&mut self, frames: &[Vec<u8>]) {
        let mut at = 0;
        while at < frames.len() {
            let rest = frames[at..].iter().map(|f| [&f[..], &[], &[], &[]]);
            let sent = until_taken(|| self.device.send(&mut rest.clone()));
            assert!(sent.lost == 0, "{sent:?}");
            at += sent.done;
        }
    }
}

/// Frame `number` to `to`; how long it is depends on its number.
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

/// Whether a poll shows a frame at `device`.
pub(crate) fn waits(device: &PacketDevice) -> bool {
    device.tcx_rx().has_frame() || matches!(device.peek(), Peek::Ring(ring) if ring.has_frame())
}

/// The number of a frame that has come.
pub(crate) fn number(frame: &[u8]) -> u32 {
    u32::from_be_bytes(frame[NUMBER..SHORTEST].try_into().expect("so many"))
}

/// Takes frames to `to`, of which `received` have come: they must be the next ones, and whole.
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
    /// Where the tcx receive path is.
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

    /// For one port.
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

    /// One whose tcx receive path is open, and not enabled.
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

    /// Takes up to `max` frames, which are to be the next ones, and whole; how many there were.
    pub(crate) fn receive(&mut self, max: usize) -> usize {
        let mut take = next(self.from.to, &mut self.received);
        self.to.receive(max, &mut take).expect("they can be had")
    }

    /// Waits for all frames that were sent.
    pub(crate) fn receive_all(&mut self) {
        let deadline = std::time::Instant::now() + PATIENCE;
        while self.received < self.sent {
            let late = std::time::Instant::now() > deadline;
            assert!(!late, "frame {} of {} does not come", self.received, self.sent);
            if self.receive(64) == 0 {
                std::thread::yield_now();
            }
        }
        assert_eq!(self.receive(64), 0, "no more than were sent");
    }

    /// As a thread that is about to poll.
    pub(crate) fn enable(&self) {
        self.tcx_rx.enable(!waits(&self.to));
    }

    /// Sends `count` frames to the thread that polls; how many came by the tcx receive path.
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

    /// Services the tcx receive path, `later` than before.
    pub(crate) fn service(&mut self, later: Duration) -> Option<Instant> {
        self.now = self.now + later;
        on_node(self.at.node, || self.tcx_rx.service(self.now))
    }

    /// A flow, and what is done about it.
    pub(crate) fn flow(&mut self) {
        self.pass(FLOW);
        self.service(Duration::ZERO);
        self.pass(FLOW);
        self.service(WITHIN);
    }

    /// A flow for as long as it takes: what was in the way is tried again.
    pub(crate) fn pass_until_open(&mut self) {
        let deadline = std::time::Instant::now() + PATIENCE;
        while self.pass(BATCH) == 0 {
            assert!(std::time::Instant::now() < deadline, "the tcx receive path stays closed");
            self.retry();
        }
    }

    /// A flow that goes on until whatever is in the way is checked again.
    pub(crate) fn retry(&mut self) {
        self.pass(FLOW);
        self.service(RETRY);
        self.pass(FLOW);
        self.service(WITHIN);
    }
}
