//! What changes from one sample of the processes to the next: rates, of counters that only grow.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::Serialize;

use crate::stat::{Connection, Process, Snapshot};

/// A connection by its process and its two ends.
type ConnectionKey = (u32, u16, u16, u16, u16);

/// Counters by name.
type CountersByName = BTreeMap<String, u64>;

/// What the sample before had counted.
#[derive(Debug, Default)]
pub(super) struct Rates {
    at: Option<Instant>,
    connections: HashMap<ConnectionKey, CountersByName>,
    /// Counters of processes, and frames they dropped by reason: by process and node.
    processes: HashMap<(u32, u16), [CountersByName; 2]>,
}

/// One sample, with what has changed since the one before. Rates are `None` in the first sample.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct Sample {
    /// Seconds since the beginning of 1970, UTC.
    pub(super) time: f64,
    /// From the sample before to this one.
    pub(super) seconds: Option<f64>,
    /// Processes that use PRP, and of these the ones that did not answer.
    pub(super) processes: usize,
    pub(super) stale_processes: usize,
    /// Processes that the kernel keeps from this one, whether they use PRP or not.
    pub(super) hidden_processes: usize,
    pub(super) totals: Totals,
    pub(super) connections: Vec<ConnectionRow>,
}

/// All connections that are shown, and all of their processes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Totals {
    /// Connections by state.
    pub(super) states: BTreeMap<String, usize>,
    /// Payload of the connections shown.
    pub(super) send_bits_per_second: Option<f64>,
    pub(super) receive_bits_per_second: Option<f64>,
    /// Of the segments that connections sent, those sent once more.
    pub(super) retransmitted_percent: Option<f64>,
    /// Frames of the processes, and connections that began or were reset.
    pub(super) frames_sent_per_second: Option<f64>,
    pub(super) frames_received_per_second: Option<f64>,
    pub(super) new_connections_per_second: Option<f64>,
    pub(super) resets_per_second: Option<f64>,
    /// Frames dropped, by reason; those of which there were any.
    pub(super) drops_per_second: BTreeMap<String, f64>,
    /// Round-trip times of the connections shown.
    pub(super) min_rtt_seconds: Option<f64>,
    pub(super) median_rtt_seconds: Option<f64>,
    pub(super) max_rtt_seconds: Option<f64>,
}

/// A connection.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct ConnectionRow {
    pub(super) pid: u32,
    pub(super) program: String,
    /// Its process did not answer: this is what it said before.
    pub(super) is_stale: bool,
    pub(super) send_bits_per_second: Option<f64>,
    pub(super) receive_bits_per_second: Option<f64>,
    pub(super) retransmitted_per_second: Option<f64>,
    #[serde(flatten)]
    pub(super) connection: Connection,
}

impl Rates {
    /// The connections that `takes` takes at `now`, and what has changed since the sample before.
    pub(super) fn sample(
        &mut self,
        snapshot: &Snapshot,
        now: Instant,
        takes: impl Fn(&Connection) -> bool,
    ) -> Sample {
        let before = std::mem::take(self);
        let seconds = before.at.map(|at| now.saturating_duration_since(at).as_secs_f64());
        let seconds = seconds.filter(|seconds| *seconds > 0.0);
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
        let mut sample = Sample {
            time: time.as_secs_f64(),
            seconds,
            processes: snapshot.processes.len(),
            stale_processes: snapshot.processes.iter().filter(|p| p.is_stale).count(),
            hidden_processes: snapshot.hidden,
            ..Sample::default()
        };
        self.at = Some(now);
        let mut sums = Sums::default();
        for process in &snapshot.processes {
            let key = (process.pid, process.node);
            let counted = [process.counters.clone(), process.losses()];
            sums.add_process(&counted, before.processes.get(&key));
            self.processes.insert(key, counted);
            for connection in &process.connections {
                let ends = ends(process.pid, connection);
                let new = CountersByName::new();
                let earlier = before.connections.get(&ends).unwrap_or(&new);
                let delta = |name: &str| grown(&connection.counters, earlier, name);
                if takes(connection) {
                    sums.add_connection(connection, delta);
                    sample.connections.push(row(process, connection, delta, seconds));
                }
                // Its state changes: it may be taken in the next sample.
                self.connections.insert(ends, connection.counters.clone());
            }
        }
        sample.totals = sums.totals(seconds);
        sample
    }
}

fn ends(pid: u32, connection: &Connection) -> ConnectionKey {
    let Connection { local_node, local_port, peer_node, peer_port, .. } = *connection;
    (pid, local_node, local_port, peer_node, peer_port)
}

/// How much the counter `name` has grown. One that is less than before is of a new connection with
/// the same ends, or of a new process with the same number.
fn grown(now: &CountersByName, before: &CountersByName, name: &str) -> u64 {
    let [now, before] = [now, before].map(|counters| counters.get(name).copied().unwrap_or(0));
    if now < before { now } else { now - before }
}

fn row(
    process: &Process,
    connection: &Connection,
    delta: impl Fn(&str) -> u64,
    seconds: Option<f64>,
) -> ConnectionRow {
    // What a silent process said before tells nothing of now.
    let rate = |n: u64| Some(n as f64 / seconds.filter(|_| !process.is_stale)?);
    ConnectionRow {
        pid: process.pid,
        program: process.program.clone(),
        is_stale: process.is_stale,
        send_bits_per_second: rate(8 * delta("bytes_sent")),
        receive_bits_per_second: rate(8 * delta("bytes_received")),
        retransmitted_per_second: rate(delta("retransmitted")),
        connection: connection.clone(),
    }
}

/// What has been counted between two samples.
#[derive(Debug, Default)]
struct Sums {
    states: BTreeMap<String, usize>,
    bytes_sent: u64,
    bytes_received: u64,
    segments_sent: u64,
    retransmitted: u64,
    process: BTreeMap<&'static str, u64>,
    drops: CountersByName,
    round_trips: Vec<f64>,
}

/// Counters of a process that are shown.
const OF_PROCESS: [&str; 5] = ["frames_sent", "frames_received", "connected", "accepted", "resets"];

impl Sums {
    fn add_process(&mut self, now: &[CountersByName; 2], before: Option<&[CountersByName; 2]>) {
        let new = Default::default();
        // A process that was not in the sample before has counted from 0 since.
        let before = before.unwrap_or(&new);
        for name in OF_PROCESS {
            *self.process.entry(name).or_default() += grown(&now[0], &before[0], name);
        }
        for why in now[1].keys() {
            *self.drops.entry(why.clone()).or_default() += grown(&now[1], &before[1], why);
        }
    }

    fn add_connection(&mut self, connection: &Connection, delta: impl Fn(&str) -> u64) {
        *self.states.entry(connection.state.clone()).or_default() += 1;
        self.bytes_sent += delta("bytes_sent");
        self.bytes_received += delta("bytes_received");
        self.segments_sent += delta("segments_sent");
        self.retransmitted += delta("retransmitted");
        self.round_trips.extend(connection.rtt_seconds.filter(|_| !connection.is_rtt_stale));
    }

    fn totals(mut self, seconds: Option<f64>) -> Totals {
        let rate = |n: u64| Some(n as f64 / seconds?);
        let process = |name| self.process.get(name).copied().unwrap_or(0);
        let all = self.segments_sent + self.retransmitted;
        let drops = self.drops.iter().filter(|(_, n)| **n > 0);
        self.round_trips.sort_by(f64::total_cmp);
        Totals {
            send_bits_per_second: rate(8 * self.bytes_sent),
            receive_bits_per_second: rate(8 * self.bytes_received),
            retransmitted_percent: seconds
                .filter(|_| all > 0)
                .map(|_| 100.0 * self.retransmitted as f64 / all as f64),
            frames_sent_per_second: rate(process("frames_sent")),
            frames_received_per_second: rate(process("frames_received")),
            new_connections_per_second: rate(process("connected") + process("accepted")),
            resets_per_second: rate(process("resets")),
            drops_per_second: drops.filter_map(|(why, n)| Some((why.clone(), rate(*n)?))).collect(),
            min_rtt_seconds: self.round_trips.first().copied(),
            median_rtt_seconds: self.round_trips.get(self.round_trips.len() / 2).copied(),
            max_rtt_seconds: self.round_trips.last().copied(),
            states: self.states,
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
