//! The status page of an engine: what `prp stat` shows of this process. It is written when another
//! process has asked, so it costs nothing until then.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use prp_node::StatusPage;
use prp_node::status::{Page, RecordText};
use prp_proto::addr::LinkAddr;
use prp_proto::endpoint::ConnInfo;
use prp_proto::time::Instant;

use super::Engine;
use super::netns::NetworkNamespace;
use super::registry;
use crate::stats::DeviceStats;

/// Pages are written no more often than this. Each takes the engine's lock for as long as it takes
/// to read all connections, some 100 ns for each: of 10,000 connections 1 % of the time.
const INTERVAL: Duration = Duration::from_millis(100);

/// The page, where there was a descriptor for it, and whether a process waits for it.
#[derive(Debug)]
pub(super) struct Status {
    page: Option<StatusPage>,
    namespace: NetworkNamespace,
    is_asked: bool,
    /// When it may be written.
    next: Instant,
}

impl Status {
    /// The page of `engine`, which is in the calling thread's network namespace.
    pub(super) fn new(engine: &Engine) -> Self {
        // Without one this process is not shown, and lacks nothing.
        let page = StatusPage::new(engine.local_node()).ok();
        let namespace = NetworkNamespace::current();
        Self { page, namespace, is_asked: false, next: Instant::ZERO }
    }

    /// What to poll for requests.
    pub(super) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.page.as_ref().map(AsFd::as_fd)
    }

    /// Writes the page if a process waits for it and it may be; when to be called again.
    pub(super) fn check(&mut self, engine: &Engine) -> Option<Instant> {
        let page = self.page.as_mut()?;
        self.is_asked |= page.take_requests();
        if !self.is_asked {
            return None;
        }
        let now = engine.now();
        if now < self.next {
            return Some(self.next);
        }
        (self.is_asked, self.next) = (false, now + INTERVAL);
        // Without memory for it the asker is told that there is no answer.
        let _ = page.write(&engine.records(&self.namespace));
        None
    }
}

/// The counters of this process in the text format of OpenMetrics 1.0, for programs that serve
/// metrics of their own. The names and labels are those of `prp stat --openmetrics`, which has all
/// processes of a node. The text ends with `# EOF`; without a stream or a listener it has no more.
///
/// ```
/// assert_eq!(prp_sock::openmetrics(), "# EOF\n");
/// ```
pub fn openmetrics() -> String {
    let namespace = NetworkNamespace::current();
    let page =
        |engine: &Engine| Page::of_this_process(engine.local_node(), &engine.records(&namespace));
    let pages: Vec<_> = registry::all().iter().map(|engine| page(engine)).collect();
    prp_node::status::openmetrics(&pages)
}

impl Engine {
    /// What there is to say of this engine.
    fn records(&self, namespace: &NetworkNamespace) -> RecordText {
        let mut records = RecordText::default();
        let now = self.now();
        let (listening, connections, stats, node) = {
            let core = self.lock();
            let endpoint = &core.endpoint;
            let shown = |conn| {
                let info = endpoint.conn_info(now, conn)?;
                let is_full = core.full_place(usize::from(info.device.0)).is_some();
                let blocked_by = if is_full { Some("device") } else { info.blocked_by };
                Some(ConnInfo { blocked_by, ..info })
            };
            let connections: Vec<_> = endpoint.handles().into_iter().filter_map(shown).collect();
            let listening: Vec<_> = endpoint.listening().collect();
            (listening, connections, *endpoint.stats(), endpoint.local_node())
        };
        records.begin("process").field("node", node).field("namespace", namespace);
        if let Some(file) = self.hosts.lock().as_ref() {
            records.field("hosts", file.path().display());
        }
        add_counters(&mut records, stats.counters());
        records.begin("drops");
        add_counters(&mut records, stats.drops.occurred().map(|(why, n)| (why.name(), n)));
        for (port, queue, backlog) in listening {
            records.begin("listener").field("port", port.number());
            records.field("queue", queue).field("backlog", backlog);
        }
        connections.iter().for_each(|info| self.add(&mut records, info));
        for device in DeviceStats::of(self) {
            records.begin("device").field("name", &device.name);
            add_counters(&mut records, device.counters());
        }
        records
    }

    fn add(&self, records: &mut RecordText, info: &ConnInfo) {
        let nanos = |time: Option<Duration>| time.map_or(0, |time| time.as_nanos());
        let underlay = match info.next_hop {
            LinkAddr::Ethernet(_) => "ethernet",
            LinkAddr::Udp { .. } => "udp",
            LinkAddr::Unix { .. } => "unix",
        };
        records.begin("connection").field("state", info.state);
        records.field("local", info.local).field("peer", info.remote);
        records.field("role", if info.is_server { "accepted" } else { "connected" });
        records.field("receive_queue", info.receive_queue).field("send_queue", info.send_queue);
        records.field("reliability", info.terms.reliability).field("mss", info.mss);
        records.field("agreed_mss", info.terms.mss);
        records.field("crc", info.terms.crc).field("classic", !info.terms.extended);
        records.field("security", info.terms.security);
        if let Some(id) = info.terms.key {
            records.field("key_id", id);
        }
        records.field("underlay", underlay).field("device", self.device_name(info.device));
        records.field("congestion", info.controller);
        records.field("silent_ns", info.silent.as_nanos());
        if let Some(time) = info.ends_in {
            records.field("ends_in_ns", time.as_nanos());
        }
        if let Some(why) = info.blocked_by {
            records.field("blocked_by", why);
        }
        records.field("rtt_is_stale", info.is_rtt_stale);
        records.field("rtt_ns", nanos(info.rtt)).field("min_rtt_ns", nanos(info.least_rtt));
        records.field("rto_ns", info.rto.as_nanos()).field("in_flight", info.in_flight);
        records.field("congestion_window", info.congestion_window);
        records.field("peer_window", info.peer_window);
        add_counters(records, info.stats.counters());
        let drops = info.stats.drops.occurred().map(|(_, n)| n).sum::<u64>();
        records.field("dropped", drops);
    }
}

fn add_counters(records: &mut RecordText, counters: impl Iterator<Item = (&'static str, u64)>) {
    for (name, n) in counters {
        records.field(name, n);
    }
}

#[cfg(test)]
mod tests;
