//! A device that takes no frames for a while.

use std::io::{Read, Write};
use std::sync::atomic::Ordering;
use std::thread;

use super::echo;
use super::probe::probed_pair;
use crate::builder::Builder;
use crate::testing::within_patience;

/// Connections by another device go on, also those that are made meanwhile; and nothing is lost.
#[test]
fn transmit__a_device_that_takes_nothing_stops_no_other() {
    within_patience(|| {
        let (pair, probe) = probed_pair();
        let (mut waiting, mut theirs) = pair.streams();
        let (mut idle, mut idle_peer) = pair.streams();
        probe.full.store(true, Ordering::Relaxed);
        let sent = vec![1; 100_000];
        waiting.write_all(&sent).unwrap();
        // By the loopback device.
        let builder = Builder::new();
        let listener = pair.alpha.listen(0, &builder).unwrap();
        let own = listener.local_addr().unwrap();
        let accepting = thread::spawn(move || listener.accept().unwrap().0);
        let mut ours = pair.alpha.connect(own, &builder).unwrap();
        let echoing = echo(accepting.join().unwrap(), sent.len());
        let mut bytes = vec![0; sent.len()];
        for _ in 0..10 {
            ours.write_all(&sent).unwrap();
            ours.read_exact(&mut bytes).unwrap();
        }
        idle.write_all(&[3]).unwrap();
        assert_eq!(pair.beta.engine().lock().endpoint.unread(theirs.inner().unwrap().conn), 0);
        probe.full.store(false, Ordering::Relaxed);
        bytes.fill(0);
        theirs.read_exact(&mut bytes).unwrap();
        assert_eq!(bytes, sent);
        idle_peer.read_exact(&mut bytes[..1]).unwrap();
        assert_eq!(bytes[0], 3);
        drop(ours);
        echoing.join().unwrap();
    });
}
