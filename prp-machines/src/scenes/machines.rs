//! Nodes that are machines of their own, with different kernels and cards, and what is between
//! them.

use std::time::Duration;

use serde_json::Value;

use crate::failure::{Failure, Outcome};
use crate::lab::{Flow, Lab, address};
use crate::scenes::changes::load_driver_again;
use crate::scenes::{Scene, Setup};

/// The scenes of this file.
pub(super) const SCENES: fn() -> Vec<Scene> = || {
    let two = |name, summary, run| {
        Scene::new(name, summary, run).with(Setup::TwoMachines).with_any_card()
    };
    vec![
        Scene::new(
            "router",
            "a router between two models of cards, from 6.6 on in the kernel",
            router,
        )
        .with(Setup::Chain)
        .with_any_card(),
        two("two-transfer", "20 MB in both directions between two machines", |lab| {
            lab.transfer(20_000_000)
        }),
        two("two-udp", "the same over UDP", |lab| {
            lab.use_udp("eth0")?;
            lab.transfer(20_000_000)
        }),
        two("two-tools", "the tools between two machines", super::basics::tools),
        two("two-mpi", "MPI ranks on two machines", super::basics::mpi),
        two("two-tcp", "TCP beside PRP between two machines", super::basics::tcp_beside),
        two("two-module", "one machine unloads the module of its card in a flow", module),
        two("two-pause", "one machine is paused for 10 s in a flow", |lab| pause(lab, 10)),
        two("two-pause-long", "one machine is paused for 100 s, longer than any limit", pause_long),
        Scene::new("three-bridge", "a third machine as a bridge between the two", bridge)
            .with(Setup::ThreeMachines)
            .with_any_card(),
        Scene::new("three-router", "a third machine as a router between the two", router)
            .with(Setup::ThreeMachines)
            .with_any_card(),
    ]
};

/// Each of the outer nodes reaches the other by the one between them.
fn set_routes(lab: &mut Lab) -> Outcome {
    let (a, b) = (address(1, 0), address(2, 1));
    let (near_a, near_b) = (address(3, 0), address(3, 1));
    lab.set_hosts(1, &format!("1 {a} eth0 node1\n3 {near_a} eth0 node3\n2 via 3 node2\n"))?;
    lab.set_hosts(2, &format!("2 {b} eth0 node2\n3 {near_b} eth0 node3\n1 via 3 node1\n"))?;
    lab.set_hosts(
        3,
        &format!("3 {near_a} eth0, {near_b} eth1 node3\n1 {a} eth0 node1\n2 {b} eth1 node2\n"),
    )
}

fn router(lab: &mut Lab) -> Outcome {
    set_routes(lab)?;
    lab.start_routers()?;
    let trace = lab.on(1, "prp trace node2")?;
    if !trace.contains("(node3)") || !trace.contains("(node2)") {
        return Err(Failure::new(format!("the trace does not lead by node3 to node2: {trace}")));
    }
    lab.transfer(5_000_000)?;
    let release = lab.on(3, "uname -r")?;
    let counters = lab.on(3, "prp routed counters --json")?;
    if forwards_as_it_should(&release, &counters) {
        return Ok(());
    }
    let status = lab.on(3, "prp routed status")?;
    Err(Failure::new(format!("Linux {}, {} {}", release.trim(), counters.trim(), status.trim())))
}

/// Whether a router forwarded frames, and where Linux can (6.6 and later) in the kernel.
fn forwards_as_it_should(release: &str, counters: &str) -> bool {
    let counters: Value = serde_json::from_str(counters).unwrap_or_default();
    let is_some = |name: &str| counters[name].as_u64().is_some_and(|count| count > 0);
    let mut version = release.split('.').map(|part| part.parse().unwrap_or(0));
    let version: [u32; 2] = [(); 2].map(|()| version.next().unwrap_or(0));
    is_some("forwarded_frames") && (version < [6, 6] || is_some("forwarded_by_kernel"))
}

fn bridge(lab: &mut Lab) -> Outcome {
    lab.on(
        3,
        "ip link add br0 type bridge forward_delay 0; ip link set eth0 master br0\n\
         ip link set eth1 master br0; ip link set br0 up",
    )?;
    lab.transfer(5_000_000)?;
    lab.use_udp("eth0")?;
    lab.transfer(2_000_000)
}

fn module(lab: &mut Lab) -> Outcome {
    let flow = lab.begin_flow(&Flow::default())?;
    load_driver_again(lab)?;
    lab.move_cards(1)?;
    lab.on(1, "ip link set eth0 up")?;
    lab.await_progress(&flow)?;
    lab.stop_flow(&flow)
}

fn pause(lab: &mut Lab, seconds: u64) -> Outcome {
    for node in [1, 2] {
        let flow = lab.begin_flow(&Flow::default())?;
        lab.pause(node, Duration::from_secs(seconds))?;
        lab.await_progress(&flow)?;
        lab.stop_flow(&flow)?;
    }
    Ok(())
}

fn pause_long(lab: &mut Lab) -> Outcome {
    // The one that goes on gives the other up, and both ends report an error in words.
    let flow = lab.begin_flow(&Flow::default())?;
    lab.pause(1, Duration::from_secs(100))?;
    match lab.stop_flow(&flow) {
        Err(reason) if reason.to_string().contains("bytes: ") => {}
        other => return Err(Failure::new(format!("the flow ends with {other:?}"))),
    }
    lab.transfer(1_000_000)?;
    // With a longer limit it goes on.
    let flow = lab.begin_flow(&Flow { options: "--user-timeout 600", ..Flow::default() })?;
    lab.pause(2, Duration::from_secs(100))?;
    lab.await_progress(&flow)?;
    lab.stop_flow(&flow)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forwards_as_it_should__in_the_kernel_where_that_can() {
        let counters = |all: u32, kernel: u32| {
            format!("{{\"forwarded_frames\": {all}, \"forwarded_by_kernel\": {kernel}}}\n")
        };
        assert!(forwards_as_it_should("6.12.9-amd64\n", &counters(5, 3)));
        assert!(!forwards_as_it_should("6.12.9-amd64\n", &counters(5, 0)));
        assert!(forwards_as_it_should("6.1.0-50-amd64\n", &counters(5, 0)));
        assert!(!forwards_as_it_should("6.1.0-50-amd64\n", &counters(0, 0)));
        assert!(!forwards_as_it_should("6.1.0-50-amd64\n", "no answer"));
    }
}
