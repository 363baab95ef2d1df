//! Patterns of messages, predicted from pairs of processes that were measured on the same machines.

use std::path::Path;

use prp_model::fit::{Fit, Model, Played, Sample, Setting};
use prp_model::graph::{Cluster, PatternKind};
use prp_model::unit::{Bytes, Seconds, with_prefix};
use serde_json::{Value, json};

use super::{CompareArgs, summary};
use crate::exit::{Code, Failure};
use crate::model::fitting::fitted;
use crate::model::{blind_spots, output};

/// What was measured of a pattern.
#[derive(Clone, Debug, PartialEq)]
struct Measured {
    pattern: String,
    processes: u32,
    bytes: u64,
    seconds: f64,
}

/// The pattern of a name.
pub(in crate::model) fn kind(name: &str) -> Option<PatternKind> {
    match name {
        "tree-broadcast" => Some(PatternKind::TreeBroadcast),
        "flat-broadcast" => Some(PatternKind::FlatBroadcast),
        "reduction" => Some(PatternKind::Reduction),
        "neighbours" => Some(PatternKind::Neighbours(2)),
        "pairs" => Some(PatternKind::Pairs),
        _ => None,
    }
}

/// What predicts patterns.
struct Predictors {
    /// Blocks, each on a processor of its own; `None` where the pairs do not tell them.
    cluster: Option<Cluster>,
    /// Processes that share this number of processors, where that is said.
    shared: Option<(Fit, u32)>,
}

impl Predictors {
    fn of(args: &CompareArgs) -> Result<Self, Failure> {
        let samples = args.input.samples()?;
        let pairs = samples.iter().filter(|sample| is_of_pairs(sample));
        let pairs: Vec<Sample> = pairs.map(|sample| Sample { played: None, ..*sample }).collect();
        let blocks = fitted(Model::Blocks, &pairs, args.resampling)?;
        let cluster = Cluster::of(&blocks);
        let Some(processors) = args.input.processors else {
            if cluster.is_none() {
                let not: Vec<&str> = blocks.not_identified.iter().map(|not| not.name).collect();
                let not = not.join(", ");
                let text = format!("the pairs do not tell {not}: measure more numbers of them");
                return Err(Failure::new(Code::Failed, text));
            }
            return Ok(Self { cluster, shared: None });
        };
        let played = |sample: &Sample| {
            let (kind, processes) = (PatternKind::Pairs, 2 * sample.pairs);
            let pairs = Played { kind, processes, processors };
            Sample { played: sample.played.or(Some(pairs)), ..*sample }
        };
        let all: Vec<Sample> = samples.iter().map(played).collect();
        let shared = fitted(Model::Shared, &all, args.resampling)?;
        Ok(Self { cluster, shared: Some((shared, processors)) })
    }

    /// Seconds by blocks, and by processes that share processors.
    fn seconds(&self, kind: PatternKind, one: &Measured) -> (Option<f64>, Option<f64>) {
        let bytes = Bytes::new(one.bytes as f64);
        let by_blocks = self.cluster.map(|cluster| {
            let graph = cluster.parts().graph(kind, one.processes, true);
            let mut block = graph.reduce().whole;
            // The pairs have shown what all messages need, one after the other: here as well.
            block.fixed = Seconds::new(block.fixed.number().max(graph.least_fixed().number()));
            block.time(bytes).number()
        });
        let shared = self.shared.as_ref().map(|(fit, processors)| {
            let (processes, processors) = (one.processes, *processors);
            let played = Some(Played { kind, processes, processors });
            fit.predict(&Setting { played, ..Setting::one_way(bytes) }).0.number()
        });
        (by_blocks, shared)
    }
}

/// Whether a measurement is of pairs, as blocks are fitted to.
fn is_of_pairs(sample: &Sample) -> bool {
    sample.played.is_none_or(|played| played.kind == PatternKind::Pairs)
}

/// The errors of a pattern, by blocks and by processes that share processors.
#[derive(Default)]
struct Errors {
    blocks: Vec<f64>,
    shared: Vec<f64>,
}

pub(super) fn run(args: &CompareArgs, path: &Path) -> Result<(), Failure> {
    let predictors = Predictors::of(args)?;
    let text = std::fs::read_to_string(path).map_err(|e| Failure::reading(path, &e))?;
    let measured = parse(&text).map_err(|what| output::wrong(path, what))?;
    let mut groups: Vec<(&str, Errors)> = Vec::new();
    let mut lines = vec![head(predictors.shared.is_some())];
    let mut points = Vec::new();
    for one in medians(&measured) {
        let Measured { pattern, processes, bytes, seconds } = one;
        // Names are checked where they are read.
        let Some(kind) = kind(pattern) else { continue };
        let (predicted, shared) = predictors.seconds(kind, one);
        let error = |time: f64| time / seconds - 1.0;
        let columns = [predicted, shared]
            .into_iter()
            .flatten()
            .map(|time| format!("{:>14}{:>8.1} %", with_prefix(time, "s"), error(time) * 100.0));
        let measured = with_prefix(*seconds, "s");
        let columns = columns.collect::<String>();
        lines.push(format!("{pattern:<16}{processes:>10}{bytes:>10}{measured:>14}{columns}"));
        let mut point = json!({
            "pattern": pattern, "processes": processes, "bytes": bytes, "measured": seconds,
            "predicted": predicted, "error": predicted.map(error),
        });
        if predictors.shared.is_some() {
            point["shared"] = json!(shared);
            point["shared_error"] = json!(shared.map(error));
        }
        points.push(point);
        let at = groups.iter().position(|(known, _)| known == pattern);
        let at = at.unwrap_or_else(|| {
            groups.push((pattern, Errors::default()));
            groups.len() - 1
        });
        groups[at].1.blocks.extend(predicted.map(error));
        groups[at].1.shared.extend(shared.map(error));
    }
    lines.extend(groups.iter().flat_map(|(name, errors)| summaries(name, errors)));
    lines.push(blind_spots::line(&blind_spots::of_graph()));
    let json = json!({
        "points": points,
        "patterns": groups.iter().map(|(name, errors)| to_json(name, errors)).collect::<Vec<_>>(),
        "does_not_see": blind_spots::of_graph(),
    });
    output::publish(args.json, &json, &lines)
}

fn head(has_shared: bool) -> String {
    let mut head = format!(
        "{:<16}{:>10}{:>10}{:>14}{:>14}{:>10}",
        "pattern", "processes", "bytes", "measured", "predicted", "error"
    );
    if has_shared {
        head += &format!("{:>14}{:>10}", "shared", "error");
    }
    head
}

/// A line for each of what predicts.
fn summaries(name: &str, errors: &Errors) -> Vec<String> {
    let line = |what: &str, errors: &[f64]| {
        let (median, most) = summary(errors)?;
        let (median, most) = (median * 100.0, most * 100.0);
        Some(format!("{name}{what}: median error {median:.1} %, largest {most:.1} %"))
    };
    let both = [line("", &errors.blocks), line(", shared processors", &errors.shared)];
    both.into_iter().flatten().collect()
}

fn to_json(name: &str, errors: &Errors) -> Value {
    let (median, most) = summary(&errors.blocks).unzip();
    let mut json = json!({"pattern": name, "median_error": median, "largest_error": most});
    if let Some((median, most)) = summary(&errors.shared) {
        json["shared_median_error"] = json!(median);
        json["shared_largest_error"] = json!(most);
    }
    json
}

/// The middle measurement of each pattern, number of processes and size, in the order of the file.
fn medians(all: &[Measured]) -> Vec<&Measured> {
    let key = |one: &Measured| (one.pattern.clone(), one.processes, one.bytes);
    let mut keys = Vec::new();
    for one in all {
        if !keys.contains(&key(one)) {
            keys.push(key(one));
        }
    }
    let middle = |wanted: &(String, u32, u64)| {
        let mut same: Vec<&Measured> = all.iter().filter(|one| key(one) == *wanted).collect();
        same.sort_by(|l, r| l.seconds.total_cmp(&r.seconds));
        same[same.len() / 2]
    };
    keys.iter().map(middle).collect()
}

fn parse(text: &str) -> Result<Vec<Measured>, String> {
    const HEADER: &str = "pattern,processes,bytes,seconds";
    let lines = text.lines().enumerate().map(|(at, line)| (at + 1, line.trim()));
    let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    if lines.next().is_none_or(|(_, header)| header.replace(' ', "") != HEADER) {
        return Err(format!("the header is not {HEADER}"));
    }
    let row = |(at, line): (usize, &str)| {
        let wrong = |what: &str| format!("line {at}: {what}");
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let [pattern, processes, bytes, seconds] = cells[..] else {
            return Err(wrong("four cells are needed"));
        };
        if kind(pattern).is_none() {
            return Err(wrong(&format!("no pattern {pattern:?}")));
        }
        let processes = processes.parse().ok().filter(|count| (2..=4096).contains(count));
        let seconds = seconds.parse().ok().filter(|seconds: &f64| *seconds > 0.0);
        Ok(Measured {
            pattern: pattern.to_owned(),
            processes: processes.ok_or_else(|| wrong("no number of processes, 2 to 4096"))?,
            bytes: bytes.parse().map_err(|_| wrong("no size in bytes"))?,
            seconds: seconds.ok_or_else(|| wrong("no time in seconds"))?,
        })
    };
    lines.map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse__and_medians() {
        let text = "pattern,processes,bytes,seconds\nreduction,4,8,3e-6\nreduction,4,8,1e-6\nreduction,4,8,2e-6\npairs,2,8,5e-6\n";
        let all = parse(text).expect("a table");
        let middle: Vec<f64> = medians(&all).iter().map(|one| one.seconds).collect();
        assert_eq!(middle, [2e-6, 5e-6]);
        for (text, wanted) in [
            ("a,b\n", "the header"),
            ("pattern,processes,bytes,seconds\nring,4,8,1\n", "line 2: no pattern"),
            ("pattern,processes,bytes,seconds\npairs,1,8,1\n", "line 2: no number"),
            ("pattern,processes,bytes,seconds\npairs,2,8\n", "line 2: four cells"),
            ("pattern,processes,bytes,seconds\npairs,2,8,0\n", "line 2: no time"),
        ] {
            assert!(parse(text).expect_err(text).starts_with(wanted), "{text}");
        }
    }
}
