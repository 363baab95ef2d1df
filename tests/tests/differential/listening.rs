//! Listeners: binding, accepting, refusing, closing.

use std::time::Duration;

use crate::scene::{Scene, until_available, until_ended, until_over, until_pending};
use crate::stack::{Listener, Stack, Stream};

pub(crate) fn connect__refused<S: Stack>(scene: &mut Scene<S>) {
    // Over PRP a program on that node must refuse the request; over TCP the kernel does.
    let _other = scene.listen();
    let port = Scene::<S>::fresh_port();
    scene.note("client connects where nobody listens", scene.connect(port).map(drop));
    scene.note("client tries again", scene.connect(port).map(drop));
}

pub(crate) fn connect__refused_after_the_listener_is_gone<S: Stack>(scene: &mut Scene<S>) {
    let _other = scene.listen();
    let (listener, port) = scene.listen();
    scene.note("client connects", scene.connect(port).map(drop));
    drop(listener);
    scene.note("client connects again", scene.connect(port).map(drop));
}

pub(crate) fn connect__timeout_is_not_needed<S: Stack>(scene: &mut Scene<S>) {
    let (listener, port) = scene.listen();
    let (from, to) = (scene.nodes.client, scene.nodes.server);
    let limit = Duration::from_secs(20);
    scene.note("client connects", S::connect_timeout(from, to, port, limit).map(drop));
    scene.note("server accepts", listener.accept().map(drop));
    let nobody = Scene::<S>::fresh_port();
    scene.note("client is refused", S::connect_timeout(from, to, nobody, limit).map(drop));
}

pub(crate) fn bind__twice<S: Stack>(scene: &mut Scene<S>) {
    let (listener, port) = scene.listen();
    scene.note("server binds the same port", S::bind(scene.nodes.server, port).map(drop));
    scene.note("the first still works", scene.connect(port).map(drop));
    scene.note("server accepts", listener.accept().map(drop));
    scene.note("listener's error", listener.take_error().map(|e| e.is_none()));
}

pub(crate) fn bind__any_port<S: Stack>(scene: &mut Scene<S>) {
    let node = scene.nodes.server;
    let bound = [S::bind(node, 0), S::bind(node, 0)];
    let [a, b] = bound.map(|l| l.expect("some port is free"));
    let (x, y) = (a.port().expect("a port"), b.port().expect("a port"));
    scene.remark("the ports are real and differ", x != 0 && y != 0 && x != y);
    scene.note("client connects to the one", scene.connect(x).map(drop));
    scene.note("client connects to the other", scene.connect(y).map(drop));
    scene.note("the one accepts", a.accept().map(drop));
    scene.note("the other accepts", b.accept().map(drop));
}

pub(crate) fn bind__again_after_drop<S: Stack>(scene: &mut Scene<S>) {
    let (listener, port) = scene.listen();
    drop(listener);
    let again = S::bind(scene.nodes.server, port);
    scene.note("server binds again", again.as_ref().map(drop).map_err(|e| e.kind().into()));
    scene.note("client connects", scene.connect(port).map(drop));
    scene.note("server accepts", again.expect("bound").accept().map(drop));
}

pub(crate) fn bind__again_with_a_connection_open<S: Stack>(scene: &mut Scene<S>) {
    let (listener, port) = scene.listen();
    let client = scene.connect(port).expect("there is a listener");
    let (server, _) = listener.accept().expect("a client connects");
    drop(listener);
    let again = S::bind(scene.nodes.server, port).expect("no listener has the port");
    let newer = scene.connect(port).expect("there is a listener");
    let (accepted, _) = again.accept().expect("a client connects");
    scene.write("the old client writes", &client, b"old");
    scene.write("the new client writes", &newer, b"newer");
    until_available(&server, 3);
    until_available(&accepted, 5);
    scene.read("the old server reads", &server, 100);
    scene.read("the new server reads", &accepted, 100);
}

pub(crate) fn bind__not_this_node<S: Stack>(scene: &mut Scene<S>) {
    // 10.99.0.3 and node 3 do not exist; and node 2 cannot be bound on node 1.
    let port = Scene::<S>::fresh_port();
    let other = 3 - scene.nodes.client;
    scene.note(
        "client binds the other node's port",
        S::bind_elsewhere(scene.nodes.client, other, port).map(drop),
    );
}

pub(crate) fn accept__in_order<S: Stack>(scene: &mut Scene<S>) {
    let (listener, port) = scene.listen();
    let clients: Vec<_> = (0..8u8)
        .map(|number| {
            let client = scene.connect(port).expect("there is a listener");
            client.put(&[b'a' + number]).expect("room for a byte");
            client
        })
        .collect();
    let mut order = String::new();
    let mut ports_agree = true;
    for client in &clients {
        let (server, from) = listener.accept().expect("a client connects");
        let mut buf = [0];
        server.get(&mut buf).expect("a byte");
        order.push(char::from(buf[0]));
        ports_agree &= from == client.local_port().expect("a port");
    }
    scene.remark("accepted in this order", order);
    scene.remark("from the clients' ports", ports_agree);
}

pub(crate) fn accept__nonblocking<S: Stack>(scene: &mut Scene<S>) {
    let (listener, port) = scene.listen();
    scene.note("listener does not block", listener.set_nonblocking(true));
    scene.note("accept", listener.accept().map(drop));
    let client = scene.connect(port).expect("there is a listener");
    until_pending(&listener);
    let (server, _) = listener.accept().expect("one is there");
    scene.note("accept again", listener.accept().map(drop));
    // The accepted stream does block: it waits for this byte.
    scene.write("client writes", &client, b"x");
    scene.read("server reads", &server, 1);
}

pub(crate) fn accept__of_a_connection_that_was_closed<S: Stack>(scene: &mut Scene<S>) {
    let (listener, port) = scene.listen();
    let client = scene.connect(port).expect("there is a listener");
    scene.write("client writes", &client, b"gone already");
    drop(client);
    let (server, _) = listener.accept().expect("it waits to be accepted");
    until_ended(&server);
    scene.read("server reads", &server, 100);
    scene.read("server reads the end", &server, 100);
}

pub(crate) fn accept__of_a_connection_that_was_reset<S: Stack>(scene: &mut Scene<S>) {
    let (listener, port) = scene.listen();
    let client = scene.connect(port).expect("there is a listener");
    client.set_linger(Some(Duration::ZERO)).expect("a linger time");
    drop(client);
    // A second one shows whether the first is still in the queue.
    let second = scene.connect(port).expect("there is a listener");
    scene.write("the second client writes", &second, b"second");
    let (first, _) = listener.accept().expect("at least one is there");
    scene.read("server reads from the first", &first, 100);
}

pub(crate) fn accept__by_a_clone<S: Stack>(scene: &mut Scene<S>) {
    let (listener, port) = scene.listen();
    let twin = listener.try_clone().expect("a clone");
    scene.remark("same port", twin.port().expect("a port") == port);
    drop(listener);
    scene.note("client connects", scene.connect(port).map(drop));
    scene.note("the twin accepts", twin.accept().map(drop));
}

pub(crate) fn drop__with_connections_pending<S: Stack>(scene: &mut Scene<S>) {
    let (listener, port) = scene.listen();
    let client = scene.connect(port).expect("there is a listener");
    let talker = scene.connect(port).expect("there is a listener");
    scene.write("the talker writes", &talker, b"hello?");
    until_pending(&listener);
    drop(listener);
    for (name, stream) in [("client", &client), ("talker", &talker)] {
        until_over(stream);
        scene.read(&format!("{name} reads"), stream, 1);
        scene.read(&format!("{name} reads again"), stream, 1);
        scene.write(&format!("{name} writes"), stream, b"x");
    }
}

pub(crate) fn drop__with_accepted_connections<S: Stack>(scene: &mut Scene<S>) {
    let (listener, port) = scene.listen();
    let client = scene.connect(port).expect("there is a listener");
    let (server, _) = listener.accept().expect("a client connects");
    drop(listener);
    scene.write("client writes", &client, b"still open");
    until_available(&server, 10);
    scene.read("server reads", &server, 100);
    scene.write("server writes", &server, b"indeed");
    until_available(&client, 6);
    scene.read("client reads", &client, 100);
}
