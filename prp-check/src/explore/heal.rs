//! From a state at rest on: nothing goes wrong any more. Does everything come to its end?

use std::time::Duration;

use super::app::{App, Outcome};
use super::node::{CLIENT, SERVER};
use super::scene::Peers;
use super::world::{Action, World};

/// Longest time after which nothing may be left, beyond what the slowest timer takes: an orphan
/// waits 60 s for its peer, a user timeout is 60 s.
const END_LIMIT: Duration = Duration::from_secs(300);

impl World {
    /// Lets everything come to its end and checks how it ended.
    ///
    /// # Errors
    /// What is left, or what ended as it must not.
    pub(super) fn heal(mut self) -> Result<(), String> {
        let start = self.now;
        // Frames kept back until now never arrive.
        self.kept.clear();
        while !self.is_over() {
            let step = self.steps().into_iter().find(|action| *action != Action::Pass);
            match step {
                Some(action) => self.apply(action)?,
                None if self.next_deadline().is_none() => break,
                None => self.pass()?,
            }
            if self.now.since(start) > END_LIMIT {
                break;
            }
        }
        self.check_end()
    }

    fn is_over(&self) -> bool {
        let quiet = self.wires.iter().all(|wire| wire.is_empty());
        let all_ended =
            self.nodes.iter().flat_map(|node| &node.apps).all(|app| app.outcome.is_some());
        quiet && all_ended && self.nodes.iter().all(|node| node.endpoint.connections() == 0)
    }

    fn check_end(&self) -> Result<(), String> {
        let scene = self.scene();
        // A classic peer cannot be asked whether it is still there, nor learns what was lost.
        if scene.peers == Peers::Classic && self.disturbed {
            return Ok(());
        }
        if !self.is_over() {
            let left = self.nodes.each_ref().map(|node| node.endpoint.connections());
            return Err(format!(
                "connections for ever: client {}, server {}",
                left[CLIENT], left[SERVER]
            ));
        }
        let [client, server] = self.nodes.each_ref();
        let all_fine = |apps: &[App]| apps.iter().all(|app| app.outcome == Some(Outcome::Fine));
        let unbroken = client.incarnation == 0 && server.incarnation == 0;
        if unbroken && (scene.is_reliable() || !self.disturbed) {
            // A request that arrives again after all is over makes a connection, which no
            // application uses and the client refuses (SPEC PRP-CONN-8).
            let (made, ghosts) = server.apps.split_at(server.apps.len().min(1));
            let disowned = ghosts.iter().all(|app| app.received.is_none());
            let one = client.apps.len() == 1 && made.len() == 1 && disowned;
            if !(one && all_fine(&client.apps) && all_fine(made)) {
                return Err(self.outcomes("a loss was not made good"));
            }
        }
        // A client that starts anew gets through to a server that is still established.
        if server.incarnation == 0 && scene.is_reliable() && !all_fine(&client.apps) {
            return Err(self.outcomes("the client's last connection failed"));
        }
        self.check_agreement(CLIENT)?;
        self.check_agreement(SERVER)
    }

    /// What an application that ended well wrote was read to the end, unless the listener's process
    /// was replaced; and so was what one wrote that was told that the peer has it, whatever became
    /// of its process (SPEC PRP-CLOSE-12).
    fn check_agreement(&self, node: usize) -> Result<(), String> {
        let (speakers, listeners) = (&self.nodes[node], &self.nodes[1 - node]);
        let fine = speakers.apps.iter().filter(|app| app.outcome == Some(Outcome::Fine));
        let gone = self.delivered.iter().filter(|(n, _)| *n == node);
        for tag in fine.map(|app| app.tag).chain(gone.map(|(_, tag)| *tag)) {
            let received = (tag, self.scene().segments[node]);
            let all = listeners.apps.iter().any(|app| app.received == Some(received));
            if !all && listeners.incarnation == 0 {
                return Err(self.outcomes("bytes were acknowledged and not read"));
            }
        }
        Ok(())
    }

    fn outcomes(&self, what: &str) -> String {
        let apps = self.nodes.iter().flat_map(|node| &node.apps);
        let apps: Vec<_> = apps
            .map(|app| format!("{:x}: heard {:x?}, {:?}", app.tag, app.received, app.outcome))
            .collect();
        format!("{what}: {}", apps.join("; "))
    }
}
