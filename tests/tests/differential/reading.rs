//! Reading and writing without errors.

use std::io::{IoSlice, IoSliceMut};

use crate::scene::{Scene, until_available, until_ended};
use crate::stack::{Stack, Stream};

pub(crate) fn read__gets_what_was_written<S: Stack>(scene: &mut Scene<S>) {
    let (client, server) = scene.pair();
    scene.write("client writes", &client, b"hello");
    scene.note("client flushes", client.flush());
    until_available(&server, 5);
    scene.read("server reads part", &server, 2);
    scene.read("server reads the rest", &server, 100);
    scene.write("server answers", &server, b"world");
    scene.write("server goes on", &server, b", again");
    until_available(&client, 12);
    scene.read("client reads both at once", &client, 100);
}

pub(crate) fn read__zero_bytes<S: Stack>(scene: &mut Scene<S>) {
    let (client, server) = scene.pair();
    scene.write("client writes", &client, b"x");
    until_available(&server, 1);
    scene.read("server reads zero bytes of one", &server, 0);
    scene.note("server peeks at zero bytes of one", server.peek(&mut []));
    scene.read("server reads it", &server, 9);
    scene.note("server does not block", server.set_nonblocking(true));
    scene.read("server reads zero bytes of none", &server, 0);
    scene.note("server peeks at zero bytes of none", server.peek(&mut []));
    drop(client);
    until_ended(&server);
    scene.read("server reads zero bytes at the end", &server, 0);
    scene.read("server reads at the end", &server, 1);
}

pub(crate) fn read__vectored<S: Stack>(scene: &mut Scene<S>) {
    let (client, server) = scene.pair();
    scene.write("client writes", &client, b"abcdefgh");
    until_available(&server, 8);
    let (mut a, mut b, mut c) = ([0; 3], [0; 0], [0; 2]);
    let mut bufs = [IoSliceMut::new(&mut a), IoSliceMut::new(&mut b), IoSliceMut::new(&mut c)];
    scene.note("server reads into three", server.get_vectored(&mut bufs));
    scene.remark("they hold", (a, c));
    let (mut a, mut b) = ([0; 2], [0; 4]);
    let mut bufs = [IoSliceMut::new(&mut a), IoSliceMut::new(&mut b)];
    scene.note("server reads into more than there is", server.get_vectored(&mut bufs));
    scene.remark("they hold", (a, b));
    scene.note("server does not block", server.set_nonblocking(true));
    let mut bufs = [IoSliceMut::new(&mut a)];
    scene.note("server reads nothing", server.get_vectored(&mut bufs));
}

pub(crate) fn peek__keeps_the_bytes<S: Stack>(scene: &mut Scene<S>) {
    let (client, server) = scene.pair();
    scene.write("client writes", &client, b"peekaboo");
    until_available(&server, 8);
    let mut buf = [0; 4];
    for _ in 0..2 {
        scene.note("server peeks", server.peek(&mut buf));
        scene.remark("it sees", buf);
    }
    scene.read("server reads", &server, 6);
    scene.note("server peeks", server.peek(&mut buf));
    scene.remark("it sees", buf);
    scene.read("server reads", &server, 6);
    drop(client);
    until_ended(&server);
    scene.note("server peeks at the end", server.peek(&mut buf));
}

pub(crate) fn write__vectored_and_empty<S: Stack>(scene: &mut Scene<S>) {
    let (client, server) = scene.pair();
    scene.write("client writes nothing", &client, b"");
    scene.note("client writes no slices", client.put_vectored(&[]));
    let bufs = [IoSlice::new(b""), IoSlice::new(b"one"), IoSlice::new(b""), IoSlice::new(b"two")];
    scene.note("client writes four slices", client.put_vectored(&bufs));
    until_available(&server, 6);
    scene.read("server reads", &server, 100);
    scene.note("client writes empty slices", client.put_vectored(&[IoSlice::new(b""); 2]));
    drop(client);
    until_ended(&server);
    scene.read("server reads the end", &server, 100);
}

pub(crate) fn clone__shares_the_stream<S: Stack>(scene: &mut Scene<S>) {
    let (client, server) = scene.pair();
    let twin = client.try_clone().expect("a clone");
    scene.write("client writes", &client, b"1");
    scene.write("its twin writes", &twin, b"2");
    until_available(&server, 2);
    scene.read("server reads", &server, 9);
    scene.write("server writes", &server, b"ab");
    until_available(&twin, 2);
    scene.read("client reads", &client, 1);
    scene.read("its twin reads", &twin, 9);
    let same = client.local_port().expect("a port") == twin.local_port().expect("a port");
    scene.remark("both have one port", same);
}

pub(crate) fn addresses__of_both_ends<S: Stack>(scene: &mut Scene<S>) {
    let (listener, port) = scene.listen();
    scene.remark("listener's port", listening_port(&listener) == port);
    let client = scene.connect(port).expect("there is a listener");
    let (server, from) = crate::stack::Listener::accept(&listener).expect("a client connects");
    let ports = |s: &S::Stream| (s.local_port().expect("a port"), s.peer_port().expect("a port"));
    scene.remark("peer of the client", ports(&client).1 == port);
    scene.remark("port of the server", ports(&server).0 == port);
    scene.remark("accept tells the peer", from == ports(&server).1);
    scene.remark("each knows the other", ports(&server).1 == ports(&client).0);
    drop(client);
    until_ended(&server);
    scene.remark("peer after its end", ports(&server).1 == from);
}

fn listening_port<L: crate::stack::Listener>(listener: &L) -> u16 {
    listener.port().expect("a port")
}
