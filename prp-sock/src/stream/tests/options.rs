//! Options, and what a stream tells about itself.

use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use prp_proto::config::Keepalive;

use super::pattern;
use crate::builder::Builder;
use crate::engine::enlist;
use crate::process_stats;
use crate::testing::{FrameAction, Pair, Rule, wait_until, within_patience};

#[test]
fn try_clone__shares_the_options() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, _theirs) = pair.streams();
        let clone = ours.try_clone().unwrap();
        let second = Some(Duration::from_secs(1));
        ours.set_read_timeout(second).unwrap();
        clone.set_write_timeout(second).unwrap();
        ours.set_nodelay(true).unwrap();
        clone.set_ttl(3).unwrap();
        clone.set_linger(second).unwrap();
        assert_eq!(clone.read_timeout().unwrap(), second);
        assert_eq!(ours.write_timeout().unwrap(), second);
        assert!(clone.nodelay().unwrap());
        assert_eq!(ours.ttl().unwrap(), 3);
        assert_eq!(ours.linger().unwrap(), second);
        ours.set_nonblocking(true).unwrap();
        assert_eq!((&clone).read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
        clone.set_linger(None).unwrap();
    });
}

#[test]
fn process_stats__of_every_node_of_the_process() {
    within_patience(|| {
        let pair = Pair::new();
        let (mut ours, mut theirs) = pair.streams();
        ours.write_all(b"counted").unwrap();
        theirs.read_exact(&mut [0; 7]).unwrap();
        enlist(&ours.inner.engine, "/nowhere/process_stats");
        let node = ours.local_addr().unwrap().node;
        let all = process_stats();
        let stats = all.iter().find(|stats| stats.node == node).expect("the node");
        assert_eq!(stats.endpoint, ours.endpoint_stats().unwrap());
        assert_eq!(stats.devices, ours.device_stats().unwrap());
    });
}

#[test]
fn options__refuse_what_tcp_refuses() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, _theirs) = pair.streams();
        let zero = Some(Duration::ZERO);
        assert_eq!(ours.set_read_timeout(zero).unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_eq!(ours.set_write_timeout(zero).unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_eq!(ours.set_ttl(0).unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_eq!(ours.set_ttl(256).unwrap_err().kind(), ErrorKind::InvalidInput);
        assert_eq!(ours.set_user_timeout(zero).unwrap_err().kind(), ErrorKind::InvalidInput);
        for keepalive in senseless() {
            let error = ours.set_keepalive(Some(keepalive)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{keepalive:?}");
        }
        assert_eq!(ours.keepalive().unwrap(), Some(Keepalive::default()));
    });
}

/// Keepalives with a zero.
fn senseless() -> [Keepalive; 3] {
    let keepalive = Keepalive::default();
    [
        Keepalive { probes: 0, ..keepalive },
        Keepalive { interval: Duration::ZERO, ..keepalive },
        Keepalive { idle: Duration::ZERO, ..keepalive },
    ]
}

#[test]
fn local_port__zero_stands_for_any() {
    within_patience(|| {
        let pair = Pair::new();
        let listener = pair.beta.listen(0, &Builder::new()).unwrap();
        let peer = listener.local_addr().unwrap();
        for _ in 0..2 {
            let any = Builder::new().local_port(0);
            let ours = pair.alpha.connect_nonblocking(peer, &any).unwrap();
            assert_ne!(ours.local_addr().unwrap().port.number(), 0);
        }
    });
}

/// Before prphosts is read, or anything opened.
#[test]
fn builder__refuses_what_a_stream_refuses() {
    let builder = || Builder::new().hosts("/nowhere/prphosts");
    let zero = Duration::ZERO;
    let senseless = senseless().map(|keepalive| builder().keepalive(Some(keepalive)));
    let timeouts = [builder().user_timeout(Some(zero)), builder().connect_timeout(zero)];
    for builder in senseless.iter().chain(&timeouts) {
        let errors = [
            builder.connect("2:80").unwrap_err(),
            builder.connect_nonblocking("2:80").unwrap_err(),
            builder.bind("2:80").unwrap_err(),
        ];
        assert!(errors.iter().all(|e| e.kind() == ErrorKind::InvalidInput), "{builder:?}");
    }
    assert_eq!(builder().connect("2:80").unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn addresses__are_those_of_both_ends() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, theirs) = pair.streams();
        assert_eq!(ours.local_addr().unwrap(), theirs.peer_addr().unwrap());
        assert_eq!(ours.peer_addr().unwrap(), theirs.local_addr().unwrap());
    });
}

#[test]
fn peek__takes_nothing() {
    within_patience(|| {
        let pair = Pair::new();
        let (mut ours, mut theirs) = pair.streams();
        ours.write_all(b"hello").unwrap();
        let mut buf = [0; 8];
        for _ in 0..3 {
            assert_eq!(theirs.peek(&mut buf).unwrap(), 5);
        }
        assert_eq!(theirs.peek(&mut buf[..2]).unwrap(), 2);
        assert_eq!(theirs.read(&mut buf).unwrap(), 5);
        drop(ours);
        assert_eq!(theirs.peek(&mut buf).unwrap(), 0);
    });
}

#[test]
fn stats__count_what_went_through() {
    within_patience(|| {
        let pair = Pair::new();
        let (mut ours, mut theirs) = pair.streams();
        ours.write_all(&pattern(10_000)).unwrap();
        theirs.read_exact(&mut vec![0; 10_000]).unwrap();
        assert_eq!(ours.stats().unwrap().bytes_sent, 10_000);
        assert_eq!(theirs.stats().unwrap().bytes_received, 10_000);
        assert!(ours.endpoint_stats().unwrap().frames_sent >= 7);
        assert_eq!(ours.device_stats().unwrap().len(), 2);
    });
}

/// A connection that has exchanged short messages and is idle costs little.
#[test]
fn memory__of_an_idle_connection_is_small() {
    within_patience(|| {
        let pair = Pair::new();
        let (mut ours, mut theirs) = pair.streams();
        for _ in 0..1000 {
            ours.write_all(&[0; 1000]).unwrap();
            theirs.read_exact(&mut [0; 1000]).unwrap();
            theirs.write_all(&[0; 1000]).unwrap();
            ours.read_exact(&mut [0; 1000]).unwrap();
        }
        for stream in [&ours, &theirs] {
            let (fixed, buffers) = stream.memory().unwrap();
            assert!(fixed + buffers < 16 * 1024, "{fixed} and {buffers} bytes");
        }
    });
}

/// What cuts a wire, and the wire.
fn scissors() -> (Arc<AtomicBool>, Rule) {
    let cut = Arc::new(AtomicBool::new(false));
    let wire = cut.clone();
    let rule = move |_: &[u8]| {
        if wire.load(Ordering::Relaxed) { FrameAction::Drop } else { FrameAction::Pass }
    };
    (cut, Box::new(rule))
}

/// A peer that is gone is noticed by the probes of an idle connection.
#[test]
fn keepalive__notices_a_silent_peer() {
    within_patience(|| {
        let (cut, rule) = scissors();
        let pair = Pair::with_rules(None, Some(rule));
        let (mut ours, mut theirs) = pair.streams();
        ours.write_all(&[1]).unwrap();
        theirs.read_exact(&mut [0]).unwrap();
        let soon = Duration::from_millis(50);
        let keepalive = Keepalive { idle: soon, interval: soon, probes: 3 };
        ours.set_keepalive(Some(keepalive)).unwrap();
        // Expect: a peer that answers is not given up.
        let probes = || ours.stats().unwrap().acks_received;
        let before = probes();
        wait_until("answers", || probes() > before + 3);
        cut.store(true, Ordering::Relaxed);
        let error = ours.read(&mut [0]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
    });
}

#[test]
fn user_timeout__ends_a_write_that_is_not_acknowledged() {
    within_patience(|| {
        let (cut, rule) = scissors();
        let pair = Pair::with_rules(None, Some(rule));
        let (mut ours, _theirs) = pair.streams();
        ours.set_user_timeout(Some(Duration::from_millis(100))).unwrap();
        cut.store(true, Ordering::Relaxed);
        let error = ours.write_all(&pattern(4 << 20)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
    });
}

#[test]
fn settings__can_be_read() {
    within_patience(|| {
        let pair = Pair::new();
        let second = Duration::from_secs(1);
        let keepalive = Keepalive { idle: second, interval: second, probes: 3 };
        let builder = Builder::new()
            .keepalive(Some(keepalive))
            .user_timeout(None)
            .send_buffer(70_000)
            .recv_buffer(80_000);
        let (ours, theirs) = pair.streams_with(&builder, &Builder::new());
        assert_eq!(ours.keepalive().unwrap(), Some(keepalive));
        assert_eq!(ours.user_timeout().unwrap(), None);
        assert_eq!(ours.send_buffer().unwrap(), 70_000);
        assert_eq!(ours.recv_buffer().unwrap(), 80_000);
        assert_eq!(theirs.user_timeout().unwrap(), Some(60 * second));
        assert_eq!(theirs.recv_buffer().unwrap(), 512 * 1024);
        ours.set_keepalive(None).unwrap();
        ours.set_user_timeout(Some(second)).unwrap();
        assert_eq!(ours.keepalive().unwrap(), None);
        assert_eq!(ours.user_timeout().unwrap(), Some(second));
    });
}

#[test]
fn builder__is_what_the_stream_gets() {
    within_patience(|| {
        let pair = Pair::new();
        let builder = Builder::new().max_segment(700).crc(true);
        let (ours, theirs) = pair.streams_with(&builder, &Builder::new());
        for stream in [ours, theirs] {
            let terms = stream.terms().unwrap();
            assert!(terms.crc && terms.extended);
            assert_eq!(terms.mss, 696);
        }
    });
}
