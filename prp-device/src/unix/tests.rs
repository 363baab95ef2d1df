//! Tests of Unix sockets as an underlay.

use std::os::unix::net::UnixDatagram;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use tempfile::{TempDir, tempdir};

use super::*;

fn node(number: u16) -> NodeId {
    NodeId::new(number).unwrap()
}

fn folder() -> TempDir {
    tempdir().unwrap()
}

fn open(folder: &TempDir, number: u16) -> UnixDevice {
    UnixDevice::open(folder.path(), node(number)).unwrap()
}

/// The address of one process.
fn addr(device: &UnixDevice) -> LinkAddr {
    let [a, b, c, d] = device.sender;
    let process = u16::from_be_bytes([c, d]);
    LinkAddr::Unix { node: node(u16::from_be_bytes([a, b])), process }
}

/// The address of all processes of a node.
fn all_of(number: u16) -> LinkAddr {
    LinkAddr::Unix { node: node(number), process: 0 }
}

fn send(device: &mut UnixDevice, to: LinkAddr, bytes: &[u8]) -> Sent {
    let (first, second) = bytes.split_at(bytes.len() / 2);
    device.send_one(to, [first, &[], second, &[]])
}

fn received(device: &mut UnixDevice) -> Vec<(LinkAddr, Vec<u8>)> {
    let mut all = Vec::new();
    device.receive_packets(64, &mut |from, packet| all.push((from, packet.to_vec()))).unwrap();
    all
}

fn files(folder: &TempDir) -> usize {
    fs::read_dir(folder.path()).unwrap().count()
}

/// Whether the device may take more, as its descriptor for that says.
fn has_room(device: &UnixDevice) -> bool {
    let fd = device.fd(device.full()).unwrap();
    let mut fds = [PollFd::new(fd, PollFlags::POLLOUT)];
    poll(&mut fds, PollTimeout::ZERO).unwrap() == 1
}

/// Fills the queue of the process at `to`; how many packets it took.
fn fill(device: &mut UnixDevice, to: LinkAddr) -> usize {
    for count in 0..100_000 {
        if send(device, to, b"filler").full {
            return count;
        }
    }
    panic!("its queue takes everything");
}

#[test]
fn send__reaches_the_process_and_says_from_whom() {
    let folder = folder();
    let [mut a, mut b, mut other] = [1, 2, 2].map(|number| open(&folder, number));
    let to = addr(&b);
    assert_eq!(send(&mut a, to, b"hello"), Sent { done: 1, ..Sent::default() });
    assert_eq!(received(&mut b), [(addr(&a), b"hello".to_vec())]);
    assert!(received(&mut other).is_empty());
    let largest = vec![7; MTU];
    assert_eq!(send(&mut a, to, &largest).done, 1);
    assert_eq!(received(&mut b), [(addr(&a), largest)]);
}

#[test]
fn send__to_a_node_reaches_all_its_processes() {
    let folder = folder();
    let [mut a, mut b, mut c, mut other] = [1, 2, 2, 22].map(|number| open(&folder, number));
    assert_eq!(send(&mut a, all_of(2), b"hello").done, 1);
    for device in [&mut b, &mut c] {
        assert_eq!(received(device), [(addr(&a), b"hello".to_vec())]);
    }
    assert!(received(&mut other).is_empty());
    // To its own node it comes back.
    assert_eq!(send(&mut a, all_of(1), b"self").done, 1);
    assert_eq!(received(&mut a), [(addr(&a), b"self".to_vec())]);
    // No process at all, as with a machine that is off.
    assert_eq!(send(&mut a, all_of(3), b"nobody"), Sent { done: 1, ..Sent::default() });
}

#[test]
fn send__what_was_for_a_process_that_has_ended_goes_to_the_others_of_its_node() {
    let folder = folder();
    let [mut a, b, mut left] = [1, 2, 2].map(|number| open(&folder, number));
    let to = addr(&b);
    assert_eq!(send(&mut a, to, b"one").done, 1);
    drop(b);
    assert_eq!(send(&mut a, to, b"two").done, 1);
    assert_eq!(received(&mut left), [(addr(&a), b"two".to_vec())]);
}

#[test]
fn send__a_full_queue_is_waited_for_and_then_costs_packets_of_that_process_alone() {
    let folder = folder();
    let [mut a, mut stopped, mut other] = [1, 2, 3].map(|number| open(&folder, number));
    let to = addr(&stopped);
    let taken = fill(&mut a, to);
    assert!(!has_room(&a));
    assert_eq!(received(&mut stopped).len().min(1), 1);
    assert!(has_room(&a), "its owner has read");
    while !received(&mut stopped).is_empty() {}
    assert_eq!(send(&mut a, to, b"more").done, 1);
    assert!(taken > 0);

    fill(&mut a, to);
    let lost = loop {
        let sent = send(&mut a, to, b"lost");
        if !sent.full {
            break sent;
        }
    };
    assert_eq!(lost, Sent { done: 1, lost: 1, ..Sent::default() });
    // Expect: nobody waits for it any more, and others are not concerned.
    assert_eq!(send(&mut a, to, b"lost").lost, 1);
    let elsewhere = addr(&other);
    assert_eq!(send(&mut a, elsewhere, b"hello"), Sent { done: 1, ..Sent::default() });
    assert_eq!(received(&mut other), [(addr(&a), b"hello".to_vec())]);
    while !received(&mut stopped).is_empty() {}
    assert_eq!(send(&mut a, to, b"again"), Sent { done: 1, ..Sent::default() });
}

#[test]
fn receive__drops_what_has_no_sender() {
    let folder = folder();
    let mut device = open(&folder, 2);
    let LinkAddr::Unix { node: own, process } = addr(&device) else { unreachable!() };
    let stranger = UnixDatagram::unbound().unwrap();
    stranger.connect(folder.path().join(socket_name(own, process))).unwrap();
    for bytes in [&b""[..], b"abc", &[0, 0, 0, 1, 9], &[0, 1, 0, 0, 9], &[255, 255, 0, 1, 9]] {
        stranger.send(bytes).unwrap();
    }
    assert!(received(&mut device).is_empty());
    stranger.send(&[0, 1, 0, 5]).unwrap();
    assert_eq!(received(&mut device), [(LinkAddr::Unix { node: node(1), process: 5 }, vec![])]);
}

#[test]
fn open__removes_what_killed_processes_of_the_node_have_left() {
    let folder = folder();
    for name in ["2.7", "3.7", "2.x", "notes"] {
        drop(UnixDatagram::bind(folder.path().join(name)).unwrap());
    }
    let first = open(&folder, 2);
    assert!(!folder.path().join("2.7").exists());
    assert_eq!(files(&folder), 4);
    let second = open(&folder, 2);
    assert_eq!(files(&folder), 5, "one that is in use stays");
    drop((first, second));
    assert_eq!(files(&folder), 3, "they remove their own");
}

#[test]
fn open__leaves_files_that_are_no_sockets() {
    let folder = folder();
    let file = folder.path().join("2.7");
    fs::write(&file, "notes").unwrap();
    drop(open(&folder, 2));
    assert_eq!(fs::read_to_string(file).unwrap(), "notes");
}

#[test]
fn let_all_send__follows_no_link() {
    let folder = folder();
    let [file, link] = ["file", "link"].map(|name| folder.path().join(name));
    fs::write(&file, "private").unwrap();
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    assert!(let_all_send(&link).is_err());
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let device = open(&folder, 2);
    let path = &device.name.as_ref().unwrap().path;
    assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o666);
}

#[test]
fn leave__takes_the_name_along() {
    let folder = folder();
    let [mut a, mut b] = [1, 2].map(|number| open(&folder, number));
    let to = addr(&b);
    assert_eq!(send(&mut a, to, b"known").done, 1);
    b.leave();
    assert_eq!(files(&folder), 1);
    assert_eq!(send(&mut a, to, b"still").done, 1);
    assert_eq!(received(&mut b).len(), 2);
}

#[test]
fn send__keeps_few_sockets_to_processes_that_have_ended() {
    let folder = folder();
    let mut a = open(&folder, 1);
    for process in 1..=MAX_PEERS as u16 + 3 {
        let path = folder.path().join(socket_name(node(2), process));
        let peer = UnixDatagram::bind(&path).unwrap();
        let to = LinkAddr::Unix { node: node(2), process };
        assert_eq!(send(&mut a, to, b"answer").done, 1);
        drop(peer);
        fs::remove_file(path).unwrap();
        assert!(a.peers.len() <= MAX_PEERS);
    }
    assert_eq!(a.peers.len(), 3);
}

#[test]
fn open__waits_until_no_other_process_has_the_folder_locked() {
    let folder = folder();
    let held = lock(folder.path()).unwrap();
    thread::scope(|scope| {
        let opening = scope.spawn(|| open(&folder, 1));
        assert_eq!(files(&folder), 0);
        drop(held);
        drop(opening.join().unwrap());
    });
}

#[test]
fn open__says_what_is_wrong_with_the_folder() {
    let folder = folder();
    let absent = folder.path().join("absent");
    let error = UnixDevice::open(&absent, node(1)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let text = error.to_string();
    assert!(text.starts_with(&format!("unix:{}: ", absent.display())), "{text}");
    assert!(text.ends_with("make the folder: only those who may enter it can send"), "{text}");
}
