//! Orderly ends: half-close, shutdown in every combination, drop.

use std::net::Shutdown;

use crate::scene::{Scene, until_available, until_ended, until_over};
use crate::stack::{Stack, Stream};

pub(crate) fn half_close__client_first<S: Stack>(scene: &mut Scene<S>) {
    let (client, server) = scene.pair();
    scene.write("client writes", &client, b"question");
    scene.note("client ends", client.shutdown(Shutdown::Write));
    scene.write("client writes after that", &client, b"more");
    until_ended(&server);
    scene.read("server reads", &server, 100);
    scene.read("server reads the end", &server, 100);
    scene.read("server reads it again", &server, 100);
    scene.write("server answers", &server, b"answer");
    until_available(&client, 6);
    scene.read("client reads", &client, 100);
    drop(server);
    until_over(&client);
    scene.read("client reads the end", &client, 100);
    scene.write("client writes at last", &client, b"x");
}

pub(crate) fn half_close__server_first<S: Stack>(scene: &mut Scene<S>) {
    let (client, server) = scene.pair();
    scene.note("server ends", server.shutdown(Shutdown::Write));
    until_ended(&client);
    scene.read("client reads the end", &client, 1);
    for _ in 0..3 {
        scene.write("client writes", &client, b"still");
    }
    until_available(&server, 15);
    scene.read("server reads", &server, 100);
    scene.note("client ends", client.shutdown(Shutdown::Write));
    until_over(&server);
    scene.read("server reads the end", &server, 100);
    scene.write("client writes", &client, b"x");
    scene.write("server writes", &server, b"x");
    scene.note_error("client's error", &client);
    scene.note_error("server's error", &server);
}

pub(crate) fn shutdown__twice<S: Stack>(scene: &mut Scene<S>) {
    let (client, server) = scene.pair();
    scene.note("client ends writing", client.shutdown(Shutdown::Write));
    scene.note("client ends writing again", client.shutdown(Shutdown::Write));
    scene.note("client ends reading", client.shutdown(Shutdown::Read));
    scene.note("client ends reading again", client.shutdown(Shutdown::Read));
    scene.note("client ends both", client.shutdown(Shutdown::Both));
    until_ended(&server);
    scene.read("server reads", &server, 1);
}

pub(crate) fn shutdown__reading_only<S: Stack>(scene: &mut Scene<S>) {
    let (client, server) = scene.pair();
    scene.write("server writes", &server, b"early");
    until_available(&client, 5);
    scene.note("client ends reading", client.shutdown(Shutdown::Read));
    scene.read("client reads what was there", &client, 100);
    scene.read("client reads", &client, 100);
    scene.write("client writes", &client, b"out");
    until_available(&server, 3);
    scene.read("server reads", &server, 100);
}

pub(crate) fn shutdown__reading_then_data<S: Stack>(scene: &mut Scene<S>) {
    let (client, server) = scene.pair();
    scene.note("client ends reading", client.shutdown(Shutdown::Read));
    scene.read("client reads", &client, 100);
    scene.write("server writes", &server, b"late");
    scene.write("server writes again", &server, b"r");
    scene.write("client writes", &client, b"still there");
    until_available(&server, 11);
    scene.read("server reads", &server, 100);
    scene.note("server ends", server.shutdown(Shutdown::Write));
    scene.note("client ends", client.shutdown(Shutdown::Write));
    until_over(&client);
    scene.read("client reads what came", &client, 100);
    scene.read("client reads", &client, 100);
}

pub(crate) fn shutdown__both<S: Stack>(scene: &mut Scene<S>) {
    let (client, server) = scene.pair();
    scene.write("client writes", &client, b"last words");
    scene.note("client ends both", client.shutdown(Shutdown::Both));
    scene.read("client reads", &client, 1);
    scene.write("client writes", &client, b"x");
    until_ended(&server);
    scene.read("server reads", &server, 100);
    scene.read("server reads the end", &server, 100);
    scene.note("server ends both", server.shutdown(Shutdown::Both));
    until_over(&client);
    until_over(&server);
    scene.read("client reads", &client, 1);
    scene.note_error("client's error", &client);
    scene.note_error("server's error", &server);
}

pub(crate) fn shutdown__both_then_data<S: Stack>(scene: &mut Scene<S>) {
    let (client, server) = scene.pair();
    scene.note("client ends both", client.shutdown(Shutdown::Both));
    until_ended(&server);
    scene.write("server writes", &server, b"unwanted");
    until_over(&server);
    until_over(&client);
    scene.write("server writes again", &server, b"x");
    scene.read("server reads", &server, 1);
    scene.note_error("server's error", &server);
    scene.read("client reads", &client, 1);
    scene.read("client reads again", &client, 1);
    scene.write("client writes", &client, b"x");
}

pub(crate) fn shutdown__after_the_peer_is_gone<S: Stack>(scene: &mut Scene<S>) {
    let (client, server) = scene.pair();
    drop(server);
    until_ended(&client);
    scene.note("client ends writing", client.shutdown(Shutdown::Write));
    until_over(&client);
    scene.read("client reads", &client, 1);
    scene.note("client ends reading", client.shutdown(Shutdown::Read));
    scene.note("client ends writing", client.shutdown(Shutdown::Write));
    scene.note("client ends both", client.shutdown(Shutdown::Both));
    scene.note_error("client's error", &client);
}

pub(crate) fn close__by_both<S: Stack>(scene: &mut Scene<S>) {
    let (client, server) = scene.pair();
    scene.note("client ends", client.shutdown(Shutdown::Write));
    until_ended(&server);
    scene.note("server ends", server.shutdown(Shutdown::Write));
    until_over(&client);
    until_over(&server);
    for (name, stream) in [("client", &client), ("server", &server)] {
        scene.read(&format!("{name} reads"), stream, 1);
        scene.write(&format!("{name} writes"), stream, b"x");
        scene.note(&format!("{name} peeks"), stream.peek(&mut [0]));
        scene.note_error(&format!("{name}'s error"), stream);
        scene.note(&format!("{name} shuts down"), stream.shutdown(Shutdown::Both));
    }
}

pub(crate) fn close__simultaneous_half<S: Stack>(scene: &mut Scene<S>) {
    let (client, server) = scene.pair();
    scene.write("client writes", &client, b"from the client");
    scene.write("server writes", &server, b"from the server");
    scene.note("client ends", client.shutdown(Shutdown::Write));
    scene.note("server ends", server.shutdown(Shutdown::Write));
    until_over(&client);
    until_over(&server);
    scene.read("client reads", &client, 100);
    scene.read("client reads the end", &client, 100);
    scene.read("server reads", &server, 100);
    scene.read("server reads the end", &server, 100);
}

pub(crate) fn drop__after_writing<S: Stack>(scene: &mut Scene<S>) {
    let (client, server) = scene.pair();
    for piece in ["one ", "two ", "three"] {
        scene.write("client writes", &client, piece.as_bytes());
    }
    drop(client);
    until_ended(&server);
    scene.read("server reads", &server, 100);
    scene.read("server reads the end", &server, 100);
    scene.note_error("server's error", &server);
}

pub(crate) fn drop__then_peer_writes<S: Stack>(scene: &mut Scene<S>) {
    let (client, server) = scene.pair();
    drop(client);
    until_ended(&server);
    scene.write("server writes", &server, b"anybody there?");
    until_over(&server);
    scene.write("server writes again", &server, b"x");
    scene.write("server writes once more", &server, b"x");
    scene.read("server reads", &server, 1);
    scene.read("server reads again", &server, 1);
    scene.note_error("server's error", &server);
}

pub(crate) fn drop__then_peer_writes_with_data_unread<S: Stack>(scene: &mut Scene<S>) {
    let (client, server) = scene.pair();
    scene.write("client writes", &client, b"take this");
    drop(client);
    until_ended(&server);
    scene.write("server writes", &server, b"anybody there?");
    until_over(&server);
    scene.read("server reads", &server, 4);
    scene.read("server reads the rest", &server, 100);
    scene.read("server reads the end", &server, 100);
    scene.note_error("server's error", &server);
    scene.write("server writes again", &server, b"x");
}

pub(crate) fn drop__one_of_two_clones<S: Stack>(scene: &mut Scene<S>) {
    let (client, server) = scene.pair();
    let twin = client.try_clone().expect("a clone");
    drop(client);
    scene.write("the twin writes", &twin, b"alive");
    until_available(&server, 5);
    scene.read("server reads", &server, 100);
    drop(twin);
    until_ended(&server);
    scene.read("server reads the end", &server, 100);
}
