//! Links that carry nothing for seconds or minutes, and are well then: what was measured, paced and
//! asked meanwhile must not outlast the outage.

use super::*;

/// Nothing arrives in the directions that `dead` names.
fn kill(pair: &mut Pair, dead: &'static [Direction]) {
    pair.rule =
        Box::new(
            move |direction, _| {
                if dead.contains(&direction) { FrameAction::Drop } else { FrameAction::Pass }
            },
        );
}

/// Without limits on how long it waits.
fn patient() -> ConnConfig {
    ConnConfig { keepalive: None, user_timeout: None, ..ConnConfig::default() }
}

/// Sends 300 kB from client to server, behind what waits; how long that takes.
fn takes(pair: &mut Pair, c: ConnHandle, s: ConnHandle) -> Duration {
    let (begun, data) = (pair.time, pattern(300_000));
    assert!(pair.drive_until(|p| p.client.endpoint.is_flushed(c)));
    pair.read_available(ToServer, s);
    assert!(transfer(pair, ToServer, c, s, &data) == data);
    pair.time.since(begun)
}

/// PRP-ACK-6: segments arrive and their acknowledgements are lost, for longer than an
/// acknowledgement can say.
#[test]
fn echo__of_long_ago_measures_nothing() {
    let mut pair = Pair::default();
    let (c, _) = pair.established_with(patient(), patient());
    kill(&mut pair, &[ToClient]);
    pair.write_all(ToServer, c, &pattern(2 * 1480));
    pair.drive_for(Duration::from_secs(6));
    kill(&mut pair, &[]);
    assert!(pair.drive_until(|p| p.client.endpoint.is_flushed(c)));
    let detail = pair.client.endpoint.conn_info(pair.time, c).expect("it stands");
    assert!(detail.rtt.is_none_or(|rtt| rtt < MS), "{:?}", detail.rtt);
}

/// PRP-CC-3: round trips took seconds, and everything was lost again and again. Both are over.
#[test]
fn pace__of_long_round_trips_is_over_with_them() {
    let mut pair = Pair::default();
    let (c, s) = pair.established_with(patient(), patient());
    pair.latency = Duration::from_secs(3);
    pair.write_all(ToServer, c, &pattern(1000));
    assert!(pair.drive_until(|p| p.client.endpoint.is_flushed(c)));
    kill(&mut pair, &[ToServer]);
    pair.write_all(ToServer, c, &pattern(3000));
    pair.drive_for(Duration::from_secs(40));
    kill(&mut pair, &[]);
    pair.latency = MS;
    let took = takes(&mut pair, c, s);
    assert!(took < Duration::from_secs(60), "{took:?}");
}

/// PRP-LOSS-2: more probes than their numbers tell apart were lost.
#[test]
fn probes__of_an_outage_of_minutes_do_not_hide_the_answer() {
    let mut pair = Pair::default();
    let (c, s) = pair.established_with(patient(), patient());
    // What was not confirmed stays for a shorter time.
    takes(&mut pair, c, s);
    for minutes in [3, 5, 9] {
        kill(&mut pair, &[ToServer, ToClient]);
        pair.write_all(ToServer, c, &pattern(2 * 1480));
        pair.drive_for(Duration::from_secs(60 * minutes));
        kill(&mut pair, &[]);
        let took = takes(&mut pair, c, s);
        assert!(took < Duration::from_secs(5), "{minutes} minutes: {took:?}");
    }
}
