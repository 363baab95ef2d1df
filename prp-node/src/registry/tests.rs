use std::io::Write;

use prp_proto::addr::{MacAddr, NodeId, Port, PrpAddr, StationAddr};
use prp_proto::endpoint::{ConnectionChange, EstablishedId};
use prp_proto::route::HopUse;

use super::*;

fn established(n: u32) -> EstablishedId {
    let remote = PrpAddr::new(NodeId::new(7).unwrap(), Port::new(80));
    EstablishedId {
        local: Port::new(n as u16),
        remote,
        own_id: n << 16,
        peer_id: !n,
        is_protected: n.is_multiple_of(2),
    }
}

fn all(reader: &LedgerReader) -> Vec<EstablishedId> {
    let (mut found, mut next) = (Vec::new(), Some(0));
    while let Some(at) = next {
        next = reader.read(at, &mut found).expect("memory can be read");
    }
    found
}

/// A process that has registered, its ledger, and the router's end of both.
fn registered() -> (Registration, Ledger, UnixStream, LedgerReader) {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut registration = Registration::new(ours);
    assert!(registration.receive().unwrap().ledger.is_none(), "nothing has been said");
    let reader = offer_ledger(&theirs).unwrap();
    let ledger = registration.receive().unwrap().ledger.expect("the router has sent one");
    (registration, ledger, theirs, reader)
}

#[test]
fn ledger__has_what_was_entered_and_did_not_leave() {
    let (_registration, ledger, _link, reader) = registered();
    assert_eq!(all(&reader), []);
    // More than are read at once, with gaps, and beyond the last that counts.
    for n in (0..3000).chain([MAX_RECORDS]) {
        ledger.note(ConnectionChange::Enter(n, established(n as u32)));
    }
    for n in (0..3000).filter(|n| n % 3 > 0) {
        ledger.note(ConnectionChange::Leave(n));
    }
    let expected: Vec<_> = (0..3000).step_by(3).map(established).collect();
    assert_eq!(all(&reader), expected);
    // Expect: its end changes nothing.
    drop(ledger);
    assert_eq!(all(&reader), expected);
}

#[test]
fn ledger__keeps_its_size_whatever_a_process_does_with_it() {
    let (reader, theirs) = ledger::make().unwrap();
    let file = std::fs::File::from(theirs);
    assert!(file.set_len(1 << 40).is_err());
    assert!(file.set_len(0).is_err());
    let end = (MAX_RECORDS * 16) as u64;
    assert!(std::os::unix::fs::FileExt::write_at(&file, &[1; 16], end).is_err());
    assert_eq!(all(&reader), []);
}

#[test]
fn receive__a_router_that_makes_no_sense_is_left() {
    for greeting in [&b"PRPreg\0\x02"[..], b"good day", b"x"] {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut registration = Registration::new(ours);
        theirs.write_all(greeting).unwrap();
        assert_eq!(registration.receive().unwrap_err().kind(), ErrorKind::InvalidData);
    }
    let (mut registration, _ledger, mut link, _reader) = registered();
    link.write_all(&[0xff; 100]).unwrap();
    assert_eq!(registration.receive().unwrap_err().kind(), ErrorKind::InvalidData);
    let (mut registration, _ledger, link, _reader) = registered();
    drop(link);
    assert_eq!(registration.receive().unwrap_err().kind(), ErrorKind::UnexpectedEof);
}

/// However much a router sends: a call reads a bounded part of it, and what is kept is one message.
#[test]
fn receive__takes_in_a_bounded_part_at_a_time() {
    let (mut registration, _ledger, link, _reader) = registered();
    link.set_nonblocking(true).unwrap();
    let flood = DownHops::default().encode().repeat(10_000);
    let sent = (&link).write(&flood).unwrap();
    assert!(sent > 4 * READ_BYTES);
    let mut reads = 0;
    while registration.receive().unwrap().down.is_some() {
        assert!(registration.bytes.len() < READ_BYTES);
        reads += 1;
    }
    assert!(reads >= sent / READ_BYTES, "{reads} reads for {sent} bytes");
}

#[test]
fn down_hops__arrive_in_pieces_and_one_after_another() {
    let hop = |device: &str, last| DownHop {
        device: device.into(),
        station: MacAddr([2, 0, 0, 0, 0, last]).into(),
        hop_use: if last == 2 { HopUse::Itself } else { HopUse::LastResort },
    };
    let udp = |addr: &str| DownHop {
        device: "udp".into(),
        station: StationAddr::Udp(addr.parse().unwrap()),
        hop_use: HopUse::Itself,
    };
    let messages = [
        DownHops::default(),
        DownHops(vec![hop("eth0", 1), hop("a-name-of-fif15", 2)]),
        DownHops(vec![hop("eth1", 3), hop("a-name-of-fif15:vlan4094", 2)]),
        DownHops(vec![udp("10.0.0.3:5230"), udp("[fd00::1:2]:65408"), hop("eth1", 4)]),
    ];
    let encoded: Vec<u8> = messages.iter().flat_map(DownHops::encode).collect();
    let (mut bytes, mut received) = (Vec::new(), Vec::new());
    for byte in encoded {
        bytes.push(byte);
        received.extend(DownHops::take(&mut bytes).unwrap());
    }
    assert_eq!(received, messages);
    assert!(DownHops::take(&mut vec![0xff; 100]).is_err());
}
