//! `prp-bench results`: what `netns-scripts/bench --json` wrote, as a page of the book.

mod bindings;
mod cluster_key;
mod links;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value;

use crate::bar::Bar;
use crate::{Done, at, print};

/// Make a page of the results of netns-scripts/bench.
///
/// FILES are what `bench --json` wrote, alone and with --bindings, --links and --key. The page has
/// the newest run of each machine, the newest machine first, in Markdown, and behind it the newest
/// of each of the others.
#[derive(Debug, Args)]
pub(crate) struct ResultsArgs {
    /// The files
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

/// What comes above all results.
const HEAD: &str = "\
# Results

`netns-scripts/bench` writes these figures, and `prp-bench results` makes this page of them: the
newest run of each machine that the project has figures of. Two nodes are two network namespaces on
one machine, joined by a veth pair; PRP and TCP alternate on the same link; figures are medians of
one run. **These are virtual links: no figure of this page is of a network card.**
[Performance](performance.md) says how it is measured and what scatters, and
[Experiments](experiments.md) what was tried. A bar is held against the median ratio of neighbouring
rounds. That is not the ratio of the two medians where the machine changes its speed between rounds.
";

/// A figure of the page: what it is, its unit, and where both transports have it.
struct PageFigure {
    what: &'static str,
    unit: &'static str,
    /// Where it is, with `{}` for the transport.
    path: &'static str,
    ours: &'static str,
    theirs: &'static str,
}

/// The figures that a reader compares first, as `keys` names them.
const FIGURES: [PageFigure; 18] = [
    figure("64 bytes one way, defaults", "us", "latency_us.{}.adaptive.64", "tcp"),
    figure("64 bytes one way, both ends spin", "us", "latency_us.{}.spin.64", "tcp"),
    figure("64 bytes one way, both ends block", "us", "latency_us.{}.block.64", "tcp"),
    figure("8 KiB one way, defaults", "us", "latency_us.{}.adaptive.8192", "tcp"),
    figure("connections a second", "", "connects_per_s.{}", "tcp"),
    figure("one stream, MTU 1500", "Gbit/s", "goodput_gbps.mtu1500.{}", "tcp"),
    figure("the same, TCP without offloads", "Gbit/s", "goodput_gbps.mtu1500.{}", "tcp_no_offload"),
    figure(
        "one stream, MTU 9000, TCP without offloads",
        "Gbit/s",
        "goodput_gbps.mtu9000.{}",
        "tcp_no_offload",
    ),
    figure("one stream, MTU 65535", "Gbit/s", "goodput_gbps.mtu65535.{}", "tcp"),
    figure("one stream, 1 % of frames lost", "Gbit/s", "loss1pct_goodput_gbps.{}", "tcp"),
    figure("256 streams", "Gbit/s", "streams256_goodput_gbps.{}", "tcp"),
    figure(
        "processor time for a gigabyte, TCP without offloads",
        "s",
        "cpu_s_per_gb.{}",
        "tcp_no_offload",
    ),
    over_udp("over UDP: 64 bytes one way, defaults", "us", "latency_us.{}.adaptive.64"),
    over_udp("over UDP: 64 bytes one way, both ends spin", "us", "latency_us.{}.spin.64"),
    over_udp("over UDP: 8 KiB one way, both ends spin", "us", "latency_us.{}.spin.8192"),
    over_udp("over UDP: one stream, MTU 1500", "Gbit/s", "goodput_gbps.mtu1500.{}"),
    over_udp("over UDP: one stream, offloads off", "Gbit/s", "cut_goodput_gbps.{}"),
    over_udp("over UDP: processor time for a gigabyte", "s", "cpu_s_per_gb.{}"),
];

/// Returns a figure of Ethernet.
const fn figure(
    what: &'static str,
    unit: &'static str,
    path: &'static str,
    theirs: &'static str,
) -> PageFigure {
    PageFigure { what, unit, path, ours: "prp", theirs }
}

/// Returns one of the UDP underlay, beside TCP with its offloads.
const fn over_udp(what: &'static str, unit: &'static str, path: &'static str) -> PageFigure {
    PageFigure { ours: "prp_udp", ..figure(what, unit, path, "tcp") }
}

impl PageFigure {
    fn value(&self, run: &Value, transport: &str) -> Option<f64> {
        let path = self.path.replace("{}", transport).replace('.', "/");
        run.pointer(&format!("/{path}"))?.as_f64()
    }

    /// A line of the table; none if PRP's figure was not measured.
    fn line(&self, run: &Value) -> Option<String> {
        let ours = self.value(run, self.ours)?;
        let (theirs, ratio) = self.value(run, self.theirs).map_or_else(
            || ("-".to_owned(), "-".to_owned()),
            |theirs| (self.show(theirs), short(ours / theirs)),
        );
        Some(format!("| {} | {} | {theirs} | {ratio} |", self.what, self.show(ours)))
    }

    fn show(&self, value: f64) -> String {
        format!("{} {}", short(value), self.unit).trim_end().to_owned()
    }
}

/// Three digits.
fn short(value: f64) -> String {
    let decimals = match value.abs() {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}")
}

/// Makes the text of a page's section from a run's figures.
type Section = fn(&Value) -> String;

/// What options of `bench` measure: the key that only their figures have, the heading, and what
/// makes the text of the value.
const OPTIONS: [(&str, &str, Section); 3] = [
    ("bindings", "Programs in C and Python", bindings::section),
    ("links", "Links with a rate and a delay", links::section),
    ("key", "The cluster key", cluster_key::section),
];

/// A run, its machine's name, and its date.
struct Run {
    machine: String,
    date: String,
    figures: Value,
    bars: Vec<Bar>,
}

impl Run {
    fn read(path: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(path).map_err(|e| at(path, e))?;
        Self::of(&text).ok_or_else(|| at(path, "not what `bench --json` writes"))
    }

    fn of(text: &str) -> Option<Self> {
        let figures: Value = serde_json::from_str(text).ok()?;
        let machine = &figures["machine"];
        let word = |key: &str| machine[key].as_str().unwrap_or_default();
        let cores = machine["cores"].as_u64()?;
        Some(Self {
            machine: format!("{}, {cores} processors", word("cpu")),
            date: word("date").to_owned(),
            bars: serde_json::from_value(figures["bars"].clone()).ok()?,
            figures,
        })
    }

    /// The key of the option that it was a run of; `None` of `bench` alone.
    fn option(&self) -> Option<&'static str> {
        OPTIONS.iter().map(|(key, ..)| *key).find(|key| self.figures.get(key).is_some())
    }

    /// When and on what it was run.
    fn facts(&self) -> String {
        let machine = &self.figures["machine"];
        let word = |key: &str| machine[key].as_str().filter(|word| !word.is_empty());
        let known = [("run on", "date"), ("commit", "commit")];
        let mut facts: Vec<_> =
            known.iter().filter_map(|(what, key)| Some(format!("{what} {}", word(key)?))).collect();
        // What comes behind the version names a build of the kernel.
        let kernel = word("kernel").and_then(|kernel| kernel.split('-').next());
        facts.extend(kernel.map(|version| format!("Linux {version}")));
        if let Some(stolen) = machine["stolen"].as_f64() {
            facts.push(format!("{:.1} % of the processor time stolen", stolen * 100.0));
        }
        format!("{}.\n\n", facts.join(",\n"))
    }

    /// All that the page has of it.
    fn section(&self) -> String {
        let mut out = self.facts();
        match OPTIONS.iter().find(|(key, ..)| self.option() == Some(*key)) {
            Some((key, _, section)) => out += &section(&self.figures[key]),
            None => {
                out += "| | PRP | TCP | PRP / TCP |\n| --- | --- | --- | --- |\n";
                for line in FIGURES.iter().filter_map(|figure| figure.line(&self.figures)) {
                    let _ = writeln!(out, "{line}");
                }
            }
        }
        out += "\n| bar | figure | at | reach for | |\n| --- | --- | --- | --- | --- |\n";
        for bar in &self.bars {
            let _ = writeln!(out, "{}", bar_line(bar));
        }
        out
    }
}

fn bar_line(bar: &Bar) -> String {
    let sign = if bar.at_most { "at most" } else { "at least" };
    let verdict = bar.verdict().replace("MISSED", "**missed**");
    let (name, figure) = (&bar.name, bar.figure());
    format!("| {name} | {figure} | {sign} {} | {} | {verdict} |", bar.bar, bar.reach)
}

/// The page: the newest run of each machine, the newest machine first; behind it the newest of each
/// option.
fn page(mut runs: Vec<Run>) -> String {
    runs.sort_by(|a, b| b.date.cmp(&a.date).then_with(|| a.machine.cmp(&b.machine)));
    let mut machines: Vec<&str> = Vec::new();
    for run in &runs {
        if !machines.contains(&run.machine.as_str()) {
            machines.push(&run.machine);
        }
    }
    let mut out = HEAD.to_owned();
    for machine in machines {
        let newest = |option: Option<&str>| {
            runs.iter().find(|run| run.machine == machine && run.option() == option)
        };
        let _ = writeln!(out, "\n## {machine}");
        if let Some(run) = newest(None) {
            let _ = write!(out, "\n{}", run.section());
        }
        for (key, heading, _) in OPTIONS {
            if let Some(run) = newest(Some(key)) {
                let _ = write!(out, "\n### {heading}\n\n{}", run.section());
            }
        }
    }
    out
}

/// Runs `prp-bench results`.
pub(super) fn run(args: &ResultsArgs) -> Done {
    let runs: Result<Vec<_>, _> = args.files.iter().map(|path| Run::read(path)).collect();
    print(&page(runs?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn run(cpu: &str, date: &str, spin: f64) -> Run {
        let bars = json!([
            {"name": "spinning", "value": spin / 5.0, "bar": 0.4, "reach": 0.25, "at_most": true,
             "met": spin <= 2.0, "reached": false},
            {"name": "other", "value": null, "bar": 1.0, "reach": 2.0, "at_most": false,
             "met": null, "reached": null},
        ]);
        let figures = json!({
            "latency_us": {"prp": {"spin": {"64": spin}}, "tcp": {"spin": {"64": 5.0}}},
            "connects_per_s": {"prp": 29000.0},
            "machine": {"cpu": cpu, "cores": 2, "kernel": "6.18", "date": date, "stolen": 0.031},
            "bars": bars,
        });
        Run::of(&figures.to_string()).expect("a run")
    }

    #[test]
    fn page__has_the_newest_run_of_each_machine() {
        let runs = vec![
            run("A", "2026-01-02", 1.0),
            run("B", "2026-02-03", 3.0),
            run("A", "2026-03-04", 2.0),
        ];
        let page = page(runs);
        let sections: Vec<_> = page.lines().filter(|line| line.starts_with("## ")).collect();
        assert_eq!(sections, ["## A, 2 processors", "## B, 2 processors"]);
        assert!(page.contains("run on 2026-03-04,\nLinux 6.18,\n3.1 % of the processor time"));
        assert!(page.contains("| 64 bytes one way, both ends spin | 2.00 us | 5.00 us | 0.40 |"));
        assert!(page.contains("| connections a second | 29000 | - | - |"), "{page}");
        assert!(page.contains("| spinning | 0.600 | at most 0.4 | 0.25 | **missed** |"), "{page}");
        assert!(page.contains("| other | - | at least 1 | 2 | not measured |"), "{page}");
        assert!(!page.contains("8 KiB"), "what was not measured is left out: {page}");
    }

    #[test]
    fn page__has_the_newest_of_each_kind_behind_the_run() {
        let bindings = json!({
            "bindings": {"spin_us": {"c": 2.0, "rust": 1.0}},
            "machine": {"cpu": "A", "cores": 2, "kernel": "6.18", "date": "2026-07-08"},
            "bars": [],
        });
        let bindings = Run::of(&bindings.to_string()).expect("a run");
        let links = |date: &str, gbps: f64| {
            let stream = json!({"goodput_gbps": {"prp": gbps, "tcp": 0.5}});
            let figures = json!({
                "links": {"udp": {"1000": {"0": stream}}},
                "machine": {"cpu": "A", "cores": 2, "kernel": "6.18", "date": date},
                "bars": [],
            });
            Run::of(&figures.to_string()).expect("a run")
        };
        let key = json!({
            "key": {"spin_us": {"off": 1.5, "seal": 1.75}},
            "machine": {"cpu": "A", "cores": 2, "kernel": "6.18", "date": "2026-07-09"},
            "bars": [],
        });
        let key = Run::of(&key.to_string()).expect("a run");
        let page = page(vec![
            key,
            links("2026-05-06", 0.25),
            run("A", "2026-01-02", 1.0),
            links("2026-04-05", 0.75),
            bindings,
        ]);
        let headings: Vec<_> = page.lines().filter(|line| line.starts_with("##")).collect();
        assert_eq!(
            headings,
            [
                "## A, 2 processors",
                "### Programs in C and Python",
                "### Links with a rate and a delay",
                "### The cluster key"
            ]
        );
        assert!(page.contains("| C: 2.00 us | Rust: 1.00 us |"), "{page}");
        assert!(page.contains("| 1.50 us | - | 1.75 us | - | - |"), "{page}");
        assert!(page.contains("| UDP, 1 Gbit/s, 0 us | 0.25 | 0.50 | - | - | - | - |"), "{page}");
        assert!(!page.contains("0.75"), "an older run: {page}");
    }

    #[test]
    fn of__refuses_what_bench_does_not_write() {
        for text in ["", "[]", "{}", r#"{"machine": {}}"#] {
            assert!(Run::of(text).is_none(), "{text}");
        }
    }
}
