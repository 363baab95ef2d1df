use super::*;
use crate::time::Instant;

/// PRP-CLOSE-2: each direction closes on its own; what is in transit arrives first.
#[test]
fn half_close__the_other_direction_goes_on() {
    let mut pair = Pair::default();
    let (c, s) = pair.established();
    pair.write_all(ToServer, c, &pattern(5000));
    pair.client.endpoint.shutdown_send(pair.time, c);
    pair.drive();
    assert_eq!(pair.read_available(ToServer, s), pattern(5000));
    assert_eq!(pair.server.endpoint.read(pair.time, s, &mut [0; 9]), Ok(0));
    let write = pair.client.endpoint.write(pair.time, c, b"x", Ending::Write);
    assert_eq!(write, Err(WriteError::Closed));
    assert_eq!(transfer(&mut pair, ToClient, s, c, &pattern(9000)), pattern(9000));
    pair.server.endpoint.shutdown_send(pair.time, s);
    pair.drive();
    assert_eq!(pair.client.endpoint.read(pair.time, c, &mut [0; 9]), Ok(0));
}

/// PRP-CLOSE-4, 5: after both closes nothing is left, on either side, whichever closes first.
#[test]
fn close__leaves_nothing_behind() {
    for order in 0..3 {
        let mut pair = Pair::default();
        let (c, s) = pair.established();
        if order < 2 {
            pair.write_all(ToServer, c, b"bye");
        }
        if order != 1 {
            pair.client.endpoint.release(pair.time, c, false);
        }
        if order != 2 {
            pair.drive();
        }
        assert_eq!(pair.read_available(ToServer, s), if order == 2 { &b""[..] } else { b"bye" });
        pair.server.endpoint.release(pair.time, s, false);
        if order == 1 {
            pair.drive();
            pair.client.endpoint.release(pair.time, c, false);
        }
        pair.drive_for(Duration::from_secs(1));
        assert_eq!(pair.client.endpoint.connections(), 0, "order {order}");
        assert_eq!(pair.server.endpoint.connections(), 0, "order {order}");
        // The port is kept for a while, and then nothing is.
        pair.drive_for(Duration::from_secs(1));
        assert_eq!(pair.client.endpoint.poll_timeout(), None);
        assert_eq!(pair.client.endpoint.stats().resets, 0);
    }
}

/// A server that closes after its client has closed is done at once: its EOC acknowledged the
/// client's.
#[test]
fn close__passive_end_has_no_time_wait() {
    let mut pair = Pair::default();
    let (c, s) = pair.established();
    pair.client.endpoint.release(pair.time, c, false);
    pair.drive();
    pair.server.endpoint.release(pair.time, s, false);
    pair.drive();
    assert_eq!(pair.server.endpoint.connections(), 0);
    assert_eq!(pair.client.endpoint.connections(), 1);
    pair.drive_for(200 * MS);
    assert_eq!(pair.client.endpoint.connections(), 0);
}

/// PRP-CLOSE-5: TIME-WAIT is there to acknowledge a repeated EOC again.
#[test]
fn close__any_lost_frame_of_the_farewell_is_repeated() {
    for lost in 0..8usize {
        for both in [false, true] {
            let mut pair = Pair::default();
            let (c, s) = pair.established();
            let mut n = 0;
            pair.rule = Box::new(move |_, _| {
                n += 1;
                if n == lost + 1 { FrameAction::Drop } else { FrameAction::Pass }
            });
            pair.write_all(ToServer, c, b"last words");
            pair.client.endpoint.shutdown_send(pair.time, c);
            if both {
                pair.server.endpoint.shutdown_send(pair.time, s);
            }
            let mut got = Vec::new();
            let end = pair.drive_until(|p| {
                got.extend(p.read_available(ToServer, s));
                p.server.endpoint.read(p.time, s, &mut [0; 9]) == Ok(0)
            });
            assert!(end, "lost {lost}");
            assert_eq!(got, b"last words");
            pair.server.endpoint.release(pair.time, s, false);
            pair.client.endpoint.release(pair.time, c, false);
            assert!(pair.drive_until(|p| {
                p.client.endpoint.connections() + p.server.endpoint.connections() == 0
            }));
            let resets = pair.client.endpoint.stats().resets + pair.server.endpoint.stats().resets;
            assert_eq!(resets, 0, "lost {lost} both {both}");
        }
    }
}

#[test]
fn close__delivers_what_was_written_before_it() {
    let mut pair = Pair::default();
    let (c, s) = pair.established();
    let data = pattern(300_000);
    pair.write_all(ToServer, c, &data);
    pair.client.endpoint.release(pair.time, c, false);
    let mut got = Vec::new();
    assert!(pair.drive_until(|p| {
        got.extend(p.read_available(ToServer, s));
        got.len() == data.len()
    }));
    assert_eq!(got, data);
}

/// PRP-CLOSE-7: leaving data unread is an abort, as with a kernel socket.
#[test]
fn close__with_unread_data_resets() {
    let mut pair = Pair::default();
    let (c, s) = pair.established();
    pair.write_all(ToServer, c, b"nobody reads this");
    pair.drive();
    pair.server.endpoint.release(pair.time, s, false);
    pair.drive();
    assert_eq!(pair.client.endpoint.take_error(c), Some(ConnError::Reset));
    assert_eq!(pair.server.endpoint.connections(), 0);
}

#[test]
fn close__data_for_a_closed_stream_resets() {
    let mut pair = Pair::default();
    let (c, s) = pair.established();
    pair.server.endpoint.release(pair.time, s, false);
    pair.drive();
    assert_eq!(pair.client.endpoint.read(pair.time, c, &mut [0; 9]), Ok(0));
    pair.write_all(ToServer, c, b"are you there?");
    pair.drive();
    let write = pair.client.endpoint.write(pair.time, c, b"x", Ending::Write);
    assert_eq!(write, Err(WriteError::Conn(ConnError::PeerClosed)));
    // Expect: told once; after that writing is just closed and reading at its end.
    let write = pair.client.endpoint.write(pair.time, c, b"x", Ending::Write);
    assert_eq!(write, Err(WriteError::Closed));
    assert_eq!(pair.client.endpoint.read(pair.time, c, &mut [0; 9]), Ok(0));
}

/// PRP-CLOSE-7: an application that has shut both directions down has closed the stream, handle or
/// not.
#[test]
fn shutdown__both_directions_then_data_resets() {
    let mut pair = Pair::default();
    let (c, s) = pair.established();
    pair.server.endpoint.shutdown_receive(pair.time, s);
    pair.write_all(ToServer, c, b"thrown away");
    pair.drive();
    assert_eq!(pair.client.endpoint.state(c), State::OPEN);
    pair.server.endpoint.shutdown_send(pair.time, s);
    pair.drive();
    pair.write_all(ToServer, c, b"refused");
    pair.drive();
    assert_eq!(pair.client.endpoint.take_error(c), Some(ConnError::PeerClosed));
    // Expect: the end that refused it is told of a reset as well, as by a kernel socket.
    assert_eq!(pair.server.endpoint.take_error(s), Some(ConnError::Reset));
}

/// PRP-CLOSE-9: a stream that has come to its end in good order stays so.
#[test]
fn reset__after_the_end_of_the_stream_is_no_error_to_a_reader() {
    let mut pair = Pair::default();
    let (c, s) = pair.established();
    pair.write_all(ToServer, c, b"all of it");
    pair.client.endpoint.shutdown_send(pair.time, c);
    pair.drive();
    pair.client.endpoint.release(pair.time, c, true);
    pair.drive();
    assert_eq!(pair.server.endpoint.state(s), State::Close);
    assert_eq!(pair.read_available(ToServer, s), b"all of it");
    for _ in 0..2 {
        assert_eq!(pair.server.endpoint.read(pair.time, s, &mut [0; 9]), Ok(0));
    }
    assert_eq!(pair.server.endpoint.take_error(s), Some(ConnError::PeerClosed));
    assert_eq!(pair.server.endpoint.take_error(s), None);
}

#[test]
fn abort__peer_reads_what_came_and_then_the_reset() {
    let mut pair = Pair::default();
    let (c, s) = pair.established();
    pair.write_all(ToServer, c, b"before");
    pair.drive();
    pair.client.endpoint.release(pair.time, c, true);
    pair.drive();
    let mut buf = [0; 9];
    assert_eq!(pair.server.endpoint.read(pair.time, s, &mut buf), Ok(6));
    let error = pair.server.endpoint.read(pair.time, s, &mut buf);
    assert_eq!(error, Err(ReadError::Conn(ConnError::Reset)));
    assert_eq!(pair.server.endpoint.read(pair.time, s, &mut buf), Ok(0));
}

/// PRP-CLOSE-6: the ends of a connection in its TIME-WAIT can be used again at once.
#[test]
fn time_wait__a_new_request_with_the_same_ends_goes_through() {
    let mut pair = Pair::default();
    let (c, s) = pair.established();
    let listener = pair.listen(80, ConnConfig::default());
    let port = pair.client.endpoint.ends(c).unwrap().0.port;
    // The server closes first, so TIME-WAIT is its own.
    pair.server.endpoint.release(pair.time, s, false);
    pair.drive();
    pair.client.endpoint.release(pair.time, c, false);
    pair.drive();
    assert_eq!((pair.client.endpoint.connections(), pair.server.endpoint.connections()), (0, 1));
    let config = ConnConfig::default();
    let remote = Pair::server_addr(80);
    let c = pair.client.endpoint.connect(pair.time, remote, Some(port), config, |_| true).unwrap();
    pair.drive();
    assert_eq!(pair.client.endpoint.state(c), State::OPEN);
    let s = pair.server.endpoint.accept(pair.time, listener).unwrap();
    assert_eq!(transfer(&mut pair, ToServer, c, s, b"again"), b"again");
}

/// PRP-CLOSE-6: ... and what the old connection brought can still be read.
#[test]
fn time_wait__a_new_request_with_the_same_ends_loses_no_data_of_the_old_connection() {
    let mut pair = Pair::default();
    let (c, s) = pair.established();
    let listener = pair.listen(80, ConnConfig::default());
    let port = pair.client.endpoint.ends(c).unwrap().0.port;
    pair.server.endpoint.shutdown_send(pair.time, s);
    pair.drive();
    pair.write_all(ToServer, c, b"unread");
    pair.client.endpoint.release(pair.time, c, false);
    pair.drive();
    let config = ConnConfig::default();
    let remote = Pair::server_addr(80);
    let again = pair.client.endpoint.connect(pair.time, remote, Some(port), config, |_| true);
    pair.drive();
    let again = (again.unwrap(), pair.server.endpoint.accept(pair.time, listener).unwrap());
    assert_ne!(again.1, s);
    assert_eq!(transfer(&mut pair, ToServer, again.0, again.1, b"again"), b"again");
    // Expect: the old handle still means the old connection.
    assert_eq!(pair.read_available(ToServer, s), b"unread");
    assert_eq!(pair.server.endpoint.read(pair.time, s, &mut [0; 9]), Ok(0));
    pair.server.endpoint.release(pair.time, s, false);
    assert_eq!(pair.server.endpoint.connections(), 1);
}

/// A peer that never closes its side does not keep a closed stream for ever.
#[test]
fn orphan__gives_up_waiting_for_the_other_side() {
    let mut pair = Pair::default();
    let (c, s) = pair.established();
    pair.client.endpoint.release(pair.time, c, false);
    assert!(pair.drive_until(|p| p.client.endpoint.connections() == 0));
    assert!(pair.time.as_nanos() > 59_000_000_000);
    pair.drive();
    assert_eq!(pair.server.endpoint.take_error(s), Some(ConnError::PeerClosed));
}

/// PRP-CLOSE-8: a slow reader gets all of what was written before the other end closed.
#[test]
fn close__slow_reader_is_waited_for() {
    let mut pair = Pair::default();
    let server = ConnConfig { recv_buffer: Some(20_000), ..ConnConfig::default() };
    let (c, s) = pair.established_with(ConnConfig::default(), server);
    let data = pattern(60_000);
    pair.write_all(ToServer, c, &data);
    pair.client.endpoint.release(pair.time, c, false);
    let mut got = Vec::new();
    for _ in 0..30 {
        pair.drive_for(Duration::from_secs(10));
        let mut few = [0; 2000];
        let n = pair.server.endpoint.read(pair.time, s, &mut few).unwrap();
        got.extend_from_slice(&few[..n]);
    }
    assert_eq!(got, data);
    pair.drive();
    assert_eq!(pair.server.endpoint.read(pair.time, s, &mut [0; 9]), Ok(0));
}

/// PRP-CLOSE-8: a peer that answers and reads nothing does not hold a connection for ever.
#[test]
fn close__reader_that_never_reads_is_given_up() {
    let mut pair = Pair::default();
    let server = ConnConfig { recv_buffer: Some(20_000), ..ConnConfig::default() };
    let (c, s) = pair.established_with(ConnConfig::default(), server);
    pair.write_all(ToServer, c, &pattern(60_000));
    // Expect: whether or not it has closed its own side.
    pair.server.endpoint.shutdown_send(pair.time, s);
    pair.drive();
    pair.client.endpoint.release(pair.time, c, false);
    pair.drive_for(Duration::from_secs(119));
    assert_eq!(pair.client.endpoint.connections(), 1);
    pair.drive_for(Duration::from_secs(2));
    assert_eq!(pair.client.endpoint.connections(), 0);
    // The memory of its buffer is kept for a while, and then nothing is.
    pair.drive_for(Duration::from_secs(3));
    assert_eq!(pair.client.endpoint.poll_timeout(), None);
}

/// What was written is not flushed while its end is still to be sent: a process that exits then
/// would leave the peer without it.
#[test]
fn flushed__not_before_the_end_is_acknowledged() {
    let mut pair = Pair::default();
    let (c, s) = pair.established();
    assert_eq!(transfer(&mut pair, ToServer, c, s, b"all"), b"all");
    pair.drive_for(MS);
    assert!(pair.client.endpoint.is_flushed(c));
    pair.client.endpoint.shutdown_send(pair.time, c);
    // The end has no frame yet.
    assert!(!pair.client.endpoint.is_flushed(c));
    assert_eq!(pair.client.endpoint.unflushed(), 1);
    pair.drive_for(MS);
    assert!(pair.client.endpoint.is_flushed(c));
}

/// PRP-CLOSE-11: an end that is told that there is no connection any more has been heard to its
/// end: the peer has acknowledged all data, and ended itself in good order.
#[test]
fn close__peer_that_stayed_in_vain_has_everything() {
    let mut pair = Pair::default();
    let (c, s) = pair.established();
    pair.client.endpoint.shutdown_send(pair.time, c);
    pair.drive();
    pair.write_all(ToClient, s, b"answer");
    pair.drive();
    pair.read_available(ToClient, c);
    pair.server.endpoint.shutdown_send(pair.time, s);
    // The last acknowledgement is lost, and all that comes until the client stays no more.
    pair.rule = Box::new(|direction, _| match direction {
        ToServer => FrameAction::Drop,
        ToClient => FrameAction::Pass,
    });
    pair.client.endpoint.release(pair.time, c, false);
    assert!(pair.drive_until(|p| p.client.endpoint.connections() == 0));
    assert!(!pair.server.endpoint.is_flushed(s));
    pair.rule = Box::new(|_, _| FrameAction::Pass);
    assert!(pair.drive_until(|p| p.server.endpoint.is_flushed(s)));
    assert_eq!(pair.server.endpoint.take_error(s), None);
    assert!(pair.time < Instant::from_nanos(5_000_000_000));
}

/// PRP-CLOSE-5: an end that hears that its peer has finished does not stay, though their ends have
/// crossed.
#[test]
fn close__end_whose_peer_has_finished_does_not_stay() {
    let mut pair = Pair::default();
    let (c, s) = pair.established();
    assert_eq!(transfer(&mut pair, ToServer, c, s, b"first"), b"first");
    pair.drive_for(Duration::from_secs(1));
    pair.client.endpoint.release(pair.time, c, false);
    pair.server.endpoint.release(pair.time, s, false);
    // The acknowledgement of the server's end is lost: it asks, and the client has finished.
    let mut is_lost = false;
    pair.rule = Box::new(move |direction, bytes| {
        let loses = direction == ToServer && !is_data(bytes) && !is_lost;
        is_lost |= loses;
        if loses { FrameAction::Drop } else { FrameAction::Pass }
    });
    assert!(pair.drive_until(|p| p.server.endpoint.connections() == 0));
    assert_eq!(pair.client.endpoint.connections(), 1);
}
