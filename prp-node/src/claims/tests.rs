use std::time::Duration;

use prp_proto::addr::UDP_PORTS;
use prp_proto::seq::{Seq, SeqWidth};
use prp_proto::time::Instant;
use prp_proto::wire::{Head, NetworkHeader, TransportHeader, sealed};

use super::router_name::{router_name, router_udp_name};
use super::*;

/// A node number of its own keeps each test clear of others in the namespace.
fn node(number: u16) -> NodeId {
    NodeId::new(65_000 + number).expect("it is one")
}

fn single(node: NodeId, port: Port) -> String {
    ClaimedPorts::Single(port).name(node)
}

#[test]
fn claim__is_exclusive_between_owners_and_ends_with_them() {
    let port = Port::new(std::process::id() as u16);
    let (mut a, mut b) = (PortClaims::new(node(1)), PortClaims::new(node(1)));
    let owners = OwnerProbe::new(node(1)).unwrap();
    assert!(owners.is_free(port));
    assert!(a.claim(port).unwrap());
    assert!(a.claim(port).unwrap(), "claiming again what one has");
    assert!(!b.claim(port).unwrap());
    assert!(!owners.is_free(port));
    drop(a.release(port));
    assert!(owners.is_free(port));
    assert!(b.claim(port).unwrap());
    drop(b);
    assert!(a.claim(port).unwrap());
}

/// A probe that bound the name, if only for a moment, would make some of these claims fail.
#[test]
fn is_free__never_keeps_a_process_from_its_port() {
    let port = Port::new(std::process::id() as u16);
    let owners = OwnerProbe::new(node(2)).unwrap();
    thread::scope(|scope| {
        let claimer = scope.spawn(|| {
            let mut claims = PortClaims::new(node(2));
            (0..2000).all(|_| {
                let claimed = claims.claim(port).unwrap();
                drop(claims.release(port));
                claimed
            })
        });
        while !claimer.is_finished() {
            owners.is_free(port);
        }
        assert!(claimer.join().unwrap());
    });
}

#[test]
fn is_free__sees_a_socket_that_speaks_with_another_one() {
    let port = Port::new(std::process::id() as u16);
    let socket = bind(&single(node(3), port)).unwrap().expect("the name is free");
    let (_other, end) = UnixDatagram::pair().unwrap();
    // Expect: the kernel refuses to connect to it, and that is no free port.
    let busy = bind(&single(node(3), Port::new(1))).unwrap().expect("the name is free");
    socket.connect_addr(&busy.local_addr().unwrap()).unwrap();
    assert!(!OwnerProbe::new(node(3)).unwrap().is_free(port));
    drop(end);
}

/// What a stranger sends would stay, with the descriptors in it, until the owner closes its socket.
#[test]
fn claim__takes_nothing_from_others() {
    let port = Port::new(std::process::id() as u16);
    let mut claims = PortClaims::new(node(6));
    assert!(claims.claim(port).unwrap());
    let name = SocketAddr::from_abstract_name(single(node(6), port)).unwrap();
    let stranger = UnixDatagram::unbound().unwrap();
    let refused = stranger.send_to_addr(b"x", &name).unwrap_err();
    assert_eq!(refused.kind(), io::ErrorKind::BrokenPipe);
}

#[test]
fn try_take__one_process_is_steward_and_the_next_one_when_it_ends() {
    let (mut first, mut second) = (StewardClaim::new(node(4)), StewardClaim::new(node(4)));
    assert!(first.try_take() && first.try_take());
    assert!(!second.try_take() && !second.is_held());
    first.release();
    assert!(second.try_take());
    assert!(!first.try_take());
    drop(second);
    assert!(first.try_take());
}

#[test]
fn udp_offset__is_known_of_ports_for_as_long_as_they_are_owned() {
    let port = Port::new(std::process::id() as u16);
    let mut claims = [3, 127].map(|offset| {
        let mut claims = PortClaims::new(node(7));
        claims.set_udp_offset(offset);
        claims
    });
    let mut owners = UdpOwners::new(node(7)).unwrap();
    assert_eq!(owners.offset(port), None);
    // Expect: a process that is not on UDP owns the port, and the answer names no addressee.
    let mut silent = PortClaims::new(node(7));
    assert!(silent.claim(port).unwrap());
    assert_eq!(owners.offset(port), None);
    drop(silent.release(port));
    for (at, offset) in [(0, 3), (1, 127), (0, 3)] {
        assert!(claims[at].claim(port).unwrap());
        for _ in 0..2 {
            assert_eq!(owners.offset(port), Some(offset));
        }
        drop(claims[at].release(port));
    }
    assert_eq!(owners.offset(port), None);
}

/// A flood of datagrams to the port of a process that is not on UDP costs no search for each.
#[test]
fn udp_offset__an_owner_that_is_not_on_udp_is_not_searched_for_each_time() {
    let (own, port) = (node(12), Port::new(std::process::id() as u16));
    let mut owners = UdpOwners::new(own).unwrap();
    let mut silent = PortClaims::new(own);
    assert!(silent.claim(port).unwrap());
    let now = Instant::ZERO + Duration::from_secs(60);
    for _ in 0..1000 {
        assert_eq!(owners.offset_at(port, || now), None);
    }
    // Expect: that it is on UDP now would be seen by a search, and there is none.
    let name = ClaimedPorts::Single(port).udp_name(own, UDP_PORTS - 1);
    let _name = bind(&name).unwrap().expect("the name is free");
    assert_eq!(owners.offset_at(port, || now), None);
    let later = now + Duration::from_millis(100);
    assert_eq!(owners.offset_at(port, || later), Some(UDP_PORTS - 1));
}

/// All searches together take 2 % of the time, however many ports such processes have.
#[test]
fn udp_offset__searches_have_a_limit_together() {
    let own = node(13);
    let mut owners = UdpOwners::new(own).unwrap();
    let mut silent = PortClaims::new(own);
    let now = Instant::ZERO + Duration::from_secs(60);
    for port in (1..=300).map(Port::new) {
        assert!(silent.claim(port).unwrap());
        assert_eq!(owners.offset_at(port, || now), None);
    }
    let (port, mut claims) = (Port::new(400), PortClaims::new(own));
    claims.set_udp_offset(3);
    assert!(claims.claim(port).unwrap());
    assert_eq!(owners.offset_at(port, || now), None);
    let later = now + Duration::from_secs(1);
    assert_eq!(owners.offset_at(port, || later), Some(3));
    // Expect: what is known takes no search.
    for port in (1..=300).map(Port::new) {
        assert_eq!(owners.offset_at(port, || later), None);
    }
    assert_eq!(owners.offset_at(port, || later), Some(3));
}

/// Any user can bind the name that says that a node has a router on UDP.
#[test]
fn router__searches_in_vain_have_a_limit() {
    let own = node(14);
    let mut owners = UdpOwners::new(own).unwrap();
    let now = Instant::ZERO + Duration::from_secs(60);
    assert_eq!(owners.router_at(|| now), None);
    let _name = bind(&router_name(own)).unwrap().expect("nobody has it");
    for _ in 0..1000 {
        assert_eq!(owners.router_at(|| now), None);
    }
    // Expect: that it is there now would be seen by a search, and there is none.
    let _place = bind(&router_udp_name(own, UDP_PORTS - 1)).unwrap().expect("nobody has it");
    assert_eq!(owners.router_at(|| now), None);
    let later = now + Duration::from_millis(100);
    assert_eq!(owners.router_at(|| later), Some(UDP_PORTS - 1));
    for _ in 0..1000 {
        assert_eq!(owners.router_at(|| later), Some(UDP_PORTS - 1));
    }
}

const FIRST: u16 = Port::FIRST_AUTOMATIC.number() + 160;

/// A program that names no port takes a descriptor for 16 of them, and gives them back together.
#[test]
fn claim_automatic__takes_a_block_and_gives_it_back_whole() {
    let port = |n: u16| Port::new(FIRST + n);
    let (mut ours, mut others) = (PortClaims::new(node(9)), PortClaims::new(node(9)));
    assert!(ours.claim_automatic(port(3)).unwrap());
    assert!(ours.claim_automatic(port(15)).unwrap());
    assert!(ours.claim(port(0)).unwrap(), "by its number, too");
    assert_eq!(ours.held().count(), 16);
    assert_eq!(ours.blocks.len(), 1, "descriptors");
    let with: Vec<_> = ours.held_with(port(5)).collect();
    assert_eq!(with, (0..16).map(port).collect::<Vec<_>>());
    assert!(ours.holds(port(9)) && !ours.holds(port(16)));
    assert!(!others.claim_automatic(port(7)).unwrap());
    assert!(others.claim_automatic(port(16)).unwrap(), "the next block is free");
    assert!(ours.release(port(15)).is_none());
    assert!(ours.release(port(0)).is_none());
    let released = ours.release(port(3)).expect("the last one");
    assert_eq!(released.ports().count(), 16);
    assert!(!others.claim_automatic(port(7)).unwrap(), "not before that is dropped");
    drop(released);
    assert!(others.claim_automatic(port(7)).unwrap());
    assert!(ours.release(port(3)).is_none(), "it is not ours any more");
}

/// A port that a program names is its own, also among automatic ones.
#[test]
fn claim_automatic__leaves_the_ports_that_other_processes_have_named() {
    let port = |n: u16| Port::new(FIRST + n);
    let (mut ours, mut others) = (PortClaims::new(node(8)), PortClaims::new(node(8)));
    assert!(others.claim(port(5)).unwrap());
    assert!(!ours.claim_automatic(port(1)).unwrap());
    assert!(ours.claim(port(6)).unwrap(), "its neighbour is free");
    drop(others.release(port(5)));
    drop(ours.release(port(6)));
    assert!(ours.claim_automatic(port(1)).unwrap());
    let owners = OwnerProbe::new(node(8)).unwrap();
    for n in [0, 5, 15] {
        assert!(!others.claim(port(n)).unwrap(), "{n}");
        assert!(!owners.is_free(port(n)), "{n}");
    }
    assert!(others.claim(port(16)).unwrap());
    assert!(owners.is_free(port(17)));
}

/// A process that is just taking the block finds the named port in it, and lets go.
#[test]
fn claim__gets_a_port_of_a_block_that_another_process_lets_go_of() {
    let (port, node) = (Port::new(FIRST + 4), node(26));
    let mut ours = PortClaims::new(node);
    let block = PortBlock::of(port).expect("an automatic port");
    let taking = bind(&ClaimedPorts::Block(block).name(node)).unwrap().expect("it is free");
    assert!(ours.claim_or_wait(port, || drop(taking)).unwrap());
    let other = Port::new(FIRST + 20);
    let block = PortBlock::of(other).expect("an automatic port");
    let _held = bind(&ClaimedPorts::Block(block).name(node)).unwrap().expect("it is free");
    assert!(!ours.claim(other).unwrap());
}

/// A packet of node 1 for `port` of `node`.
fn packet_for(node: NodeId, port: Port) -> Vec<u8> {
    let src = NodeId::new(1).expect("it is one");
    let (from, seq) = (Port::new(40_000), Seq::default());
    let transport = TransportHeader::new(from, port, seq, SeqWidth::Bits20, 0);
    sealed(Head { ethernet: None, network: NetworkHeader { src, dst: node }, transport }, &[])
}

/// Echoes come to the control port, which no process owns: none is searched for.
#[test]
fn addressee__of_the_control_port_is_no_process() {
    let (own, port) = (node(10), Port::new(std::process::id() as u16));
    let mut owners = UdpOwners::new(own).unwrap();
    let (control, mut claims) = (ClaimedPorts::Single(Port::CONTROL), PortClaims::new(own));
    let _names = [control.name(own), control.udp_name(own, 5)].map(|name| bind(&name).unwrap());
    assert_eq!(owners.addressee(&packet_for(own, Port::CONTROL)), Some(Addressee::Unowned));
    claims.set_udp_offset(7);
    assert!(claims.claim(port).unwrap());
    assert_eq!(owners.addressee(&packet_for(own, port)), Some(Addressee::Process(7)));
    assert_eq!(owners.addressee(&packet_for(node(11), port)), Some(Addressee::OtherNode));
    assert_eq!(owners.addressee(b"no packet"), None);
}
