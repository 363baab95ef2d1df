//! `prp dump` of capture files. Nothing here needs a privilege.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::io::Write;
use std::process::{Command, Stdio};

use prp_proto::addr::{MacAddr, NodeId, Port};
use prp_proto::seq::{Seq, SeqWidth};
use prp_proto::wire::{EthernetHeader, Flags, Head, NetworkHeader, Part, TransportHeader, sealed};
use tempfile::NamedTempFile;

/// A frame of node 1 to port 80 of node 2.
fn frame(seq: u32, flags: Flags, payload: &[&[u8]]) -> Vec<u8> {
    let node = |number| NodeId::new(number).expect("a node");
    let (from, to) = (Port::new(50_000), Port::new(80));
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
    let file = capture(frames);
    let mut command = Command::new(env!("CARGO_BIN_EXE_prp"));
    command.args(["dump", "--follow", "-r"]).arg(file.path());
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
