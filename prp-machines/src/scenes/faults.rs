//! Links with faults, by netem on real devices.

use crate::failure::{Context, Outcome};
use crate::lab::Lab;
use crate::scenes::Scene;

/// The scenes of this file.
pub(super) const SCENES: fn() -> Vec<Scene> = || {
    vec![
        Scene::new("netem", "loss, duplication, reordering, delay, corruption and a rate", netem),
        Scene::new("netem-udp", "the same over UDP", |lab| {
            lab.use_udp("eth0")?;
            netem(lab)
        })
        .with_any_card(),
    ]
};

/// Faults, as tc(8) has them, and how many bytes are sent in each direction meanwhile.
const FAULTS: [(&str, u64); 6] = [
    ("loss 2%", 1_000_000),
    ("duplicate 5%", 1_000_000),
    ("delay 2ms reorder 25% 50%", 1_000_000),
    ("delay 10ms 5ms distribution normal", 500_000),
    ("corrupt 2%", 1_000_000),
    ("rate 20mbit limit 200", 1_000_000),
];

fn netem(lab: &mut Lab) -> Outcome {
    for (fault, bytes) in FAULTS {
        lab.on_both(&format!("tc qdisc replace dev eth0 root netem {fault}"))?;
        lab.transfer(bytes).context(format!("with netem {fault}"))?;
        lab.on_both("tc qdisc del dev eth0 root")?;
    }
    Ok(())
}
