//! What a card does for the kernel: segmentation, checksums, tags; and how much it takes at once.

use crate::failure::{Failure, Outcome};
use crate::lab::{Lab, STEP};
use crate::scenes::Scene;

/// The scenes of this file.
pub(super) const SCENES: fn() -> Vec<Scene> = || {
    vec![
        Scene::new("mtu", "the largest MTU that the card takes, 9000 at most", mtu),
        Scene::new("mtu-change", "the MTU is changed in a flow, to less and to more", mtu_change),
        Scene::new("offloads", "each offload off and on, over Ethernet and UDP", offloads),
        Scene::new("offloads-vlan", "offloads of tags off, with a VLAN device", offloads_vlan),
    ]
};

/// Features of ethtool(8) that change what frames look like to a packet socket.
const FEATURES: [&str; 9] =
    ["rx", "tx", "sg", "tso", "gso", "gro", "rxvlan", "txvlan", "rx-vlan-filter"];

/// Bytes of a transfer with one feature off, in each direction.
const SOME: u64 = 500_000;

fn mtu(lab: &mut Lab) -> Outcome {
    let text = lab.on(1, "ip -d link show eth0 | grep -o 'maxmtu [0-9]*'")?;
    let most = text.split_whitespace().last().and_then(|word| word.parse::<u32>().ok());
    let most = most.ok_or_else(|| Failure::new(format!("no largest MTU: {text}")))?;
    // A device without a limit has 0.
    let mtu = if most == 0 { 9000 } else { most.min(9000) };
    if mtu == 1500 {
        return lab.transfer(SOME);
    }
    lab.on_both(&format!("ip link set eth0 mtu {mtu}"))?;
    for node in [1, 2] {
        lab.wait_for_link(node, "eth0")?;
    }
    lab.transfer(4 * SOME)?;
    lab.use_udp("eth0")?;
    lab.transfer(4 * SOME)
}

fn mtu_change(lab: &mut Lab) -> Outcome {
    let flow = lab.begin_flow(&crate::lab::Flow::default())?;
    for mtu in [1300, 1500] {
        lab.on_both(&format!("ip link set eth0 mtu {mtu}"))?;
        lab.await_progress(&flow)?;
    }
    lab.stop_flow(&flow)
}

/// The features of the card that can be changed and are on.
fn features(lab: &mut Lab) -> Outcome<Vec<&'static str>> {
    let text = lab.on(1, "ethtool -k eth0")?;
    let long = |short: &str| match short {
        "rx" => "rx-checksumming",
        "tx" => "tx-checksumming",
        "sg" => "scatter-gather",
        "tso" => "tcp-segmentation-offload",
        "gso" => "generic-segmentation-offload",
        "gro" => "generic-receive-offload",
        "rxvlan" => "rx-vlan-offload",
        "txvlan" => "tx-vlan-offload",
        _ => "rx-vlan-filter",
    };
    let is_on =
        |short: &&&str| text.lines().any(|line| line.trim() == format!("{}: on", long(short)));
    Ok(FEATURES.iter().filter(is_on).copied().collect())
}

/// Switches a feature on both nodes, which some cards answer by losing their link for a while.
/// Returns whether the driver does: that of an e1000e inserts tags as long as it strips them.
fn switch(lab: &mut Lab, feature: &str, to: &str) -> Outcome<bool> {
    let script = format!("ethtool -K eth0 {feature} {to}");
    let mut is_switched = true;
    for node in [1, 2] {
        let ended = lab.ended(node, &script, STEP)?;
        if ended.output.contains("Could not change any device features") {
            is_switched = false;
        } else if ended.status != 0 {
            return Err(Failure::new(format!("{script}: {}", ended.output.trim())));
        }
        lab.wait_for_link(node, "eth0")?;
    }
    Ok(is_switched)
}

fn offloads(lab: &mut Lab) -> Outcome {
    let ethernet = lab.ethernet_hosts("eth0");
    for feature in features(lab)? {
        if switch(lab, feature, "off")? {
            lab.transfer(SOME)?;
            switch(lab, feature, "on")?;
        }
    }
    lab.use_udp("eth0")?;
    for feature in features(lab)? {
        switch(lab, feature, "off")?;
    }
    lab.transfer(SOME)?;
    lab.set_hosts_of_all(&ethernet)?;
    lab.transfer(SOME)
}

fn offloads_vlan(lab: &mut Lab) -> Outcome {
    let all = features(lab)?;
    lab.on_both("ip link add link eth0 name eth0.7 type vlan id 7; ip link set eth0.7 up")?;
    lab.set_hosts_of_all(&lab.ethernet_hosts("eth0.7"))?;
    for feature in ["rxvlan", "txvlan", "rx-vlan-filter"] {
        if all.contains(&feature) && switch(lab, feature, "off")? {
            lab.transfer(SOME)?;
        }
    }
    lab.transfer(SOME)
}
