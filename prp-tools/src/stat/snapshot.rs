//! What the processes of this node say of themselves, at one time.

use std::collections::BTreeMap;
use std::time::Duration;
use std::{fs, io};

use prp_node::process;
use prp_node::status::{self, Page, Record};
use prp_sock::{DeviceStats, PrpAddr};
use serde::Serialize;

use super::filter::ConnectionFilter;

/// All of it.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Snapshot {
    pub(crate) processes: Vec<Process>,
    /// Processes that the kernel keeps from this one, whether they use PRP or not.
    #[serde(rename = "hidden_processes")]
    pub(crate) hidden: usize,
}

/// A process that uses PRP, and what it has.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) program: String,
    pub(crate) node: u16,
    /// It did not answer: this is what it said when last asked.
    pub(crate) is_stale: bool,
    /// A signal or a debugger has stopped it.
    pub(crate) is_stopped: bool,
    pub(crate) hosts: Option<String>,
    /// Of all its connections, those that are over too.
    pub(crate) counters: BTreeMap<String, u64>,
    /// Frames dropped, by reason.
    pub(crate) drops: BTreeMap<String, u64>,
    pub(crate) devices: Vec<Device>,
    pub(crate) listeners: Vec<Listener>,
    pub(crate) connections: Vec<Connection>,
}

/// A device, as this process uses it.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Device {
    pub(crate) name: String,
    pub(crate) counters: BTreeMap<String, u64>,
}

/// A port that is listened on.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub(crate) struct Listener {
    pub(crate) node: u16,
    pub(crate) port: u16,
    /// Connections that wait to be accepted.
    pub(crate) queue: u64,
    pub(crate) backlog: u64,
}

/// A connection.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Connection {
    pub(crate) state: String,
    pub(crate) local_node: u16,
    pub(crate) local_port: u16,
    pub(crate) peer_node: u16,
    pub(crate) peer_port: u16,
    /// `connected` or `accepted`.
    pub(crate) role: String,
    /// Bytes that were not read yet.
    pub(crate) receive_queue: u64,
    /// Bytes that are not acknowledged yet.
    pub(crate) send_queue: u64,
    pub(crate) reliability: String,
    /// `ethernet`, or `udp`.
    pub(crate) underlay: String,
    pub(crate) device: String,
    pub(crate) congestion: String,
    /// Payload bytes of the largest segment that is sent now, and of the largest one that both ends
    /// agreed on; `null` from a process of an earlier version.
    pub(crate) mss: u64,
    pub(crate) agreed_mss: Option<u64>,
    pub(crate) crc: bool,
    /// `off`, `sign` or `seal`; `off` from a process of an earlier version.
    pub(crate) security: String,
    /// The id of the cluster's secret that its ends agreed with; `null` without one.
    pub(crate) key_id: Option<u64>,
    /// Since a frame of the peer last came; `null` from a process of an earlier version.
    pub(crate) silent_seconds: Option<f64>,
    /// Until it ends with an error if the peer stays silent; `null` if nothing is waited for, or
    /// for ever.
    pub(crate) ends_in_seconds: Option<f64>,
    /// What keeps it from sending more; `null` if nothing does.
    pub(crate) blocked_by: Option<String>,
    /// `null` before the first sample.
    pub(crate) rtt_seconds: Option<f64>,
    /// The peer is silent although it owes an answer: the round-trip time is of before.
    pub(crate) is_rtt_stale: bool,
    pub(crate) min_rtt_seconds: Option<f64>,
    pub(crate) rto_seconds: Option<f64>,
    /// Bytes on the wire.
    pub(crate) in_flight: u64,
    pub(crate) congestion_window: u64,
    /// Segments that the peer has room for.
    pub(crate) peer_window: u64,
    /// Whatever it has counted.
    pub(crate) counters: BTreeMap<String, u64>,
}

/// Fields of a connection's record that may be numbers and are no counters: all other numbers are.
const STATE: [&str; 14] = [
    "key_id",
    "device",
    "receive_queue",
    "send_queue",
    "mss",
    "agreed_mss",
    "silent_ns",
    "ends_in_ns",
    "rtt_ns",
    "min_rtt_ns",
    "rto_ns",
    "in_flight",
    "congestion_window",
    "peer_window",
];

/// The pages of the processes of this network namespace, as [`status::pages`].
///
/// # Errors
/// There is no `/proc`.
pub(super) fn pages(patience: Duration) -> io::Result<(Vec<Page>, usize)> {
    let (mut pages, hidden) = status::pages(patience)?;
    let here = fs::read_link("/proc/thread-self/ns/net").ok();
    let here = here.as_deref().and_then(|link| link.to_str()).unwrap_or_default();
    pages.retain(|page| {
        let process = page.records.iter().find(|record| record.kind == "process");
        // One that has never answered is where its first thread is.
        match process {
            Some(process) => process.text("namespace") == Some(here),
            None => fs::read_link(format!("/proc/{}/ns/net", page.pid))
                .map_or(true, |link| link.to_str() == Some(here)),
        }
    });
    Ok((pages, hidden))
}

impl Snapshot {
    /// Asks the processes of this network namespace; those that take longer than `patience` are
    /// stale.
    ///
    /// # Errors
    /// There is no `/proc`.
    pub(crate) fn take(patience: Duration) -> io::Result<Self> {
        let (pages, hidden) = pages(patience)?;
        Ok(Self { processes: pages.iter().map(Process::of).collect(), hidden })
    }

    /// Leaves what `filter` lets through, and processes that have some of it.
    pub(super) fn retain(&mut self, filter: &ConnectionFilter) {
        for process in &mut self.processes {
            process.listeners.retain(|listener| filter.takes_listener(listener));
            process.connections.retain(|connection| filter.takes(connection));
        }
    }
}

impl Process {
    /// Says that it does not answer, and why where that is known.
    pub(crate) fn silence(&self) -> String {
        let Self { program, pid, .. } = self;
        match self.is_stopped {
            true => format!("{program} ({pid}) is stopped, and does not answer"),
            false => format!("{program} ({pid}) runs, and does not answer"),
        }
    }

    pub(super) fn of(page: &Page) -> Self {
        let mut process = Self {
            pid: page.pid,
            program: page.program.clone(),
            node: page.node,
            is_stale: page.is_stale,
            is_stopped: page.is_stale && process::is_stopped(page.pid),
            ..Self::default()
        };
        for record in &page.records {
            match record.kind.as_str() {
                "process" => {
                    process.hosts = record.text("hosts").map(str::to_owned);
                    process.counters = counters(record, |name| name != "node");
                }
                "drops" => process.drops = counters(record, |_| true),
                "device" => process.devices.push(Device {
                    name: record.text("name").unwrap_or_default().to_owned(),
                    counters: counters(record, |name| name != "name"),
                }),
                "listener" => process.listeners.extend(Listener::of(record, page.node)),
                "connection" => process.connections.extend(Connection::of(record)),
                // Of a later version.
                _ => {}
            }
        }
        process
    }
}

impl Process {
    /// Returns all that was lost or dropped, with one name for each cause: the reason, or the
    /// device's counter with `device_` in front, as in the text format of OpenMetrics.
    pub(crate) fn losses(&self) -> BTreeMap<String, u64> {
        let mut losses = self.drops.clone();
        for (name, n) in self.devices.iter().flat_map(|device| &device.counters) {
            if DeviceStats::is_loss(name) {
                *losses.entry(format!("device_{name}")).or_default() += n;
            }
        }
        losses
    }
}

/// The fields of `record` that are numbers.
fn counters(record: &Record, takes: impl Fn(&str) -> bool) -> BTreeMap<String, u64> {
    let fields = record.fields().filter(|(name, _)| takes(name));
    fields.filter_map(|(name, value)| Some((name.to_owned(), value.parse().ok()?))).collect()
}

impl Listener {
    fn of(record: &Record, node: u16) -> Option<Self> {
        let number = |name| record.number(name);
        let port = number("port")?.try_into().ok()?;
        Some(Self { node, port, queue: number("queue")?, backlog: number("backlog")? })
    }
}

impl Connection {
    fn of(record: &Record) -> Option<Self> {
        let text = |name: &str| Some(record.text(name)?.to_owned());
        let number = |name: &str| record.number(name);
        let seconds = |name: &str| Some(number(name).filter(|n| *n > 0)? as f64 * 1e-9);
        let end = |name: &str| {
            let addr: PrpAddr = record.text(name)?.parse().ok()?;
            Some((addr.node.number(), addr.port.number()))
        };
        let ((local_node, local_port), (peer_node, peer_port)) = (end("local")?, end("peer")?);
        Some(Self {
            state: text("state")?,
            local_node,
            local_port,
            peer_node,
            peer_port,
            role: text("role")?,
            receive_queue: number("receive_queue")?,
            send_queue: number("send_queue")?,
            reliability: text("reliability")?,
            underlay: text("underlay")?,
            device: text("device")?,
            congestion: text("congestion")?,
            mss: number("mss")?,
            agreed_mss: number("agreed_mss"),
            crc: record.text("crc")? == "true",
            security: text("security").unwrap_or_else(|| "off".to_owned()),
            key_id: number("key_id"),
            silent_seconds: number("silent_ns").map(|n| n as f64 * 1e-9),
            ends_in_seconds: number("ends_in_ns").map(|n| n as f64 * 1e-9),
            blocked_by: text("blocked_by"),
            rtt_seconds: seconds("rtt_ns"),
            is_rtt_stale: record.text("rtt_is_stale") == Some("true"),
            min_rtt_seconds: seconds("min_rtt_ns"),
            rto_seconds: seconds("rto_ns"),
            in_flight: number("in_flight")?,
            congestion_window: number("congestion_window")?,
            peer_window: number("peer_window")?,
            counters: counters(record, |name| !STATE.contains(&name)),
        })
    }

    /// The counter `name`; 0 if there is none.
    pub(crate) fn counter(&self, name: &str) -> u64 {
        self.counters.get(name).copied().unwrap_or(0)
    }
}
