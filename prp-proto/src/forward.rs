//! Forwarding: what a router does with a frame for another node (SPEC PRP-FWD, PRP-HOPS).
//!
//! A [`Forwarder`] is routes, devices and which next hops are down. It decides about one frame at a
//! time, from its bytes alone, and changes nothing but its counters: a program that has a frame and
//! a `Forwarder` can say what becomes of it. The frame itself is not copied: an [`Egress`] is a
//! new head for the old rest.

mod answer;
mod stats;

use alloc::vec;
use alloc::vec::Vec;

use prp_key::{Keyring, Mode, Refusal};

pub use answer::{Answer, answer, no_onward_route, refuse, reset, reset_here};
pub use stats::{ForwardDrop, ForwardDrops, ForwardStats};

pub use crate::route::Flow;

use crate::addr::{DeviceId, LinkAddr, NodeId};
use crate::device::Device;
use crate::route::{HopUse, NextHop, Route, RouteTable, UnusableHops};
use crate::wire::{
    CrcKey, DeviceName, ETHERNET_LEN, EthernetHeader, Flags, Frame, HEADER_LEN, Head,
    UnreachableCause, packet_header,
};

/// How frames leave: the device, and the headers in front of what came after the old ones.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Egress {
    /// The device.
    pub device: DeviceId,
    /// The neighbour.
    pub to: LinkAddr,
    /// In a datagram without what goes before the network header.
    head: [u8; HEADER_LEN],
}

impl Egress {
    /// The headers: the first 30 bytes of a frame, or the first 16 of a datagram. The rest stays as
    /// it came.
    pub fn head(&self) -> &[u8] {
        if self.to.is_datagram() { packet_header(&self.head) } else { &self.head }
    }
}

/// What becomes of a frame.
#[derive(Copy, Clone, Debug)]
pub enum Outcome<'a> {
    /// It goes on.
    Forward(Egress),
    /// It is for this node: another process's business, unless it is for the control port.
    Local(Frame<'a>),
    /// It goes no further. The frame is there if it was well-formed and sent to this node's
    /// address.
    Dropped(ForwardDrop, Option<Frame<'a>>),
}

/// What is known of the frames for a node before they come, for a router that does not examine
/// each.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FibEntry {
    /// The next hops that take them: one, or several that share them by [`Flow::hash`], in this
    /// order.
    pub hops: Vec<NextHop>,
    /// The longest that all of them take, Ethernet header included.
    pub longest: usize,
    /// It takes those too that it has brought itself. Otherwise those are decided about one by one.
    pub back: bool,
}

/// A router's view: where frames go, and which next hops are usable.
#[derive(Debug)]
pub struct Forwarder {
    ethertype: u16,
    routes: RouteTable,
    devices: Vec<Device>,
    /// By [`DeviceId`], for those that are told why there is no route on.
    names: Vec<DeviceName>,
    unusable: UnusableHops,
    stats: ForwardStats,
    revision: u64,
    keyring: Option<Keyring>,
}

impl Forwarder {
    /// A router for the local node of `routes`, on `devices` (indexed by [`DeviceId`]).
    pub fn new(ethertype: u16, routes: RouteTable, devices: Vec<Device>) -> Self {
        let (names, stats) = (vec![DeviceName::default(); devices.len()], ForwardStats::default());
        let unusable = UnusableHops::default();
        let keyring = None;
        Self { ethertype, routes, devices, names, unusable, stats, revision: 0, keyring }
    }

    /// Has what this node says as a router signed, and what is said to it checked, with `keyring`.
    /// What it forwards needs no key.
    pub fn set_keyring(&mut self, keyring: Option<Keyring>) {
        self.keyring = keyring;
    }

    /// Returns the keys of the cluster, if it has them.
    pub const fn keyring(&self) -> Option<&Keyring> {
        self.keyring.as_ref()
    }

    /// Returns the keys that frames for `node` are signed with, if this node asks that of it.
    pub fn keyring_for(&self, node: NodeId) -> Option<&Keyring> {
        self.keyring.as_ref().filter(|keyring| keyring.least(node.number()) > Mode::Off)
    }

    /// Returns `frame`, which says something outside connections, marked as authentic if the
    /// cluster's key vouches for it (SPEC PRP-KEY-13).
    ///
    /// # Errors
    /// Why it is not to be believed: this node asks for protection of its sender, or it is signed
    /// with a secret that this node does not have.
    pub fn authenticate<'a>(&self, frame: &Frame<'a>) -> Result<Frame<'a>, Refusal> {
        let check = |keyring: &Keyring| {
            keyring.check(frame.packet_header(), frame.payload, frame.rest()).map(drop)
        };
        match self.keyring.as_ref().map_or(Err(Refusal::UnknownKey), check) {
            Ok(()) => Ok(frame.opened(frame.payload)),
            // Anything may follow the payload of a frame that is not signed.
            Err(_) if frame.crc_ok(CrcKey::NONE) => self.take_unsigned(frame, Refusal::Unsigned),
            Err(why) if frame.seems_signed() => Err(why),
            Err(why) => self.take_unsigned(frame, why),
        }
    }

    fn take_unsigned<'a>(&self, frame: &Frame<'a>, why: Refusal) -> Result<Frame<'a>, Refusal> {
        let is_asked = self.keyring_for(frame.head.network.src).is_some();
        if is_asked { Err(why) } else { Ok(*frame) }
    }

    /// The node this is.
    pub fn local(&self) -> NodeId {
        self.routes.local()
    }

    /// The EtherType of the cluster's frames.
    pub const fn ethertype(&self) -> u16 {
        self.ethertype
    }

    /// The routes in force.
    pub const fn routes(&self) -> &RouteTable {
        &self.routes
    }

    /// The devices, by [`DeviceId`].
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// Counters.
    pub const fn stats(&self) -> &ForwardStats {
        &self.stats
    }

    /// Counters, for what becomes of frames after the decision.
    pub const fn stats_mut(&mut self) -> &mut ForwardStats {
        &mut self.stats
    }

    /// Puts other routes in force: from the next frame on, all at once. What is known of next hops
    /// stays.
    pub fn set_routes(&mut self, routes: RouteTable) {
        self.unusable = self.unusable.renumbered(&self.routes, &routes);
        self.routes = routes;
        self.revision += 1;
    }

    /// Adds a device, called `name`; it gets the next number.
    pub fn add_device(&mut self, device: Device, name: &str) {
        self.devices.push(device);
        self.names.push(DeviceName::new(name));
        self.revision += 1;
    }

    /// Replaces what is known of a device, after its address or MTU has changed.
    pub fn set_device(&mut self, id: DeviceId, device: Device) {
        if let Some(slot) = self.devices.get_mut(usize::from(id.0))
            && *slot != device
        {
            *slot = device;
            self.revision += 1;
        }
    }

    /// Sets the frames that a next hop may be sent; whether that is new.
    pub fn set_use(
        &mut self,
        device: DeviceId,
        addr: impl Into<LinkAddr>,
        hop_use: HopUse,
    ) -> bool {
        let new = self.unusable.set_use(device, addr, hop_use);
        self.revision += u64::from(new);
        new
    }

    /// Sets whether a device has a link; whether that is new.
    pub fn set_link_up(&mut self, device: DeviceId, link_up: bool) -> bool {
        let new = self.unusable.set_device_usable(device, link_up);
        self.revision += u64::from(new);
        new
    }

    /// Another number after each change to what becomes of frames.
    pub const fn revision(&self) -> u64 {
        self.revision
    }

    /// Decides about what `device` received from the neighbour at `from`, and counts it: an
    /// Ethernet frame, whose source that is, or on a device for UDP the payload of a datagram from
    /// an address that prphosts lists. Never panics, whatever the bytes are.
    pub fn handle_packet<'a>(
        &mut self,
        device: DeviceId,
        from: LinkAddr,
        bytes: &'a [u8],
    ) -> Outcome<'a> {
        let outcome = self.decide(device, from, bytes);
        self.count(&outcome, bytes.len());
        outcome
    }

    fn count(&mut self, outcome: &Outcome<'_>, len: usize) {
        match outcome {
            Outcome::Forward(_) => self.stats.forwarded(len),
            Outcome::Local(_) => self.stats.local += 1,
            Outcome::Dropped(why, _) => self.stats.drops.count(*why),
        }
    }

    /// As [`Self::handle_packet`], without counting.
    pub fn decide<'a>(&self, device: DeviceId, from: LinkAddr, bytes: &'a [u8]) -> Outcome<'a> {
        let own = self.devices.get(usize::from(device.0)).map(|ours| ours.addr);
        let Some(own) = own else { return Outcome::Dropped(ForwardDrop::NotOurMac, None) };
        let frame = match Frame::parse_at(own, from, bytes, self.ethertype) {
            Ok(frame) => frame,
            Err(e) => return Outcome::Dropped(e.into(), None),
        };
        if !frame.is_for(own) {
            return Outcome::Dropped(ForwardDrop::NotOurMac, None);
        }
        let network = frame.head.network;
        // PRP-FWD-1: no host spends our next hops with a forged source.
        if !self.routes.is_source(network.src, device, frame.from) {
            return Outcome::Dropped(ForwardDrop::BadSource, Some(frame));
        }
        if network.dst == self.routes.local() {
            return Outcome::Local(frame);
        }
        match self.depart(&frame, device) {
            Ok(departure) => Outcome::Forward(departure),
            Err(why) => Outcome::Dropped(why, Some(frame)),
        }
    }

    fn depart(&self, frame: &Frame<'_>, arrival: DeviceId) -> Result<Egress, ForwardDrop> {
        let Head { network, transport, .. } = frame.head;
        let hops = transport.flags.hops();
        if hops >= Flags::MAX_HOPS {
            return Err(ForwardDrop::HopLimit);
        }
        let flow = Flow {
            src: network.src.number(),
            dst: network.dst.number(),
            src_port: transport.src_port.number(),
            dst_port: transport.dst_port.number(),
        };
        let next = self.next_hop(network.dst, flow, Some((arrival, frame.from)))?;
        let out = self.devices.get(usize::from(next.device.0)).ok_or(ForwardDrop::NoRoute)?;
        if frame.packet().len() > room(&next, out) {
            return Err(ForwardDrop::TooBig);
        }
        let ethernet = EthernetHeader::between(out.addr, next.addr, self.ethertype);
        let mut head = Head { ethernet, ..frame.head };
        head.transport.flags = transport.flags.with_hops(hops + 1);
        Ok(Egress { device: next.device, to: next.addr, head: head.emit() })
    }

    /// The next hop for frames of `flow` to `node`, its destination (SPEC PRP-FWD-3, PRP-FWD-4):
    /// the best that is usable, and not back to `from` while there is another; among equals by the
    /// flow's hash.
    ///
    /// # Errors
    /// [`ForwardDrop::NoRoute`] without a route, [`ForwardDrop::AllDown`] if none of its next hops
    /// is usable.
    pub fn next_hop(
        &self,
        node: NodeId,
        flow: Flow,
        from: Option<(DeviceId, LinkAddr)>,
    ) -> Result<NextHop, ForwardDrop> {
        let hops = match self.routes.lookup(node) {
            Route::Via(hops) => hops,
            Route::Local | Route::NoRoute(_) => return Err(ForwardDrop::NoRoute),
        };
        let found = self.unusable.choose(hops, self.routes.local(), node, flow, from);
        found.copied().ok_or(ForwardDrop::AllDown)
    }

    /// Why there is no usable route to `node`, where [`Self::next_hop`] finds none.
    pub fn unreachable_cause(&self, node: NodeId) -> UnreachableCause {
        let Some(best) = self.routes.lookup(node).next_hops().first() else {
            return UnreachableCause::NoRoute;
        };
        if self.unusable.is_device_usable(best.device) {
            return UnreachableCause::RouterDown(best.node);
        }
        let name = self.names.get(usize::from(best.device.0));
        UnreachableCause::DeviceDown(name.copied().unwrap_or_default())
    }

    /// What becomes of well-formed frames for `node` from their right sources, whatever else they
    /// say: none where they are dropped or are for this node.
    pub fn settled(&self, node: NodeId) -> Option<FibEntry> {
        let list = self.routes.lookup(node).next_hops();
        let (hops, back) = self.unusable.settled(list, node);
        let longest = |hop: &NextHop| {
            let out = self.devices.get(usize::from(hop.device.0))?;
            Some(room(hop, out) + ETHERNET_LEN)
        };
        // None, which is the least, where a hop has no device.
        let longest = hops.iter().map(longest).min()??;
        Some(FibEntry { hops, longest, back })
    }
}

/// The most bytes after an Ethernet header, or in a datagram, that go by `hop`, over device `out`.
fn room(hop: &NextHop, out: &Device) -> usize {
    hop.mtu.map_or(out.mtu, |mtu| mtu.min(out.mtu)) as usize
}

#[cfg(test)]
mod tests;
