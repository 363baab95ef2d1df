//! `prp dump` of capture files. Nothing here needs a privilege.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::fs::File;
use std::io::Write;
use std::process::{Command, Output, Stdio};

use etherparse::PacketBuilder;
use prp_proto::addr::{MacAddr, NodeId, Port};
use prp_proto::liveness::LivenessState;
use prp_proto::seq::{Seq, SeqWidth};
use prp_proto::wire::{
    AckBlock, Bitmap, Control, ETHERNET_LEN, EthernetHeader, Flags, GsoProbe, Head, LivenessBlock,
    MAX_CONTROL_LEN, NetworkHeader, NodeBlock, NodeKind, Offer, Part, ReliabilitySet, ResetBlock,
    ResetReason, TransportHeader, sealed,
};
use serde_json::Value;
use tempfile::NamedTempFile;

/// A frame of node 1 to port 80 of node 2.
fn frame(seq: u32, flags: Flags, payload: &[&[u8]]) -> Vec<u8> {
    frame_from(50_000, seq, flags, payload)
}

/// The same, from another port.
fn frame_from(port: u16, seq: u32, flags: Flags, payload: &[&[u8]]) -> Vec<u8> {
    let node = |number| NodeId::new(number).expect("a node");
    let (from, to) = (Port::new(port), Port::new(80));
    let mut transport = TransportHeader::new(from, to, Seq::new(seq), SeqWidth::Bits20, 0);
    transport.flags |= flags;
    let [src, dst] = [1, 2].map(|last| MacAddr([2, 0, 0, 0, 0, last]));
    let ethernet = Some(EthernetHeader { dst, src, ethertype: 0x88b5 });
    let network = NetworkHeader { src: node(1), dst: node(2) };
    sealed(Head { ethernet, network, transport }, payload)
}

fn data(seq: u32, text: &str) -> Vec<u8> {
    frame(seq, Flags::NONE, &[text.as_bytes()])
}

/// Bytes of a segment of `total` bytes that begin `at` bytes into it.
fn part(seq: u32, at: u16, total: u16, text: &str) -> Vec<u8> {
    let head = Part { to: 1, seq: Seq::new(seq), at, total, flags: Flags::NONE };
    frame(seq, Flags::CTL, &[&head.emit(), text.as_bytes()])
}

/// A capture file (pcap) of these frames.
fn capture(frames: &[Vec<u8>]) -> NamedTempFile {
    let mut bytes = Vec::new();
    // Version 2.4, times of no zone and accuracy, frames of any length, Ethernet.
    for word in [0xa1b2_c3d4, 0x0004_0002, 0, 0, 1 << 17, 1] {
        bytes.extend(u32::to_ne_bytes(word));
    }
    for frame in frames {
        let len = frame.len() as u32;
        [0, 0, len, len].iter().for_each(|word| bytes.extend(word.to_ne_bytes()));
        bytes.extend(frame);
    }
    let mut file = NamedTempFile::new().expect("a temporary file");
    file.write_all(&bytes).expect("room for a few bytes");
    file
}

/// What `prp dump --follow` writes of these frames, and what it says.
fn follow(frames: &[Vec<u8>]) -> (String, String) {
    dump(&["--follow"], frames)
}

/// What `prp dump` writes of these frames, and what it says.
fn dump(args: &[&str], frames: &[Vec<u8>]) -> (String, String) {
    let file = capture(frames);
    let mut command = Command::new(env!("CARGO_BIN_EXE_prp"));
    command.arg("dump").args(args).arg("-r").arg(file.path());
    let output = command.env("PRP_HOSTS", "/nowhere").stdin(Stdio::null()).output();
    let output = output.expect("the program can be run");
    let [notices, wrote] =
        [output.stderr, output.stdout].map(String::from_utf8).map(|it| it.expect("text"));
    assert!(output.status.success(), "{notices}");
    (wrote, notices)
}

#[test]
fn follow__without_a_gap_says_nothing() {
    let frames = [data(1, "one "), data(3, "end"), data(2, "two ")];
    assert_eq!(follow(&frames), ("one two end".into(), String::new()));
}

#[test]
fn follow__what_is_kept_behind_a_gap_is_written_at_the_end() {
    let frames = [data(1, "one "), data(4, "four "), data(5, "five "), data(7, "end")];
    let (wrote, notices) = follow(&frames);
    assert_eq!(wrote, "one four five end");
    assert_eq!(
        notices.lines().collect::<Vec<_>>(),
        [
            "prp: 2 segments of unknown length are missing behind the first 4 bytes of the output",
            "prp: 1 segment of unknown length is missing behind the first 14 bytes of the output",
        ]
    );
}

#[test]
fn follow__of_a_segment_in_parts_what_has_come_is_written() {
    let frames = [data(1, "one "), part(2, 2, 9, "par"), part(2, 6, 9, "t"), data(3, "end")];
    let (wrote, notices) = follow(&frames);
    assert_eq!(wrote, "one partend");
    assert_eq!(
        notices.lines().collect::<Vec<_>>(),
        [
            "prp: 2 bytes are missing behind the first 4 bytes of the output",
            "prp: 1 byte is missing behind the first 7 bytes of the output",
            "prp: 2 bytes are missing behind the first 8 bytes of the output",
        ]
    );
}

/// A packet of each kind that the SPEC has, the kind in JSON, and what its line says.
fn every_kind() -> Vec<(Vec<u8>, &'static str, String)> {
    let offer = Offer {
        id: 7,
        echo: 0,
        reliability: ReliabilitySet::RELIABLE,
        crc: true,
        mss: 1484,
        window: 44,
    };
    let mut kinds = vec![
        (data(1, "text"), "data", "[-]".to_owned()),
        (part(2, 0, 4, "part"), "data", "part 0..4 of 4 of segment 2".into()),
        (frame(3, Flags::EOC, &[]), "end", "[EOC]".into()),
        (frame(0, Flags::CREQ, &[&offer.emit()]), "request", "id 00000007".into()),
        (frame(0, Flags::CREQ, &[]), "request", "classic".into()),
        (frame(0, Flags::CACK, &[&offer.emit()]), "grant", "id 00000007".into()),
    ];
    // PRP-RST-1.
    for reason in [
        ResetReason::Refused,
        ResetReason::Aborted,
        ResetReason::NoConnection,
        ResetReason::Gap,
        ResetReason::NoCommonPolicy,
        ResetReason::TimedOut,
        ResetReason::Unknown(99),
    ] {
        let block = ResetBlock { reason, receiver: 1, sender: 2 };
        kinds.push((frame(0, Flags::RST, &[&block.emit()]), "reset", reason.to_string()));
    }
    // PRP-CTL-1.
    let ack = AckBlock {
        next: Seq::new(5),
        window: 6,
        gap: false,
        echo: None,
        probe: None,
        finished: false,
        leaves: false,
        received: Bitmap::EMPTY,
    };
    for (control, kind, text) in [
        (Control::Ack { to: 1, ack }, "ack", "next 5 window 6"),
        (Control::Probe { to: 1, from: 2, number: 3 }, "probe", "probe 3"),
        (Control::SizeProbe { to: 1, size: 2000 }, "probe", "size probe 2000"),
        (Control::SizeProbeAck { to: 1, size: 2000 }, "probe", "size probe answer 2000"),
    ] {
        let mut block = [0; MAX_CONTROL_LEN];
        let len = control.emit(&mut block);
        kinds.push((frame(0, Flags::CTL, &[&block[..len]]), kind, text.into()));
    }
    // PRP-NODE-1.
    for kind in NodeKind::ALL {
        let block = NodeBlock { kind, hops: 1, sequence: 42, id: 8, stamp: 9 };
        let frame = frame_from(0, 0, Flags::CTL, &[&block.emit()]);
        kinds.push((frame, "echo", format!("{kind} 42")));
    }
    // PRP-LIVE-1.
    for state in
        [LivenessState::AdminDown, LivenessState::Down, LivenessState::Init, LivenessState::Up]
    {
        let (mine, yours, interval_us, least_us) = (1, 2, 9, 8);
        let block = LivenessBlock {
            state,
            multiplier: 3,
            passive: false,
            mine,
            yours,
            interval_us,
            least_us,
        };
        let frame = frame_from(0, 0, Flags::CTL, &[&block.emit()]);
        kinds.push((frame, "liveness", format!("liveness {}", state.name())));
    }
    kinds
}

/// `packet` in a frame with a datagram.
fn datagram(packet: &[u8]) -> Vec<u8> {
    let link = PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
    let udp = link.ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).udp(5231, 5232);
    let mut frame = Vec::new();
    udp.write(&mut frame, packet).expect("room");
    frame
}

#[test]
fn dump__knows_every_kind_of_packet() {
    let mut probe = [0; GsoProbe::SHORTEST_PROBE];
    GsoProbe::write_probe(&mut probe, 5, 9);
    let tests = [
        (datagram(&probe), "gso_probe", "GSO test 5: probe 9, alone".to_owned()),
        (datagram(&GsoProbe::report(5, 0x0103)), "gso_probe", "GSO test 5: came 0000".into()),
    ];
    let over_udp = |(frame, kind, text): (Vec<u8>, _, _)| {
        let (_, packet) = frame.split_at(ETHERNET_LEN);
        (datagram(packet), kind, text)
    };
    let by_udp: Vec<_> = every_kind().into_iter().map(over_udp).chain(tests).collect();
    for (underlay, kinds) in [("ethernet", every_kind()), ("udp", by_udp)] {
        let frames: Vec<_> = kinds.iter().map(|(frame, _, _)| frame.clone()).collect();
        let (lines, _) = dump(&["--all"], &frames);
        let (rows, _) = dump(&["--all", "--json"], &frames);
        assert_eq!((lines.lines().count(), rows.lines().count()), (kinds.len(), kinds.len()));
        for ((line, row), (_, kind, text)) in lines.lines().zip(rows.lines()).zip(&kinds) {
            let row: Value = serde_json::from_str(row).expect("JSON");
            assert_eq!(
                (&row["kind"], &row["underlay"]),
                (&(*kind).into(), &underlay.into()),
                "{line}"
            );
            assert!(line.contains(text.as_str()), "{text:?} is not in {line:?}");
            assert!(!line.contains("malformed"), "{line}");
        }
    }
}

#[test]
fn dump__leaves_liveness_out_and_counts_it() {
    let frames: Vec<_> = every_kind().into_iter().map(|(frame, _, _)| frame).collect();
    let (lines, notices) = dump(&[], &frames);
    assert_eq!(lines.lines().count(), frames.len() - 4);
    assert!(!lines.contains("liveness"), "{lines}");
    assert_eq!(notices, "prp: 4 liveness probes of routers left out (--all)\n");
    let (lines, notices) = dump(&["--kind", "liveness"], &frames);
    assert_eq!((lines.lines().count(), notices.as_str()), (4, ""));
}

/// Runs `prp` with a capture at its standard input.
fn run(args: &[&str], input: &NamedTempFile) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prp"));
    command.args(args).env("PRP_HOSTS", "/nowhere");
    let input = File::open(input.path()).expect("it is there");
    command.stdin(input).output().expect("the program can be run")
}

#[test]
fn dash__is_standard_input_and_standard_output() {
    let frames = [data(1, "one"), data(2, "two")];
    let file = capture(&frames);
    let read = run(&["dump", "-r", "-"], &file);
    assert_eq!(String::from_utf8(read.stdout), Ok(dump(&[], &frames).0));
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new(env!("CARGO_BIN_EXE_prp"));
    command.args(["dump", "-w", "-", "-r"]).arg(file.path()).current_dir(folder.path());
    let written = command.output().expect("the program can be run");
    assert!(written.status.success() && !folder.path().join("-").exists(), "{written:?}");
    let mut copy = NamedTempFile::new().expect("a temporary file");
    copy.write_all(&written.stdout).expect("room for a few bytes");
    let again = run(&["dump", "-r", "-", "--follow"], &copy);
    assert_eq!(String::from_utf8(again.stdout).as_deref(), Ok("onetwo"));
    let same = run(
        &["dump", "-r", &file.path().to_string_lossy(), "-w", &file.path().to_string_lossy()],
        &file,
    );
    assert_eq!(same.status.code(), Some(2), "the file is read and written");
}

/// Of a capture that is cut, all whole packets are shown, and a line says where it ends.
#[test]
fn capture__that_is_cut_is_shown_up_to_there() {
    let frames: Vec<_> = (1..1000).map(|seq| data(seq, "text")).collect();
    let file = capture(&frames);
    let len = file.as_file().metadata().expect("it is there").len();
    file.as_file().set_len(len - 5).expect("it can be cut");
    let read = run(&["dump", "-r", "-"], &file);
    let [lines, notice] = [read.stdout, read.stderr].map(|it| String::from_utf8(it).expect("text"));
    assert_eq!((lines.lines().count(), read.status.code()), (frames.len() - 1, Some(1)));
    assert!(
        notice.starts_with("prp: -: the capture is cut behind 998 frames, at byte "),
        "{notice}"
    );
    assert_eq!(notice.lines().count(), 1, "{notice}");
}

#[test]
fn filter__in_the_words_of_tcpdump() {
    let frames = [data(1, "one"), frame_from(9, 2, Flags::NONE, &[b"two"])];
    let count = |words: &[&str]| dump(words, &frames).0.lines().count();
    assert_eq!(count(&["-nn", "port", "80", "and", "host", "2"]), 2);
    assert_eq!(count(&["src port 9 and dst host 2"]), 1);
    assert_eq!(count(&["dst", "port", "9"]), 0);
    assert_eq!(count(&["-l", "host", "3"]), 0);
}
