//! Which of several next hops frames take (SPEC PRP-FWD-3, PRP-FWD-4, PRP-PATH).

use alloc::vec::Vec;

use super::{NextHop, RouteTable};
use crate::addr::{DeviceId, LinkAddr, NodeId};

/// What the frames of one direction of a connection have in common.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Hash)]
pub struct Flow {
    /// The node that sends.
    pub src: u16,
    /// The node that receives.
    pub dst: u16,
    /// The sender's port.
    pub src_port: u16,
    /// The receiver's port.
    pub dst_port: u16,
}

impl Flow {
    /// What routers multiply their numbers with, to mix them into [`Self::hash`]: the golden
    /// ratio's bits make numbers that are close to each other differ in all of theirs.
    pub const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

    /// What [`Self::hash`] multiplies with, one after the other: those of SplitMix64.
    pub const FACTORS: [u64; 2] = [0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb];

    /// By what router `router` divides flows. The router's number is part of the hash: if all
    /// routers divided flows alike, the second in a row would only see one half, and use only one
    /// of its routes. The sums are plain ones of 64 bits, since a program in the kernel has to come
    /// to the same result.
    pub fn hash(self, router: NodeId) -> u64 {
        let nodes = u64::from(self.src) | u64::from(self.dst) << 16;
        let flow = nodes | u64::from(self.src_port) << 32 | u64::from(self.dst_port) << 48;
        mixed(flow ^ u64::from(router.number()).wrapping_mul(Self::SPREAD))
    }
}

/// Makes every bit of a number change every other bit: the end of SplitMix64 (Steele, Lea, Flood
/// 2014). With less of it two routers may send up to 80 % of all flows alike.
const fn mixed(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(Flow::FACTORS[0]);
    let number = (number ^ (number >> 27)).wrapping_mul(Flow::FACTORS[1]);
    number ^ (number >> 31)
}

/// The frames that a next hop may be sent.
#[derive(Copy, Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum HopUse {
    /// All.
    All,
    /// Those for the neighbour itself: its router has stopped on purpose, and forwards none.
    Itself,
    /// Those for the neighbour itself where no other next hop is left: its router is dead.
    LastResort,
}

/// What is known of next hops. Few are down at any time, and mostly none.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct UnusableHops {
    /// Those that may not be sent all frames.
    hops: Vec<(DeviceId, LinkAddr, HopUse)>,
    /// Without a link.
    devices: Vec<DeviceId>,
}

impl UnusableHops {
    /// Next hops that may not be sent all frames, and devices by which nothing is to be sent.
    pub fn without(hops: Vec<(DeviceId, LinkAddr, HopUse)>, devices: Vec<DeviceId>) -> Self {
        Self { hops, devices }
    }

    /// What this is, which is known of the next hops of routes `before`, of those of routes
    /// `after`.
    #[must_use]
    pub fn renumbered(&self, before: &RouteTable, after: &RouteTable) -> Self {
        let hops = self.hops.iter().filter_map(|(device, addr, hop_use)| {
            Some((*device, after.renumber(before, *addr)?, *hop_use))
        });
        Self { hops: hops.collect(), devices: self.devices.clone() }
    }

    /// Sets the frames that a next hop may be sent; whether that is new.
    pub fn set_use(
        &mut self,
        device: DeviceId,
        addr: impl Into<LinkAddr>,
        hop_use: HopUse,
    ) -> bool {
        let addr = addr.into();
        let known = self.hops.iter().position(|hop| (hop.0, hop.1) == (device, addr));
        match (known, hop_use) {
            (None, HopUse::All) => return false,
            (None, hop_use) => self.hops.push((device, addr, hop_use)),
            (Some(at), HopUse::All) => drop(self.hops.swap_remove(at)),
            (Some(at), hop_use) => {
                return core::mem::replace(&mut self.hops[at].2, hop_use) != hop_use;
            }
        }
        true
    }

    /// Sets whether anything is to be sent by a device; whether that is new.
    pub fn set_device_usable(&mut self, device: DeviceId, usable: bool) -> bool {
        let known = self.devices.iter().position(|known| *known == device);
        match (known, usable) {
            (Some(at), true) => drop(self.devices.swap_remove(at)),
            (None, false) => self.devices.push(device),
            _ => return false,
        }
        true
    }

    /// Whether frames may be sent by `device`.
    pub fn is_device_usable(&self, device: DeviceId) -> bool {
        !self.devices.contains(&device)
    }

    /// The frames that `hop` may be sent, as far as its device has a link.
    pub fn hop_use(&self, hop: &NextHop) -> HopUse {
        let known = self.hops.iter().find(|known| (known.0, known.1) == (hop.device, hop.addr));
        known.map_or(HopUse::All, |known| known.2)
    }

    /// Whether `hop` may be sent frames for `node`.
    pub fn is_usable(&self, hop: &NextHop, node: NodeId) -> bool {
        self.is_device_usable(hop.device)
            && match self.hop_use(hop) {
                HopUse::All => true,
                HopUse::Itself => hop.node == node,
                HopUse::LastResort => false,
            }
    }

    /// Whether `hop` is `node` itself, which may be sent its own frames where nothing better is
    /// left.
    pub fn is_last_resort(&self, hop: &NextHop, node: NodeId) -> bool {
        hop.node == node && self.is_device_usable(hop.device)
    }

    /// The next hop among `hops`, the best first, for frames of `flow` to `node` that router
    /// `router` has got from `from`: the best that is usable, and not back to `from`; among equals
    /// by the flow's hash; then `node` itself; then back. None if none of these is usable.
    pub fn choose<'a>(
        &self,
        hops: &'a [NextHop],
        router: NodeId,
        node: NodeId,
        flow: Flow,
        from: Option<(DeviceId, LinkAddr)>,
    ) -> Option<&'a NextHop> {
        let usable = |hop: &&NextHop| self.is_usable(hop, node);
        let onward = |hop: &&NextHop| {
            from.is_none_or(|(device, addr)| hop.device != device || !hop.addr.covers(addr))
        };
        let Some(best) = hops.iter().filter(usable).find(onward) else {
            let itself = hops.iter().filter(onward).find(|hop| self.is_last_resort(hop, node));
            // A frame may go back if there is no other route: the neighbour will not send it here
            // again if it has another route, and if it has none the hop limit ends it.
            return itself.or_else(|| hops.iter().find(usable));
        };
        let equals =
            || hops.iter().filter(usable).filter(onward).filter(|hop| hop.metric == best.metric);
        let count = equals().count();
        if count < 2 {
            return Some(best);
        }
        equals().nth(flow.hash(router) as usize % count)
    }

    /// Those among `hops`, the best first, of which [`Self::choose`] takes one for frames to `node`
    /// that none of them has brought: several share flows by their hash. Also says whether the only
    /// one takes those too that it has brought.
    pub fn settled(&self, hops: &[NextHop], node: NodeId) -> (Vec<NextHop>, bool) {
        let usable = || hops.iter().filter(|hop| self.is_usable(hop, node));
        let last_resort = || hops.iter().filter(|hop| self.is_last_resort(hop, node));
        let Some(best) = usable().next() else {
            return (last_resort().next().copied().into_iter().collect(), false);
        };
        let equals = usable().filter(|hop| hop.metric == best.metric).copied().collect();
        let is_only = usable().nth(1).is_none() && last_resort().all(|hop| hop == best);
        (equals, is_only)
    }

    /// The next hop for frames of this node's own, of `flow` to `node`, after `path_attempts`
    /// others have failed: at first that of [`Self::choose`], then the others in order, and so on.
    /// Where none is usable they are tried all the same.
    pub fn own<'a>(
        &self,
        hops: &'a [NextHop],
        local: NodeId,
        node: NodeId,
        flow: Flow,
        path_attempts: u8,
    ) -> Option<&'a NextHop> {
        let first = self.choose(hops, local, node, flow, None).or_else(|| hops.first())?;
        if path_attempts == 0 {
            return Some(first);
        }
        let usable = |hop: &NextHop| self.is_usable(hop, node);
        // Usable ones before the last resort, and all in order where there are neither.
        let last_resort = |hop: &NextHop| !usable(hop) && self.is_last_resort(hop, node);
        let alive = hops.iter().any(|hop| usable(hop) || last_resort(hop));
        let ranked = || {
            let others = hops.iter().filter(|hop| *hop != first);
            let better = others.clone().filter(|hop| !alive || usable(hop));
            better.chain(others.filter(|hop| alive && last_resort(hop)))
        };
        match usize::from(path_attempts) % (ranked().count() + 1) {
            0 => Some(first),
            n => ranked().nth(n - 1),
        }
    }
}
