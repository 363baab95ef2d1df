//! Patterns of messages, predicted from pairs of processes that were measured on the same machines.

use std::path::Path;

use prp_model::fit::Model;
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

pub(super) fn run(args: &CompareArgs, path: &Path) -> Result<(), Failure> {
    let fit = fitted(Model::Blocks, &args.input.samples()?, args.resampling)?;
    let Some(cluster) = Cluster::of(&fit) else {
        let not: Vec<&str> = fit.not_identified.iter().map(|not| not.name).collect();
        let text =
            format!("the pairs do not tell {}: measure more numbers of them", not.join(", "));
        return Err(Failure::new(Code::Failed, text));
    };
    let text = std::fs::read_to_string(path).map_err(|e| Failure::reading(path, &e))?;
    let measured = parse(&text).map_err(|what| output::wrong(path, what))?;
    let mut groups: Vec<(&str, Vec<f64>)> = Vec::new();
    let head = ["pattern", "processes", "bytes", "measured", "predicted", "error"];
    let mut lines = vec![format!(
        "{:<16}{:>10}{:>10}{:>14}{:>14}{:>10}",
        head[0], head[1], head[2], head[3], head[4], head[5]
    )];
    let mut points = Vec::new();
    for one in medians(&measured) {
        let Measured { pattern, processes, bytes, seconds } = one;
        // Names are checked where they are read.
        let Some(kind) = kind(pattern) else { continue };
        let graph = cluster.parts().graph(kind, *processes, true);
        let mut block = graph.reduce().whole;
        // The pairs have shown what all messages need, one after the other: here as well.
        block.fixed = Seconds::new(block.fixed.number().max(graph.least_fixed().number()));
        let predicted = block.time(Bytes::new(*bytes as f64)).number();
        let error = predicted / seconds - 1.0;
        lines.push(format!(
            "{pattern:<16}{processes:>10}{bytes:>10}{:>14}{:>14}{:>8.1} %",
            with_prefix(*seconds, "s"),
            with_prefix(predicted, "s"),
            error * 100.0
        ));
        points.push(json!({
            "pattern": pattern, "processes": processes, "bytes": bytes,
            "measured": seconds, "predicted": predicted, "error": error,
        }));
        match groups.iter_mut().find(|(known, _)| known == pattern) {
            Some((_, errors)) => errors.push(error),
            None => groups.push((pattern, vec![error])),
        }
    }
    let summaries = groups.iter().filter_map(|(name, errors)| Some((*name, summary(errors)?)));
    let summaries: Vec<(&str, (f64, f64))> = summaries.collect();
    lines.extend(summaries.iter().map(|(name, (median, most))| {
        let (median, most) = (median * 100.0, most * 100.0);
        format!("{name}: median error {median:.1} %, largest {most:.1} %")
    }));
    lines.push(blind_spots::line(&blind_spots::of_graph()));
    let pattern = |(name, (median, most)): &(&str, (f64, f64))| json!({"pattern": name, "median_error": median, "largest_error": most});
    let json = json!({
        "points": points,
        "patterns": summaries.iter().map(pattern).collect::<Vec<Value>>(),
        "does_not_see": blind_spots::of_graph(),
    });
    output::publish(args.json, &json, &lines)
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
