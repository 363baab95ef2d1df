//! Resets: their causes, and the result of each call after one.

use std::io::IoSliceMut;
use std::net::Shutdown;
use std::time::Duration;

use crate::scene::{Scene, until_available, until_ended, until_over};
use crate::stack::{Stack, Stream};

/// A connection that the client has reset; the server has received the reset.
fn reset_by_client<S: Stack>(scene: &Scene<S>) -> S::Stream {
    let (client, server) = scene.pair();
    reset(client);
    until_over(&server);
    server
}

/// Closes `stream` with a reset.
fn reset(stream: impl Stream) {
    stream.set_linger(Some(Duration::ZERO)).expect("a linger time");
    drop(stream);
}

pub(crate) fn reset__by_unread_data<S: Stack>(scene: &mut Scene<S>) {
    let (client, server) = scene.pair();
    scene.write("server writes", &server, b"never read");
    until_available(&client, 10);
    scene.read("client reads some", &client, 5);
    drop(client);
    until_over(&server);
    scene.read("server reads", &server, 1);
    scene.read("server reads again", &server, 1);
    scene.write("server writes", &server, b"x");
}

pub(crate) fn reset__by_linger_zero<S: Stack>(scene: &mut Scene<S>) {
    let server = reset_by_client(scene);
    scene.read("server reads", &server, 1);
    scene.read("server reads again", &server, 1);
}

pub(crate) fn reset__read_then_write<S: Stack>(scene: &mut Scene<S>) {
    let server = reset_by_client(scene);
    scene.read("server reads", &server, 1);
    scene.write("server writes", &server, b"x");
    scene.write("server writes again", &server, b"x");
    scene.read("server reads", &server, 1);
    scene.note_error("server's error", &server);
}

pub(crate) fn reset__write_then_read<S: Stack>(scene: &mut Scene<S>) {
    let server = reset_by_client(scene);
    scene.write("server writes", &server, b"x");
    scene.write("server writes again", &server, b"x");
    scene.write("server writes once more", &server, b"x");
    scene.read("server reads", &server, 1);
    scene.read("server reads again", &server, 1);
    scene.note_error("server's error", &server);
}

pub(crate) fn reset__take_error<S: Stack>(scene: &mut Scene<S>) {
    let server = reset_by_client(scene);
    scene.note_error("server's error", &server);
    scene.note_error("server's error again", &server);
    scene.read("server reads", &server, 1);
    scene.write("server writes", &server, b"x");
}

pub(crate) fn reset__take_error_after_read<S: Stack>(scene: &mut Scene<S>) {
    let server = reset_by_client(scene);
    scene.read("server reads", &server, 1);
    scene.note_error("server's error", &server);
}

pub(crate) fn reset__peek<S: Stack>(scene: &mut Scene<S>) {
    let server = reset_by_client(scene);
    scene.note("server peeks", server.peek(&mut [0; 4]));
    scene.note("server peeks again", server.peek(&mut [0; 4]));
    scene.read("server reads", &server, 1);
}

pub(crate) fn reset__zero_length<S: Stack>(scene: &mut Scene<S>) {
    let server = reset_by_client(scene);
    scene.write("server writes nothing", &server, b"");
    scene.read("server reads", &server, 1);
    scene.write("server writes nothing", &server, b"");
    scene.note("server flushes", server.flush());
    scene.read("server reads zero bytes", &server, 0);
}

pub(crate) fn reset__with_data_unread<S: Stack>(scene: &mut Scene<S>) {
    let (client, server) = scene.pair();
    scene.write("client writes", &client, b"left behind");
    until_available(&server, 11);
    reset(client);
    until_over(&server);
    scene.note("server peeks", server.peek(&mut [0; 4]));
    scene.read("server reads some", &server, 4);
    scene.read("server reads the rest", &server, 100);
    scene.read("server reads", &server, 100);
    scene.read("server reads again", &server, 100);
}

pub(crate) fn reset__after_a_vectored_read<S: Stack>(scene: &mut Scene<S>) {
    let (client, server) = scene.pair();
    scene.write("client writes", &client, b"12345678");
    until_available(&server, 8);
    reset(client);
    until_over(&server);
    let (mut a, mut b) = ([0; 8], [0; 8]);
    let mut bufs = [IoSliceMut::new(&mut a), IoSliceMut::new(&mut b)];
    scene.note("server reads all there is into the first of two", server.get_vectored(&mut bufs));
    scene.read("server reads", &server, 1);
    scene.read("server reads again", &server, 1);
}

pub(crate) fn reset__after_half_close<S: Stack>(scene: &mut Scene<S>) {
    let (client, server) = scene.pair();
    scene.note("server ends", server.shutdown(Shutdown::Write));
    until_ended(&client);
    reset(client);
    until_over(&server);
    scene.write("server writes", &server, b"x");
    scene.read("server reads", &server, 1);
    scene.read("server reads again", &server, 1);
    scene.note_error("server's error", &server);
}

pub(crate) fn reset__after_the_peers_half_close<S: Stack>(scene: &mut Scene<S>) {
    let (client, server) = scene.pair();
    scene.note("client ends", client.shutdown(Shutdown::Write));
    until_ended(&server);
    reset(client);
    until_over(&server);
    scene.read("server reads", &server, 1);
    scene.write("server writes", &server, b"x");
    scene.write("server writes again", &server, b"x");
    scene.read("server reads", &server, 1);
    scene.note_error("server's error", &server);
}

pub(crate) fn reset__shutdown_after<S: Stack>(scene: &mut Scene<S>) {
    let server = reset_by_client(scene);
    scene.note("server ends writing", server.shutdown(Shutdown::Write));
    scene.note("server ends reading", server.shutdown(Shutdown::Read));
    scene.note("server ends both", server.shutdown(Shutdown::Both));
    scene.read("server reads", &server, 1);
    scene.write("server writes", &server, b"x");
}

pub(crate) fn reset__addresses_after<S: Stack>(scene: &mut Scene<S>) {
    let server = reset_by_client(scene);
    scene.note("server's own address", server.local_port().map(|_| "known"));
    scene.note("server's peer", server.peer_port().map(|_| "known"));
    scene.read("server reads", &server, 1);
    scene.note("server's peer after reading", server.peer_port().map(|_| "known"));
}

pub(crate) fn reset__seen_by_a_clone<S: Stack>(scene: &mut Scene<S>) {
    let (client, server) = scene.pair();
    let twin = server.try_clone().expect("a clone");
    reset(client);
    until_over(&twin);
    scene.read("the twin reads", &twin, 1);
    scene.read("server reads", &server, 1);
    scene.write("server writes", &server, b"x");
    let third = server.try_clone();
    scene.note("server is cloned", third.as_ref().map(drop).map_err(|e| e.kind().into()));
    scene.read("the third reads", &third.expect("a clone"), 1);
}
