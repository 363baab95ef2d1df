//! Asking for a connection: answers, refusals, silence.

use std::io::{ErrorKind, Write};
use std::time::Duration;

use prp_proto::addr::{DeviceId, Port};
use prp_proto::config::Classic;
use prp_proto::wire::Reliability;

use crate::builder::Builder;
use crate::engine::LinkNews;
use crate::stream::PrpStream;
use crate::testing::{FrameAction, Pair, wait_until, within_patience};
use prp_device::LinkState;

#[test]
fn connect__is_refused_without_a_listener() {
    within_patience(|| {
        let pair = Pair::new();
        for _ in 0..10 {
            let error = pair.alpha.connect(pair.beta.addr(80), &Builder::new()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        }
    });
}

#[test]
fn connect__times_out_without_an_answer() {
    within_patience(|| {
        let pair = Pair::with_rules(None, Some(Box::new(|_| FrameAction::Drop)));
        let quick = Builder::new().connect_timeout(Duration::from_millis(100));
        let error = pair.alpha.connect(pair.beta.addr(80), &quick).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
    });
}

#[test]
fn connect__is_refused_only_where_the_kernel_says_that_every_device_is_down() {
    within_patience(|| {
        let pair = Pair::new();
        let listener = pair.beta.listen(80, &Builder::new()).unwrap();
        let engine = pair.alpha.engine();
        let connect = || pair.alpha.connect(pair.beta.addr(80), &Builder::new());
        let ours = *engine.lock().endpoint.device(DeviceId(0)).unwrap();
        let mac = ours.addr.mac().unwrap();
        let link = |up| LinkNews::There(LinkState { index: 1, up, mac, mtu: ours.mtu });
        let note = |news| engine.lock().note_link(DeviceId(0), news);
        note(LinkNews::Absent);
        assert_eq!(connect().unwrap_err().kind(), ErrorKind::HostUnreachable);
        // Expect: a device of which the kernel says nothing may be there.
        for news in [LinkNews::Unknown, link(true)] {
            note(news);
            connect().unwrap();
        }
        note(link(false));
        let error = connect().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NetworkUnreachable);
        assert!(error.to_string().contains("eth0 of this machine is down"), "{error}");
        // Expect: a port that was asked for is free again.
        let (addr, port) = (pair.beta.addr(80), Port::new(4000));
        PrpStream::request(engine, addr, Some(port), &Builder::new()).unwrap_err();
        assert!(prp_node::OwnerProbe::new(engine.local_node()).unwrap().is_free(port));
        drop(listener);
    });
}

#[test]
fn connect__asks_again_when_the_request_or_its_answer_is_lost() {
    within_patience(|| {
        let lose = |first: u32| {
            let mut count = 0;
            move |_: &[u8]| {
                count += 1;
                if count <= first { FrameAction::Drop } else { FrameAction::Pass }
            }
        };
        let pair = Pair::with_rules(Some(Box::new(lose(1))), Some(Box::new(lose(2))));
        pair.streams();
    });
}

#[test]
fn connect__has_no_route_to_strangers() {
    within_patience(|| {
        let pair = Pair::new();
        let stranger = "1:80".parse().unwrap();
        let error = pair.alpha.connect(stranger, &Builder::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::HostUnreachable);
    });
}

#[test]
fn connect__needs_a_policy_in_common() {
    within_patience(|| {
        let pair = Pair::new();
        let strict = Builder::new().reliability(Reliability::Detect).classic(Classic::Refuse);
        let listener = pair.beta.listen(0, &Builder::new()).unwrap();
        let addr = listener.local_addr().unwrap();
        let error = pair.alpha.connect(addr, &strict).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported);
    });
}

/// A port that a request was to come from, and that could not be made, has no owner.
#[test]
fn connect__from_a_port_gives_it_back_if_it_fails() {
    within_patience(|| {
        let pair = Pair::new();
        let (stranger, port) = ("1:80".parse().unwrap(), Port::new(700));
        let engine = pair.alpha.engine();
        PrpStream::request(engine, stranger, Some(port), &Builder::new()).unwrap_err();
        let owners = prp_node::OwnerProbe::new(engine.local_node()).unwrap();
        assert!(owners.is_free(port));
        // Expect: the same while a connection from it exists, which goes on owning it.
        let _listener = pair.beta.listen(80, &Builder::new()).unwrap();
        let addr = pair.beta.addr(80);
        let _stream = PrpStream::open(engine, addr, Some(port), &Builder::new()).unwrap();
        let twice = PrpStream::request(engine, addr, Some(port), &Builder::new()).unwrap_err();
        assert_eq!(twice.kind(), ErrorKind::AddrInUse);
        assert!(!owners.is_free(port));
    });
}

#[test]
fn connect__gives_up_a_nonblocking_request_that_is_dropped() {
    within_patience(|| {
        let pair = Pair::with_rules(None, Some(Box::new(|_| FrameAction::Drop)));
        let stream = pair.alpha.connect_nonblocking(pair.beta.addr(80), &Builder::new()).unwrap();
        assert_eq!(stream.peer_addr().unwrap_err().kind(), ErrorKind::NotConnected);
        drop(stream);
        let engine = pair.alpha.engine();
        wait_until("no connection", || engine.lock().endpoint.connections() == 0);
    });
}

#[test]
fn connect__a_write_before_the_answer_waits_for_it() {
    within_patience(|| {
        let pair = Pair::new();
        let listener = pair.beta.listen(0, &Builder::new()).unwrap();
        let addr = listener.local_addr().unwrap();
        let mut stream = pair.alpha.connect_nonblocking(addr, &Builder::new()).unwrap();
        stream.write_all(b"hello").unwrap();
        let (theirs, _) = listener.accept().unwrap();
        let mut bytes = [0; 8];
        assert_eq!(theirs.peek(&mut bytes).unwrap(), 5);
    });
}
