use std::fs::File;
use std::os::unix::net::UnixStream;

use prp_proto::addr::{MacAddr, Port, PrpAddr};
use prp_proto::endpoint::{RosterChange, Standing};

use super::*;

fn standing(n: u32) -> Standing {
    let remote = PrpAddr::new(NodeId::new(7).unwrap(), Port::new(80));
    Standing { local: Port::new(n as u16), remote, own_id: n << 16, peer_id: !n }
}

fn all(reader: &LedgerReader) -> Vec<Standing> {
    let (mut found, mut next) = (Vec::new(), Some(0));
    while let Some(at) = next {
        next = reader.read(at, &mut found).expect("memory can be read");
    }
    found
}

#[test]
fn ledger__has_who_entered_and_did_not_leave() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let ledger = Ledger::new().unwrap();
    let before = receive_ledger(&theirs).unwrap_err();
    assert_eq!(before.kind(), io::ErrorKind::WouldBlock);
    send_ledger(&ours, &ledger).unwrap();
    let reader = receive_ledger(&theirs).unwrap();
    assert_eq!(all(&reader), []);
    // More than are read at once, with gaps, and beyond the last that counts.
    for n in (0..3000).chain([70_000]) {
        ledger.note(RosterChange::Enter(n, standing(n as u32)));
    }
    for n in (0..3000).filter(|n| n % 3 > 0) {
        ledger.note(RosterChange::Leave(n));
    }
    let expected: Vec<_> = (0..3000).step_by(3).map(standing).collect();
    assert_eq!(all(&reader), expected);
    // Expect: its end changes nothing.
    drop(ledger);
    assert_eq!(all(&reader), expected);
}

#[test]
fn ledger__of_another_kind_is_not_taken() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    for file in ["/dev/zero", "/proc/self/status"] {
        let file = File::open(file).unwrap();
        rights::send(ours.as_fd(), b"PRPreg\0\x01", &[file.as_fd()]).unwrap();
        assert_eq!(receive_ledger(&theirs).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }
    let ledger = Ledger::new().unwrap();
    for (hello, fds) in [
        (b"PRPreg\0\x02", &[ledger.as_fd()][..]),
        (b"PRPreg\0\x01", &[]),
        (b"PRPreg\0\x01", &[ledger.as_fd(), ledger.as_fd()]),
    ] {
        rights::send(ours.as_fd(), hello, fds).unwrap();
        assert_eq!(receive_ledger(&theirs).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
    drop(ours);
    assert_eq!(receive_ledger(&theirs).unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
}

/// A hole of any length is no work.
#[test]
fn ledger__reads_no_more_than_a_mebibyte() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let ledger = Ledger::new().unwrap();
    let file = File::from(ledger.as_fd().try_clone_to_owned().unwrap());
    file.set_len(1 << 40).unwrap();
    send_ledger(&ours, &ledger).unwrap();
    assert_eq!(all(&receive_ledger(&theirs).unwrap()), []);
}

#[test]
fn down_hops__arrive_in_pieces_and_one_after_another() {
    let hop =
        |device: &str, last| DownHop { device: device.into(), mac: MacAddr([2, 0, 0, 0, 0, last]) };
    let said = [
        DownHops::default(),
        DownHops(vec![hop("eth0", 1), hop("a-name-of-fif15", 2)]),
        DownHops(vec![hop("eth1", 3)]),
    ];
    let wire: Vec<u8> = said.iter().flat_map(DownHops::encode).collect();
    let (mut bytes, mut heard) = (Vec::new(), Vec::new());
    for byte in wire {
        bytes.push(byte);
        heard.extend(DownHops::take(&mut bytes).unwrap());
    }
    assert_eq!(heard, said);
    assert!(DownHops::take(&mut vec![0xff; 100]).is_err());
}

#[test]
fn is_router__believes_this_user() {
    let (ours, _theirs) = UnixStream::pair().unwrap();
    assert!(is_router(&ours));
    assert_eq!(user_of(&ours).unwrap(), nix::unistd::geteuid().as_raw());
}
