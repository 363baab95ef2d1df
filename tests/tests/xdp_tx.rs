//! The AF_XDP send path of packet devices: opened for a flow, and closed if frames would bypass a
//! kernel hook.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::io::Read;
use std::num::NonZeroU32;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Wake, Waker};
use std::time::Duration;

use prp_device::raw::{CaptureLengths, CaptureSocket, CapturedFrame};
use prp_device::{
    KernelDevice, Managed, PacketDevice, PortFilter, Refusal, Sent, XdpTx, interfaces,
};
use prp_proto::time::Instant;
use prp_sock::{NodeId, Port};
use prp_tests::harness::{Load, Test, skip};
use prp_tests::namespace::{self, mac, on_node};
use prp_tests::privilege;
use prp_tests::wait::until_taken;
use socket2::{Domain, Protocol, Socket, Type};

/// The EtherType for local experiments (IEEE 802), which nothing else in this project uses.
const ETHERTYPE: u16 = 0x88b6;

/// All of them (`ETH_P_ALL`), in network order.
const ALL: i32 = 0x0300;

/// From linux/socket.h.
const AF_XDP: i32 = 44;

/// Longer than any delay of the kernel.
const TIMEOUT: Duration = Duration::from_secs(10);

const BATCH: usize = 32;

/// A number of frames that is certainly a flow, and long enough for another check.
const FLOW: usize = 1024;
const WITHIN: Duration = Duration::from_millis(10);
const SERVICE_INTERVAL: Duration = Duration::from_millis(50);
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    // The tests share a link, and its queue.
    let tests = [
        Test::new(
            "flow__takes_xdp_tx_whole_and_in_order",
            Load::Heavy,
            flow__takes_xdp_tx_whole_and_in_order,
        ),
        Test::new(
            "messages__take_xdp_tx_once_they_are_many",
            Load::Heavy,
            messages__take_xdp_tx_once_they_are_many,
        ),
        Test::new(
            "flow__goes_on_where_frames_arrive_later",
            Load::Heavy,
            flow__goes_on_where_frames_arrive_later,
        ),
        Test::new(
            "rules__at_the_egress_are_not_passed_by",
            Load::Heavy,
            rules__at_the_egress_are_not_passed_by,
        ),
        Test::new(
            "flow__ends_and_leaves_the_path_to_others",
            Load::Heavy,
            flow__ends_and_leaves_the_path_to_others,
        ),
        Test::new(
            "listener__hears_all_that_is_sent",
            Load::Heavy,
            listener__hears_all_that_is_sent,
        ),
        Test::new(
            "capture__gets_what_passes_by_its_socket",
            Load::Heavy,
            capture__gets_what_passes_by_its_socket,
        ),
        Test::new(
            "capture__at_its_limit_gets_what_passes_by_its_socket",
            Load::Heavy,
            capture__at_its_limit_gets_what_passes_by_its_socket,
        ),
        Test::new("queue__is_not_passed_by", Load::Heavy, queue__is_not_passed_by),
        Test::new(
            "link__with_its_other_end_down_loses_frames",
            Load::Heavy,
            link__with_its_other_end_down_loses_frames,
        ),
        Test::new(
            "link__that_is_down_or_smaller_is_left_and_returned_to",
            Load::Heavy,
            link__that_is_down_or_smaller_is_left_and_returned_to,
        ),
    ];
    namespace::run_on_pair(&tests, |_| None)
}

/// How often the waker was called.
#[derive(Default)]
struct Calls(AtomicU32);

impl Wake for Calls {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// The device of node `number`.
fn device(number: u8) -> PacketDevice {
    on_node(number, || {
        let found = interfaces().into_iter().find(|i| !i.loopback).expect("a device");
        let device = PacketDevice::open(&found, ETHERTYPE).expect("it opens");
        let node = NodeId::new(number.into()).expect("a node");
        let filter = PortFilter::new(node, false, [Port::new(80)].into_iter());
        device.set_filter(&filter).expect("a filter");
        device
    })
}

/// A sending node, its clock, and a number for each frame.
struct Sender {
    device: PacketDevice,
    /// The device that must receive every frame, if there is one.
    to: Option<PacketDevice>,
    xdp_tx: Arc<XdpTx>,
    calls: Arc<Calls>,
    now: Instant,
    next: u32,
}

impl Sender {
    fn new() -> Self {
        if privilege::in_user_namespace() {
            skip("root: in a user namespace nobody may know what is at a device's egress");
        }
        if Socket::new(Domain::from(AF_XDP), Type::RAW, None).is_err() {
            skip("AF_XDP (CONFIG_XDP_SOCKETS)");
        }
        let device = device(1);
        let xdp_tx = device.xdp_tx().expect("frames are small enough").clone();
        let calls = Arc::<Calls>::default();
        xdp_tx.set_waker(&Waker::from(calls.clone()));
        Self { device, to: None, xdp_tx, calls, now: Instant::from_nanos(0), next: 0 }
    }

    /// Sends `count` frames in batches; returns the number that took the AF_XDP send path.
    fn send(&mut self, count: usize) -> u64 {
        let _ = self.device.take_xdp_tx();
        for _ in 0..count / BATCH {
            let first = self.next;
            let frames: Vec<_> = (0..BATCH as u32).map(|n| frame(first + n)).collect();
            self.next += BATCH as u32;
            let mut at = 0;
            while at < BATCH {
                let rest = frames[at..].iter().map(|f| [&f[..14], &f[14..22], &[][..], &f[22..]]);
                at += until_taken(|| self.device.send_frames(&mut rest.clone())).gone();
            }
            self.receive_from(first);
        }
        self.device.take_xdp_tx()
    }

    /// Sends `count` frames one by one; returns the number that took the AF_XDP send path.
    fn send_alone(&mut self, count: usize) -> u64 {
        let _ = self.device.take_xdp_tx();
        for _ in 0..count {
            let alone = frame(self.next);
            self.next += 1;
            let sent = until_taken(|| {
                self.device.send_frames(&mut std::iter::once([&alone[..], &[], &[], &[]]))
            });
            assert!(sent.done == 1 && sent.lost == 0, "{sent:?}");
            self.receive_from(self.next - 1);
        }
        self.device.take_xdp_tx()
    }

    /// Waits for all frames from `first` on.
    fn receive_from(&mut self, first: u32) {
        let Some(to) = &mut self.to else { return };
        let deadline = std::time::Instant::now() + TIMEOUT;
        let mut expected = first;
        while expected < self.next {
            assert!(std::time::Instant::now() < deadline, "frame {expected} does not come");
            let mut take = |f: &[u8]| {
                assert!(f == frame(expected), "frame {expected}");
                expected += 1;
            };
            if to.receive_frames(64, &mut take).expect("they can be had").frames == 0 {
                std::thread::yield_now();
            }
        }
    }

    /// Services the path at a time that is `later` than before.
    fn service(&mut self, later: Duration) -> Option<Instant> {
        self.now = self.now + later;
        on_node(1, || self.xdp_tx.service(self.now))
    }

    /// Sends a flow, and services the path.
    fn flow(&mut self) {
        self.send(FLOW);
        assert!(self.calls.0.load(Ordering::Relaxed) > 0, "somebody is called");
        self.service(Duration::ZERO);
        self.send(FLOW);
        self.service(WITHIN);
    }

    /// Sends until the path is open: the kernel frees a closed socket some time later.
    fn send_until_open(&mut self) {
        let deadline = std::time::Instant::now() + TIMEOUT;
        while self.send(BATCH) == 0 {
            assert!(std::time::Instant::now() < deadline, "the path stays closed");
            self.service(RETRY_INTERVAL);
            self.send(FLOW);
            self.service(WITHIN);
        }
    }

    fn open() -> Self {
        let mut sender = Self::new();
        sender.flow();
        sender.send_until_open();
        sender
    }
}

/// A frame of the usual size for port 80 of node 2.
fn frame(number: u32) -> Vec<u8> {
    let mut frame: Vec<u8> = (0..1514).map(|at| (at % 251) as u8).collect();
    frame[..6].copy_from_slice(&mac(2).0);
    frame[6..12].copy_from_slice(&[2, 0, 0, 0, 0, 1]);
    frame[12..14].copy_from_slice(&ETHERTYPE.to_be_bytes());
    frame[16..18].copy_from_slice(&2u16.to_be_bytes());
    frame[20..22].copy_from_slice(&80u16.to_be_bytes());
    frame[100..104].copy_from_slice(&number.to_be_bytes());
    frame
}

/// Runs `program` on node 1, with the name of its device in place of `DEV`. It must succeed.
fn run(program: &str, words: &str) {
    run_on(1, program, words);
}

/// Runs `program` on `node`, with the name of its device in place of `DEV`. It must succeed.
fn run_on(node: u8, program: &str, words: &str) {
    on_node(node, || {
        let device = interfaces().into_iter().find(|i| !i.loopback).expect("a device").name;
        let words = words.replace("DEV", &device);
        let done = Command::new(program).args(words.split(' ')).status();
        assert!(done.expect("it runs").success(), "{program} {words}");
    });
}

fn flow__takes_xdp_tx_whole_and_in_order() {
    let mut from = Sender::new();
    from.to = Some(device(2));
    assert_eq!(from.send(FLOW / 4), 0, "not before it is a flow");
    assert_eq!(from.calls.0.load(Ordering::Relaxed), 0);
    from.send(FLOW / 4);
    assert_eq!(from.calls.0.load(Ordering::Relaxed), 1);
    assert!(from.service(Duration::ZERO).is_some());
    assert_eq!(from.send(FLOW), 0, "not before it is known for one");
    assert!(from.service(WITHIN).is_some());
    from.send_until_open();
    assert_eq!(from.send(10 * FLOW), 10 * FLOW as u64);
    assert_eq!((from.send_alone(1), from.send(BATCH)), (1, BATCH as u64), "a frame alone as well");
}

/// If frames are sent one by one, and a reader waits for each.
fn messages__take_xdp_tx_once_they_are_many() {
    let mut from = Sender::new();
    from.to = Some(device(2));
    assert_eq!(from.send_alone(FLOW / 2 - 1), 0);
    assert_eq!(from.calls.0.load(Ordering::Relaxed), 0, "not yet");
    assert_eq!(from.send_alone(1), 0);
    assert_eq!(from.calls.0.load(Ordering::Relaxed), 1);
    from.service(Duration::ZERO);
    assert_eq!(from.send_alone(FLOW), 0, "not before it is known for a flow");
    assert_eq!(from.calls.0.load(Ordering::Relaxed), 1, "nobody is called twice");
    from.service(WITHIN);
    from.send_until_open();
    assert_eq!(from.send_alone(FLOW), FLOW as u64);

    // Expect: the path does not open for fewer frames.
    let mut slow = Sender::new();
    slow.send_alone(FLOW / 2);
    slow.service(Duration::ZERO);
    slow.send_alone(FLOW / 2 - 1);
    assert!(slow.service(WITHIN).is_none(), "nothing is left to do");
    assert_eq!(slow.send_alone(1), 0);
}

/// Another processor receives the frames some time later. Until then the sender owns their memory.
fn flow__goes_on_where_frames_arrive_later() {
    let mut from = Sender::open();
    let cores = std::thread::available_parallelism().map_or(1, usize::from).min(31);
    let set = |processors: u32| {
        on_node(2, || {
            let device = interfaces().into_iter().find(|i| !i.loopback).expect("a device").name;
            let file = format!("/sys/class/net/{device}/queues/rx-0/rps_cpus");
            let script = format!("mount -t sysfs none /sys && echo {processors:x} > {file}");
            Command::new("unshare").args(["-m", "sh", "-c", &script]).status().expect("it runs")
        })
    };
    if !set((1 << cores) - 1).success() {
        skip("sysfs, for rps_cpus");
    }
    let _restore = Restore(Box::new(move || assert!(set(0).success())));
    from.to = Some(device(2));
    // Sends batches without a waiting reader, until the kernel keeps frames for longer than a call.
    let mut xdp_tx = 0;
    for _ in 0..100 {
        let first = from.next;
        let to = from.to.take();
        xdp_tx += from.send(4 * BATCH);
        from.to = to;
        from.receive_from(first);
    }
    assert!(xdp_tx > 100 * BATCH as u64, "{xdp_tx} frames");
    assert!(from.send(BATCH) > 0, "it is still there");
}

fn flow__ends_and_leaves_the_path_to_others() {
    let mut one = Sender::open();
    let mut other = Sender::new();
    other.flow();
    assert_eq!(other.send(FLOW), 0, "the path is taken");
    let mut services = 0;
    while one.service(SERVICE_INTERVAL).is_some() {
        services += 1;
        assert!(services < 1000, "no end");
    }
    other.send_until_open();
    assert_eq!(one.send(BATCH), 0);
    // Expect: the path is opened again for the next flow.
    drop(other);
    let calls = one.calls.0.load(Ordering::Relaxed);
    one.flow();
    assert_eq!(one.calls.0.load(Ordering::Relaxed), calls + 1, "somebody is called anew");
    one.send_until_open();
}

fn listener__hears_all_that_is_sent() {
    let mut from = Sender::open();
    let mut listener = on_node(1, || {
        let socket = Socket::new(Domain::PACKET, Type::RAW, Some(Protocol::from(ALL)));
        let socket = socket.expect("a packet socket");
        socket.set_nonblocking(true).expect("it can be");
        socket
    });
    let mut received = || {
        let mut buffer = [0; 2048];
        std::iter::from_fn(|| listener.read(&mut buffer).ok()).filter(|n| *n == 1514).count()
    };
    assert_eq!((from.send(BATCH), received()), (BATCH as u64, 0), "not at once");
    from.service(SERVICE_INTERVAL);
    assert_eq!((from.send(BATCH), received()), (0, BATCH));
    // Expect: the path is used again when no program captures frames.
    drop(listener);
    from.send_until_open();
}

/// A capture on node 1, of frames up to their number.
fn capture(limit: Option<NonZeroU32>) -> CaptureSocket {
    let lengths = CaptureLengths { frame: 104, datagram: 50 };
    on_node(1, || CaptureSocket::open(ETHERTYPE, 1..=1, lengths, limit)).expect("it is root's")
}

/// The number of a frame of [`frame`]'s, as such a capture has it.
fn number(captured: &CapturedFrame<'_>) -> u32 {
    assert!(captured.is_outgoing && captured.len == 1514, "{captured:?}");
    let number = captured.bytes.strip_prefix(&frame(0)[..100]);
    u32::from_be_bytes(number.and_then(|rest| rest.try_into().ok()).expect("104 bytes"))
}

/// A capture that gets copies of frames from their sender does not close the path.
fn capture__gets_what_passes_by_its_socket() {
    let mut from = Sender::open();
    let seen = Arc::<Mutex<Vec<u32>>>::default();
    let is_over = Arc::<AtomicBool>::default();
    let mut capture = capture(None);
    let thread = {
        let (seen, is_over) = (seen.clone(), is_over.clone());
        std::thread::spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                let mut take = |frame: &CapturedFrame<'_>| {
                    seen.lock().expect("no panic").push(number(frame));
                };
                capture.receive(&mut take).expect("frames");
            }
            capture.take_dropped().expect("a number")
        })
    };
    from.service(SERVICE_INTERVAL);
    from.send_until_open();
    let first = from.next;
    assert_eq!(from.send(FLOW), FLOW as u64, "past the capture's socket");
    from.service(SERVICE_INTERVAL);
    assert_eq!(from.send(BATCH), BATCH as u64, "the capture gets them, and the path stays");
    let expected: Vec<_> = (first..from.next).collect();
    let deadline = std::time::Instant::now() + TIMEOUT;
    while !seen.lock().expect("no panic").ends_with(&expected) {
        assert!(
            std::time::Instant::now() < deadline && !thread.is_finished(),
            "frames are missing"
        );
        std::thread::yield_now();
    }
    is_over.store(true, Ordering::Relaxed);
    assert_eq!(thread.join().expect("no panic"), 0, "none was lost");
    // Expect: another capture that does not ask for copies closes it.
    let listener = on_node(1, || Socket::new(Domain::PACKET, Type::RAW, Some(Protocol::from(ALL))));
    from.service(SERVICE_INTERVAL);
    assert_eq!(from.send(BATCH), 0);
    drop(listener);
}

/// The packet socket of a capture at its limit gets no frames until the capture receives again.
fn capture__at_its_limit_gets_what_passes_by_its_socket() {
    /// As many as the sender copies here, and fewer than the noise.
    const LIMIT: u32 = 100;
    /// Numbers from here on are those of noise.
    const NOISE: u32 = u32::MAX / 2;
    let mut from = Sender::open();
    let mut noise = Sender { next: NOISE, ..Sender::new() };
    let mut capture = capture(NonZeroU32::new(LIMIT));
    let deadline = std::time::Instant::now() + TIMEOUT;
    let is_paused = || {
        let sockets = on_node(1, || std::fs::read_to_string("/proc/thread-self/net/packet"));
        let sockets = sockets.expect("the kernel's table");
        let words = |line: &str| line.split_ascii_whitespace().nth(3) == Some("ffff");
        sockets.lines().any(words)
    };
    while !is_paused() {
        assert!(std::time::Instant::now() < deadline, "the limit is not reached");
        assert_eq!(noise.send(2 * BATCH), 0, "the path is another sender's");
        capture.receive(&mut |_| ()).expect("frames");
    }
    from.service(SERVICE_INTERVAL);
    from.send_until_open();
    assert!(is_paused(), "it has not received");
    let first = from.next;
    assert_eq!(from.send(BATCH), BATCH as u64, "past the capture's socket");
    let expected: Vec<_> = (first..from.next).collect();
    let is_over = AtomicBool::new(false);
    let seen = std::thread::scope(|scope| {
        // The capture always has something to wait for.
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                noise.send(BATCH);
            }
        });
        let mut seen = Vec::new();
        while !seen.ends_with(&expected) && std::time::Instant::now() < deadline {
            let mut take = |frame: &CapturedFrame<'_>| seen.push(number(frame));
            let received = capture.receive(&mut take);
            seen.retain(|number| received.is_ok() && *number < NOISE);
        }
        is_over.store(true, Ordering::Relaxed);
        seen
    });
    assert!(seen.ends_with(&expected), "of {expected:?} there are {seen:?}");
}

/// Calls a function when it is dropped, also after a panic.
struct Restore(Box<dyn Fn()>);

impl Drop for Restore {
    fn drop(&mut self) {
        (self.0)();
    }
}

fn rules__at_the_egress_are_not_passed_by() {
    let mut from = Sender::open();
    if Command::new("nft").arg("--version").output().is_err() {
        skip("nft");
    }
    run("nft", "add table netdev t");
    let _restore = Restore(Box::new(|| run("nft", "delete table netdev t")));
    run("nft", "add chain netdev t i { type filter hook ingress device DEV priority 0 ; }");
    from.service(SERVICE_INTERVAL);
    assert_eq!(from.send(BATCH), BATCH as u64, "what is at the ingress does not matter");
    run("nft", "add chain netdev t e { type filter hook egress device DEV priority 0 ; }");
    from.service(SERVICE_INTERVAL);
    assert_eq!(from.send(BATCH), 0);
    run("nft", "delete chain netdev t e");
    from.send_until_open();
}

fn queue__is_not_passed_by() {
    for (kind, there) in [
        ("root pfifo", "root"),
        ("root tbf rate 1gbit burst 64k limit 1m", "root"),
        ("clsact", "clsact"),
    ] {
        let mut from = Sender::open();
        run("tc", &format!("qdisc add dev DEV {kind}"));
        from.service(SERVICE_INTERVAL);
        assert_eq!(from.send(BATCH), 0, "{kind}");
        from.service(RETRY_INTERVAL);
        from.send(FLOW);
        from.service(WITHIN);
        assert_eq!(from.send(BATCH), 0, "{kind} is still there");
        run("tc", &format!("qdisc del dev DEV {there}"));
        from.send_until_open();
    }
}

/// Has `device` send all of `frames` at once.
fn send(device: &mut PacketDevice, frames: &[Vec<u8>]) -> Sent {
    device.send_frames(&mut frames.iter().map(|f| [&f[..], &[], &[], &[]]))
}

/// Each frame is lost independently, and the path stays open.
fn link__with_its_other_end_down_loses_frames() {
    let mut from = Sender::open();
    let _restore = Restore(Box::new(|| run_on(2, "ip", "link set DEV up")));
    run_on(2, "ip", "link set DEV down");
    let frames: Vec<_> = (0..BATCH as u32).map(frame).collect();
    let sent = send(&mut from.device, &frames);
    assert_eq!((sent.done, sent.lost, sent.full), (BATCH, BATCH, false));
    run_on(2, "ip", "link set DEV up");
    from.to = Some(device(2));
    assert_eq!(from.send(BATCH), BATCH as u64, "nobody has looked after it");
}

fn link__that_is_down_or_smaller_is_left_and_returned_to() {
    let mut from = Sender::open();
    let _restore = Restore(Box::new(|| run("ip", "link set DEV up mtu 1500")));
    run("ip", "link set DEV down");
    let calls = from.calls.0.load(Ordering::Relaxed);
    assert_eq!(from.send(BATCH), 0);
    assert_eq!(from.calls.0.load(Ordering::Relaxed), calls + 1, "somebody is called");
    from.service(Duration::ZERO);
    run("ip", "link set DEV up");
    from.send_until_open();

    run("ip", "link set DEV mtu 1400");
    from.service(SERVICE_INTERVAL);
    let big = [frame(0), frame(1)];
    let sent = send(&mut from.device, &big);
    assert_eq!(sent.refused, Some(Refusal::TOO_BIG), "the kernel says so");
}
