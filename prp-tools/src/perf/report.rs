//! What a measurement came to: a table for people, JSON for programs.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;

use prp_model::rounds;
use prp_node::counted;
use serde::Serialize;

use super::control::Outcome;
use super::machine::Machine;
use super::session::Session;
use super::steal;
use super::transport::Transport;
use crate::exit::Failure;
use crate::print::{json, print_bytes, print_line};

/// All that is known of a measurement.
#[derive(Debug, Serialize)]
pub(super) struct Report<S, R> {
    /// The subcommand.
    command: &'static str,
    /// What was asked for.
    settings: S,
    /// By transport.
    results: BTreeMap<Transport, R>,
    /// PRP's figure by that of each other transport.
    ratios: BTreeMap<Transport, f64>,
    /// Where the client ran.
    client: Machine,
    /// Where the server ran.
    server: Machine,
    /// The part of the processor time the client's machine wanted that a hypervisor gave to others.
    stolen: Option<f64>,
}

/// Of rounds that lie further apart than this, by their median, only that is said.
const WIDE: f64 = 10.0;

/// Reasons for drops that lose nothing: frames that had come before, and those of others.
const NOT_LOST: [&str; 4] = ["duplicate", "not_our_mac", "not_our_node", "not_our_port"];

/// A figure over several rounds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Figure {
    /// The median.
    pub(super) median: f64,
    /// Largest less smallest, by the median.
    spread: f64,
    /// The rounds lie too far apart for small differences to mean something.
    noisy: bool,
    /// One value a round, in order.
    pub(super) rounds: Vec<f64>,
}

impl Figure {
    /// Of these rounds.
    pub(super) fn of(rounds: Vec<f64>) -> Self {
        Self {
            median: rounds::median(&rounds).unwrap_or(0.0),
            spread: rounds::spread(&rounds),
            noisy: rounds::is_noisy(&rounds),
            rounds,
        }
    }

    /// Whether the rounds lie too far apart for small differences to mean something.
    pub(super) fn is_noisy(&self) -> bool {
        self.noisy
    }

    /// How far apart the rounds are, in words for a table.
    pub(super) fn spread_text(&self) -> String {
        let noisy = if self.noisy { " noisy" } else { "" };
        if self.spread > WIDE {
            return format!("> {:.0} %{noisy}", WIDE * 100.0);
        }
        format!("{:.0} %{noisy}", self.spread * 100.0)
    }
}

/// What both ends counted, over all rounds.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct BothEnds {
    pub(super) client: Outcome,
    pub(super) server: Outcome,
}

impl BothEnds {
    /// Adds a round.
    pub(super) fn add(&mut self, (client, server): (Outcome, Outcome)) {
        for (sum, new) in [(&mut self.client, client), (&mut self.server, server)] {
            sum.received += new.received;
            sum.cpu = sum.cpu + new.cpu;
            sum.wake_ups += new.wake_ups;
            sum.frames.sent += new.frames.sent;
            sum.frames.received += new.frames.received;
            sum.retransmitted += new.retransmitted;
            for (why, n) in new.drops {
                *sum.drops.entry(why).or_default() += n;
            }
            sum.settings = new.settings;
        }
    }

    /// Processor seconds of both ends.
    pub(super) fn cpu(&self) -> f64 {
        self.client.cpu.total() + self.server.cpu.total()
    }

    /// Repeats and what was lost, in words; `None` if there was none.
    pub(super) fn losses_text(&self) -> Option<String> {
        let repeats = self.client.retransmitted + self.server.retransmitted;
        let repeats = (repeats > 0).then(|| format!("{} sent again", counted(repeats, "segment")));
        let drops = |end: &'static str, outcome: &Outcome| {
            let lost = outcome.drops.iter().filter(|(why, _)| !NOT_LOST.contains(&why.as_str()));
            lost.map(|(why, n)| format!("{end} {why} {n}")).collect::<Vec<_>>()
        };
        let drops = [drops("client", &self.client), drops("server", &self.server)].concat();
        let all: Vec<String> = repeats.into_iter().chain(drops).collect();
        (!all.is_empty()).then(|| all.join(", "))
    }
}

/// A line for each transport that lost something.
pub(super) fn losses<'a, R>(
    results: &'a BTreeMap<Transport, R>,
    ends: impl Fn(&'a R) -> &'a BothEnds,
) -> impl Iterator<Item = String> {
    results
        .iter()
        .filter_map(move |(transport, r)| Some(format!("{transport}: {}", ends(r).losses_text()?)))
}

impl<S: Serialize, R: Serialize> Report<S, R> {
    /// Of a measurement over `session`; `rounds` gives the rounds of the figure to compare.
    pub(super) fn new(
        command: &'static str,
        settings: S,
        results: BTreeMap<Transport, R>,
        session: &Session,
        rounds: impl Fn(&R) -> Vec<f64>,
    ) -> Self {
        let ours = results.get(&Transport::Prp).map(&rounds).unwrap_or_default();
        let others = results.iter().filter(|(transport, _)| **transport != Transport::Prp);
        let ratios = others
            .filter_map(|(transport, r)| Some((*transport, rounds::ratio(&ours, &rounds(r))?)))
            .collect();
        let (client, server) = (Machine::here(), session.server.clone());
        Self { command, settings, results, ratios, client, server, stolen: session.stolen() }
    }

    /// Prints a table, or JSON, and writes JSON to a file.
    pub(super) fn publish(
        &self,
        json: Option<&Path>,
        table: impl FnOnce(&BTreeMap<Transport, R>) -> Vec<String>,
    ) -> Result<(), Failure> {
        let mut lines = table(&self.results);
        let ratio = |(transport, r)| format!("prp / {transport}: {r:.2}, of neighbouring rounds");
        lines.extend(self.ratios.iter().map(ratio));
        lines.extend(self.stolen.and_then(steal::warning));
        publish(json, &self.json()?, &lines)
    }

    fn json(&self) -> Result<String, Failure> {
        json(self, true)
    }
}

/// Prints a table, and writes the text of JSON to a file; or prints that, for `-`. What can be had
/// of both is.
pub(super) fn publish(json: Option<&Path>, text: &str, table: &[String]) -> Result<(), Failure> {
    if json == Some(Path::new("-")) {
        return print_bytes(format!("{text}\n").as_bytes());
    }
    let printed = print_line(table.join("\n"));
    if let Some(path) = json {
        let written = File::create(path).and_then(|mut file| writeln!(file, "{text}"));
        written.map_err(|e| Failure::writing(path, &e))?;
    }
    printed
}

/// Tries whether a report can be written to `path`, before minutes are spent on it. What is there
/// stays, and nothing new is left.
pub(super) fn check_writable(path: &Path) -> Result<(), Failure> {
    // Pipes have readers who would take the end of this for the end of all, and `-` is no file. A
    // link that leads nowhere is not new.
    let (is_new, is_file) = (path.symlink_metadata().is_err(), path.is_file());
    if path == Path::new("-") || !is_new && !is_file {
        return Ok(());
    }
    let opened = OpenOptions::new().append(true).create(true).open(path);
    opened.map_err(|e| Failure::writing(path, &e))?;
    if is_new {
        let _ = fs::remove_file(path);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tempfile::tempdir;

    use super::*;

    #[test]
    fn losses_text__has_what_was_lost_and_nothing_else() {
        let drops = |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), 2)).collect();
        let client = Outcome { drops: drops(&["duplicate", "not_our_port"]), ..Outcome::default() };
        let ends = |server| BothEnds { client: client.clone(), server };
        assert_eq!(ends(Outcome::default()).losses_text(), None);
        let server = Outcome { drops: drops(&["bad_crc", "duplicate"]), ..Outcome::default() };
        assert_eq!(ends(server).losses_text().as_deref(), Some("server bad_crc 2"));
    }

    #[test]
    fn check_writable__leaves_everything_as_it_was() {
        let dir = tempdir().expect("a folder");
        let (new, old) = (dir.path().join("new"), dir.path().join("old"));
        fs::write(&old, "figures").expect("a file");
        assert!(check_writable(&new).is_ok() && !new.exists());
        assert!(check_writable(&old).is_ok());
        assert_eq!(fs::read_to_string(&old).expect("text"), "figures");
        assert!(check_writable(&dir.path().join("none/new")).is_err());
        assert!(
            check_writable(Path::new("-")).is_ok()
                && check_writable(Path::new("/dev/null")).is_ok()
        );
    }
}
