//! Connections that end before an application accepts them (SPEC PRP-CLOSE-12).

use super::*;
use crate::event::ListenHandle;

/// A connection of which the server has acknowledged `bytes` and the client's end, if `ends`, and
/// which no application has accepted yet: the listener and the client's end.
fn unaccepted(pair: &mut Pair, bytes: &[u8], ends: bool) -> (ListenHandle, ConnHandle) {
    let listener = pair.listen(80, ConnConfig::default());
    let c = pair.connect(80, ConnConfig::default());
    pair.drive();
    pair.write_all(ToServer, c, bytes);
    if ends {
        pair.client.endpoint.shutdown_send(pair.time, c);
    }
    assert!(pair.drive_until(|p| p.client.endpoint.is_flushed(c)));
    (listener, c)
}

/// Checks what can be read of a connection that ends before it is accepted.
fn after_end(mut end: impl FnMut(&mut Pair, ConnHandle)) {
    for (bytes, ends) in [(&b"data"[..], true), (b"data", false), (b"", true)] {
        let mut pair = Pair::default();
        let (listener, c) = unaccepted(&mut pair, bytes, ends);
        end(&mut pair, c);
        assert!(pair.drive_until(|p| {
            let handles = p.server.endpoint.handles();
            handles.iter().all(|s| p.server.endpoint.state(*s) == State::Close)
        }));
        let endpoint = &mut pair.server.endpoint;
        assert_eq!((endpoint.pending(listener), endpoint.connections()), (1, 1));
        let s = endpoint.accept(pair.time, listener).unwrap();
        let mut buf = [0; 9];
        if !bytes.is_empty() {
            assert_eq!(pair.server.endpoint.read(pair.time, s, &mut buf), Ok(bytes.len()));
            assert_eq!(&buf[..bytes.len()], bytes);
        }
        let end = pair.server.endpoint.read(pair.time, s, &mut buf);
        assert_eq!(end.is_ok(), ends, "{end:?}");
        assert_eq!(pair.server.endpoint.read(pair.time, s, &mut [0; 9]), Ok(0));
        let write = pair.server.endpoint.write(pair.time, s, b"x", Ending::Write);
        assert!(write.is_err());
        pair.server.endpoint.release(pair.time, s, false);
        assert_eq!(pair.server.endpoint.connections(), 0);
    }
}

/// PRP-CLOSE-12: the client closes, and gives up waiting for the server's end (PRP-CLOSE-8).
#[test]
fn accept__after_the_client_has_given_up() {
    after_end(|pair, c| {
        pair.client.endpoint.release(pair.time, c, false);
        // Where the stream was not ended before, its end is lost.
        pair.rule = Box::new(|_, bytes| {
            if flags(bytes).contains(Flags::EOC) { FrameAction::Drop } else { FrameAction::Pass }
        });
    });
}

/// PRP-CLOSE-12: the client aborts.
#[test]
fn accept__after_the_client_has_reset() {
    after_end(|pair, c| pair.client.endpoint.release(pair.time, c, true));
}

/// PRP-CLOSE-12: the client's process is replaced, and the new one knows nothing.
#[test]
fn accept__after_the_client_was_killed() {
    after_end(|pair, _| pair.restart(ToServer));
}

/// PRP-CLOSE-12: the client's machine is gone without a word.
#[test]
fn accept__after_the_client_s_machine_has_died() {
    after_end(|pair, _| pair.rule = Box::new(|_, _| FrameAction::Drop));
}

/// PRP-CLOSE-12: ... and one with nothing to read is no connection to accept.
#[test]
fn accept__not_what_has_ended_with_nothing_to_read() {
    let mut pair = Pair::default();
    let (listener, c) = unaccepted(&mut pair, b"", false);
    pair.client.endpoint.release(pair.time, c, true);
    pair.drive();
    assert_eq!(pair.server.endpoint.pending(listener), 0);
    assert_eq!(pair.server.endpoint.connections(), 0);
}

/// PRP-CLOSE-12: those that wait count against the backlog, and hold what they have and no more; a
/// listener that closes lets all go.
#[test]
fn accept__what_has_ended_is_bounded_by_the_backlog() {
    let mut pair = Pair::default();
    let listener = pair.listen(80, ConnConfig::default());
    for _ in 0..100 {
        let before = pair.server.endpoint.connections();
        let c = pair.connect(80, ConnConfig::default());
        pair.drive();
        // A request to a full backlog gets no answer.
        let written =
            pair.client.endpoint.write(pair.time, c, &pattern(10_000), Ending::Write).is_ok();
        assert_eq!(written, pair.server.endpoint.connections() > before);
        pair.drive();
        pair.client.endpoint.release(pair.time, c, true);
        pair.drive();
        assert!(pair.server.endpoint.pending(listener) <= 16);
    }
    let endpoint = &mut pair.server.endpoint;
    assert_eq!((endpoint.pending(listener), endpoint.connections()), (16, 16));
    assert_eq!(endpoint.receive_memory(), 16 * (10_000 + size_of::<u64>()));
    endpoint.unlisten(pair.time, listener);
    assert_eq!((endpoint.connections(), endpoint.receive_memory()), (0, 0));
    pair.drive_for(Duration::from_secs(5));
    assert!(pair.server.endpoint.is_idle());
}

/// PRP-CLOSE-12: a new connection of the same ends waits beside the one that has ended.
#[test]
fn accept__of_the_same_ends_twice() {
    let mut pair = Pair::default();
    let (listener, c) = unaccepted(&mut pair, b"old", false);
    let port = pair.client.endpoint.ends(c).unwrap().0.port;
    pair.restart(ToServer);
    let remote = Pair::server_addr(80);
    let config = ConnConfig::default();
    let c = pair.client.endpoint.connect(pair.time, remote, Some(port), config, |_| true).unwrap();
    assert!(pair.drive_until(|p| p.client.endpoint.state(c) == State::OPEN));
    pair.write_all(ToServer, c, b"new");
    pair.drive();
    for expected in [&b"old"[..], b"new"] {
        let s = pair.server.endpoint.accept(pair.time, listener).unwrap();
        assert_eq!(pair.read_available(ToServer, s), expected);
    }
    assert_eq!(pair.server.endpoint.pending(listener), 0);
}
