use super::*;
use crate::endpoint::{ConnectionTrace, Endpoint, TracePoint};

fn points(endpoint: &mut Endpoint) -> Vec<TracePoint> {
    core::iter::from_fn(|| endpoint.poll_connection_trace()).map(|trace| trace.point).collect()
}

fn traced() -> Pair {
    let mut pair = Pair::default();
    pair.client.endpoint.trace_connections();
    pair.server.endpoint.trace_connections();
    pair
}

#[test]
fn trace__has_the_beginning_and_the_end_of_both_ends_once() {
    let mut pair = traced();
    let (c, s) = pair.established();
    pair.drive();
    let began = pair.client.endpoint.poll_connection_trace().expect("it began");
    let ends = pair.client.endpoint.ends(c).expect("it stands");
    let path = pair.client.endpoint.current_path(c).expect("it has one");
    let expected = ConnectionTrace {
        point: TracePoint::Began,
        local: ends.0,
        remote: ends.1,
        is_server: false,
        device: path.0,
        next_hop: path.1,
    };
    assert_eq!(began, expected);
    pair.write_all(ToServer, c, b"x");
    pair.drive();
    assert_eq!(points(&mut pair.server.endpoint), [TracePoint::Began]);
    pair.read_available(ToServer, s);
    pair.client.endpoint.release(pair.time, c, false);
    pair.drive();
    assert_eq!(points(&mut pair.client.endpoint), [], "one direction is open");
    pair.server.endpoint.release(pair.time, s, false);
    pair.drive_for(MS * 1000);
    for endpoint in [&mut pair.client.endpoint, &mut pair.server.endpoint] {
        assert_eq!(points(endpoint), [TracePoint::Ended(None)]);
    }
}

#[test]
fn trace__has_the_error_that_ended_a_connection() {
    let mut pair = traced();
    let (c, s) = pair.established();
    pair.write_all(ToServer, c, b"x");
    pair.drive();
    pair.server.endpoint.release(pair.time, s, true);
    pair.drive();
    let aborted = [TracePoint::Began, TracePoint::Ended(Some(ConnError::Aborted))];
    assert_eq!(points(&mut pair.server.endpoint), aborted);
    let reset = [TracePoint::Began, TracePoint::Ended(Some(ConnError::Reset))];
    assert_eq!(points(&mut pair.client.endpoint), reset);
}

#[test]
fn trace__has_requests_that_fail_and_no_unconfirmed_ones() {
    let mut pair = traced();
    pair.server.endpoint.report_unowned_ports(true);
    pair.connect(81, ConnConfig::default());
    pair.drive();
    assert_eq!(points(&mut pair.client.endpoint), [TracePoint::Failed(ConnError::Refused)]);
    // Its grant is lost, and all that the client says after it.
    pair.listen(80, ConnConfig::default());
    let mut granted = false;
    pair.rule = Box::new(move |direction, _| {
        granted |= direction == ToClient;
        if granted { FrameAction::Drop } else { FrameAction::Pass }
    });
    pair.connect(80, ConnConfig::default());
    pair.drive_for(MS * 200_000);
    assert_eq!(pair.server.endpoint.connections(), 0);
    assert_eq!(points(&mut pair.server.endpoint), []);
}

#[test]
fn trace__has_nothing_unless_it_is_wanted() {
    let mut pair = Pair::default();
    let (c, _) = pair.established();
    pair.client.endpoint.release(pair.time, c, true);
    pair.drive();
    assert_eq!(points(&mut pair.client.endpoint), []);
    assert!(!pair.client.endpoint.has_news());
}
