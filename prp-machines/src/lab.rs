//! What a scene works with: two nodes, each with a network card for each cable, in one machine or
//! in two.

mod cards;
mod evidence;
mod flows;
mod nodes;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::failure::{Failure, Outcome};
use crate::machine::agent::Ended;
use crate::machine::{Machine, Run};
use crate::model::Model;
use crate::output;
use crate::protocol::{KILLED_LATE, Place};

pub(crate) use cards::{address, nic_id};
pub(crate) use flows::Flow;

/// How long a step of a scene may take. Nothing depends on it but how long a failure lasts: steps
/// take milliseconds to seconds.
pub(crate) const STEP: Duration = Duration::from_secs(120);

/// The nodes, by their numbers.
pub(crate) type NodeNumber = u8;

/// Where a node is, and what it has.
#[derive(Clone, Debug)]
pub(crate) struct NodePlace {
    /// Its number.
    pub(crate) node: NodeNumber,
    /// The number of its machine.
    pub(crate) machine: usize,
    /// Its cards, in the order of its devices.
    pub(crate) cards: Vec<Card>,
}

/// A card, by the cable that it is for.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Card {
    /// The number of the cable.
    pub(crate) cable: usize,
    /// The model.
    pub(crate) model: &'static Model,
}

/// The machines of a scene.
#[derive(Debug)]
pub(crate) struct Lab {
    machines: Vec<Machine>,
    nodes: Vec<NodePlace>,
    /// How often captures were begun, since their names are not used again.
    captures: usize,
    /// Whether each step is printed with its time.
    is_verbose: bool,
    /// The Debian package, where the machine has a system of its own.
    package: Option<PathBuf>,
}

/// A script that goes on beside others.
#[derive(Debug)]
#[must_use]
pub(crate) struct Job {
    machine: usize,
    run: Run,
    /// The first words of the script.
    title: String,
}

impl Lab {
    /// A laboratory of machines that have booted. Each has the nodes whose cards it has.
    pub(crate) fn new(machines: Vec<Machine>, nodes: Vec<NodePlace>, is_verbose: bool) -> Self {
        Self { machines, nodes, captures: 0, is_verbose, package: None }
    }

    /// The same with the Debian package for a machine with a system of its own.
    pub(crate) fn with_package(mut self, package: Option<PathBuf>) -> Self {
        self.package = package;
        self
    }

    /// The Debian package that the machine can install.
    pub(crate) fn package(&self) -> Option<&Path> {
        self.package.as_deref()
    }

    /// The number of the machine on which a node is.
    fn machine_of(&self, node: NodeNumber) -> usize {
        self.nodes.iter().find(|place| place.node == node).map_or(0, |place| place.machine)
    }

    /// The model of a node's first card.
    pub(crate) fn model(&self, node: NodeNumber) -> &'static Model {
        let place = self.nodes.iter().find(|place| place.node == node);
        place.unwrap_or(&self.nodes[0]).cards[0].model
    }

    /// Runs a script on a node and returns what it printed.
    ///
    /// # Errors
    /// It fails, or takes longer than [`STEP`].
    pub(crate) fn on(&mut self, node: NodeNumber, script: &str) -> Outcome<String> {
        let ended = self.ended(node, script, STEP)?;
        judge(&title(node, script), ended)
    }

    /// Runs a script on the nodes 1 and 2 at the same time.
    ///
    /// # Errors
    /// As [`Self::on`].
    pub(crate) fn on_both(&mut self, script: &str) -> Outcome {
        self.on_each(&[(1, script.to_owned()), (2, script.to_owned())])
    }

    /// Runs scripts on several nodes at the same time.
    ///
    /// # Errors
    /// As [`Self::on`].
    pub(crate) fn on_each(&mut self, scripts: &[(NodeNumber, String)]) -> Outcome {
        let jobs = scripts.iter().map(|(node, script)| self.start(*node, script, STEP));
        let jobs = jobs.collect::<Outcome<Vec<_>>>()?;
        jobs.iter().try_for_each(|job| self.finish(job, STEP).map(drop))
    }

    /// Runs a script on a node and returns how it ended.
    ///
    /// # Errors
    /// The machine does not answer.
    pub(crate) fn ended(
        &mut self,
        node: NodeNumber,
        script: &str,
        limit: Duration,
    ) -> Outcome<Ended> {
        let machine = self.machine_of(node);
        let begin = Instant::now();
        let ended = self.machines[machine].run(Place::Node(node), script, limit);
        self.report_step(begin, &title(node, script));
        ended
    }

    /// Runs a script beside the nodes, in the first namespaces of a node's machine.
    ///
    /// # Errors
    /// As [`Self::on`].
    pub(crate) fn beside(&mut self, node: NodeNumber, script: &str) -> Outcome<String> {
        self.beside_machine(self.machine_of(node), script)
    }

    fn beside_machine(&mut self, machine: usize, script: &str) -> Outcome<String> {
        let begin = Instant::now();
        let ended = self.machines[machine].run(Place::Root, script, STEP)?;
        self.report_step(begin, &title(0, script));
        judge(&title(0, script), ended)
    }

    fn report_step(&self, begin: Instant, title: &str) {
        if self.is_verbose {
            let seconds = begin.elapsed().as_secs_f64();
            output::line(format_args!("         {seconds:6.2} s  {title}"));
        }
    }

    /// Starts a script on a node, which may run for `limit`.
    ///
    /// # Errors
    /// The machine has ended.
    pub(crate) fn start(
        &mut self,
        node: NodeNumber,
        script: &str,
        limit: Duration,
    ) -> Outcome<Job> {
        self.start_at(Place::Node(node), node, script, limit)
    }

    fn start_at(
        &mut self,
        place: Place,
        node: NodeNumber,
        script: &str,
        limit: Duration,
    ) -> Outcome<Job> {
        let machine = self.machine_of(node);
        let run = self.machines[machine].start(place, script, limit)?;
        Ok(Job { machine, run, title: title(node, script) })
    }

    /// Waits for a script that was started and returns what it printed.
    ///
    /// # Errors
    /// It fails, or does not end.
    pub(crate) fn finish(&mut self, job: &Job, limit: Duration) -> Outcome<String> {
        let begin = Instant::now();
        let ended = self.machines[job.machine].wait(job.run, limit)?;
        self.report_step(begin, &job.title);
        match ended {
            Some(ended) => judge(&job.title, ended),
            None => {
                Err(Failure::new(format!("{}: not ended after {} s", job.title, limit.as_secs())))
            }
        }
    }

    /// Whether a script that was started goes on.
    ///
    /// # Errors
    /// It has ended, with what it printed; or the machine has.
    pub(crate) fn check_running(&mut self, job: &Job) -> Outcome {
        match self.machines[job.machine].wait(job.run, Duration::ZERO)? {
            Some(ended) => Err(Failure::new(format!(
                "{}: ended with {}: {}",
                job.title,
                ended.status,
                last_lines(&ended.output)
            ))),
            None => Ok(()),
        }
    }

    /// Sends a signal to a script that was started.
    ///
    /// # Errors
    /// The machine has ended.
    pub(crate) fn signal(&mut self, job: &Job, signal: i32) -> Outcome {
        self.machines[job.machine].signal(job.run, signal)
    }

    /// Waits until a condition holds on a node: until a script succeeds.
    ///
    /// # Errors
    /// It does not within [`STEP`].
    pub(crate) fn until(&mut self, node: NodeNumber, condition: &str) -> Outcome {
        self.until_during(node, condition, &[])
    }

    /// As [`Self::until`], while other scripts go on.
    ///
    /// # Errors
    /// It does not within [`STEP`], or one of the scripts has ended.
    pub(crate) fn until_during(
        &mut self,
        node: NodeNumber,
        condition: &str,
        jobs: &[&Job],
    ) -> Outcome {
        // The host looks after the scripts every few seconds, and the machine tries by itself.
        let script = format!(
            "for _ in $(seq 30); do if {{ {condition}; }} >/dev/null 2>&1; then exit 0; fi; sleep 0.1; done; exit 1"
        );
        let end = Instant::now() + STEP;
        while self.ended(node, &script, STEP)?.status != 0 {
            jobs.iter().try_for_each(|job| self.check_running(job))?;
            if Instant::now() > end {
                return Err(Failure::new(format!("never true on node {node}: {condition}")));
            }
        }
        jobs.iter().try_for_each(|job| self.check_running(job))
    }

    /// Plugs the cable of a node's card in or out.
    ///
    /// # Errors
    /// QEMU refuses it.
    pub(crate) fn set_cable(&mut self, node: NodeNumber, cable: usize, is_in: bool) -> Outcome {
        let machine = self.machine_of(node);
        let arguments = json!({ "name": nic_id(node, cable), "up": is_in });
        self.machines[machine].qemu("set_link", &arguments).map(drop)
    }

    /// Stops the machine of a node for a time.
    ///
    /// # Errors
    /// QEMU has ended.
    pub(crate) fn pause(&mut self, node: NodeNumber, duration: Duration) -> Outcome {
        let machine = self.machine_of(node);
        self.machines[machine].pause(duration)
    }

    /// What the kernels have found in themselves since the last call.
    pub(crate) fn complaint(&mut self) -> Option<String> {
        self.machines.iter_mut().find_map(Machine::complaint)
    }
}

/// What a script printed, if it succeeded.
fn judge(title: &str, ended: Ended) -> Outcome<String> {
    match ended.status {
        0 => Ok(ended.output),
        KILLED_LATE => {
            Err(Failure::new(format!("{title}: too slow: {}", last_lines(&ended.output))))
        }
        status => Err(Failure::new(format!(
            "{title}: ended with {status}: {}",
            last_lines(&ended.output)
        ))),
    }
}

/// The end of what a script printed, as one line.
fn last_lines(output: &str) -> String {
    let lines: Vec<_> = output.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(3)..].join(" / ")
}

/// A script as the reason of a failure names it; node 0 is none.
fn title(node: NodeNumber, script: &str) -> String {
    let mut lines =
        script.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let short: String = lines.next().unwrap_or_default().chars().take(90).collect();
    if node == 0 { format!("beside the nodes: {short}") } else { format!("node {node}: {short}") }
}

/// `text` as one word of a shell.
pub(crate) fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn judge__the_reason_has_the_script_and_its_last_words() {
        let ended = |status, output: &str| Ended { status, output: output.to_owned() };
        assert_eq!(judge("node 1: a", ended(0, "fine\n")).unwrap(), "fine\n");
        let reason = judge("node 1: a", ended(3, "one\n\ntwo\nthree\nfour\n")).unwrap_err();
        assert_eq!(reason.to_string(), "node 1: a: ended with 3: two / three / four");
        let reason = judge("node 1: a", ended(KILLED_LATE, "")).unwrap_err();
        assert_eq!(reason.to_string(), "node 1: a: too slow: ");
    }

    #[test]
    fn quote__is_one_word() {
        assert_eq!(quote("it's"), r"'it'\''s'");
    }
}
