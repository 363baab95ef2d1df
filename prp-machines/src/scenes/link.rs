//! What happens to a link while bytes flow over it.

use std::time::Duration;

use crate::failure::Outcome;
use crate::lab::{Flow, Job, Lab, NodeNumber, STEP};
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
    let caller = Caller::start(lab)?;
    for node in [1, 2, 1] {
        lab.on(node, "ip link set eth0 down; sleep 1")?;
        caller.await_refusal(lab, node)?;
        lab.on(node, "ip link set eth0 up")?;
        lab.await_progress(&flow)?;
        caller.await_connection(lab, node)?;
    }
    lab.stop_flow(&flow)
}

fn cable(lab: &mut Lab) -> Outcome {
    let flow = lab.begin_flow(&Flow::default())?;
    let caller = Caller::start(lab)?;
    for node in [1, 2] {
        lab.set_cable(node, 0, false)?;
        lab.until(node, "[[ $(cat /sys/class/net/eth0/carrier) == 0 ]]")?;
        caller.await_refusal(lab, node)?;
        std::thread::sleep(Duration::from_secs(1));
        lab.set_cable(node, 0, true)?;
        lab.await_progress(&flow)?;
        caller.await_connection(lab, node)?;
    }
    lab.stop_flow(&flow)
}

/// Programs on both nodes that go on, and connect to the other node each time they are asked to: a
/// flow goes on whatever its process believes of the link, and new connections do not.
struct Caller {
    servers: [Job; 2],
}

impl Caller {
    fn start(lab: &mut Lab) -> Outcome<Self> {
        let answer = "exec prp cat -lkq 7100 -e 'echo here; exec cat'";
        let answers = [lab.start(1, answer, STEP * 10)?, lab.start(2, answer, STEP * 10)?];
        for (node, server) in [1, 2].into_iter().zip(&answers) {
            lab.wait_for_listener(node, 7100, server)?;
        }
        let ask = |peer| {
            format!("exec prp proxy tcp:127.0.0.1:7100 prp:node{peer}:7100 2>>caller{peer}.log")
        };
        let servers = [lab.start(1, &ask(2), STEP * 10)?, lab.start(2, &ask(1), STEP * 10)?];
        let caller = Self { servers };
        for node in [1, 2] {
            caller.await_connection(lab, node)?;
            // A process without a connection forgets what it knows of devices.
            let keep = "exec 3<>/dev/tcp/127.0.0.1/7100; read -r _ <&3; touch kept; sleep infinity";
            let kept = lab.start(node, keep, STEP * 10)?;
            lab.until_during(node, "rm kept", &[&kept])?;
        }
        Ok(caller)
    }

    /// Waits until the program on `node` connects.
    fn await_connection(&self, lab: &mut Lab, node: NodeNumber) -> Outcome {
        let asked = format!("{ASK}; [[ $word == here ]]");
        lab.until_during(node, &asked, &[&self.servers[usize::from(node) - 1]])
    }

    /// Waits until the program on `node`, whose device is down, says so in place of connecting.
    fn await_refusal(&self, lab: &mut Lab, node: NodeNumber) -> Outcome {
        let log = format!("caller{}.log", 3 - node);
        lab.on(node, &format!(": >{log}"))?;
        let refused = format!("{ASK}; grep -q 'is down' {log}");
        lab.until_during(node, &refused, &[&self.servers[usize::from(node) - 1]])
    }
}

/// Asks for a connection, of which `$word` has the first line then.
const ASK: &str = "word=; read -t 20 -r word </dev/tcp/127.0.0.1/7100 || true";
