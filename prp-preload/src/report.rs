//! Counters of all streams, written when the process exits.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};

use prp_sock::PrpStream;

use crate::descriptor;

/// The variable with the file.
const VARIABLE: &str = "PRP_PRELOAD_REPORT";

/// Counters of the streams that are closed.
#[derive(Debug, Default)]
struct Totals {
    streams: AtomicU64,
    bytes_sent: AtomicU64,
    segments_sent: AtomicU64,
    bytes_received: AtomicU64,
    segments_received: AtomicU64,
}

static TOTALS: Totals = Totals {
    streams: AtomicU64::new(0),
    bytes_sent: AtomicU64::new(0),
    segments_sent: AtomicU64::new(0),
    bytes_received: AtomicU64::new(0),
    segments_received: AtomicU64::new(0),
};

/// Adds the counters of a stream that ends. A stream whose connection is already removed has none.
pub(crate) fn count(stream: &PrpStream) {
    TOTALS.streams.fetch_add(1, Ordering::Relaxed);
    let Ok(stats) = stream.stats() else { return };
    TOTALS.bytes_sent.fetch_add(stats.bytes_sent, Ordering::Relaxed);
    TOTALS.segments_sent.fetch_add(stats.segments_sent, Ordering::Relaxed);
    TOTALS.bytes_received.fetch_add(stats.bytes_received, Ordering::Relaxed);
    TOTALS.segments_received.fetch_add(stats.segments_received, Ordering::Relaxed);
}

/// Writes the line if the variable is set. The process calls it at exit.
pub(crate) fn write() {
    let Some(file) = std::env::var_os(VARIABLE) else { return };
    descriptor::for_each_stream(count);
    let [streams, bytes_sent, segments_sent, bytes_received, segments_received] = [
        &TOTALS.streams,
        &TOTALS.bytes_sent,
        &TOTALS.segments_sent,
        &TOTALS.bytes_received,
        &TOTALS.segments_received,
    ]
    .map(|counter| counter.load(Ordering::Relaxed));
    let line = format!(
        "prp-preload: process {}: streams {streams} bytes_sent {bytes_sent} segments_sent \
         {segments_sent} bytes_received {bytes_received} segments_received {segments_received}\n",
        std::process::id()
    );
    if file == "-" {
        let _ = io::stderr().write_all(line.as_bytes());
        return;
    }
    let opened = OpenOptions::new().create(true).append(true).open(&file);
    if let Err(e) = opened.and_then(|mut f| f.write_all(line.as_bytes())) {
        let _ = writeln!(io::stderr(), "prp-preload: {}: {e}", file.display());
    }
}
