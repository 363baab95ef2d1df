//! Devices on top of a card.

use std::path::Path;

use serde_json::json;

use crate::failure::Outcome;
use crate::lab::{Flow, Lab, NodeNumber, STEP, address, quote};
use crate::scenes::Scene;

/// The scenes of this file.
pub(super) const SCENES: fn() -> Vec<Scene> = || {
    vec![
        Scene {
            exception: |_, model| model.hides_its_cable(),
            ..Scene::new(
                "bond-backup",
                "a bond whose active card loses its cable in a flow",
                bond_backup,
            )
        },
        Scene {
            exception: |_, model| model.hides_its_cable(),
            ..Scene::new("bond-lacp", "a bond of both cards by 802.3ad", bond_lacp)
        },
        Scene {
            exception: |_, model| {
                let hint = "no teamd: apt-get install libteam-utils";
                let hint = (!is_installed("teamd")).then_some(hint);
                model.hides_its_cable().or_else(|| model.keeps_its_address()).or(hint)
            },
            ..Scene::new("team", "a team whose active card loses its cable in a flow", team)
        },
        Scene::new("bridge", "a bridge with the card in it", bridge),
        Scene::new("macvlan", "macvlan devices of both cards", macvlan),
        Scene::new(
            "ipvlan",
            "ipvlan takes IP only: UDP is carried, Ethernet refused in words",
            ipvlan,
        )
        .with_any_card(),
    ]
};

/// Makes a bond of both cards on both nodes; its address is that of the first card.
fn add_bond(lab: &mut Lab, mode: &str) -> Outcome {
    lab.on_both(&format!(
        "ip link set eth0 down; ip link set eth1 down\n\
         ip link add bond0 type bond miimon 100 {mode}\n\
         ip link set eth0 master bond0; ip link set eth1 master bond0\n\
         ip link set bond0 up"
    ))?;
    // QEMU's vmxnet3 forgets on its way up what it was given while it was down.
    if lab.model(1).device == "vmxnet3" {
        lab.on_both(
            "address=$(</sys/class/net/bond0/address)\n\
             ip link set bond0 address 02:00:00:00:ff:01; ip link set bond0 address $address",
        )?;
    }
    lab.set_hosts_of_all(&lab.ethernet_hosts("bond0"))?;
    lab.wait_for_link(1, "bond0")?;
    lab.wait_for_link(2, "bond0")
}

/// Pulls and plugs in the first cable in a flow; `is_active` has a condition for each node, by
/// which it uses a card.
fn fail_over(lab: &mut Lab, is_active: &dyn Fn(&str) -> [(NodeNumber, String); 2]) -> Outcome {
    let wait = |lab: &mut Lab, card: &str| {
        is_active(card).iter().try_for_each(|(node, condition)| lab.until(*node, condition))
    };
    wait(lab, "eth0")?;
    let flow = lab.begin_flow(&Flow::default())?;
    for (is_in, card) in [(false, "eth1"), (true, "eth0")] {
        lab.set_cable(1, 0, is_in)?;
        lab.set_cable(2, 0, is_in)?;
        wait(lab, card)?;
        lab.await_progress(&flow)?;
    }
    lab.stop_flow(&flow)
}

fn bond_backup(lab: &mut Lab) -> Outcome {
    add_bond(lab, "mode active-backup primary eth0")?;
    let active = |card: &str| {
        let condition = format!("[[ $(</sys/class/net/bond0/bonding/active_slave) == {card} ]]");
        [1, 2].map(|node| (node, condition.clone()))
    };
    fail_over(lab, &active)
}

fn bond_lacp(lab: &mut Lab) -> Outcome {
    // Only cards of a known speed come together, and virtio-net has none by itself.
    lab.on_both(
        "for card in eth0 eth1; do\n\
             (($(</sys/class/net/$card/speed) > 0)) || ethtool -s $card speed 1000 duplex full\n\
         done",
    )?;
    add_bond(lab, "mode 802.3ad lacp_rate fast")?;
    for node in [1, 2] {
        lab.until(node, "[[ $(</sys/class/net/bond0/bonding/ad_num_ports) == 2 ]]")?;
    }
    let flow = lab.begin_flow(&Flow::default())?;
    lab.set_cable(1, 0, false)?;
    lab.set_cable(2, 0, false)?;
    lab.await_progress(&flow)?;
    lab.set_cable(1, 0, true)?;
    lab.set_cable(2, 0, true)?;
    lab.await_progress(&flow)?;
    lab.stop_flow(&flow)
}

/// Whether the host, whose files the machines have, has a program.
fn is_installed(program: &str) -> bool {
    ["/usr/sbin", "/usr/bin"].iter().any(|folder| Path::new(folder).join(program).exists())
}

fn team(lab: &mut Lab) -> Outcome {
    lab.beside(1, "modprobe -a team team_mode_activebackup")?;
    for node in [1, 2] {
        // Their names are apart, since teamd has files that are called so.
        let settings = json!({
            "device": format!("team{node}"),
            "hwaddr": address(node, 0),
            "runner": { "name": "activebackup" },
            "link_watch": { "name": "ethtool" },
            "ports": { "eth0": { "prio": 100, "sticky": false }, "eth1": { "prio": 1 } },
        });
        lab.on(node, "ip link set eth0 down; ip link set eth1 down")?;
        let settings = quote(&settings.to_string());
        let daemon = lab.start(node, &format!("exec teamd -r -U -c {settings}"), STEP * 4)?;
        let set_up = format!("ip link set team{node} up");
        lab.until_during(node, &set_up, &[&daemon])?;
        lab.wait_for_link(node, &format!("team{node}"))?;
        lab.set_hosts(node, &lab.ethernet_hosts(&format!("team{node}")))?;
    }
    let active = |card: &str| {
        let port = "teamdctl -U team$node state item get runner.active_port";
        [1, 2].map(|node| (node, format!("node={node}; [[ $({port}) == {card} ]]")))
    };
    fail_over(lab, &active)
}

fn bridge(lab: &mut Lab) -> Outcome {
    // A bridge takes the lowest address of its ports.
    lab.on_both(
        "ip link add br0 type bridge forward_delay 0; ip link set eth0 master br0; ip link set br0 up",
    )?;
    // The card itself gives no frame to a packet socket any more, and the words say so.
    lab.fails_with(1, "prp hosts check", "bridge")?;
    lab.set_hosts_of_all(&lab.ethernet_hosts("br0"))?;
    for node in [1, 2] {
        lab.wait_for_link(node, "br0")?;
        lab.on(node, "prp hosts check")?;
    }
    lab.transfer(1_000_000)
}

fn macvlan(lab: &mut Lab) -> Outcome {
    let address = |node: u8| format!("02:00:00:00:aa:{node:02x}");
    for node in [1, 2] {
        let address = address(node);
        lab.on(
            node,
            &format!(
                "ip link add mv0 link eth0 address {address} type macvlan; ip link set mv0 up"
            ),
        )?;
    }
    let hosts: String =
        [1, 2].map(|node| format!("{node} {} mv0 node{node}\n", address(node))).concat();
    lab.set_hosts_of_all(&hosts)?;
    for node in [1, 2] {
        lab.wait_for_link(node, "mv0")?;
    }
    lab.transfer(1_000_000)
}

fn ipvlan(lab: &mut Lab) -> Outcome {
    lab.on_both("ip link add iv0 link eth0 type ipvlan mode l2; ip link set iv0 up")?;
    lab.set_hosts_of_all(&lab.ethernet_hosts("iv0"))?;
    lab.fails_with(1, "prp hosts check", "ipvlan")?;
    lab.use_udp("iv0")?;
    lab.transfer(1_000_000)
}
