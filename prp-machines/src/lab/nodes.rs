//! Nodes: namespaces of a machine that have its cards.

use crate::failure::Outcome;
use crate::lab::cards::has_link;
use crate::lab::{Lab, NodeNumber, NodePlace, STEP, address};
use crate::protocol::Place;

impl Lab {
    /// Makes the nodes anew, each with its cards, up and with a link, and a prphosts by which
    /// they reach each other over the first cable.
    ///
    /// # Errors
    /// A machine does not do as it should.
    pub(crate) fn set_up(&mut self) -> Outcome {
        let hosts = self.ethernet_hosts("eth0");
        let mut jobs = Vec::new();
        for place in self.nodes.clone() {
            self.machines[place.machine].add_node(place.node)?;
            let script = self.fresh_cards(&place);
            jobs.push(self.start_at(Place::Root, place.node, &script, STEP)?);
        }
        jobs.iter().try_for_each(|job| self.finish(job, STEP).map(drop))?;
        let script = |place: &NodePlace| {
            let devices = || (0..place.cards.len()).map(|number| format!("eth{number}"));
            let up: String = devices().map(|name| format!("link set {name} up\n")).collect();
            let links: Vec<_> = devices().map(|name| has_link(&name)).collect();
            let wait = links.join(" && ");
            format!(
                "ip -batch - <<<$'link set lo up\n'\"{up}\"\nprintf '%s' \"{hosts}\" >/etc/prphosts\n\
                 for _ in {{1..300}}; do if {wait}; then exit 0; fi; sleep 0.2; done; \
                 echo no link; ip -br link; exit 1"
            )
        };
        let scripts: Vec<_> = self.nodes.iter().map(|place| (place.node, script(place))).collect();
        self.on_each(&scripts)
    }

    /// Ends all that a scene has started and removes the nodes: their cards return to the first
    /// namespaces.
    ///
    /// # Errors
    /// A machine does not do as it should.
    pub(crate) fn take_down(&mut self) -> Outcome {
        if self.nodes.is_empty() {
            // The processes of a system are not the scene's.
            return Ok(());
        }
        for machine in &mut self.machines {
            machine.kill_all()?;
        }
        for number in 0..self.machines.len() {
            // The kernel removes namespaces when it has time: the next scene waits for their cards.
            self.beside_machine(number, "rm -rf -- *")?;
        }
        Ok(())
    }

    /// Lines of prphosts for all nodes over `device`, which has the address of the first card.
    pub(crate) fn ethernet_hosts(&self, device: &str) -> String {
        let line = |NodePlace { node, cards, .. }: &NodePlace| {
            format!("{node} {} {device} node{node}\n", address(*node, cards[0].cable))
        };
        self.nodes.iter().map(line).collect()
    }

    /// Writes the prphosts of a node.
    ///
    /// # Errors
    /// The machine does not do as it should.
    pub(crate) fn set_hosts(&mut self, node: NodeNumber, text: &str) -> Outcome {
        self.on(node, &format!("cat >/etc/prphosts <<'END'\n{text}END\n")).map(drop)
    }

    /// Writes the prphosts of all nodes.
    ///
    /// # Errors
    /// The machine does not do as it should.
    pub(crate) fn set_hosts_of_all(&mut self, text: &str) -> Outcome {
        let script = format!("cat >/etc/prphosts <<'END'\n{text}END\n");
        self.on_all(&script)
    }

    /// Gives a device of each node an IP address, `10.9.CABLE.NODE`, and has prphosts lead there by
    /// UDP.
    ///
    /// # Errors
    /// The machine does not do as it should.
    pub(crate) fn use_udp(&mut self, device: &str) -> Outcome {
        self.add_ip_addresses(device)?;
        let line = |node: NodeNumber| format!("{node} udp:10.9.0.{node} node{node}\n");
        let text: String = self.nodes.iter().map(|place| line(place.node)).collect();
        self.set_hosts_of_all(&text)
    }

    /// Gives a device of each node an IP address, `10.9.0.NODE`.
    ///
    /// # Errors
    /// The machine does not do as it should.
    pub(crate) fn add_ip_addresses(&mut self, device: &str) -> Outcome {
        let script = |node| format!("ip address add 10.9.0.{node}/24 dev {device}");
        let scripts: Vec<_> =
            self.nodes.iter().map(|place| (place.node, script(place.node))).collect();
        self.on_each(&scripts)
    }

    /// Runs a script on all nodes.
    fn on_all(&mut self, script: &str) -> Outcome {
        let scripts: Vec<_> =
            self.nodes.iter().map(|place| (place.node, script.to_owned())).collect();
        self.on_each(&scripts)
    }

    /// Starts prp-routed on all nodes and waits until it answers.
    ///
    /// # Errors
    /// It does not.
    pub(crate) fn start_routers(&mut self) -> Outcome {
        for NodePlace { node, .. } in self.nodes.clone() {
            let script = format!("exec prp-routed >router{node}.log 2>&1");
            let _router = self.start(node, &script, STEP * 10)?;
        }
        self.on_all(
            "for _ in {1..300}; do if prp routed status; then exit 0; fi; sleep 0.2; done; exit 1",
        )
    }
}
