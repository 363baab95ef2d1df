//! What is kept of a scene that failed.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::json;

use crate::failure::Outcome;
use crate::lab::{Lab, NodePlace, nic_id};
use crate::protocol::Place;

/// Counters and states of a node.
const STATE: &str = r#"
set +e
title() { printf '\n== %s\n' "$*"; }
title links; ip -s -d link; ip address
title processes; timeout 20 prp stat -a -i; timeout 20 prp stat -s
title router; timeout 20 prp routed counters; cat /run/machines/router*.log
title sockets; cat /proc/net/packet; ss -uan; grep prp /proc/net/unix
title queues; tc -s qdisc
for at in /sys/class/net/*; do
    name=${at##*/}
    title "$name"; ethtool "$name"; ethtool -S "$name" | grep -v ': 0$'; ethtool -k "$name" | grep ': on'
done
title prphosts; cat /etc/prphosts
"#;

/// The state of a machine.
const MACHINE_STATE: &str =
    "set +e; ps auxf 2>/dev/null; cat /proc/meminfo /proc/interrupts; dmesg | tail -n 200";

/// How long it may take to collect: a machine that hangs has nothing to say.
const PATIENCE: Duration = Duration::from_secs(60);

/// Bytes of each frame that a capture keeps.
const SNAPSHOT: u32 = 256;

impl Lab {
    /// Begins to capture what passes the cards of the nodes, into files of the host in `folder`.
    ///
    /// # Errors
    /// QEMU refuses it.
    pub(crate) fn begin_capture(&mut self, folder: &Path) -> Outcome {
        fs::create_dir_all(folder)?;
        self.captures += 1;
        for (node, cable) in self.captured() {
            let file = folder.join(format!("{}.pcap", nic_id(node, cable)));
            let arguments = json!({
                "qom-type": "filter-dump",
                "id": self.capture_id(node, cable),
                "netdev": format!("{}-net", nic_id(node, cable)),
                "file": file,
                "maxlen": SNAPSHOT,
            });
            let machine = self.machine_of(node);
            self.machines[machine].qemu("object-add", &arguments)?;
        }
        Ok(())
    }

    /// Ends the captures.
    ///
    /// # Errors
    /// QEMU has ended.
    pub(crate) fn end_capture(&mut self) -> Outcome {
        for (node, cable) in self.captured() {
            let arguments = json!({ "id": self.capture_id(node, cable) });
            let machine = self.machine_of(node);
            self.machines[machine].qemu("object-del", &arguments)?;
        }
        Ok(())
    }

    fn captured(&self) -> Vec<(u8, usize)> {
        let mut all = Vec::new();
        for NodePlace { node, cards, .. } in &self.nodes {
            // QEMU captures nothing of a card with several queues.
            let captured = cards.iter().filter(|card| card.model.queues == 1);
            all.extend(captured.map(|card| (*node, card.cable)));
        }
        all
    }

    fn capture_id(&self, node: u8, cable: usize) -> String {
        format!("capture{}-{}", self.captures, nic_id(node, cable))
    }

    /// Saves consoles and counters in `folder`; what cannot be had is left out.
    pub(crate) fn save_state(&mut self, folder: &Path) {
        for NodePlace { node, machine, .. } in self.nodes.clone() {
            let state = self.machines[machine].run(Place::Node(node), STATE, PATIENCE);
            let text = state.map_or_else(|reason| reason.to_string(), |ended| ended.output);
            let _ = fs::write(folder.join(format!("node{node}.txt")), text);
        }
        for (number, machine) in self.machines.iter_mut().enumerate() {
            let state = machine.run(Place::Root, MACHINE_STATE, PATIENCE);
            let text = state.map_or_else(|reason| reason.to_string(), |ended| ended.output);
            let _ = fs::write(folder.join(format!("machine{number}.txt")), text);
            let _ = fs::copy(machine.console(), folder.join(format!("console{number}.log")));
        }
    }
}
