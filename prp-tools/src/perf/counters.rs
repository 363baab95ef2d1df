//! What an end counts besides its own bytes: processor time, repeats, losses.

use std::collections::BTreeMap;
use std::fs;

use prp_sock::{DeviceStats, EndpointStats, PrpStream};

use super::conn::Conn;
use super::control::{Frames, Outcome};
use super::raw::RawLink;
use super::transport::Transport;
use super::usage::Spent;

/// Counters at the beginning of a leg, to be compared with those at its end.
#[derive(Debug)]
pub(super) struct Counters {
    transport: Transport,
    spent: Spent,
    endpoint: EndpointStats,
    devices: BTreeMap<&'static str, u64>,
    xdp_tx: u64,
    tcx_rx: u64,
    tcp: TcpCounts,
}

/// Segments that the kernel's TCP has counted: of this network namespace.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
struct TcpCounts {
    sent: u64,
    received: u64,
    sent_again: u64,
}

impl Counters {
    /// As they are now. `stream` is any of this process: they share an engine.
    pub(super) fn read(transport: Transport, stream: &PrpStream) -> Self {
        let devices = stream.device_stats().unwrap_or_default();
        Self {
            transport,
            endpoint: stream.endpoint_stats().unwrap_or_default(),
            devices: losses(&devices),
            xdp_tx: devices.iter().map(|device| device.xdp_tx).sum(),
            tcx_rx: devices.iter().map(|device| device.tcx_rx).sum(),
            tcp: TcpCounts::read(),
            spent: Spent::now(),
        }
    }

    /// What has been counted since, of a leg that used `conns`.
    pub(super) fn outcome(&self, stream: &PrpStream, conns: &[Conn]) -> Outcome {
        let Spent { cpu, wake_ups } = Spent::now() - self.spent;
        let now = Self::read(self.transport, stream);
        let mut outcome = Outcome { cpu, wake_ups, ..Outcome::default() };
        match self.transport {
            Transport::Prp => {
                outcome.retransmitted = retransmitted(self.transport, conns);
                outcome.drops = self.drops_until(&now);
                outcome.frames = Frames {
                    sent: now.endpoint.frames_sent - self.endpoint.frames_sent,
                    received: now.endpoint.frames_received - self.endpoint.frames_received,
                };
            }
            Transport::Tcp | Transport::TcpNoOffload | Transport::TcpNoSegmentation => {
                outcome.retransmitted = now.tcp.sent_again.saturating_sub(self.tcp.sent_again);
                outcome.frames = Frames {
                    sent: now.tcp.sent.saturating_sub(self.tcp.sent),
                    received: now.tcp.received.saturating_sub(self.tcp.received),
                };
            }
            Transport::Raw => {}
        }
        outcome.settings = conns.first().map(settings).unwrap_or_default();
        let directions = [
            ("xdp_tx_frames", now.xdp_tx, self.xdp_tx),
            ("tcx_rx_frames", now.tcx_rx, self.tcx_rx),
        ];
        for (name, now, before) in directions.into_iter().filter(|(_, now, before)| now > before) {
            outcome.settings.insert(name.to_owned(), (now - before).to_string());
        }
        outcome
    }

    /// As [`Self::outcome`], of a leg of raw frames.
    pub(super) fn raw_outcome(&self, link: &mut RawLink) -> Outcome {
        let lost = Some(link.lost()).filter(|n| *n > 0);
        let Spent { cpu, wake_ups } = Spent::now() - self.spent;
        Outcome {
            cpu,
            wake_ups,
            frames: link.data_frames(),
            received: link.received(),
            drops: lost.map(|n| ("lost".to_owned(), n)).into_iter().collect(),
            settings: [("segment".to_owned(), link.segment().to_string())].into(),
            ..Outcome::default()
        }
    }

    fn drops_until(&self, now: &Self) -> BTreeMap<String, u64> {
        let protocol = now.endpoint.drops.occurred();
        let protocol = protocol.map(|(why, n)| (why.name(), n - self.endpoint.drops[why]));
        let before = |name: &str| self.devices.get(name).copied().unwrap_or(0);
        let devices = now.devices.iter();
        // The names of `prp stat -s`.
        let devices = devices.map(|(name, n)| (format!("device_{name}"), n - before(name)));
        protocol
            .map(|(name, n)| (name.to_owned(), n))
            .chain(devices)
            .filter(|(_, n)| *n > 0)
            .collect()
    }
}

/// Returns how many segments this end has sent again: of the streams `conns`, or of all of TCP in
/// this network namespace.
pub(super) fn retransmitted(transport: Transport, conns: &[Conn]) -> u64 {
    let of_stream = |conn: &Conn| match conn {
        Conn::Prp(stream) => stream.stats().ok().map(|stats| stats.retransmitted),
        Conn::Tcp { .. } => None,
    };
    match transport {
        Transport::Prp => conns.iter().filter_map(of_stream).sum(),
        Transport::Tcp | Transport::TcpNoOffload | Transport::TcpNoSegmentation => {
            TcpCounts::read().sent_again
        }
        Transport::Raw => 0,
    }
}

/// Frames lost or dropped by all devices, by the name of the counter.
fn losses(devices: &[DeviceStats]) -> BTreeMap<&'static str, u64> {
    let mut sums = BTreeMap::new();
    for (name, n) in devices.iter().flat_map(DeviceStats::losses) {
        *sums.entry(name).or_default() += n;
    }
    sums
}

impl TcpCounts {
    /// Of this network namespace.
    fn read() -> Self {
        Self::of(&fs::read_to_string("/proc/self/net/snmp").unwrap_or_default())
    }

    /// Of the text of /proc/net/snmp. Segments that a device cuts or joins count each.
    fn of(snmp: &str) -> Self {
        let mut rows = snmp.lines().filter_map(|line| line.strip_prefix("Tcp:"));
        let (names, values) = (rows.next().unwrap_or_default(), rows.next().unwrap_or_default());
        let count = |wanted: &str| {
            let mut columns = names.split_whitespace().zip(values.split_whitespace());
            let found = columns.find(|(name, _)| *name == wanted);
            found.and_then(|(_, value)| value.parse().ok()).unwrap_or(0)
        };
        Self { sent: count("OutSegs"), received: count("InSegs"), sent_again: count("RetransSegs") }
    }
}

/// What is in force on a connection.
fn settings(conn: &Conn) -> BTreeMap<String, String> {
    let mut settings = BTreeMap::new();
    let mut set = |name: &str, value: String| settings.insert(name.to_owned(), value);
    match conn {
        Conn::Prp(stream) => {
            if let Ok(terms) = stream.terms() {
                set("segment", terms.mss.to_string());
                set("reliability", terms.reliability.to_string());
                set("crc", terms.crc.to_string());
            }
        }
        Conn::Tcp { stream, .. } => {
            let socket = socket2::SockRef::from(stream);
            if let Ok(mss) = socket.tcp_mss() {
                set("segment", mss.to_string());
            }
            if let Ok(name) = socket.tcp_congestion() {
                let name = String::from_utf8_lossy(&name);
                set("congestion", name.trim_end_matches('\0').to_owned());
            }
        }
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tcp_counts__from_the_kernels_table() {
        let text = "Ip: Forwarding\nIp: 1\nTcp: RtoMin InSegs OutSegs RetransSegs OutRsts\n\
                    Tcp: 200 5 9 17 3\n";
        assert_eq!(TcpCounts::of(text), TcpCounts { sent: 9, received: 5, sent_again: 17 });
        for text in ["", "Tcp: Other\nTcp: 4\n", "Tcp: RetransSegs\n", "Tcp: RetransSegs\nTcp: x\n"]
        {
            assert_eq!(TcpCounts::of(text), TcpCounts::default(), "{text}");
        }
    }
}
