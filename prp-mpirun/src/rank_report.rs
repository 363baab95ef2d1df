//! Where the ranks of a job wait: those that wait alike together, the fewest last.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

/// What ranks have said of themselves, by rank.
pub(crate) type Answers = BTreeMap<usize, String>;

/// A line for each group of ranks, and one for each circle of ranks that wait for each other.
pub(crate) fn report(answers: &Answers) -> String {
    let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (rank, answer) in answers {
        groups.entry(answer.lines().next().unwrap_or_default()).or_default().push(*rank);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, ranks)| (std::cmp::Reverse(ranks.len()), ranks[0]));
    let mut text = String::new();
    for (place, ranks) in groups {
        let queues = answers[&ranks[0]].lines().nth(1).unwrap_or_default();
        let since = if queues.is_empty() { String::new() } else { format!(", since {queues}") };
        let _ = writeln!(text, "  ranks {}: {place}{since}", spans(&ranks));
    }
    if let Some(circle) = circle(answers) {
        let names: Vec<_> = circle.iter().map(|r| format!("rank {r}")).collect();
        let _ = writeln!(text, "  deadlock: {} waits for {}", names.join(" waits for "), names[0]);
    }
    text
}

/// What each rank does, without times and queues.
pub(crate) fn places(answers: &Answers) -> Vec<String> {
    answers.values().map(|answer| answer.lines().next().unwrap_or_default().to_owned()).collect()
}

/// What is said of a rank that has ended.
pub(crate) const ENDED: &str = "has ended";

/// What changes with all that happens to a rank that waits for others.
fn state_of(answer: &str) -> Option<&str> {
    answer.lines().nth(3).filter(|state| !state.is_empty())
}

/// The ranks that do not wait for others: they may go on by themselves.
pub(crate) fn going_on(answers: &Answers) -> Vec<usize> {
    let may_go_on = |answer: &str| answer != ENDED && state_of(answer).is_none();
    answers.iter().filter(|(_, answer)| may_go_on(answer)).map(|(rank, _)| *rank).collect()
}

/// Part of the time between two roll calls from which on a thread of a rank counts as computing
/// while another one waits: a tenth, in ticks of 10 ms. One that waits uses next to none.
const fn computing(between: Duration) -> u64 {
    between.as_millis() as u64 / 100
}

/// Whether anything has happened to a rank that waits, or one of its threads computes, between two
/// roll calls.
pub(crate) fn has_moved(before: &Answers, after: &Answers, between: Duration) -> bool {
    let ticks = |answer: &str| answer.lines().nth(4)?.parse::<u64>().ok();
    before.len() != after.len()
        || before.values().zip(after.values()).any(|(before, after)| {
            let used = ticks(after).zip(ticks(before)).map_or(0, |(a, b)| a.saturating_sub(b));
            state_of(before) != state_of(after) || used >= computing(between)
        })
}

/// Ranks as people write them: `0-2,5`.
pub(crate) fn spans(ranks: &[usize]) -> String {
    let mut spans: Vec<(usize, usize)> = Vec::new();
    for &rank in ranks {
        match spans.last_mut() {
            Some((_, last)) if *last + 1 == rank => *last = rank,
            _ => spans.push((rank, rank)),
        }
    }
    let words = spans.into_iter().map(|(first, last)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    });
    words.collect::<Vec<_>>().join(",")
}

/// Ranks each of which waits for the next one, and the last for the first.
fn circle(answers: &Answers) -> Option<Vec<usize>> {
    let waits_for =
        |rank: usize| -> Option<usize> { answers.get(&rank)?.lines().nth(2)?.parse().ok() };
    for &start in answers.keys() {
        let mut path = vec![start];
        while let Some(next) = waits_for(*path.last()?) {
            if next == start {
                return Some(path);
            }
            if path.contains(&next) {
                break;
            }
            path.push(next);
        }
    }
    None
}

#[cfg(test)]
mod tests;
