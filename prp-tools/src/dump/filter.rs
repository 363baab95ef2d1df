//! Which frames are shown.

use prp_proto::wire::Frame;

use super::packet::Kind;

/// What a frame must be: all of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Filter {
    pub(super) node: Option<u16>,
    pub(super) port: Option<u16>,
    /// One of these, if there are any.
    pub(super) kinds: Vec<Kind>,
}

impl Filter {
    /// Whether a frame is shown; one that is malformed is only of its own kind.
    pub(super) fn takes(&self, frame: Option<&Frame<'_>>) -> bool {
        let kind = frame.map_or(Kind::Unknown, Kind::of);
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
