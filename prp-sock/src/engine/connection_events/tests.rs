use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::sync::Once;

use parking_lot::Mutex;
use prp_proto::addr::{DeviceId, MacAddr, NodeId, Port, PrpAddr};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use super::*;
use crate::builder::Builder;
use crate::stream::PrpStream;
use crate::testing::{Pair, wait_until, within_patience};

/// An event with the text of its fields; `level` and `message` are among them.
type Recorded = BTreeMap<&'static str, String>;

/// What the subscriber has received: of all tests of this program, which have nodes of their own.
static RECORDED: Mutex<Vec<Recorded>> = Mutex::new(Vec::new());

/// A stream that the subscriber uses at each event.
static USED: Mutex<Option<PrpStream>> = Mutex::new(None);

/// Writes down each event.
struct Recorder;

struct Fields(Recorded);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.into());
    }
}

impl Subscriber for Recorder {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == TARGET
    }

    fn event(&self, event: &Event<'_>) {
        if let Some(stream) = &*USED.lock() {
            stream.peer_addr().expect("it is established");
        }
        let mut fields = Fields(Recorded::new());
        event.record(&mut fields);
        fields.0.insert("level", event.metadata().level().to_string());
        RECORDED.lock().push(fields.0);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

fn record() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        tracing::subscriber::set_global_default(Recorder).expect("no test has another one");
    });
}

/// Waits for an event of the connection that `local` has, and returns the last one.
fn wait_for(local: PrpAddr, message: &str) -> Recorded {
    let event = || {
        let all = RECORDED.lock();
        let is_it = |e: &&Recorded| e["local"] == local.to_string() && e["message"] == message;
        all.iter().rev().find(is_it).cloned()
    };
    wait_until(format_args!("{local}: {message}"), || event().is_some());
    event().expect("nothing is taken away")
}

fn count(local: PrpAddr) -> usize {
    RECORDED.lock().iter().filter(|e| e["local"] == local.to_string()).count()
}

#[test]
fn event__of_both_ends_at_the_beginning_and_at_the_end() {
    record();
    within_patience(|| {
        let pair = Pair::new();
        let (ours, theirs) = pair.streams();
        let addrs = [ours.local_addr().unwrap(), theirs.local_addr().unwrap()];
        for (at, role) in ["connected", "accepted"].into_iter().enumerate() {
            let event = wait_for(addrs[at], "connection began");
            let peer = addrs[1 - at].to_string();
            assert_eq!((&*event["peer"], &*event["role"]), (&*peer, role));
            assert_eq!((&*event["device"], &*event["level"]), ("eth0", "DEBUG"));
        }
        ours.shutdown(Shutdown::Write).unwrap();
        drop(theirs);
        (&ours).read_to_end(&mut Vec::new()).unwrap();
        for addr in addrs {
            let event = wait_for(addr, "connection ended");
            assert_eq!((&*event["reason"], &*event["level"]), ("closed", "DEBUG"));
            assert_eq!(count(addr), 2);
        }
    });
}

#[test]
fn event__of_what_fails_has_its_reason() {
    record();
    within_patience(|| {
        let pair = Pair::new();
        pair.alpha.connect(pair.beta.addr(9), &Builder::new()).unwrap_err();
        let refused = || {
            let peer = pair.beta.addr(9).to_string();
            RECORDED.lock().iter().find(|e| e["peer"] == peer).cloned()
        };
        wait_until("the refusal is told", || refused().is_some());
        let event = refused().unwrap();
        assert_eq!((&*event["message"], &*event["reason"]), ("connection failed", "refused"));
        assert_eq!(event["level"], "WARN");
        let (mut ours, mut theirs) = pair.streams();
        // Something is left unread.
        ours.write_all(b"xy").unwrap();
        theirs.read_exact(&mut [0]).unwrap();
        drop(theirs);
        let event = wait_for(ours.local_addr().unwrap(), "connection ended");
        assert_eq!((&*event["reason"], &*event["level"]), ("reset", "WARN"));
        assert_eq!(event["error"], ConnError::Reset.to_string());
    });
}

/// A subscriber may use a stream of the engine that tells it something.
#[test]
fn event__is_emitted_without_the_lock() {
    record();
    within_patience(|| {
        let pair = Pair::new();
        let (used, _peer) = pair.streams();
        *USED.lock() = Some(used);
        let (ours, theirs) = pair.streams();
        wait_for(ours.local_addr().unwrap(), "connection began");
        wait_for(theirs.local_addr().unwrap(), "connection began");
        let used = USED.lock().take();
        drop(used);
    });
}

#[test]
fn event__of_another_path() {
    record();
    let number = |port| PrpAddr::new(NodeId::new(9).unwrap(), Port::new(port));
    let trace = ConnectionTrace {
        point: TracePoint::PathChanged,
        local: number(7),
        remote: number(8),
        is_server: true,
        device: DeviceId(1),
        next_hop: MacAddr([2, 0, 0, 0, 0, 9]).into(),
    };
    let device_names = ["eth0".into(), "eth1".into()].into();
    ConnectionEvent { trace, device_names }.emit();
    let event = wait_for(number(7), "connection changed its path");
    assert_eq!(event["level"], Level::INFO.to_string());
    assert_eq!((&*event["device"], &*event["next_hop"]), ("eth1", "02:00:00:00:00:09"));
}
