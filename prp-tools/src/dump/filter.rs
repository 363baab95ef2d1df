//! Which frames are shown.

use super::decode::DecodedPacket;
use super::packet::PacketKind;

/// What a frame must be to be shown: every condition holds.
#[derive(Clone, Debug, Default)]
pub(super) struct PacketFilter {
    pub(super) node: Option<u16>,
    pub(super) port: Option<u16>,
    /// One of these, if there are any.
    pub(super) kinds: Vec<PacketKind>,
}

impl PacketFilter {
    /// Whether all are shown.
    pub(super) const fn takes_all(&self) -> bool {
        self.node.is_none() && self.port.is_none() && self.kinds.is_empty()
    }

    /// Whether it is shown; what is no packet has neither nodes nor ports.
    pub(super) fn takes(&self, packet: &DecodedPacket<'_>) -> bool {
        let (frame, kind) = (packet.packet(), PacketKind::of(&packet.content));
        let has = |wanted: Option<u16>, ends: Option<[u16; 2]>| {
            wanted.is_none_or(|wanted| ends.is_some_and(|ends| ends.contains(&wanted)))
        };
        let nodes = frame.map(|f| [f.head.network.src.number(), f.head.network.dst.number()]);
        let ports = frame.map(|f| {
            let t = f.head.transport;
            [t.src_port.number(), t.dst_port.number()]
        });
        has(self.node, nodes)
            && has(self.port, ports)
            && (self.kinds.is_empty() || self.kinds.contains(&kind))
    }
}
