//! Many connections, many processes, and servers that wait for many events at the same time.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::process::Command;

use prp_tests::puppet::Puppet;
use prp_tests::topology::{Node, Topology};

prp_tests::main! {
    heavy:
        connections__five_hundred_in_one_process,
        connections__five_hundred_idle_ones_need_little_memory,
        processes__sixteen_on_a_node_all_talking;
    light:
        epoll__level_triggered,
        epoll__edge_triggered,
        epoll__by_mio,
        tokio__two_hundred_tasks,
        epoll__on_one_node;
}

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");
const EPOLL: &str = env!("CARGO_BIN_EXE_epoll_echo");

/// Runs `connections` connections from `node` to the echo server at `addr`.
fn many_connections(node: &Node<'_>, addr: &str, connections: u32, bytes: u32, rounds: u32) {
    let numbers = [connections, bytes, rounds].map(|n| n.to_string());
    let mut command = node.command(env!("CARGO_BIN_EXE_many_connections"));
    let output = command.arg(addr).args(numbers).output().expect("topo runs");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
}

/// Starts an echo server that prints `ok ADDR` once it listens.
fn server(mut command: Command, args: &[&str]) -> Puppet {
    command.args(args);
    let mut server = Puppet::run(format!("{command:?}"), command);
    server.next_line();
    server
}

fn connections__five_hundred_in_one_process() {
    let topology = Topology::pair();
    let mut echo = Puppet::start(&topology.node(2), PUPPET);
    echo.ok("listen l 2:80");
    echo.send("serve l");
    many_connections(&topology.node(1), "2:80", 500, 20_000, 3);
}

/// Without the buffers, which have memory only for their content.
fn connections__five_hundred_idle_ones_need_little_memory() {
    const CONNECTIONS: u64 = 500;
    const MOST_KIB: u64 = 16;
    let topology = Topology::pair();
    let [mut client, mut server] = [1, 2].map(|n| Puppet::start(&topology.node(n), PUPPET));
    server.ok("listen l 2:80");
    let mut before = Vec::new();
    for n in 0..=CONNECTIONS {
        if n == 1 {
            // The first connection allocates the memory that all share.
            before = [&mut client, &mut server].map(rss).to_vec();
        }
        client.ok(format!("connect s{n} 2:80"));
        server.ok(format!("accept l s{n}"));
        client.ok(format!("write s{n} x"));
        server.ok(format!("read s{n} 1"));
    }
    for (end, before) in [&mut client, &mut server].into_iter().zip(before) {
        let each = (rss(end) - before) as f64 / CONNECTIONS as f64;
        println!("{each:.2} KiB for each idle connection");
        assert!(each < MOST_KIB as f64, "{each} KiB for each idle connection");
    }
}

fn rss(puppet: &mut Puppet) -> u64 {
    puppet.ok("rss").parse().expect("a number")
}

fn processes__sixteen_on_a_node_all_talking() {
    const PROCESSES: usize = 16;
    const BYTES: u64 = 1 << 20;
    let topology = Topology::pair();
    let mut all: Vec<Puppet> =
        (0..PROCESSES).map(|_| Puppet::start(&topology.node(1), PUPPET)).collect();
    for (number, process) in all.iter_mut().enumerate() {
        process.ok(format!("listen l 1:{}", 100 + number));
    }
    // A ring: every process has a stream to the next one, and one from the previous one.
    for number in 0..PROCESSES {
        let next = (number + 1) % PROCESSES;
        all[number].ok(format!("connect next 1:{}", 100 + next));
        all[next].ok("accept l before");
    }
    for (number, process) in all.iter_mut().enumerate() {
        process.ok("bg next drain next");
        process.ok("bg before drain before");
        process.ok(format!("bg forth send next {number} {BYTES}"));
        process.ok(format!("bg back send before {} {BYTES}", 1000 + number));
    }
    let mut sent = Vec::new();
    for process in &mut all {
        sent.push((process.ok("join forth"), process.ok("join back")));
        process.ok("shutdown next write");
        process.ok("shutdown before write");
    }
    for number in 0..PROCESSES {
        let next = (number + 1) % PROCESSES;
        assert_eq!(all[next].ok("join before"), sent[number].0, "forth from {number}");
        assert_eq!(all[number].ok("join next"), sent[next].1, "back from {next}");
    }
}

fn epoll(trigger: &str) {
    let topology = Topology::pair();
    let _server = server(topology.node(2).command(EPOLL), &["2:80", trigger]);
    many_connections(&topology.node(1), "2:80", 64, 100_000, 4);
    // Small messages over many connections, to test wake-ups.
    many_connections(&topology.node(1), "2:80", 100, 10, 10);
}

fn epoll__level_triggered() {
    epoll("level");
}

fn epoll__edge_triggered() {
    epoll("edge");
}

fn epoll__on_one_node() {
    let topology = Topology::pair();
    let node = topology.node(1);
    let _server = server(node.command(EPOLL), &["1:80", "edge"]);
    many_connections(&node, "1:80", 64, 100_000, 2);
}

fn epoll__by_mio() {
    let topology = Topology::pair();
    let _server = server(topology.node(2).command(env!("CARGO_BIN_EXE_mio_echo")), &["2:80"]);
    many_connections(&topology.node(1), "2:80", 64, 100_000, 4);
}

fn tokio__two_hundred_tasks() {
    const ECHO: &str = env!("CARGO_BIN_EXE_tokio_echo");
    let topology = Topology::pair();
    let _server = server(topology.node(2).command(ECHO), &["2:80"]);
    let printed = topology.node(1).run(ECHO, &["2:80", "200", "300000"]);
    assert_eq!(printed, "ok\n");
}
