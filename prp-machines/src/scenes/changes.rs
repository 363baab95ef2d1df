//! What an administrator changes while bytes flow.

use crate::failure::Outcome;
use crate::lab::{Flow, Lab, address};
use crate::scenes::Scene;

/// The scenes of this file.
pub(super) const SCENES: fn() -> Vec<Scene> = || {
    vec![
        Scene::new("name", "the device gets another name and its old one again in a flow", name),
        Scene::new(
            "address",
            "the card gets another hardware address and its old one again in a flow",
            hardware_address,
        ),
        Scene::new(
            "address-udp",
            "the device loses its IP address and gets it back, over UDP, in a flow",
            ip_address,
        )
        .with_any_card(),
        Scene::new("module", "the module of the cards is unloaded and loaded in a flow", module),
        Scene::new(
            "unplug",
            "the card is taken away from its module and given back in a flow",
            unplug,
        ),
        Scene::new(
            "clock",
            "each source of the clock, and another time of the day, in a flow",
            clock,
        )
        .with_any_card(),
    ]
};

fn name(lab: &mut Lab) -> Outcome {
    let flow = lab.begin_flow(&Flow::default())?;
    // The kernel renames no device that is up before 6.2.
    for (from, to) in [("eth0", "wire"), ("wire", "eth0")] {
        lab.on(
            1,
            &format!("ip link set {from} down; ip link set {from} name {to}; ip link set {to} up"),
        )?;
        lab.await_progress(&flow)?;
    }
    lab.stop_flow(&flow)
}

fn hardware_address(lab: &mut Lab) -> Outcome {
    let flow = lab.begin_flow(&Flow::default())?;
    let set = |address: &str| {
        format!("ip link set eth0 down; ip link set eth0 address {address}; ip link set eth0 up")
    };
    // Frames are for the address of prphosts, which nobody has meanwhile.
    lab.on(1, &format!("{}; sleep 1; {}", set("02:00:00:00:ee:01"), set(&address(1, 0))))?;
    lab.await_progress(&flow)?;
    lab.stop_flow(&flow)
}

fn ip_address(lab: &mut Lab) -> Outcome {
    lab.use_udp("eth0")?;
    let flow = lab.begin_flow(&Flow::default())?;
    for (node, other) in [(1, "10.9.0.77/24"), (2, "10.8.0.77/24")] {
        lab.on(
            node,
            &format!(
                "ip address flush dev eth0; ip address add {other} dev eth0; sleep 1\n\
                 ip address del {other} dev eth0; ip address add 10.9.0.{node}/24 dev eth0"
            ),
        )?;
        lab.await_progress(&flow)?;
    }
    lab.stop_flow(&flow)
}

/// Moves the cards of a node into it again and sets them up.
fn bring_back(lab: &mut Lab, node: u8) -> Outcome {
    lab.move_cards(node)?;
    lab.on(node, "ip link set eth0 up; ip link set eth1 up").map(drop)
}

/// Unloads the driver of node 1's cards and loads it again.
pub(crate) fn load_driver_again(lab: &mut Lab) -> Outcome {
    let modules: Vec<_> = lab.model(1).modules.iter().rev().copied().collect();
    let modules = modules.join(" ");
    lab.beside(
        1,
        &format!(
            "for module in {modules}; do modprobe -r $module; done; sleep 1; modprobe -a {modules}"
        ),
    )
    .map(drop)
}

fn module(lab: &mut Lab) -> Outcome {
    let flow = lab.begin_flow(&Flow::default())?;
    load_driver_again(lab)?;
    bring_back(lab, 1)?;
    bring_back(lab, 2)?;
    lab.await_progress(&flow)?;
    lab.stop_flow(&flow)
}

fn unplug(lab: &mut Lab) -> Outcome {
    let flow = lab.begin_flow(&Flow::default())?;
    lab.on(
        1,
        "for card in eth0 eth1; do (cd -P /sys/class/net/$card/device; device=${PWD##*/}; cd -P driver; \
         echo $device >unbind; sleep 1; echo $device >bind); done",
    )?;
    bring_back(lab, 1)?;
    lab.await_progress(&flow)?;
    lab.stop_flow(&flow)
}

fn clock(lab: &mut Lab) -> Outcome {
    let flow = lab.begin_flow(&Flow::default())?;
    let sources =
        lab.on(1, "cat /sys/devices/system/clocksource/clocksource0/available_clocksource")?;
    let first =
        lab.on(1, "cat /sys/devices/system/clocksource/clocksource0/current_clocksource")?;
    for source in sources.split_whitespace().chain([first.trim()]) {
        lab.on(
            1,
            &format!(
                "echo {source} >/sys/devices/system/clocksource/clocksource0/current_clocksource"
            ),
        )?;
        lab.await_progress(&flow)?;
    }
    for step in ["+1 day", "-2 days", "+1 day"] {
        lab.on(1, &format!("date -s '{step}'"))?;
        lab.await_progress(&flow)?;
    }
    lab.stop_flow(&flow)
}
