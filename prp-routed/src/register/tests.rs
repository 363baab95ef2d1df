//! Processes are played here by connections of this one.

use std::io::Read;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};
use prp_proto::addr::MacAddr;
use prp_sock::node::DownHop;

use super::*;

const MS: Duration = Duration::from_millis(1);

/// Node numbers of their own keep these tests out of each other's way.
fn open(number: u16) -> (NodeId, Register) {
    let node = NodeId::new(65_100 + number).unwrap();
    (node, Register::open(node).unwrap())
}

fn ledger(ports: &[u16]) -> OwnedFd {
    let file = memfd_create(c"ledger", MFdFlags::MFD_CLOEXEC).unwrap();
    let row = |port: &u16| {
        let halves: Vec<u8> = [*port, 7, 80, 1].iter().flat_map(|h| h.to_ne_bytes()).collect();
        [&halves[..], &5_u32.to_ne_bytes(), &6_u32.to_ne_bytes()].concat()
    };
    let bytes: Vec<u8> = ports.iter().flat_map(row).collect();
    nix::unistd::write(&file, &bytes).unwrap();
    file
}

fn connect(node: NodeId) -> UnixStream {
    UnixStream::connect_addr(&register_name(node).unwrap()).unwrap()
}

fn say(link: &UnixStream, ledger: &OwnedFd) {
    let fds = [ledger.as_raw_fd()];
    let rights = [ControlMessage::ScmRights(&fds)];
    let hello = [io::IoSlice::new(b"PRPreg\0\x01")];
    sendmsg::<()>(link.as_raw_fd(), &hello, &rights, MsgFlags::empty(), None).unwrap();
}

fn ports(standing: &[Standing]) -> Vec<u16> {
    standing.iter().map(|s| s.local.number()).collect()
}

#[test]
fn resets__what_a_dead_process_had_three_times_where_the_port_is_free() {
    let (node, mut register) = open(1);
    let mut now = Instant::ZERO;
    let lives = connect(node);
    let dies = connect(node);
    for (link, held) in [(&lives, &[1][..]), (&dies, &[10, 11, 12])] {
        register.turn(now);
        say(link, &ledger(held));
        register.turn(now);
    }
    assert_eq!((register.len(), register.next_timeout()), (2, None));
    drop(dies);
    register.turn(now);
    assert_eq!((register.len(), register.next_timeout()), (1, Some(now)));
    // Expect: port 11 has a new owner, or a dying process has it still, the first time.
    assert_eq!(ports(&register.resets(now, |p| p.number() != 11)), [10, 12]);
    assert_eq!(ports(&register.resets(now, |_| true)), [0; 0]);
    now = now + 50 * MS;
    assert_eq!(register.next_timeout(), Some(now));
    assert_eq!(ports(&register.resets(now, |_| true)), [10, 11, 12]);
    now = now + 350 * MS;
    assert_eq!(ports(&register.resets(now, |_| true)), [10, 11, 12]);
    assert_eq!(register.next_timeout(), None);
}

#[test]
fn resets__a_large_ledger_a_piece_at_a_time() {
    let (node, mut register) = open(2);
    let now = Instant::ZERO;
    let held: Vec<u16> = (1..=1000).collect();
    let link = connect(node);
    say(&link, &ledger(&held));
    register.turn(now);
    register.turn(now);
    drop(link);
    register.turn(now);
    let mut found = Vec::new();
    while register.next_timeout() == Some(now) {
        let piece = register.resets(now, |_| true);
        assert!(piece.len() <= 256, "frames wait meanwhile");
        found.extend(ports(&piece));
    }
    assert_eq!(found, held);
}

#[test]
fn welcome__no_user_takes_all_places_not_even_with_dead_processes() {
    let (node, mut register) = open(3);
    let now = Instant::ZERO;
    register.root = u32::MAX;
    let all: Vec<_> = (0..MAX_OF_USER + 5).map(|_| connect_and_turn(node, &mut register)).collect();
    assert_eq!(register.processes.len(), MAX_OF_USER);
    all[..10].iter().for_each(|link| say(link, &ledger(&[1])));
    register.turn(now);
    drop(all);
    for _ in 0..MAX_PROCESSES / EVENTS {
        register.turn(now);
    }
    assert_eq!((register.processes.len(), register.departed.len()), (0, 10));
    let all: Vec<_> = (0..MAX_OF_USER).map(|_| connect_and_turn(node, &mut register)).collect();
    assert_eq!(register.processes.len(), MAX_OF_USER - 10);
    drop(all);
}

fn connect_and_turn(node: NodeId, register: &mut Register) -> UnixStream {
    let link = connect(node);
    register.turn(Instant::ZERO);
    link
}

#[test]
fn hear__who_makes_no_sense_is_sent_away() {
    let (node, mut register) = open(4);
    let now = Instant::ZERO;
    let mut links: Vec<_> = (0..2).map(|_| connect(node)).collect();
    register.turn(now);
    links[0].write_all(b"good day").unwrap();
    say(&links[1], &std::fs::File::open("/dev/zero").unwrap().into());
    register.turn(now);
    assert!(register.processes.is_empty());
    assert_eq!(register.next_timeout(), None);
}

#[test]
fn tell__at_first_and_when_it_changes() {
    let (node, mut register) = open(5);
    let now = Instant::ZERO;
    let mut link = connect(node);
    link.set_nonblocking(true).unwrap();
    let heard = |link: &mut UnixStream| {
        let mut bytes = vec![0; 100];
        let n = link.read(&mut bytes).unwrap_or(0);
        bytes.truncate(n);
        DownHops::take(&mut bytes).unwrap()
    };
    register.turn(now);
    say(&link, &ledger(&[]));
    register.turn(now);
    assert_eq!(heard(&mut link), Some(DownHops::default()));
    let down = DownHops(vec![DownHop { device: "eth0".into(), mac: MacAddr([2; 6]) }]);
    register.tell(now, &down);
    assert_eq!(heard(&mut link), Some(down.clone()));
    register.tell(now, &down);
    assert_eq!(heard(&mut link), None);
}
