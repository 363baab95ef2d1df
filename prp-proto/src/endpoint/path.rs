//! By which path the frames of this node leave (SPEC PRP-PATH).

use super::connection_trace::ConnectionTraces;
use super::send_refusal::RefusedHops;
use super::{Device, Endpoint};
use crate::addr::{DeviceId, LinkAddr, NodeId, Port, PrpAddr};
use crate::connection::Connection;
use crate::error::ConnError;
use crate::event::ConnHandle;
use crate::route::{Flow, NextHop, Route, RouteTable, UnusableHops};
use crate::state::State;
use crate::time::Instant;
use crate::timing::PATH_SILENCE;
use crate::transmit::Path;
use crate::wire::{Control, Flags, Frame, Head, NodeBlock, NodeKind, mss_for_mtu};

impl Endpoint {
    /// Replaces the routes. Connections to nodes that have a path keep running along the new one;
    /// those to nodes without one time out unless it comes back. What was to go to a UDP address
    /// goes there by its new number, or nowhere.
    pub fn set_routes(&mut self, routes: RouteTable) {
        self.unusable = self.unusable.renumbered(&self.routes, &routes);
        let renumber = |addr| routes.renumber(&self.routes, addr);
        for handle in self.table.handles() {
            if let Some(conn) = self.table.get_mut(handle) {
                conn.path.renumber(renumber);
            }
        }
        self.refusals.renumber(renumber);
        self.echoes.renumber(renumber);
        self.routes = routes;
        // They may number other neighbours.
        self.refused_hops = RefusedHops::default();
        self.reselect_all_paths();
    }

    /// Replaces what is known of next hops; whether that is new. Connections go on by the best that
    /// is usable.
    pub fn set_unusable_hops(&mut self, unusable: UnusableHops) -> bool {
        let is_new = self.unusable != unusable;
        if is_new {
            self.unusable = unusable;
            self.reselect_all_paths();
        }
        is_new
    }

    /// What is known of a device.
    pub fn device(&self, id: DeviceId) -> Option<&Device> {
        self.devices.get(usize::from(id.0))
    }

    /// Replaces what is known of a device, after its address or MTU has changed.
    pub fn set_device(&mut self, id: DeviceId, device: Device) {
        if let Some(slot) = self.devices.get_mut(usize::from(id.0)) {
            *slot = device;
        }
        self.reselect_all_paths();
    }

    /// The path the frames of a connection take: device, and address of the next hop.
    pub fn current_path(&self, conn: ConnHandle) -> Option<(DeviceId, LinkAddr)> {
        self.table.get(conn).map(|c| (c.path.device, c.path.to))
    }

    /// Every connection takes its best path (SPEC PRP-PATH-4).
    fn reselect_all_paths(&mut self) {
        for handle in self.table.handles() {
            if let Some(conn) = self.table.get_mut(handle) {
                conn.path_attempts = 0;
                self.apply_path(handle);
            }
        }
    }

    fn apply_path(&mut self, handle: ConnHandle) {
        let Some(conn) = self.table.get(handle) else { return };
        let path = self.path(conn.local.port, conn.remote, conn.path_attempts);
        if let (Some(path), Some(conn)) = (path, self.table.get_mut(handle)) {
            // Which of its node's processes the peer is is no matter of routes.
            let to = if path.to.covers(conn.path.to) { conn.path.to } else { path.to };
            Self::take_path(conn, Path { to, ..path }, &mut self.connection_traces);
            self.requeue_held_back();
        }
    }

    /// Sends the frames of `conn` by `path` from now on.
    fn take_path(conn: &mut Connection, path: Path, traces: &mut ConnectionTraces) {
        let is_other = path.device != conn.path.device || !path.to.is_same_host(conn.path.to);
        conn.path = path;
        if is_other {
            traces.note_path(conn);
        }
    }

    /// A connection gets no answer: its next path may be better (SPEC PRP-PATH-2).
    pub(super) fn fail_over(&mut self, handle: ConnHandle) {
        let Some(conn) = self.table.get_mut(handle) else { return };
        let lost = core::mem::take(&mut conn.lost) && conn.may_change_path();
        if lost && self.routes.lookup(conn.remote.node).next_hops().len() > 1 {
            conn.path_attempts = conn.path_attempts.wrapping_add(1);
            conn.on_path_change();
            self.apply_path(handle);
        }
    }

    /// Takes `frame` if it is a router's word that a request of ours goes no further there (SPEC
    /// PRP-NODE-5); whether it is. A request that has other paths goes by those once it gets no
    /// answer.
    pub(super) fn handle_no_onward_route(&mut self, now: Instant, frame: &Frame<'_>) -> bool {
        let router = frame.head.network.src;
        let Some(handle) = self.ended_by_router(frame).filter(|_| frame.is_whole()) else {
            return false;
        };
        let Some(conn) = self.table.get_mut(handle) else { return false };
        let node = conn.remote.node;
        if self.routes.lookup(node).next_hops().len() == 1 {
            conn.fail(ConnError::NoOnwardRoute { node, router });
            self.settle(handle, now);
        }
        true
    }

    /// The request that `frame`, if it is believed, says goes no further at a router.
    pub(super) fn ended_by_router(&mut self, frame: &Frame<'_>) -> Option<ConnHandle> {
        let ports = frame.head.transport;
        if ports.src_port != Port::CONTROL || !ports.flags.contains(Flags::CTL) {
            return None;
        }
        let block = NodeBlock::parse(frame.payload).filter(|b| b.kind == NodeKind::Unreachable)?;
        let node = u16::try_from(block.stamp).ok().and_then(NodeId::new)?;
        let peer = PrpAddr::new(node, Port::new(block.sequence));
        let handle = self.table.find_for_frame(ports.dst_port, peer)?;
        let conn = self.table.get(handle)?;
        (conn.state == State::ConnWait && conn.ids.local == block.id).then_some(handle)
    }

    /// Whether a repeat or a probe that comes by another path than ours, while nothing comes by
    /// ours, would say that the peer has found one that is not dead (SPEC PRP-PATH-3): if it is
    /// believed.
    #[inline]
    pub(super) fn may_adopt_peer_path(
        &self,
        now: Instant,
        handle: ConnHandle,
        device: DeviceId,
        frame: &Frame<'_>,
    ) -> bool {
        // Most frames are segments and no repeats, and for those the caller need not search for
        // anything.
        let flags = frame.flags();
        (flags.intersects(Flags::RTX | Flags::CREQ) || Control::is_probe(frame))
            && self.table.get(handle).is_some_and(|conn| {
                (conn.path.device != device || !conn.path.to.is_same_host(frame.from))
                    && now.since(conn.last_received) >= PATH_SILENCE
                    && conn.may_change_path()
                    // A peer that asks us while we ask has not named our id.
                    && !(conn.state == State::ConnWait && flags.contains(Flags::CREQ))
                    && self.is_usable_path(conn.remote.node, device, frame.from)
            })
    }

    /// Whether the next hop to `node` that has `from` on `device` may be sent its frames, be it as
    /// the last resort.
    fn is_usable_path(&self, node: NodeId, device: DeviceId, from: LinkAddr) -> bool {
        let mut hops = self.routes.lookup(node).next_hops().iter();
        let hop = hops.find(|hop| hop.device == device && hop.addr.covers(from));
        hop.is_none_or(|hop| {
            self.unusable.is_usable(hop, node) || self.unusable.is_last_resort(hop, node)
        })
    }

    /// Answers by the path that `frame`, a repeat or a probe that was believed, has come.
    pub(super) fn adopt_peer_path(
        &mut self,
        handle: ConnHandle,
        device: DeviceId,
        frame: &Frame<'_>,
    ) {
        let to = frame.from;
        if let Some(ours) =
            self.devices.get(usize::from(device.0)).filter(|d| to.is_datagram() || !d.loopback)
            && let Some(conn) = self.table.get_mut(handle)
        {
            let path = Path { device, own: ours.addr, to, ..conn.path };
            Self::take_path(conn, path, &mut self.connection_traces);
            conn.on_path_change();
            self.requeue_held_back();
        }
    }

    /// Sends the frames of a connection to the process that its peer's come from: at first only
    /// its node is known (SPEC PRP-UDP-4, PRP-UNIX-4).
    pub(super) fn follow_process(&mut self, handle: ConnHandle, from: LinkAddr) {
        if let Some(conn) = self.table.get_mut(handle)
            && conn.path.to.is_same_host(from)
        {
            conn.path.to = from;
        }
    }

    /// The path back to the process that sent `frame`, or to its node if the best path there is not
    /// the one that the frame has come by.
    pub(super) fn path_back(&self, frame: &Frame<'_>) -> Option<Path> {
        let Head { network, transport, .. } = frame.head;
        let path =
            self.path(transport.dst_port, PrpAddr::new(network.src, transport.src_port), 0)?;
        let to = if path.to.covers(frame.from) { frame.from } else { path.to };
        Some(Path { to, ..path })
    }

    /// The path from `local` to `remote` after `path_attempts` others.
    pub(super) fn path(&self, local: Port, remote: PrpAddr, path_attempts: u8) -> Option<Path> {
        let node = remote.node;
        let (id, to) = match self.routes.lookup(node) {
            Route::Local => {
                let at = self.devices.iter().position(|d| d.loopback)?;
                (DeviceId(at as u16), self.devices[at].addr)
            }
            Route::Via(hops) => {
                let here = self.routes.local();
                let flow = Flow {
                    src: here.number(),
                    dst: node.number(),
                    src_port: local.number(),
                    dst_port: remote.port.number(),
                };
                let hop = self.unusable.own(hops, here, node, flow, path_attempts)?;
                (hop.device, hop.addr)
            }
            Route::NoRoute(_) => return None,
        };
        let device = self.devices.get(usize::from(id.0))?;
        Some(Path {
            device: id,
            own: device.addr,
            to,
            ethertype: self.config.ethertype,
            src: self.routes.local(),
            dst: node,
        })
    }

    /// The largest segment that fits every path to `node` (SPEC PRP-PATH-5).
    pub(super) fn largest_segment(&self, node: NodeId) -> Option<u16> {
        let mtu = match self.routes.lookup(node) {
            Route::Local => self.devices.iter().find(|d| d.loopback)?.mtu,
            Route::Via(hops) => {
                let fits = |hop: &NextHop| {
                    let device = self.devices.get(usize::from(hop.device.0))?.mtu;
                    Some(hop.mtu.map_or(device, |mtu| mtu.min(device)))
                };
                hops.iter().filter_map(fits).min()?
            }
            Route::NoRoute(_) => return None,
        };
        mss_for_mtu(mtu, false)
    }

    /// Segments of what size are known to reach `node`. To ourselves and to nodes whose MTU
    /// prphosts states for every path, all of them.
    pub(super) fn proven_size(&self, node: NodeId) -> u16 {
        match self.routes.lookup(node) {
            Route::Local => u16::MAX,
            // Between processes of this machine nothing else limits them.
            Route::Via(hops) if hops.iter().all(|hop| hop.mtu.is_some() || hop.addr.is_unix()) => {
                u16::MAX
            }
            _ => self.proven.get(&node).copied().unwrap_or(0),
        }
    }
}
