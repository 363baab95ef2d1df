//! What is said when a connection has ended.

use std::time::Duration;

use indicatif::DecimalBytes;
use prp_sock::{ConnStats, Drops, PrpStream, Terms};

use super::progress::Counts;

/// Bytes, seconds and rates.
pub(super) fn summary(counts: &Counts, elapsed: Duration) -> String {
    let (sent, received) = (counts.sent(), counts.received());
    let rate = |bytes: u64| {
        let per_second = bytes as f64 / elapsed.as_secs_f64().max(1e-6);
        format!("{bytes} bytes ({}/s)", DecimalBytes(per_second as u64))
    };
    let seconds = elapsed.as_secs_f64();
    match (sent, received) {
        (0, 0) => format!("{seconds:.3} s: nothing sent, nothing received"),
        (_, 0) => format!("{seconds:.3} s: sent {}", rate(sent)),
        (0, _) => format!("{seconds:.3} s: received {}", rate(received)),
        _ => format!("{seconds:.3} s: sent {}, received {}", rate(sent), rate(received)),
    }
}

/// What was agreed on, and every counter of the connection, of this process's end of the network
/// and of its devices.
pub(super) fn stats(stream: &PrpStream) -> Vec<String> {
    let mut lines = Vec::new();
    // A stream of this process keeps terms and counters until it is dropped.
    lines.extend(stream.terms().iter().map(terms_line));
    if let Ok(stats) = stream.stats() {
        lines.push(segments_line(&stats));
        lines.push(counters_line("connection", stats.counters()));
        lines.push(drops_line("dropped:", &stats.drops));
    }
    if let Ok(stats) = stream.endpoint_stats() {
        lines.push(counters_line("process", stats.counters()));
        lines.push(drops_line("process: dropped", &stats.drops));
    }
    for device in stream.device_stats().unwrap_or_default() {
        lines.push(counters_line(&device.name, device.counters()));
    }
    lines
}

fn terms_line(terms: &Terms) -> String {
    format!(
        "terms: {}, {} bytes a segment, {}{}",
        terms.reliability,
        terms.mss,
        if terms.crc { "CRC" } else { "no CRC" },
        if terms.extended { "" } else { ", classic peer" },
    )
}

/// The counters that most readers look for.
fn segments_line(stats: &ConnStats) -> String {
    format!(
        "segments sent: {}, and {} again; received: {} segments",
        stats.segments_sent, stats.retransmitted, stats.segments_received
    )
}

/// `counters` of `owner` with their names.
fn counters_line(owner: &str, counters: impl Iterator<Item = (&'static str, u64)>) -> String {
    let counters: Vec<_> = counters.map(|(name, n)| format!("{name} {n}")).collect();
    format!("{owner}: {}", counters.join(", "))
}

/// The reasons for which frames were dropped, after `title`.
fn drops_line(title: &str, drops: &Drops) -> String {
    let drops: Vec<_> = drops.occurred().map(|(why, n)| format!("{why} {n}")).collect();
    let drops = if drops.is_empty() { "nothing".to_owned() } else { drops.join(", ") };
    format!("{title} {drops}")
}

#[cfg(test)]
mod tests;
