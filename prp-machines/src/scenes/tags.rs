//! VLANs: tagged frames, and those of others.

use crate::failure::{Failure, Outcome};
use crate::lab::{Job, Lab, STEP, address};
use crate::scenes::Scene;

/// The scenes of this file.
pub(super) const SCENES: fn() -> Vec<Scene> = || {
    vec![
        Scene::new("vlan", "both nodes on a VLAN device", vlan),
        Scene::new(
            "vlan-prphosts",
            "vlan= in the prphosts of one node, a VLAN device on the other",
            vlan_prphosts,
        )
        .core(),
        Scene::new("vlan-other", "frames of another VLAN are not taken", vlan_other),
        Scene::new("vlan-priority", "frames with a priority tag are taken", vlan_priority),
    ]
};

fn vlan(lab: &mut Lab) -> Outcome {
    lab.on_both("ip link add link eth0 name eth0.7 type vlan id 7; ip link set eth0.7 up")?;
    lab.set_hosts_of_all(&lab.ethernet_hosts("eth0.7"))?;
    lab.transfer(5_000_000)
}

fn vlan_prphosts(lab: &mut Lab) -> Outcome {
    lab.set_hosts(1, &lab.ethernet_hosts("eth0 vlan=7 priority=5"))?;
    lab.on(2, "ip link add link eth0 name eth0.7 type vlan id 7; ip link set eth0.7 up")?;
    lab.set_hosts(2, &lab.ethernet_hosts("eth0.7"))?;
    lab.transfer(5_000_000)?;
    // By prphosts on both: nothing has told the second card of the VLAN then.
    lab.on(2, "ip link del eth0.7")?;
    lab.set_hosts(2, &lab.ethernet_hosts("eth0 vlan=7"))?;
    lab.transfer(2_000_000)
}

fn vlan_other(lab: &mut Lab) -> Outcome {
    // Node 1 sends with a tag and hears what has none: if node 2 took its frames, it would answer.
    lab.on(
        1,
        "tc qdisc add dev eth0 clsact; \
         tc filter add dev eth0 egress protocol 0x88b5 matchall action vlan push id 7",
    )?;
    // Some cards hide frames of VLANs that no device is for.
    lab.on(2, "ip link set eth0 promisc on; modprobe 8021q")?;
    let server = start_server(lab, 7000)?;
    is_not_heard(lab, 7000)?;
    lab.check_running(&server)?;
    // The same without a tag, so that it is the tag that makes the difference.
    lab.on(1, "tc qdisc del dev eth0 clsact; prp cat -w 20 node2 7000 </dev/null")?;
    // Two VLANs by prphosts: either node hears frames of all.
    lab.set_hosts(1, &lab.ethernet_hosts("eth0 vlan=7"))?;
    lab.set_hosts(2, &lab.ethernet_hosts("eth0 vlan=8"))?;
    let server = start_server(lab, 7001)?;
    is_not_heard(lab, 7001)?;
    lab.check_running(&server)?;
    lab.set_hosts(1, &lab.ethernet_hosts("eth0 vlan=8"))?;
    lab.on(1, "prp cat -w 20 node2 7001 </dev/null").map(drop)
}

/// Starts a program on node 2 that listens at a port.
fn start_server(lab: &mut Lab, port: u16) -> Outcome<Job> {
    let server = lab.start(2, &format!("exec prp cat -l {port} </dev/null"), STEP)?;
    lab.wait_for_listener(2, port, &server)?;
    Ok(server)
}

/// Connects from node 1 to a port of node 2, whose card receives frames and which does not answer.
fn is_not_heard(lab: &mut Lab, port: u16) -> Outcome {
    let received = |lab: &mut Lab| -> Outcome<u64> {
        let text = lab.on(2, "cat /sys/class/net/eth0/statistics/rx_packets")?;
        text.trim().parse().map_err(|_| Failure::new(format!("no number: {text}")))
    };
    let before = received(lab)?;
    lab.fails_with(1, &format!("prp cat -w 4 node2 {port} </dev/null"), "no answer")?;
    if received(lab)? == before {
        return Err(Failure::new("no tagged frame has reached the other card"));
    }
    Ok(())
}

fn vlan_priority(lab: &mut Lab) -> Outcome {
    // The kernel takes a tag without a number for untagged where it knows of VLANs at all.
    lab.on_both(
        "modprobe 8021q; tc qdisc add dev eth0 clsact; \
         tc filter add dev eth0 egress protocol 0x88b5 matchall action vlan push id 0 priority 5",
    )?;
    lab.transfer(2_000_000)?;
    for node in [1, 2] {
        let sent = lab.on(node, "tc -s filter show dev eth0 egress")?;
        if !sent.contains("Sent") || sent.contains("Sent 0 bytes") {
            let card = address(node, 0);
            return Err(Failure::new(format!("no frame of {card} had a tag: {sent}")));
        }
    }
    Ok(())
}
