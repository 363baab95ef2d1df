use super::*;

/// Has both ends name only the exact times of what is due.
fn revise(pair: &mut Pair) {
    pair.client.endpoint.revise_timeout();
    pair.server.endpoint.revise_timeout();
}

#[test]
fn revise_timeout__forgets_the_acknowledgement_that_rode_on_the_answer() {
    let mut pair = Pair::default();
    let (c, s) = pair.established();
    let mut stale = 0;
    for _ in 0..100 {
        for (direction, from, to) in [(ToServer, c, s), (ToClient, s, c)] {
            pair.write_all(direction, from, b"ping");
            assert!(pair.drive_until(|p| !p.read_available(direction, to).is_empty()));
        }
        let endpoint = &mut pair.server.endpoint;
        stale += usize::from(endpoint.poll_timeout() < endpoint.next_deadline());
        endpoint.revise_timeout();
        assert!(endpoint.next_deadline().is_some(), "the answer may have to be sent again");
        assert_eq!(endpoint.poll_timeout(), endpoint.next_deadline());
    }
    assert_eq!(stale, 100);
}

#[test]
fn revise_timeout__is_not_later_than_what_was_set_since() {
    let mut pair = Pair::default();
    let (c, s) = pair.established();
    for _ in 0..10 {
        pair.write_all(ToServer, c, b"no answer");
        assert!(pair.drive_until(|p| !p.read_available(ToServer, s).is_empty()));
        revise(&mut pair);
        let endpoint = &mut pair.server.endpoint;
        let due = endpoint.poll_timeout().expect("an acknowledgement is owed");
        assert!(due <= pair.time + MS / 2);
        assert!(pair.drive_until(|p| p.client.endpoint.is_flushed(c)));
        assert_eq!(pair.time, due + pair.latency);
    }
}

#[test]
fn revise_timeout__changes_when_an_endpoint_is_woken_and_nothing_else() {
    let run = |revises: bool| {
        let mut pair = Pair::default().traced();
        let mut n = 0_u32;
        // Every seventh frame is lost, of either direction: all timers but the slowest expire.
        pair.rule = Box::new(move |_, bytes| {
            n += u32::from(is_data(bytes));
            if is_data(bytes) && n.is_multiple_of(7) {
                FrameAction::Drop
            } else {
                FrameAction::Pass
            }
        });
        let (c, s) = pair.established();
        let data = pattern(100_000);
        let mut wakes = 0;
        for (direction, from, to) in [(ToServer, c, s), (ToClient, s, c)].repeat(5) {
            let (mut written, mut got) = (0, Vec::new());
            assert!(pair.drive_until(|pair| {
                let now = pair.time;
                let sender = &mut pair.sender(direction).endpoint;
                written += sender.write(now, from, &data[written..], Ending::Write).unwrap_or(0);
                got.extend(pair.read_available(direction, to));
                if revises {
                    revise(pair);
                }
                wakes += 1;
                got.len() == data.len()
            }));
            assert_eq!(got, data);
        }
        (pair.trace.unwrap(), wakes)
    };
    let ((plain, often), (revised, less)) = (run(false), run(true));
    assert_eq!(plain, revised);
    assert!(less < often, "{less} and {often} times");
}

#[test]
fn revise_timeout__drops_what_connections_left_that_are_gone() {
    let mut pair = Pair::default();
    for _ in 0..100 {
        let (c, _) = pair.established();
        pair.write_all(ToServer, c, b"to be thrown away");
        pair.drive_for(Duration::from_micros(20));
        pair.client.endpoint.release(pair.time, c, true);
        pair.drive_for(Duration::from_micros(20));
    }
    let endpoint = &mut pair.client.endpoint;
    assert_eq!(endpoint.next_deadline(), None);
    // The last one's port is kept for a second.
    let kept = pair.time + 999 * MS;
    // Not all at once: a connection may wait meanwhile.
    endpoint.revise_timeout();
    assert!(endpoint.poll_timeout().is_some_and(|at| at < kept));
    endpoint.revise_timeout();
    assert!(endpoint.poll_timeout().is_some_and(|at| at >= kept));
}
