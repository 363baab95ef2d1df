use super::*;

/// PRP-DETECT-1, PRP-DETECT-2: the reader sees the gap each time, and the sender learns of it.
#[test]
fn detect__gap_fails_the_next_read_with_both_numbers_and_stays() {
    let mut pair = Pair::default();
    let (c, s) =
        pair.established_with(with_policy(Reliability::Detect), with_policy(Reliability::Detect));
    pair.rule = drop_nth(ToServer, &[2]);
    pair.write_all(ToServer, c, &pattern(1484 * 5));
    pair.drive();
    // Expect: what came before the gap, then the error, again and again.
    assert_eq!(pair.read_available(ToServer, s), pattern(1484 * 5)[..1484 * 2]);
    for _ in 0..3 {
        let error = pair.server.endpoint.read(pair.time, s, &mut [0; 10]);
        let Err(ReadError::Conn(ConnError::Gap { expected, received })) = error else {
            panic!("{error:?}")
        };
        assert_eq!(received.since(expected), 1);
    }
    // Expect: the sender learns of it too.
    let write = pair.client.endpoint.write(pair.time, c, b"x", Ending::Write);
    assert_eq!(write, Err(WriteError::Conn(ConnError::PeerGap)));
}

/// PRP-DETECT-4: a slow reader slows the sender, and no segment is lost.
#[test]
fn detect__a_slow_reader_loses_nothing() {
    let config = ConnConfig {
        recv_buffer: Some(ConnConfig::MIN_BUFFER),
        ..with_policy(Reliability::Detect)
    };
    let mut pair = Pair::default();
    let (c, s) = pair.established_with(config, config);
    let message = pattern(50 * ConnConfig::MIN_BUFFER);
    let mut sent = 0;
    let mut read = Vec::new();
    while read.len() < message.len() {
        let write = pair.client.endpoint.write(pair.time, c, &message[sent..], Ending::Write);
        match write {
            Ok(n) => sent += n,
            Err(WriteError::Blocked) => {}
            Err(error) => panic!("{error:?}"),
        }
        pair.drive();
        // Expect: more each time, and of what is not read the peer holds at most its buffer.
        let piece = pair.read_available(ToServer, s);
        assert!((1..=2 * ConnConfig::MIN_BUFFER).contains(&piece.len()), "{}", piece.len());
        read.extend(piece);
    }
    assert_eq!(read, message);
}

/// PRP-DETECT-3: nothing comes after a lost tail to reveal it, so the sender asks.
#[test]
fn detect__lost_tail_is_found_by_asking() {
    let mut pair = Pair::default();
    let config = with_policy(Reliability::Detect);
    let (c, s) = pair.established_with(config, config);
    pair.rule = drop_nth(ToServer, &[1]);
    pair.write_all(ToServer, c, &pattern(1484 + 10));
    assert!(pair.drive_until(|p| p.client.endpoint.state(c) == State::Close));
    assert_eq!(pair.client.endpoint.take_error(c), Some(ConnError::PeerGap));
    // Expect: at once, not when an idle peer is probed.
    assert!(pair.time.as_nanos() < 1_000_000_000, "{:?}", pair.time);
    pair.drive();
    let mut buf = [0; 9000];
    assert_eq!(pair.server.endpoint.read(pair.time, s, &mut buf), Ok(1484));
    let error = pair.server.endpoint.read(pair.time, s, &mut buf);
    assert_eq!(error, Err(ReadError::Conn(ConnError::PeerGap)));
}

/// PRP-DETECT-3: an acknowledgement made before the question arrived is no answer to it.
#[test]
fn detect__what_the_peer_says_before_it_is_asked_ends_nothing() {
    let mut pair = Pair::default();
    let config = ConnConfig {
        recv_buffer: Some(ConnConfig::MIN_BUFFER),
        ..with_policy(Reliability::Detect)
    };
    let (c, s) = pair.established_with(config, config);
    pair.write_all(ToServer, c, &pattern(2 * 1484));
    pair.drive_for(5 * MS);
    // Data and questions are stuck in the server's ring; it reads what it has and says so.
    pair.rule = Box::new(|d, _| match d {
        ToServer => FrameAction::Delay(1000 * MS),
        ToClient => FrameAction::Pass,
    });
    pair.write_all(ToServer, c, b"and this");
    pair.drive_for(500 * MS);
    assert_eq!(pair.read_available(ToServer, s), pattern(2 * 1484));
    pair.drive_for(1000 * MS);
    assert_eq!(pair.read_available(ToServer, s), b"and this");
    assert_eq!(
        (pair.client.endpoint.state(c), pair.server.endpoint.state(s)),
        (State::OPEN, State::OPEN)
    );
}

#[test]
fn reliable__recovers_any_single_loss() {
    let data = pattern(1484 * 12 + 700);
    for policy in [Reliability::GoBackN, Reliability::SelectiveRepeat] {
        for lost in 0..13 {
            let mut pair = Pair::default();
            let (c, s) = pair.established_with(with_policy(policy), with_policy(policy));
            let mut n = 0;
            pair.rule = Box::new(move |d, bytes| {
                n += usize::from(d == ToServer && is_data(bytes));
                let hit = d == ToServer && is_data(bytes) && n == lost + 1;
                if hit { FrameAction::Drop } else { FrameAction::Pass }
            });
            let start = pair.time;
            assert_eq!(transfer(&mut pair, ToServer, c, s, &data), data, "{policy} {lost}");
            let stats = pair.client.endpoint.conn_stats(c).unwrap();
            // Expect: the gap or the tail-loss probe shows it; neither end waits for the timeout.
            assert_eq!(stats.timeouts, 0, "{policy} {lost}");
            assert!(pair.time.since(start) < 55 * MS, "{policy} {lost} {:?}", pair.time);
            if policy == Reliability::SelectiveRepeat {
                assert_eq!(stats.retransmitted, 1, "{lost}");
            }
        }
    }
}

#[test]
fn go_back_n__receiver_keeps_nothing_after_a_gap() {
    let mut pair = Pair::default();
    let config = with_policy(Reliability::GoBackN);
    let (c, s) = pair.established_with(config, config);
    pair.rule = drop_nth(ToServer, &[1]);
    let data = pattern(1484 * 6);
    let start = pair.time;
    assert_eq!(transfer(&mut pair, ToServer, c, s, &data), data);
    assert!(pair.time.since(start) < MS, "the report of the gap is enough");
    let stats = pair.client.endpoint.conn_stats(c).unwrap();
    assert_eq!(stats.retransmitted, 5);
    assert_eq!(pair.server.endpoint.stats().drops[DropReason::OutOfOrder], 4);
}

#[test]
fn outage__is_survived_with_backed_off_timeouts() {
    for policy in [Reliability::GoBackN, Reliability::SelectiveRepeat] {
        let mut pair = Pair::default();
        let (c, s) = pair.established_with(with_policy(policy), with_policy(policy));
        pair.write_all(ToServer, c, &pattern(50_000));
        pair.rule = Box::new(|_, _| FrameAction::Drop);
        pair.drive_for(Duration::from_secs(10));
        pair.rule = Box::new(|_, _| FrameAction::Pass);
        let mut got = Vec::new();
        assert!(pair.drive_until(|p| {
            got.extend(p.read_available(ToServer, s));
            got.len() == 50_000
        }));
        assert_eq!(got, pattern(50_000));
        let timeouts = pair.client.endpoint.conn_stats(c).unwrap().timeouts;
        // 50 ms, doubling to 2 s at each fourth: two dozen in ten seconds, not hundreds.
        assert!((5..30).contains(&timeouts), "{timeouts}");
        assert!(pair.time.as_nanos() < 13_000_000_000);
    }
}

/// PRP-LOSS-6: whatever else is said meanwhile does not put a repeat off.
#[test]
fn timeout__is_not_put_off_by_other_frames() {
    for policy in [Reliability::GoBackN, Reliability::SelectiveRepeat] {
        let mut pair = Pair::default();
        let (c, s) = pair.established_with(with_policy(policy), with_policy(policy));
        pair.rule = drop_nth(ToServer, &[0, 1, 2, 3]);
        pair.write_all(ToServer, c, b"to be repeated");
        let mut got = Vec::new();
        for _ in 0..150 {
            // The client acknowledges each of these, and hears from the server.
            pair.write_all(ToClient, s, b"by the way");
            pair.drive_for(2 * MS);
            pair.read_available(ToClient, c);
            got.extend(pair.read_available(ToServer, s));
        }
        assert_eq!(got, b"to be repeated", "{policy}");
    }
}

#[test]
fn user_timeout__ends_a_connection_to_a_peer_that_is_gone() {
    let mut pair = Pair::default();
    let limit = Duration::from_secs(5);
    let config = ConnConfig { user_timeout: Some(limit), ..ConnConfig::default() };
    let (c, _) = pair.established_with(config, config);
    pair.rule = Box::new(|_, _| FrameAction::Drop);
    let start = pair.time;
    pair.write_all(ToServer, c, b"anybody?");
    assert!(pair.drive_until(|p| p.client.endpoint.state(c) == State::Close));
    let waited = pair.time.since(start);
    assert!(waited >= limit && waited < limit * 3 / 2, "{waited:?}");
    let error = pair.client.endpoint.take_error(c);
    assert!(matches!(error, Some(ConnError::TimedOut { .. })), "{error:?}");
}

/// A link in the middle passes frames only that are smaller than every path is taken to carry. The
/// peer answers all that is asked, so "no answer" would send the user to the wrong machine.
#[test]
fn user_timeout__says_that_full_segments_do_not_get_through() {
    for policy in [Reliability::SelectiveRepeat, Reliability::GoBackN] {
        let mut pair = Pair::default();
        let (c, s) = pair.established_with(with_policy(policy), with_policy(policy));
        pair.rule =
            Box::new(
                |_, bytes| if bytes.len() > 1000 { FrameAction::Drop } else { FrameAction::Pass },
            );
        assert_eq!(transfer(&mut pair, ToServer, c, s, b"small"), b"small");
        pair.write_all(ToServer, c, &pattern(100_000));
        assert!(pair.drive_until(|p| p.client.endpoint.state(c) == State::Close));
        let error = pair.client.endpoint.take_error(c);
        let Some(ConnError::TooLarge { segment, .. }) = error else {
            panic!("{policy}: {error:?}")
        };
        assert_eq!(segment, 1484, "{policy}");
    }
}

/// Segments that do not get through are no matter of size where nothing else does, either.
#[test]
fn user_timeout__of_a_peer_that_is_gone_names_no_size() {
    let mut pair = Pair::default();
    let (c, _) = pair.established();
    pair.write_all(ToServer, c, &pattern(100_000));
    pair.rule = Box::new(|_, _| FrameAction::Drop);
    assert!(pair.drive_until(|p| p.client.endpoint.state(c) == State::Close));
    let error = pair.client.endpoint.take_error(c);
    assert!(matches!(error, Some(ConnError::TimedOut { .. })), "{error:?}");
}

/// Reordering alone must not be taken for loss by selective repeat.
#[test]
fn selective_repeat__late_frames_are_not_sent_again() {
    let mut pair = Pair::default();
    let (c, s) = pair.established();
    // Let the round trip be known first.
    assert_eq!(transfer(&mut pair, ToServer, c, s, &pattern(50_000)).len(), 50_000);
    let mut n = 0;
    pair.rule = Box::new(move |d, bytes| {
        n += 1;
        let late = d == ToServer && is_data(bytes) && n % 7 == 0;
        if late { FrameAction::Delay(Duration::from_micros(30)) } else { FrameAction::Pass }
    });
    let data = pattern(1_000_000);
    assert_eq!(transfer(&mut pair, ToServer, c, s, &data), data);
    let stats = pair.client.endpoint.conn_stats(c).unwrap();
    assert_eq!((stats.retransmitted, stats.spurious), (0, 0));
}

/// A lost acknowledgement costs nothing but time.
#[test]
fn acknowledgements__may_all_be_lost_for_a_while() {
    let mut pair = Pair::default();
    let (c, s) = pair.established();
    let mut n = 0;
    pair.rule = Box::new(move |d, _| {
        n += usize::from(d == ToClient);
        if d == ToClient && n % 3 != 0 { FrameAction::Drop } else { FrameAction::Pass }
    });
    let data = pattern(2_000_000);
    assert_eq!(transfer(&mut pair, ToServer, c, s, &data), data);
}

/// PRP-CRC-3: a corrupted frame is a lost frame, counted.
#[test]
fn crc__corrupted_frames_are_lost_frames() {
    let mut pair = Pair::default();
    let config = ConnConfig { crc: true, ..ConnConfig::default() };
    let (c, s) = pair.established_with(config, config);
    let mut n = 0usize;
    pair.rule = Box::new(move |_, bytes| {
        n += 1;
        if !n.is_multiple_of(5) {
            return FrameAction::Pass;
        }
        let mut bad = bytes.to_vec();
        // Anywhere behind the addresses and ports.
        let at = 22 + n * 7 % (bad.len() - 22);
        bad[at] ^= 1 << (n % 8);
        FrameAction::Replace(bad)
    });
    let data = pattern(300_000);
    assert_eq!(transfer(&mut pair, ToServer, c, s, &data), data);
    assert!(pair.drops.contains(&DropReason::BadCrc));
}

/// PRP-FLAGS-3: every copy of a segment but the first says that it is one.
#[test]
fn repeat__says_that_it_is_one() {
    for policy in [Reliability::SelectiveRepeat, Reliability::GoBackN] {
        let mut pair = Pair::default();
        let (c, s) = pair.established_with(with_policy(policy), with_policy(policy));
        let copies = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let seen = copies.clone();
        pair.rule = Box::new(move |d, bytes| {
            if d != ToServer || !is_data(bytes) {
                return FrameAction::Pass;
            }
            let mut seen = seen.lock().unwrap();
            seen.push(flags(bytes).contains(Flags::RTX));
            if seen.len() < 3 { FrameAction::Drop } else { FrameAction::Pass }
        });
        assert_eq!(transfer(&mut pair, ToServer, c, s, b"once more"), b"once more");
        assert_eq!(copies.lock().unwrap()[..3], [false, true, true], "{policy}");
    }
}

/// A client and a server that know their round trip.
fn acquainted(config: ConnConfig) -> (Pair, ConnHandle, ConnHandle) {
    let mut pair = Pair::default();
    let (c, s) = pair.established_with(config, config);
    assert_eq!(transfer(&mut pair, ToServer, c, s, b"hello"), b"hello");
    pair.drive_for(5 * MS);
    (pair, c, s)
}

/// PRP-CC-4: a window that was halved while it was full does not hold the repeat back until a
/// timeout.
#[test]
fn repeat__goes_out_past_a_full_window() {
    let (mut pair, c, s) = acquainted(ConnConfig { congestion: Controller::Aimd, ..plain() });
    // Of the ten that the window allows, three arrive; with six in flight the halved one is full.
    pair.rule = drop_nth(ToServer, &[0, 4, 5, 6, 7, 8, 9]);
    pair.write_all(ToServer, c, &pattern(10 * 1484));
    pair.drive_for(MS / 2);
    assert_eq!(pair.read_available(ToServer, s), pattern(10 * 1484)[..4 * 1484]);
    let stats = pair.client.endpoint.conn_stats(c).unwrap();
    assert_eq!(stats.timeouts, 0);
}

/// PRP-LOSS-3: the acknowledgement of everything in flight is lost, three times. The question is
/// asked again before the timeout of twenty milliseconds.
#[test]
fn probe__is_repeated_at_growing_distances() {
    let (mut pair, c, s) = acquainted(plain());
    let mut answers = 0;
    pair.rule = Box::new(move |d, _| {
        answers += u32::from(d == ToClient);
        if d == ToClient && answers <= 3 { FrameAction::Drop } else { FrameAction::Pass }
    });
    let start = pair.time;
    pair.write_all(ToServer, c, &pattern(5 * 1484));
    assert!(pair.drive_until(|p| p.client.endpoint.is_flushed(c)));
    let took = pair.time.since(start);
    assert!(took >= 4 * MS && took < 7 * MS, "{took:?}");
    let stats = pair.client.endpoint.conn_stats(c).unwrap();
    // Nothing of it was lost, so nothing is said twice.
    assert_eq!((stats.timeouts, stats.retransmitted), (0, 0));
    assert_eq!(pair.read_available(ToServer, s), pattern(5 * 1484));
}
