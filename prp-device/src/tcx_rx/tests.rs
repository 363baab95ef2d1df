use std::collections::VecDeque;

use prp_proto::device::PacketRun;
use prp_proto::wire::ethernet_source;

use super::*;

const ETHERTYPE: u16 = 0x88b5;
const NODE: u16 = 7;
const PORT: u16 = 0x1234;
const MTU: u32 = 1500;
const SLOTS: usize = 4;

/// Verdicts of programs at an ingress.
const NEXT: u32 = u32::MAX;
const DROP: u32 = 2;

/// A tcx receive path for one port and the program that fills it, which no device runs. None
/// without the rights for it.
struct Bench {
    tcx_rx: TcxRx,
    program: FrameProgram,
}

impl Bench {
    fn new() -> Option<Self> {
        let tcx_rx = TcxRx::new(0, MTU, &Framing::untagged(ETHERTYPE), SLOTS).expect("memory");
        tcx_rx.set_node(NodeId::new(NODE).expect("a node"));
        tcx_rx.own([Port::new(PORT)], true);
        match tcx_rx.load() {
            Ok(program) => Some(Self { tcx_rx, program }),
            Err(e)
                if e.kind() == io::ErrorKind::PermissionDenied
                    && !nix::unistd::geteuid().is_root() =>
            {
                println!("SKIP: needs CAP_BPF and CAP_NET_ADMIN");
                None
            }
            Err(e) => panic!("the kernel takes the program: {e}"),
        }
    }

    fn slots(&self) -> &SharedRing {
        self.tcx_rx.slots.get().expect("made with the program")
    }

    /// As [`TcxRx::enable`] where a device runs the program.
    fn enable(&self) {
        self.tcx_rx.hooked.store(true, Ordering::Relaxed);
        self.tcx_rx.draining_socket.store(true, Ordering::Relaxed);
        self.slots().enable(true);
    }

    fn verdict(&self, frame: &[u8]) -> u32 {
        self.program.try_out(frame).expect("it runs").0
    }

    /// What is received while the socket has `ring`, at most `max`: the numbers of the frames.
    fn receive(&self, max: usize, ring: &mut VecDeque<u8>) -> Vec<u8> {
        let mut numbers = Vec::new();
        let mut take = |_, run: PacketRun<'_>| {
            for f in run {
                assert_eq!(f, frame(f[30]), "whole");
                numbers.push(f[30]);
            }
        };
        let mut hand = |max: usize, take: &mut Take<'_>| {
            let some = ring.len().min(max);
            ring.drain(..some).for_each(|number| {
                let frame = frame(number);
                take(ethernet_source(&frame), PacketRun::single(&frame));
            });
            Ok(some)
        };
        let taken = self.tcx_rx.receive(max, &mut take, &mut hand).expect("it works");
        assert_eq!(taken, numbers.len());
        numbers
    }
}

/// A frame for this node and the port, whose length depends on its number.
fn frame(number: u8) -> Vec<u8> {
    let mut frame = vec![number; 31 + usize::from(number) * 5];
    // Its destination: a program that is tried out runs at the loopback device, whose address is
    // this.
    frame[..6].fill(0);
    frame[12..14].copy_from_slice(&ETHERTYPE.to_be_bytes());
    frame[16..18].copy_from_slice(&NODE.to_be_bytes());
    frame[20..22].copy_from_slice(&PORT.to_be_bytes());
    frame
}

fn with(change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut changed = frame(1);
    change(&mut changed);
    changed
}

#[test]
fn program__takes_what_is_for_our_ports_while_a_thread_polls() {
    let Some(bench) = Bench::new() else { return };
    assert_eq!(bench.verdict(&frame(1)), NEXT, "no thread polls");
    bench.enable();
    let others = [
        ("EtherType", with(|f| f[13] ^= 1)),
        ("node", with(|f| f[17] ^= 1)),
        ("port of the same word", with(|f| f[21] ^= 1)),
        ("port of another word", with(|f| f[20] ^= 1)),
        ("broadcast", with(|f| f[..6].fill(0xff))),
        ("multicast", with(|f| f[0] = 1)),
        ("another machine's", with(|f| f[5] = 1)),
        ("no whole header", with(|f| f.truncate(29))),
        ("longer than the MTU", with(|f| f.resize(bench.slots().layout().frame() + 1, 0))),
    ];
    for (what, other) in others {
        assert_eq!(bench.verdict(&other), NEXT, "{what}");
        assert!(!bench.tcx_rx.has_frame(), "{what}");
    }
    assert_eq!(bench.verdict(&frame(1)), DROP);
    assert!(bench.tcx_rx.has_frame());
    let head = with(|f| f.truncate(30));
    let longest = with(|f| f.resize(MTU as usize + ETHERNET_LEN, 9));
    assert_eq!((bench.verdict(&head), bench.verdict(&longest)), (DROP, DROP));
    let mut taken = Vec::new();
    bench.slots().empty(9, &mut |_, run| taken.extend(run.map(<[u8]>::to_vec)));
    assert_eq!(taken, [frame(1), head, longest]);

    bench.tcx_rx.own([Port::new(PORT)], false);
    bench.tcx_rx.own([Port::new(PORT ^ 1)], true);
    assert_eq!(bench.verdict(&frame(1)), NEXT, "not ours any more");
    assert_eq!(bench.verdict(&with(|f| f[21] ^= 1)), DROP);
}

#[test]
fn program__closes_a_full_inlet_until_it_is_emptied() {
    let Some(bench) = Bench::new() else { return };
    let mut ring = VecDeque::new();
    for generation in 0..5 {
        bench.enable();
        for number in 0..SLOTS as u8 {
            assert!(!bench.tcx_rx.holds(u32::from(number) + 1), "lap {generation}");
            assert_eq!(bench.verdict(&frame(number)), DROP, "lap {generation}");
            assert!(bench.tcx_rx.holds(u32::from(number) + 1), "lap {generation}");
        }
        assert!(bench.slots().is_enabled());
        assert_eq!(bench.verdict(&frame(4)), NEXT, "lap {generation}");
        ring.push_back(4);
        assert!(!bench.slots().is_enabled());
        assert_eq!(bench.receive(2, &mut ring), [0, 1]);
        // Expect: what comes after one that found no room takes the same path, room or not.
        assert_eq!(bench.verdict(&frame(5)), NEXT);
        ring.push_back(5);
        assert_eq!(bench.receive(9, &mut ring), [2, 3, 4, 5]);
        assert_eq!(bench.receive(9, &mut ring), []);
    }
    assert_eq!(bench.tcx_rx.take_count(), 20);
}

#[test]
fn receive__hands_out_what_came_to_the_socket_before() {
    let Some(bench) = Bench::new() else { return };
    let mut ring = VecDeque::from([1, 2, 3]);
    bench.enable();
    assert_eq!(bench.verdict(&frame(4)), DROP);
    assert_eq!(bench.verdict(&frame(5)), DROP);
    assert_eq!(bench.receive(2, &mut ring), [1, 2]);
    assert_eq!(bench.receive(2, &mut ring), [3, 4]);
    // Expect: once all of these are there, it is what comes to the socket that is newer.
    ring.extend([6, 7]);
    assert_eq!(bench.receive(2, &mut ring), [5, 6]);
    assert_eq!(bench.verdict(&frame(8)), DROP);
    assert!(bench.tcx_rx.disable(), "one waits");
    assert_eq!(bench.verdict(&frame(9)), NEXT);
    assert_eq!(bench.receive(9, &mut VecDeque::from([9])), [8, 9]);
    assert!(!bench.tcx_rx.disable());
}

/// The reader found nothing, did something else, and is about to sleep: meanwhile a frame that was
/// in transit to the socket when frames began to come here has arrived there.
#[test]
fn disable__keeps_frames_in_order_whose_predecessors_are_at_the_socket() {
    let Some(bench) = Bench::new() else { return };
    bench.enable();
    assert_eq!(bench.receive(9, &mut VecDeque::new()), []);
    let mut ring = VecDeque::from([1]);
    assert_eq!(bench.verdict(&frame(2)), DROP);
    assert!(bench.tcx_rx.disable(), "one waits");
    for number in 3..6 {
        if bench.verdict(&frame(number)) == NEXT {
            ring.push_back(number);
        }
    }
    assert_eq!(bench.receive(9, &mut ring), [1, 2, 3, 4, 5]);
    assert!(!bench.tcx_rx.disable());
    assert_eq!(bench.verdict(&frame(6)), NEXT);
}

#[test]
fn enable__only_an_inlet_that_is_open_and_empty() {
    let Some(bench) = Bench::new() else { return };
    bench.tcx_rx.enable(true);
    assert!(!bench.slots().is_enabled(), "no device runs the program");
    assert!(bench.tcx_rx.wanted.load(Ordering::Relaxed));
    bench.tcx_rx.disable();
    assert!(!bench.tcx_rx.wanted.load(Ordering::Relaxed));
}

/// Frames of one sender and one length that lie behind each other in memory are one run.
#[test]
fn receive__runs_are_of_one_sender_and_one_length() {
    let Some(bench) = Bench::new() else { return };
    bench.enable();
    let numbered = |number: u8| with(|f| f[35] = number);
    let of_another = with(|f| f[11] ^= 1);
    let longer = with(|f| f.push(0));
    let fill = |frame: &[u8]| assert_eq!(bench.verdict(frame), DROP);
    let mut runs = Vec::new();
    let mut empty = |most| {
        bench.slots().empty(most, &mut |from, run| {
            let run: Vec<_> = run.map(<[u8]>::to_vec).collect();
            assert!(run.iter().all(|f| ethernet_source(f) == from));
            runs.push(run);
        })
    };
    [numbered(0), numbered(1), of_another.clone()].iter().for_each(|f| fill(f));
    assert_eq!(empty(9), 3);
    // Memory ends after the first.
    [numbered(2), numbered(3), longer.clone()].iter().for_each(|f| fill(f));
    assert_eq!(empty(9), 3);
    (4..8).for_each(|n| fill(&numbered(n)));
    assert_eq!((empty(1), empty(9)), (1, 3));
    let expected = [
        vec![numbered(0), numbered(1)],
        vec![of_another],
        vec![numbered(2)],
        vec![numbered(3)],
        vec![longer],
        vec![numbered(4)],
        vec![numbered(5)],
        vec![numbered(6), numbered(7)],
    ];
    assert_eq!(runs, expected);
}
