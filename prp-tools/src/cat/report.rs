//! What is said when a connection has ended.

use std::fmt::Write;
use std::time::Duration;

use indicatif::DecimalBytes;
use prp_sock::{ConnStats, DeviceStats, PrpStream, Terms};

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

/// What was agreed on, and what the counters of connection and devices say.
pub(super) fn stats(stream: &PrpStream) -> Vec<String> {
    // A stream of this process keeps terms and counters until it is dropped.
    let terms = stream.terms().iter().map(terms_line).collect::<Vec<_>>();
    let counters = stream.stats().iter().flat_map(stats_lines).collect::<Vec<_>>();
    let devices = stream.device_stats().unwrap_or_default();
    terms.into_iter().chain(counters).chain(devices.iter().map(device_line)).collect()
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

fn stats_lines(stats: &ConnStats) -> [String; 3] {
    let mut drops = String::new();
    for (why, n) in stats.drops.occurred() {
        let _ = write!(drops, "{}{why} {n}", if drops.is_empty() { "" } else { ", " });
    }
    [
        format!(
            "sent: {} segments, {} again ({} needlessly), {} timeouts, {} acknowledgements",
            stats.segments_sent,
            stats.retransmitted,
            stats.spurious,
            stats.timeouts,
            stats.acks_sent
        ),
        format!(
            "received: {} segments, {} acknowledgements",
            stats.segments_received, stats.acks_received
        ),
        format!("dropped: {}", if drops.is_empty() { "nothing" } else { &drops }),
    ]
}

fn device_line(device: &DeviceStats) -> String {
    format!(
        "{}: {} frames lost on arrival, {} on departure, {} too big; {} sent the direct way",
        device.name, device.overruns, device.send_losses, device.too_big, device.direct
    )
}

#[cfg(test)]
mod tests;
