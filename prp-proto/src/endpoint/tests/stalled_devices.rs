//! Devices that take no more at the moment.

use super::path::Net;
use super::*;
use crate::addr::DeviceId;
use crate::event::ListenHandle;

const FIRST: DeviceId = DeviceId(0);

/// A connection by the second link, and one by the first.
fn by_both_links(net: &mut Net) -> [(ConnHandle, ConnHandle); 2] {
    net.dead[0] = true;
    let second = net.established();
    assert!(net.transfer(0, second.0, second.1, 1000));
    net.dead[0] = false;
    net.ends[1].unlisten(net.time, ListenHandle { port: Port::new(80) });
    let first = net.established();
    assert!(net.transfer(0, first.0, first.1, 1000));
    assert_eq!([second, first].map(|(c, _)| net.current_path(0, c)), [1, 0]);
    [second, first]
}

/// Whether the end 1 gets `bytes` within two seconds.
fn get(net: &mut Net, conn: ConnHandle, bytes: &[u8]) -> bool {
    let mut got = Vec::new();
    net.until(Duration::from_secs(2), |net| {
        let mut buf = [0; 4096];
        while let Ok(n @ 1..) = net.ends[1].read(net.time, conn, &mut buf) {
            got.extend_from_slice(&buf[..n]);
        }
        got == bytes
    })
}

#[test]
fn set_stalled__what_leaves_by_other_devices_goes_on() {
    let mut net = Net::new([1500; 2]);
    let [(c, s), (waiting, peer)] = by_both_links(&mut net);
    net.ends[0].set_stalled(FIRST, true);
    // A refusal is to wait, and a connection with more than one segment to send.
    let (unheard, _) = net.ends[0].ends(c).unwrap();
    let asked = net.ends[1].connect(net.time, unheard, None, plain(), |_| true).unwrap();
    let bytes = pattern(100_000);
    assert_eq!(net.ends[0].write(net.time, waiting, &bytes, Ending::Write), Ok(bytes.len()));
    assert!(net.transfer(0, c, s, 100_000));
    assert!(net.ends[0].refusals_owed() > 0 && net.ends[1].state(asked) == State::ConnWait);
    assert!(!net.ends[1].is_readable(peer));
    assert!(!net.ends[0].wants_transmit(), "what waits is nothing to do");
    net.ends[0].set_stalled(FIRST, false);
    assert!(get(&mut net, peer, &bytes));
    assert_eq!(net.ends[1].take_error(asked), Some(ConnError::Refused));
    assert_eq!(net.current_path(0, waiting), 0);
}

/// PRP-PATH-2: a device that takes no more is left as one is whose frames do not arrive.
#[test]
fn set_stalled__a_connection_that_gets_no_answer_goes_on_by_another_device() {
    let mut net = Net::new([1500; 2]);
    let (c, s) = net.established();
    assert!(net.transfer(0, c, s, 100_000));
    net.dead[0] = true;
    let bytes = pattern(100_000);
    assert_eq!(net.ends[0].write(net.time, c, &bytes, Ending::Write), Ok(bytes.len()));
    assert!(net.step());
    net.ends[0].set_stalled(FIRST, true);
    assert!(get(&mut net, s, &bytes));
    assert_eq!(net.current_path(0, c), 1);
}
