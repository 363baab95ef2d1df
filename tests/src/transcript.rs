//! Transcripts in documents: commands and their output, which tests run again and compare.
//!
//! A transcript is a block of ```` ```console ```` behind a comment `<!-- transcript: TOPOLOGY
//! [WORD...][, routers] -->`. `nodeN$ COMMAND` runs on that node. A command that ends with `&` runs
//! until the end of the block.

use std::fs;
use std::ops::Range;
use std::path::Path;

use crate::router::Router;
use crate::topology::Topology;

mod run;

use run::Runner;

/// The line before a transcript.
const MARK: &str = "<!-- transcript: ";

/// The first line of its block.
const FENCE: &str = "```console";

/// Units of times and rates, which depend on their size.
const UNITS: [&str; 16] = [
    "ns", "us", "ms", "s", "bit/s", "kbit/s", "Mbit/s", "Gbit/s", "B", "kB", "MB", "GB", "KiB",
    "MiB", "GiB", "%",
];

/// A command and its output.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Step {
    /// The node on which it runs.
    pub node: u8,
    /// The command, for sh.
    pub command: String,
    /// The lines of its standard output and standard error.
    pub output: Vec<String>,
}

/// A transcript in a document.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Transcript {
    /// The arguments of `topo up`.
    pub topology: Vec<String>,
    /// Whether prp-routed runs on its nodes.
    pub has_routers: bool,
    /// The commands, in order.
    pub steps: Vec<Step>,
    /// The lines of the document between the fences.
    lines: Range<usize>,
}

/// The transcripts in `text`.
///
/// # Panics
/// If one of them is malformed. The message has its line.
pub fn parse(text: &str) -> Vec<Transcript> {
    let lines: Vec<_> = text.lines().collect();
    let mut transcripts = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(scene) = line.strip_prefix(MARK).and_then(|rest| rest.strip_suffix(" -->")) else {
            continue;
        };
        let begin = at + 2;
        assert_eq!(lines.get(at + 1), Some(&FENCE), "line {}: no {FENCE} follows", at + 1);
        let len = lines[begin..].iter().position(|line| *line == "```");
        let end = begin + len.unwrap_or_else(|| panic!("line {}: it has no end", at + 1));
        let (topology, has_routers) =
            scene.strip_suffix(", routers").map_or((scene, false), |topology| (topology, true));
        transcripts.push(Transcript {
            topology: topology.split(' ').map(str::to_owned).collect(),
            has_routers,
            steps: steps(&lines[begin..end], begin),
            lines: begin..end,
        });
    }
    transcripts
}

fn steps(lines: &[&str], begin: usize) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let prompt = line.strip_prefix("node").and_then(|rest| rest.split_once("$ "));
        let command = prompt.and_then(|(node, command)| Some((node.parse().ok()?, command)));
        if let Some((node, command)) = command {
            steps.push(Step { node, command: command.into(), output: Vec::new() });
        } else {
            let step = steps.last_mut();
            let step = step.unwrap_or_else(|| panic!("line {}: no command", begin + at + 1));
            step.output.push((*line).to_owned());
        }
    }
    steps
}

/// `line` without the parts that differ between runs: numbers with a fraction or with four or more
/// digits, process numbers after program names, times, rates and sizes with their units, and the
/// widths of columns.
pub fn mask(line: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    for word in line.split_whitespace() {
        let is_unit = UNITS.contains(&word.trim_end_matches([',', ':', '.', ')']));
        match words.last_mut() {
            Some(number) if is_unit && ends_with_number(number) => {
                number.truncate(number.trim_end_matches(|c: char| c.is_ascii_digit()).len());
                if !number.ends_with('#') {
                    number.push('#');
                }
            }
            _ => words.push(mask_word(word)),
        }
    }
    words.join(" ")
}

/// Whether `word`, in which changing numbers are masked, ends with a number.
fn ends_with_number(word: &str) -> bool {
    let before = word.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_name = before.ends_with(|c: char| c.is_ascii_alphabetic());
    word.ends_with('#') || (before.len() < word.len() && !is_name)
}

/// A word with `#` for each number in it that changes, and its unit.
fn mask_word(word: &str) -> String {
    let mut masked = String::new();
    let mut rest = word;
    while let Some(begin) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, number) = rest.split_at(begin);
        let len = number.find(|c: char| !c.is_ascii_digit() && !matches!(c, '.' | ','));
        let (number, after) = number.split_at(len.unwrap_or(number.len()));
        let digits = number.trim_end_matches(['.', ',']);
        let after_digits = &rest[begin + digits.len()..];
        let unit_len = after.find(|c: char| !c.is_ascii_alphabetic() && !matches!(c, '/' | '%'));
        let unit = &after[..unit_len.unwrap_or(after.len())];
        // A digit within a name, as in node2, is no number.
        let is_name = before.ends_with(|c: char| c.is_ascii_alphabetic());
        let has_unit = UNITS.contains(&unit) && digits.len() == number.len();
        masked.push_str(before);
        if !is_name && has_unit {
            masked.push('#');
            rest = &after[unit.len()..];
        } else {
            // As in prp(12).
            let is_process =
                before.len() > 1 && before.ends_with('(') && after_digits.starts_with(')');
            let is_figure = digits.contains(['.', ',']) || digits.len() >= 4;
            let varies = !is_name && (is_figure || is_process);
            masked.push_str(if varies { "#" } else { digits });
            rest = after_digits;
        }
    }
    masked + rest
}

/// Runs the transcripts of the document at `path` on nodes with the programs in `programs` and
/// `router` as prp-routed. With `UPDATE` in the environment it writes the new output to the
/// document.
///
/// # Panics
/// If the output differs from the document in anything but changing numbers.
pub fn check(path: &Path, programs: &Path, router: &str) {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
    let is_update = std::env::var_os("UPDATE").is_some();
    let mut differences = Vec::new();
    // From the last to the first, so that the positions of earlier transcripts stay valid.
    for transcript in parse(&text).iter().rev() {
        let printed = transcript.run(programs, router);
        let is_same = printed.iter().zip(&transcript.steps).all(|(now, step)| is_like(now, step));
        if !is_same {
            let block = transcript.block(&printed);
            let line = transcript.lines.start + 1;
            differences.push(format!("{}:{line} is now\n{}", path.display(), block.join("\n")));
            lines.splice(transcript.lines.clone(), block);
        }
    }
    if is_update && !differences.is_empty() {
        fs::write(path, lines.join("\n") + "\n").expect("the document can be written");
    } else {
        assert!(
            differences.is_empty(),
            "{}\nif that is right: UPDATE=1 writes it",
            differences.join("\n\n")
        );
    }
}

fn is_like(printed: &[String], step: &Step) -> bool {
    let printed = printed.iter().filter(|line| !is_note_of_hidden_processes(line));
    printed.map(|line| mask(line)).eq(step.output.iter().map(|line| mask(line)))
}

/// Whether `line` is the note of `prp stat` that it may not read processes of other users. An
/// ordinary user gets that line if processes of root run.
fn is_note_of_hidden_processes(line: &str) -> bool {
    line.starts_with("prp: ")
        && line.ends_with(" hidden from this user: `sudo prp stat` shows them")
}

/// The number of nodes of `topology`.
fn nodes(topology: &Topology) -> u8 {
    let list = topology.topo(["list", "--json"]);
    let is_there = |node: &u8| list.contains(&format!("\"node\":\"{node}\""));
    (1..).take_while(is_there).last().expect("a node")
}

impl Transcript {
    /// Runs the commands; returns the output of each.
    fn run(&self, programs: &Path, router: &str) -> Vec<Vec<String>> {
        let (name, words) = self.topology.split_first().expect("the name of a topology");
        let topology = Topology::up(name, words.iter().map(String::as_str));
        let nodes = if self.has_routers { nodes(&topology) } else { 0 };
        let _routers: Vec<_> =
            (1..=nodes).map(|node| Router::start(&topology.node(node), router)).collect();
        let mut runner = Runner::new(&topology, programs);
        self.steps.iter().map(|step| runner.run(step)).collect()
    }

    /// The block with the output `printed` in place of the old one.
    fn block(&self, printed: &[Vec<String>]) -> Vec<String> {
        let step = |(step, printed): (&Step, &Vec<String>)| {
            let command = format!("node{}$ {}", step.node, step.command);
            [command].into_iter().chain(printed.iter().cloned()).collect::<Vec<_>>()
        };
        self.steps.iter().zip(printed).flat_map(step).collect()
    }
}

#[cfg(test)]
#[allow(non_snake_case, reason = "tests are named function__case")]
mod tests {
    use super::*;

    const TEXT: &str = "# A\n\n<!-- transcript: chain 3, routers -->\n```console\nnode1$ serve &\n\
                        node2$ ask -n\nyes\n```\n\n```console\nnode1$ of no transcript\n```\n";

    #[test]
    fn parse__has_topology_commands_and_output() {
        let [transcript] = &parse(TEXT)[..] else { panic!("{:?}", parse(TEXT)) };
        assert_eq!(transcript.topology, ["chain", "3"]);
        assert!(transcript.has_routers);
        let [serve, ask] = &transcript.steps[..] else { panic!("{transcript:?}") };
        assert_eq!((serve.node, &*serve.command, serve.output.len()), (1, "serve &", 0));
        assert_eq!((ask.node, &*ask.command, &ask.output[..]), (2, "ask -n", &["yes".into()][..]));
        let lines: Vec<_> = TEXT.lines().collect();
        let printed = [vec![], vec!["yes".to_owned()]];
        assert_eq!(transcript.block(&printed), lines[transcript.lines.clone()]);
    }

    #[test]
    fn is_like__whatever_processes_root_runs() {
        let line = "State  Recv-Q".to_owned();
        let step = Step { node: 1, command: "prp stat".into(), output: vec![line.clone()] };
        let note = "prp: 105 processes are hidden from this user: `sudo prp stat` shows them";
        assert!(is_like(&[line.clone(), note.into()], &step));
        assert!(!is_like(&[line, "prp: something else".into()], &step));
    }

    #[test]
    fn mask__takes_figures_and_leaves_names() {
        for (one, other) in [
            ("time=0.031 ms", "time=1.20 ms"),
            ("rtt   12 us,  x", "rtt 1.5 ms, x"),
            ("1.2 Gbit/s", "800 Mbit/s"),
            ("ports 32768", "ports   51000"),
            ("prp(1234)", "prp(99123)"),
            ("prp(7): x", "prp(99123): x"),
            ("took 12ms.", "took 3us."),
        ] {
            assert_eq!(mask(one), mask(other));
        }
        for (one, other) in [
            ("node1: 2 answers", "node1: 3 answers"),
            ("node1", "node2"),
            ("loss 0", "loss 1"),
            ("32(1)", "32(2)"),
            ("eth0 02:00:00:00:00:01", "eth0 02:00:00:00:00:02"),
        ] {
            assert_ne!(mask(one), mask(other));
        }
    }
}
