//! What happens to a link while bytes flow over it.

use std::time::Duration;

use crate::failure::Outcome;
use crate::lab::{Flow, Lab};
use crate::scenes::Scene;

/// The scenes of this file.
pub(super) const SCENES: fn() -> Vec<Scene> = || {
    vec![
        Scene::new("link-down", "the device is set down and up three times in a flow", link_down)
            .core(),
        Scene {
            exception: |_, model| model.hides_its_cable(),
            ..Scene::new("cable", "the cable is pulled and plugged in again in a flow", cable)
        },
    ]
};

fn link_down(lab: &mut Lab) -> Outcome {
    let flow = lab.begin_flow(&Flow::default())?;
    for node in [1, 2, 1] {
        lab.on(node, "ip link set eth0 down; sleep 1; ip link set eth0 up")?;
        lab.await_progress(&flow)?;
    }
    lab.stop_flow(&flow)
}

fn cable(lab: &mut Lab) -> Outcome {
    let flow = lab.begin_flow(&Flow::default())?;
    for node in [1, 2] {
        lab.set_cable(node, 0, false)?;
        lab.until(node, "[[ $(cat /sys/class/net/eth0/carrier) == 0 ]]")?;
        std::thread::sleep(Duration::from_secs(1));
        lab.set_cable(node, 0, true)?;
        lab.await_progress(&flow)?;
    }
    lab.stop_flow(&flow)
}
