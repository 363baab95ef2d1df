//! `prp perf mesh`: every pair of nodes alone, then all at once, to find the port that is slow.

pub(super) mod part;
mod ports;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use prp_sock::HostsFile;
use serde::Serialize;

use super::control::{MeshOutcome, MeshPart, MeshTarget};
use super::display::Display;
use super::meter::gbps;
use super::session::Session;
use super::transport::{Transport, WaitMode};
use super::{Common, DEFAULT_PORT, report, seconds};
use crate::argument::{input_file, peer_port};
use crate::exit::{Code, Failure};
use crate::hosts;
use crate::print::json;
use ports::{Company, Direction, PortRates, SlowPort};

/// Nodes that a table of all pairs has room for.
const IN_TABLE: usize = 12;

/// Measure goodput of each pair of nodes alone, then of all pairs at once, and name slow ports.
///
/// `prp perf serve` must run on each of the nodes, and does the work: this end only asks for it.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::help("\
  prp perf mesh                    all nodes of prphosts
  prp perf mesh alpha beta gamma   these
"))]
pub(crate) struct MeshArgs {
    /// The nodes, at least two: numbers, or names in prphosts [default: all of prphosts]
    #[arg(value_name = "NODE")]
    nodes: Vec<String>,

    /// The servers' PRP port
    #[arg(short, long, default_value_t = DEFAULT_PORT, value_parser = peer_port)]
    port: u16,

    /// Seconds of sending: of each pair, and of all at once
    #[arg(short, long, value_name = "SECS", default_value = "1", value_parser = seconds)]
    time: f64,

    /// Write everything measured to this file; without one, or to -, in place of the table to
    /// standard output
    #[arg(short = 'J', long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    json: Option<PathBuf>,

    /// The prphosts to use [default: $PRP_HOSTS, else /etc/prphosts]
    #[arg(long, value_name = "FILE", value_parser = input_file())]
    hosts: Option<PathBuf>,

    /// No progress
    #[arg(short, long)]
    quiet: bool,
}

/// What was asked for.
#[derive(Debug, Serialize)]
struct MeshSettings {
    nodes: Vec<String>,
    seconds: f64,
}

/// A stream from one node to another.
#[derive(Clone, Debug, Serialize)]
struct PairRow {
    from: String,
    to: String,
    /// None if it failed.
    gbps: Option<f64>,
    /// Why, then.
    failed: Option<String>,
    /// The places of both among the nodes.
    #[serde(skip)]
    places: (usize, usize),
}

/// A node among the others.
#[derive(Debug, Serialize)]
struct NodeRow {
    node: String,
    /// The best of its streams, each alone.
    alone_sends_gbps: Option<f64>,
    alone_receives_gbps: Option<f64>,
    /// The sum of its streams, all at once.
    together_sends_gbps: Option<f64>,
    together_receives_gbps: Option<f64>,
    /// Segments that it sent again meanwhile.
    together_retransmitted: u64,
}

/// All that was measured.
#[derive(Debug, Serialize)]
struct MeshReport {
    command: &'static str,
    settings: MeshSettings,
    alone: Vec<PairRow>,
    together: Vec<PairRow>,
    nodes: Vec<NodeRow>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    slow: Vec<SlowPort>,
}

/// Servers on all nodes, and their names.
struct Mesh {
    sessions: Vec<Session>,
    names: Vec<String>,
    seconds: f64,
}

/// Runs `prp perf mesh`.
pub(super) fn run(args: &MeshArgs) -> Result<(), Failure> {
    let common = |node: &str| args.common(node);
    let file = hosts::load(&hosts::path_or_default(args.hosts.as_deref()))?;
    let names = args.names(&file)?;
    let sessions = names.iter().map(|name| Session::open(&common(name)));
    let sessions = sessions.collect::<Result<Vec<_>, _>>()?;
    let mesh = Mesh { sessions, names, seconds: args.time };
    let pairs = mesh.pairs();
    let display = Display::new(&common(""), pairs.len() as u64 + 1);
    let mut alone = Vec::new();
    for pair in pairs {
        let (from, to) = (&mesh.names[pair.0], &mesh.names[pair.1]);
        display.begin(Transport::Prp, &format!("from {from} to {to}"));
        let (rows, _) = mesh.measure(&[pair])?;
        let gbps = rows[0].gbps.unwrap_or_default();
        display.end(Transport::Prp, &format!("from {from} to {to}: {gbps:.3} Gbit/s"));
        alone.extend(rows);
    }
    // What fails alone would only keep the others waiting.
    let able: Vec<_> =
        alone.iter().filter(|row| row.gbps.is_some()).map(|row| row.places).collect();
    display.begin(Transport::Prp, "all at once");
    let (together, again) = mesh.measure(&able)?;
    drop(display);
    let report = mesh.report(alone, together, &again);
    report::publish(args.json.as_deref(), &json(&report, true)?, &report.table())?;
    let failed = report.alone.iter().chain(&report.together).find(|row| row.failed.is_some());
    failed.map_or(Ok(()), |row| Err(Failure::new(Code::Failed, row.failure())))
}

impl MeshArgs {
    /// What a session with the server on `node` needs.
    fn common(&self, node: &str) -> Common {
        Common {
            node: node.to_owned(),
            port: self.port,
            versus: Vec::new(),
            wait: WaitMode::default(),
            reliability: None,
            congestion: None,
            no_crc: false,
            rounds: None,
            json: self.json.clone(),
            hosts: self.hosts.clone(),
            quiet: self.quiet,
        }
    }

    /// The names of the nodes, each once.
    fn names(&self, file: &HostsFile) -> Result<Vec<String>, Failure> {
        let all = || -> Vec<String> {
            let hosts = file.hosts();
            let name = |node| hosts.name(node).map_or_else(|| node.to_string(), str::to_owned);
            hosts.nodes().map(name).collect()
        };
        let wanted = if self.nodes.is_empty() { all() } else { self.nodes.clone() };
        let (mut names, mut numbers) = (Vec::new(), Vec::new());
        for name in wanted {
            let number = hosts::find(file, &name)?;
            if !numbers.contains(&number) {
                numbers.push(number);
                names.push(name);
            }
        }
        if names.len() < 2 {
            let text = format!("a mesh needs two nodes at least, and this is {}", names.join(""));
            return Err(Failure::new(Code::Usage, text));
        }
        Ok(names)
    }
}

impl Mesh {
    /// Each node with each other one, by their places.
    fn pairs(&self) -> Vec<(usize, usize)> {
        let count = self.names.len();
        let all = (0..count).flat_map(|from| (0..count).map(move |to| (from, to)));
        all.filter(|(from, to)| from != to).collect()
    }

    /// Has all of `pairs` send at the same time; what came of each, and the segments that each node
    /// sent again.
    fn measure(&self, pairs: &[(usize, usize)]) -> Result<(Vec<PairRow>, Vec<u64>), Failure> {
        let accepts = |place: usize| pairs.iter().filter(|(_, to)| *to == place).count();
        let mut ports = vec![0; self.sessions.len()];
        let takes_part =
            |place: usize| pairs.iter().any(|(from, to)| [*from, *to].contains(&place));
        let places: Vec<_> = (0..self.sessions.len()).filter(|place| takes_part(*place)).collect();
        for &place in &places {
            ports[place] = self.sessions[place].listen()?;
        }
        for &place in &places {
            let targets = pairs.iter().filter(|(from, _)| *from == place);
            let target = |(_, to): &(usize, usize)| MeshTarget {
                node: self.sessions[*to].node().number(),
                port: ports[*to],
            };
            let (accept, to) = (accepts(place) as u32, targets.map(target).collect());
            let part = MeshPart { accept, to, seconds: self.seconds };
            self.sessions[place].begin_part(part)?;
        }
        let mut outcomes: Vec<Result<MeshOutcome, String>> =
            vec![Ok(MeshOutcome::default()); self.sessions.len()];
        for &place in &places {
            outcomes[place] =
                self.sessions[place].end_part(Duration::from_secs_f64(self.seconds))?;
        }
        let again = |outcome: &Result<MeshOutcome, String>| {
            outcome.as_ref().map_or(0, |outcome| outcome.outcome.retransmitted)
        };
        let rows = pairs.iter().map(|pair| self.row(*pair, &outcomes)).collect();
        Ok((rows, outcomes.iter().map(again).collect()))
    }

    /// What came of a pair.
    fn row(&self, pair: (usize, usize), outcomes: &[Result<MeshOutcome, String>]) -> PairRow {
        let (from, to) = pair;
        let number = self.sessions[to].node().number();
        let (gbps, failed) = match &outcomes[from] {
            Ok(outcome) => {
                let sent = outcome.sent.iter().find(|sent| sent.node == number);
                (sent.map(|sent| gbps(sent.bytes, sent.seconds)), None)
            }
            Err(why) => (None, Some(why.clone())),
        };
        let name = |place: usize| self.names[place].clone();
        PairRow { from: name(from), to: name(to), gbps, failed, places: pair }
    }

    /// All of it, and what follows.
    fn report(&self, alone: Vec<PairRow>, together: Vec<PairRow>, again: &[u64]) -> MeshReport {
        let rates = |rows: &[PairRow], company, direction| {
            let of_node = |place: usize| {
                let is_its = |row: &&PairRow| match direction {
                    Direction::Sends => row.places.0 == place,
                    Direction::Receives => row.places.1 == place,
                };
                let all: Vec<_> = rows.iter().filter(is_its).filter_map(|row| row.gbps).collect();
                let gbps = match company {
                    Company::Alone => all.iter().copied().fold(0.0, f64::max),
                    Company::Together => all.iter().sum(),
                };
                (!all.is_empty()).then_some(gbps)
            };
            let gbps = (0..self.names.len()).map(of_node).collect();
            PortRates { direction, company, gbps }
        };
        let all = [
            rates(&alone, Company::Alone, Direction::Sends),
            rates(&alone, Company::Alone, Direction::Receives),
            rates(&together, Company::Together, Direction::Sends),
            rates(&together, Company::Together, Direction::Receives),
        ];
        let node = |(place, name): (usize, &String)| NodeRow {
            node: name.clone(),
            alone_sends_gbps: all[0].gbps[place],
            alone_receives_gbps: all[1].gbps[place],
            together_sends_gbps: all[2].gbps[place],
            together_receives_gbps: all[3].gbps[place],
            together_retransmitted: again[place],
        };
        MeshReport {
            command: "mesh",
            settings: MeshSettings { nodes: self.names.clone(), seconds: self.seconds },
            nodes: self.names.iter().enumerate().map(node).collect(),
            slow: all.iter().flat_map(|rates| rates.slow(&self.names)).collect(),
            alone,
            together,
        }
    }
}

impl PairRow {
    fn failure(&self) -> String {
        let why = self.failed.as_deref().unwrap_or_default();
        format!("from {} to {}: {why}", self.from, self.to)
    }
}

/// A goodput in a table.
fn cell(gbps: Option<f64>) -> String {
    gbps.map_or_else(|| "-".to_owned(), |gbps| format!("{gbps:.3}"))
}

impl MeshReport {
    /// For people.
    fn table(&self) -> Vec<String> {
        let names = &self.settings.nodes;
        let width = names.iter().map(String::len).max().unwrap_or(0).max(8);
        let right = |text: &str| format!("  {text:>width$}");
        let mut lines = Vec::new();
        if names.len() <= IN_TABLE {
            let head: String = names.iter().map(|name| right(name)).collect();
            lines.push("each pair alone, in Gbit/s: lines send, columns receive".to_owned());
            lines.push(format!("{:width$}{head}", ""));
            for from in names {
                let rate = |to: &String| {
                    let is_it = |row: &&PairRow| row.from == *from && row.to == *to;
                    right(&cell(self.alone.iter().find(is_it).and_then(|row| row.gbps)))
                };
                let cells: String = names.iter().map(rate).collect();
                lines.push(format!("{from:width$}{cells}"));
            }
        }
        lines.push("the best of each node alone, and all of it with all at once".to_owned());
        let head = ["sends", "receives", "all send", "all receive", "sent again"];
        let head: String = head.iter().map(|word| format!("  {word:>11}")).collect();
        lines.push(format!("{:width$}{head}", ""));
        for row in &self.nodes {
            let cells = [
                row.alone_sends_gbps,
                row.alone_receives_gbps,
                row.together_sends_gbps,
                row.together_receives_gbps,
            ];
            let cells: String = cells.iter().map(|gbps| format!("  {:>11}", cell(*gbps))).collect();
            lines.push(format!("{:width$}{cells}  {:>11}", row.node, row.together_retransmitted));
        }
        lines.extend(self.slow.iter().map(ToString::to_string));
        lines
    }
}
