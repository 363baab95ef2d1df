//! Queues of a card, and queueing disciplines before them.

use crate::failure::{Context, Outcome};
use crate::lab::Lab;
use crate::scenes::Scene;

/// The scenes of this file.
pub(super) const SCENES: fn() -> Vec<Scene> = || {
    vec![
        Scene::new(
            "qdisc",
            "each queueing discipline: fq_codel, pfifo_fast, fq, mq, noqueue, tbf",
            qdisc,
        ),
        Scene {
            exception: |_, model| (model.queues < 2).then_some("the card has one queue"),
            ..Scene::new(
                "channels",
                "one queue, all queues, and a rule for the EtherType",
                channels,
            )
        },
    ]
};

/// Queueing disciplines. A card with one queue has no mq.
const DISCIPLINES: [&str; 6] =
    ["fq_codel", "pfifo_fast", "fq", "mq", "noqueue", "tbf rate 50mbit burst 32k latency 50ms"];

fn qdisc(lab: &mut Lab) -> Outcome {
    for discipline in DISCIPLINES {
        let fall_back = if discipline == "mq" { " || true" } else { "" };
        lab.on_both(&format!("tc qdisc replace dev eth0 root {discipline}{fall_back}"))?;
        lab.transfer(500_000).context(format!("with {discipline}"))?;
        lab.on_both("tc qdisc del dev eth0 root || true")?;
    }
    Ok(())
}

fn channels(lab: &mut Lab) -> Outcome {
    for count in [1, lab.model(1).queues.min(2), lab.model(1).queues] {
        lab.on_both(&format!("ethtool -L eth0 combined {count}"))?;
        lab.wait_for_link(1, "eth0")?;
        lab.wait_for_link(2, "eth0")?;
        lab.transfer(500_000).context(format!("with {count} queues"))?;
    }
    // Few models have such rules; where there is one, frames come by another queue.
    lab.on_both("ethtool -N eth0 flow-type ether proto 0x88b5 action 1 || true")?;
    lab.transfer(500_000)
}
