use super::*;
use crate::endpoint::SendRefusal;
use crate::transmit::TransmitBatch;

const CODE: i32 = 101;

fn refusal(is_lasting: bool) -> SendRefusal {
    SendRefusal { code: CODE, is_lasting }
}

/// Takes what the client has to send, of which its machine sends nothing, as `refusal` says; how
/// many frames there were.
fn refuse(pair: &mut Pair, refusal: SendRefusal) -> usize {
    let client = &mut pair.client;
    let mut batch = TransmitBatch::new(64, 1 << 20);
    let count = client.endpoint.poll_transmit(pair.time, &mut batch);
    let hops: Vec<_> = (0..count).map(|at| (batch.device(at), batch.to(at))).collect();
    hops.iter().for_each(|(device, to)| client.endpoint.note_refused(*device, *to, refusal));
    if refusal.is_lasting {
        client.endpoint.end_refused_requests(pair.time, &hops);
    }
    client.endpoint.handle_sent(pair.time);
    count
}

/// PRP-CONN-14: no route, and no other next hop: the request ends at once.
#[test]
fn connect__ends_at_once_where_no_route_leads() {
    let mut pair = Pair::default();
    let c = pair.connect(80, ConnConfig::default());
    assert_eq!(refuse(&mut pair, refusal(true)), 1);
    assert_eq!(pair.client.endpoint.state(c), State::Close);
    let error = pair.client.endpoint.take_error(c);
    assert_eq!(error, Some(ConnError::NotSent { code: CODE, waited: None }));
    // Expect: the next one is tried, and gets through.
    pair.listen(80, ConnConfig::default());
    let c = pair.connect(80, ConnConfig::default());
    assert!(pair.drive_until(|p| p.client.endpoint.state(c) == State::OPEN));
}

/// PRP-CONN-14: what may pass is a lost frame, and named only by an error for want of an answer.
#[test]
fn connect__survives_a_refusal_that_passes_and_names_one_that_stays() {
    let mut pair = Pair::default();
    pair.listen(80, ConnConfig::default());
    let c = pair.connect(80, ConnConfig::default());
    refuse(&mut pair, refusal(false));
    assert!(pair.drive_until(|p| p.client.endpoint.state(c) == State::OPEN));
    let limit = Duration::from_secs(3);
    let config = ConnConfig { connect_timeout: limit, ..ConnConfig::default() };
    let c = pair.connect(80, config);
    while pair.client.endpoint.state(c) == State::ConnWait {
        refuse(&mut pair, refusal(false));
        pair.time = pair.client.endpoint.poll_timeout().expect("it asks again");
        pair.client.endpoint.handle_timeout(pair.time);
    }
    let error = pair.client.endpoint.take_error(c);
    assert_eq!(error, Some(ConnError::NotSent { code: CODE, waited: Some(limit) }));
}

/// PRP-CONN-14: an established connection goes on after any refusal, and its error names the last
/// one only if nothing was sent since.
#[test]
fn established__survives_and_names_what_was_refused_last() {
    let limit = Duration::from_secs(5);
    let config = ConnConfig { user_timeout: Some(limit), ..ConnConfig::default() };
    for is_sent_at_last in [false, true] {
        let mut pair = Pair::default();
        let (c, s) = pair.established_with(config, config);
        pair.write_all(ToServer, c, b"lost");
        assert!(refuse(&mut pair, refusal(true)) > 0);
        assert_eq!(pair.client.endpoint.state(c), State::OPEN);
        assert_eq!(transfer(&mut pair, ToServer, c, s, b"and more"), b"lostand more");
        pair.write_all(ToServer, c, b"anybody?");
        while pair.client.endpoint.state(c) == State::OPEN {
            refuse(&mut pair, refusal(true));
            if is_sent_at_last {
                let (device, to) = pair.client.endpoint.current_path(c).expect("a path");
                pair.client.endpoint.note_sent_to(device, to);
            }
            pair.time = pair.client.endpoint.poll_timeout().expect("it repeats");
            pair.client.endpoint.handle_timeout(pair.time);
        }
        match pair.client.endpoint.take_error(c) {
            Some(ConnError::NotSent { code: CODE, waited: Some(waited) }) => {
                assert!(waited >= limit && !is_sent_at_last, "{waited:?}");
            }
            error => assert!(
                is_sent_at_last && matches!(error, Some(ConnError::TimedOut { .. })),
                "{error:?}"
            ),
        }
    }
}
