use std::fs;

use prp_proto::hosts::Tag;
use tempfile::NamedTempFile;

use super::super::writer::Writer;
use super::*;

fn packet(device: &str, nanos: u64, bytes: &[u8]) -> Packet {
    Packet {
        time: Duration::from_nanos(nanos),
        device: device.into(),
        tag: Tag::default(),
        bytes: bytes.into(),
        captured: bytes.len(),
    }
}

/// A file with these bytes.
fn file(bytes: &[u8]) -> NamedTempFile {
    let file = NamedTempFile::new().expect("a file");
    fs::write(file.path(), bytes).expect("room");
    file
}

/// The frames of a capture, and the error that it ends with.
fn read(bytes: &[u8]) -> (Vec<Packet>, Option<String>) {
    let mut frames = Vec::new();
    let file = file(bytes);
    let mut reader = match Reader::open(file.path()) {
        Ok(reader) => reader,
        Err(e) => return (frames, Some(e.to_string())),
    };
    loop {
        match reader.next() {
            Ok(Next::Frame(frame)) => frames.push(frame),
            Ok(Next::Wait) => reader.refill().expect("it is there"),
            Ok(Next::End) => return (frames, reader.others()),
            Err(e) => return (frames, Some(e.to_string())),
        }
    }
}

/// Frames of a capture that has no error.
fn frames(bytes: &[u8]) -> Vec<Packet> {
    let (frames, error) = read(bytes);
    assert_eq!(error, None);
    frames
}

/// A block of pcapng.
fn block(kind: u32, body: &[u8], is_big_endian: bool) -> Vec<u8> {
    let number = |n: u32| if is_big_endian { n.to_be_bytes() } else { n.to_le_bytes() };
    let padded = body.len().next_multiple_of(4);
    let len = number(padded as u32 + 12);
    let mut block = [&number(kind)[..], &len, body].concat();
    block.resize(8 + padded, 0);
    block.extend(len);
    block
}

/// The beginning of a section.
fn section(is_big_endian: bool) -> Vec<u8> {
    let mut body = 0x1a2b_3c4d_u32.to_le_bytes().to_vec();
    body.extend([1, 0, 0, 0]);
    if is_big_endian {
        body = 0x1a2b_3c4d_u32.to_be_bytes().to_vec();
        body.extend([0, 1, 0, 0]);
    }
    body.extend([0xff; 8]);
    block(0x0a0d_0d0a, &body, is_big_endian)
}

/// An interface of this link type, with `options`.
fn interface(link: u8, options: &[u8]) -> Vec<u8> {
    block(1, &[&[link, 0, 0, 0, 0, 0, 0, 0], options].concat(), false)
}

/// A frame of `interface` at a time of `units`.
fn enhanced(interface: u32, units: u32, bytes: &[u8]) -> Vec<u8> {
    let len = bytes.len() as u32;
    let words = [interface, 0, units, len, len].map(u32::to_le_bytes).concat();
    block(6, &[&words[..], bytes].concat(), false)
}

#[test]
fn file__has_what_was_written() {
    let file = NamedTempFile::new().expect("a file");
    let mut writer = Writer::new(file.reopen().expect("it is there")).expect("room");
    let cut = Packet { captured: 70, ..packet("eth1", 1, &[[9; 70], [0; 70]].concat()) };
    let packets = [
        cut,
        packet("eth0", 1_700_000_000_123_456_789, &[7; 61]),
        packet("eth1", 1_700_000_001_000_000_000, &[8; 60]),
        packet("eth0", 1_700_000_002_000_000_001, &[9; 1]),
        Packet { tag: Tag::new(7, 5), ..packet("eth0", 1_700_000_003_000_000_000, &[6; 61]) },
        Packet {
            tag: Tag::new(0, 3),
            captured: 14,
            ..packet("eth0", 1, &[[5; 14], [0; 14]].concat())
        },
    ];
    packets.iter().for_each(|packet| writer.put(packet));
    writer.write().expect("room");
    assert_eq!(frames(&fs::read(file.path()).expect("it is there")), packets);
}

#[test]
fn file__of_something_else_is_an_error() {
    for (bytes, expected) in [(&[][..], "empty"), (&[0x55; 100], "pcap"), (&[0x1f, 0x8b], "zcat")] {
        let (_, error) = read(bytes);
        assert!(error.as_ref().is_some_and(|text| text.contains(expected)), "{error:?}");
    }
}

/// Whatever it is cut to, all whole frames before are there.
#[test]
fn file__that_is_cut_has_all_before() {
    let begin = [section(false), interface(1, &[])].concat();
    let frame = enhanced(0, 7, &[1; 60]);
    let whole = [&begin[..], &frame, &frame].concat();
    for len in begin.len() + frame.len()..whole.len() {
        let (frames, error) = read(&whole[..len]);
        assert_eq!(frames.len(), 1, "{len}");
        let expected = (len > begin.len() + frame.len()).then(|| {
            format!("the capture is cut behind 1 frame, at byte {}", begin.len() + frame.len())
        });
        assert_eq!(error, expected, "{len}");
    }
}

#[test]
fn file__with_zeros_behind_has_all_before() {
    let pcapng = [section(false), interface(1, &[]), enhanced(0, 7, &[1; 60])].concat();
    // Version 2.4, frames of any length, Ethernet; a frame of 60 bytes at second 9.
    let words = [0xa1b2_c3d4, 0x0004_0002, 0, 0, 1 << 17, 1, 9, 0, 60, 60];
    let pcap = [&words.map(u32::to_le_bytes).concat()[..], &[1; 60]].concat();
    for capture in [pcapng, pcap] {
        let (frames, error) = read(&[&capture[..], &[0; 5000]].concat());
        let expected = format!("the capture is damaged behind 1 frame, at byte {}", capture.len());
        assert_eq!((frames.len(), error), (1, Some(expected)));
    }
}

#[test]
fn sections__each_has_interfaces_of_its_own() {
    const NAME: [u8; 8] = [2, 0, 4, 0, b'e', b't', b'h', b'7'];
    const SECONDS: [u8; 8] = [9, 0, 1, 0, 0, 0, 0, 0];
    const BINARY: [u8; 8] = [9, 0, 1, 0, 0x80 | 10, 0, 0, 0];
    let named = interface(1, &[NAME, SECONDS, [0; 8]].concat());
    let first = [section(false), named, enhanced(0, 7, &[1; 60])].concat();
    let second =
        [section(false), interface(1, &[BINARY, [0; 8]].concat()), enhanced(0, 1536, &[2; 60])]
            .concat();
    let found = frames(&[first, second].concat());
    let [first, second] = &found[..] else { panic!("{found:?}") };
    assert_eq!((first.device.as_str(), first.time), ("eth7", Duration::from_secs(7)));
    assert_eq!((second.device.as_str(), second.time), ("", Duration::from_millis(1500)));
    let (_, error) = read(&[section(false), enhanced(0, 7, &[1; 60])].concat());
    assert!(error.is_some_and(|text| text.contains("damaged behind 0 frames")));
}

#[test]
fn blocks__older_and_simpler_ones_are_read() {
    let simple = block(3, &[&60u32.to_le_bytes()[..], &[1; 60]].concat(), false);
    let old = |is_big_endian: bool| {
        let number = |n: u32| if is_big_endian { n.to_be_bytes() } else { n.to_le_bytes() };
        // The interface, and frames that were lost.
        let first = if is_big_endian { [0, 0, 0, 5] } else { [0, 0, 5, 0] };
        let words = [first, number(0), number(3_000_000), number(60), number(61)].concat();
        block(2, &[&words[..], &[2; 60]].concat(), is_big_endian)
    };
    let little = [section(false), interface(1, &[]), simple, old(false)].concat();
    let big_interface = block(1, &[0, 1, 0, 0, 0, 0, 0, 0], true);
    let big = [section(true), big_interface, old(true)].concat();
    let found = frames(&[little, big].concat());
    let seconds: Vec<_> = found.iter().map(|frame| frame.time.as_secs()).collect();
    let lens: Vec<_> = found.iter().map(|frame| (frame.captured, frame.bytes.len())).collect();
    assert_eq!((seconds, lens), (vec![0, 3, 3], vec![(60, 60), (60, 61), (60, 61)]));
}

#[test]
fn link_types__only_ethernet_is_read_and_others_are_counted() {
    let capture = [
        section(false),
        interface(113, &[]),
        interface(1, &[]),
        enhanced(0, 1, &[1; 60]),
        enhanced(1, 1, &[1; 60]),
    ]
    .concat();
    let (frames, note) = read(&capture);
    assert_eq!(frames.len(), 1);
    let note = note.expect("something was left out");
    assert!(note.starts_with("1 frame of link type LINUX_SLL, 113 left out: "), "{note}");
    let words = [0xa1b2_c3d4, 0x0004_0002, 0, 0, 1 << 17, 276];
    let (_, error) = read(&words.map(u32::to_le_bytes).concat());
    assert!(error.is_some_and(|text| text.contains("a capture of link type LINUX_SLL2, 276: ")));
}
