//! Tables of other benchmarks: lines that begin with a size, between lines that do not matter.

use prp_model::fit::Sample;
use prp_model::unit::{Bytes, Seconds};

use super::ReadError;

/// Seconds in the unit of these tables.
const MICRO: f64 = 1e-6;

/// Lines of numbers, with their numbers from 1 on.
fn numbers(text: &str) -> impl Iterator<Item = (usize, Vec<f64>)> {
    text.lines().enumerate().filter_map(|(at, line)| {
        let all: Option<Vec<f64>> = line.split_whitespace().map(|word| word.parse().ok()).collect();
        all.filter(|all| !all.is_empty()).map(|all| (at + 1, all))
    })
}

fn sample(at: usize, size: f64, seconds: f64) -> Result<Sample, ReadError> {
    let is_measured = size >= 0.0 && size.is_finite() && seconds > 0.0 && seconds.is_finite();
    if !is_measured {
        return Err(ReadError::at(at, format!("{size} bytes in {seconds} s were not measured")));
    }
    Ok(Sample::one_way(Bytes::new(size), Seconds::new(seconds)))
}

/// A table of which the columns of size and time are known; times in microseconds.
fn table(text: &str, time: usize) -> Result<Vec<Sample>, ReadError> {
    let row = |(at, row): (usize, Vec<f64>)| {
        let short =
            || ReadError::at(at, format!("{} columns, the time is column {}", row.len(), time + 1));
        sample(at, row[0], row.get(time).ok_or_else(short)? * MICRO)
    };
    numbers(text).map(row).collect()
}

/// `# Size  Latency (us)`: the average, or in later versions `Avg Lat(us)` before percentiles.
pub(super) fn osu(text: &str) -> Result<Vec<Sample>, ReadError> {
    let header = text.lines().enumerate().find(|(_, line)| {
        line.strip_prefix('#').is_some_and(|names| names.trim_start().starts_with("Size"))
    });
    if let Some((at, names)) = header.filter(|(_, names)| !names.contains("Lat")) {
        let what = format!("no times of messages under {names:?}: take osu_latency");
        return Err(ReadError::at(at + 1, what));
    }
    table(text, 1)
}

/// `#bytes #repetitions t[usec] Mbytes/sec`; where there are several times, the average one. Of
/// several benchmarks that of PingPong.
pub(super) fn imb(text: &str) -> Result<Vec<Sample>, ReadError> {
    /// What comes before each benchmark.
    const TITLE: &str = "# Benchmarking ";
    let is_title = |line: &str| line.starts_with(TITLE);
    let is_wanted = |line: &str| is_title(line) && line[TITLE.len()..].trim() == "PingPong";
    if text.lines().any(is_title) && !text.lines().any(is_wanted) {
        return Err(ReadError::new("no times of messages one way: take PingPong"));
    }
    // Lines of the others are empty, so that numbers of lines stay.
    let mut is_in = !text.lines().any(is_title);
    let lines = text.lines().map(|line| {
        is_in = if is_title(line) { is_wanted(line) } else { is_in };
        if is_in { line } else { "" }
    });
    let text = &lines.collect::<Vec<_>>().join("\n");
    let header = text.lines().find(|line| line.contains("#repetitions")).unwrap_or_default();
    let names: Vec<&str> = header.split_whitespace().collect();
    let find = |wanted: &str| names.iter().position(|name| name.starts_with(wanted));
    let time = find("t_avg").or_else(|| find("t[usec]"));
    table(text, time.ok_or_else(|| ReadError::new("no column t[usec] in it"))?)
}

/// Three columns: bytes, megabits a second, and seconds; or lines such as
/// `  3:       4 bytes   9999 times -->      1.07 Mbps in      28.60 usec`.
pub(super) fn netpipe(text: &str) -> Result<Vec<Sample>, ReadError> {
    let printed = |(at, line): (usize, &str)| {
        let (before, after) = line.split_once("-->")?;
        let word = |text: &str, before: &str| {
            let words: Vec<&str> = text.split_whitespace().collect();
            let at = words.iter().position(|word| *word == before)?;
            words.get(at.checked_sub(1)?)?.parse::<f64>().ok()
        };
        let (size, micros) = (word(before, "bytes")?, word(after, "usec")?);
        Some(sample(at + 1, size, micros * MICRO))
    };
    if text.contains("-->") {
        return text.lines().enumerate().filter_map(printed).collect();
    }
    let row = |(at, row): (usize, Vec<f64>)| match row[..] {
        [size, _, seconds, ..] => sample(at, size, seconds),
        _ => Err(ReadError::at(at, "three columns are needed: bytes, Mbit/s, seconds")),
    };
    numbers(text).map(row).collect()
}
