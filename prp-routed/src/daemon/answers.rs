//! What the daemon answers to those who ask.

use prp_node::printable_path;
use prp_proto::key::Keyring;
use prp_proto::time::Instant;

use super::Daemon;
use super::loader::ReloadRequest;
use crate::control::ClientRequest;
use crate::link::Link;
use crate::metrics;
use crate::neighbours::Neighbour;
use crate::report::{self, Question, Reply};

impl Daemon {
    /// A client asks.
    pub(super) fn asked(&mut self, now: Instant, asked: ClientRequest) {
        let ClientRequest { client, may_change, question } = asked;
        let question = match question {
            Ok(question) => question,
            Err(why) => return self.service.answer(client, Reply::Error(why)),
        };
        let value = match question {
            Question::Status if self.latest.is_outdated(&self.settings.hosts) => {
                return self.request_reload(ReloadRequest::Status(client));
            }
            Question::Status => serde_json::to_value(self.status(now)),
            Question::Routes => serde_json::to_value(report::routes(&self.table)),
            Question::Neighbours => serde_json::to_value(self.neighbour_lines()),
            Question::Counters => Ok(report::counters(&self.router)),
            Question::Metrics => {
                let (processes, reloads) = (self.service.processes(), self.reloads);
                let (router, neighbours) = (&mut self.router, &self.neighbours);
                Ok(metrics::text(router, neighbours, processes, reloads).into())
            }
            Question::Reload { dry_run } => {
                if !dry_run && !may_change {
                    let why = "only root and the daemon's own user may reload".into();
                    return self.service.answer(client, Reply::Error(why));
                }
                return self.request_reload(if dry_run {
                    ReloadRequest::DryRun(client)
                } else {
                    ReloadRequest::Apply(Some(client))
                });
            }
        };
        self.service.answer(client, Reply::of(value));
    }

    fn neighbour_lines(&self) -> Vec<report::NeighbourLine> {
        let hosts = self.table.file.hosts();
        let line = |neighbour: &Neighbour| {
            let hop = neighbour.hop;
            let link = self.router.links.get(usize::from(hop.device.0));
            report::NeighbourLine {
                node: hop.node.number(),
                name: hosts.name(hop.node).map(str::to_owned),
                device: link.map_or_else(String::new, |link| link.name().to_owned()),
                mac: neighbour.station.to_string(),
                usable: neighbour.usable,
                link_up: link.is_none_or(Link::is_up),
                liveness: neighbour.liveness(),
                routes: neighbour.routes,
                changes: neighbour.changes,
            }
        };
        self.neighbours.iter().map(line).collect()
    }

    /// What is to be mended, in words.
    fn troubles(&mut self, now: Instant) -> Vec<String> {
        let mismatches: Vec<_> = self.router.mismatches.describe(now, &self.table).collect();
        let names = self.router.links.iter().map(Link::name);
        let mtus = self.router.forwarder.devices().iter().map(|device| device.mtu);
        let mtus: Vec<_> = names.zip(mtus).collect();
        let oversized = report::oversized(self.router.forwarder.stats(), &mtus);
        let of_devices = self.troubles.iter().cloned();
        let edited = self.latest.differs().then(|| {
            let path = printable_path(self.table.file.path());
            format!(
                "{path} was written after it was read; `prp routed reload --dry-run` shows what \
                 differs, `prp routed reload` puts it in force"
            )
        });
        of_devices
            .chain(edited)
            .chain(self.key.problem.clone())
            .chain(oversized)
            .chain(mismatches)
            .collect()
    }

    /// How it is, by what was read of prphosts last.
    pub(super) fn status(&mut self, now: Instant) -> report::Status {
        let hosts = self.table.file.hosts();
        let node = self.table.routes.local();
        report::Status {
            node: node.number(),
            name: hosts.name(node).map(str::to_owned),
            version: env!("CARGO_PKG_VERSION"),
            pid: std::process::id(),
            uptime_seconds: now.since(Instant::ZERO).as_secs(),
            hosts: self.table.file.path().display().to_string(),
            nodes: hosts.len(),
            reloads: self.reloads,
            last_error: self.latest.error().map(str::to_owned),
            last_error_fix: self.latest.fix().map(str::to_owned),
            troubles: self.troubles(now),
            key_id: self.router.forwarder.keyring().map(Keyring::used_id),
            kernel_forwarding: self.router.kernel.status(),
            processes: self.service.processes(),
            devices: report::devices(&mut self.router),
            dropped: report::dropped(&self.router),
            udp: report::udp(&self.router),
        }
    }
}
