//! Which of several next hops frames take (SPEC PRP-FWD-3, PRP-FWD-4, PRP-WAY).

use alloc::vec::Vec;

use super::NextHop;
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
    /// of its ways. The sums are plain ones of 64 bits, since a program in the kernel has to come
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

/// What is known of next hops. Few are down at any time, and mostly none.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct UnusableHops {
    hops: Vec<(DeviceId, LinkAddr)>,
    devices: Vec<DeviceId>,
}

impl UnusableHops {
    /// Next hops, and devices with all that they reach, that are not to be used.
    pub fn without(hops: Vec<(DeviceId, LinkAddr)>, devices: Vec<DeviceId>) -> Self {
        Self { hops, devices }
    }

    /// Sets whether a next hop may be used; whether that is new.
    pub fn set_usable(
        &mut self,
        device: DeviceId,
        addr: impl Into<LinkAddr>,
        usable: bool,
    ) -> bool {
        let addr = addr.into();
        let known = self.hops.iter().position(|hop| *hop == (device, addr));
        match (known, usable) {
            (Some(at), true) => drop(self.hops.swap_remove(at)),
            (None, false) => self.hops.push((device, addr)),
            _ => return false,
        }
        true
    }

    /// Whether the next hop that has `addr` may be used.
    pub fn is_usable(&self, device: DeviceId, addr: impl Into<LinkAddr>) -> bool {
        let addr = addr.into();
        !self.hops.iter().any(|(at, hop)| *at == device && hop.covers(addr))
            && !self.devices.contains(&device)
    }

    /// The next hop among `hops`, the best first, for frames of `flow` that router `router` has got
    /// from `from`: the best that is usable, and not back to `from` while there is another; among
    /// equals by the flow's hash. None if none is usable.
    pub fn choose<'a>(
        &self,
        hops: &'a [NextHop],
        router: NodeId,
        flow: Flow,
        from: Option<(DeviceId, LinkAddr)>,
    ) -> Option<&'a NextHop> {
        let usable = |hop: &&NextHop| self.is_usable(hop.device, hop.addr);
        let onward = |hop: &&NextHop| {
            from.is_none_or(|(device, addr)| hop.device != device || !hop.addr.covers(addr))
        };
        let Some(best) = hops.iter().filter(usable).find(onward) else {
            // A frame may go back if there is no other way: the neighbour will not send it here
            // again if it has another way, and if it has none the hop limit ends it.
            return hops.iter().find(usable);
        };
        let equals =
            || hops.iter().filter(usable).filter(onward).filter(|hop| hop.metric == best.metric);
        let count = equals().count();
        if count < 2 {
            return Some(best);
        }
        equals().nth(flow.hash(router) as usize % count)
    }

    /// Those among `hops`, the best first, of which [`Self::choose`] takes one for frames that none
    /// of them has brought: several share flows by their hash. Also says whether there is no other,
    /// so that frames go back where they came from.
    pub fn settled(&self, hops: &[NextHop]) -> (Vec<NextHop>, bool) {
        let usable = || hops.iter().filter(|hop| self.is_usable(hop.device, hop.addr));
        let best = usable().next().map(|hop| hop.metric);
        let equals = usable().filter(|hop| Some(hop.metric) == best).copied().collect();
        (equals, usable().nth(1).is_none())
    }

    /// The next hop for frames of this node's own, of `flow`, after `path_attempts` others have
    /// failed: at first that of [`Self::choose`], then the others in order, and so on. Where none
    /// is usable they are tried all the same.
    pub fn own<'a>(
        &self,
        hops: &'a [NextHop],
        local: NodeId,
        flow: Flow,
        path_attempts: u8,
    ) -> Option<&'a NextHop> {
        let first = self.choose(hops, local, flow, None).or_else(|| hops.first())?;
        if path_attempts == 0 {
            return Some(first);
        }
        let alive = hops.iter().any(|hop| self.is_usable(hop.device, hop.addr));
        let others = || {
            hops.iter()
                .filter(|hop| *hop != first && (!alive || self.is_usable(hop.device, hop.addr)))
        };
        match usize::from(path_attempts) % (others().count() + 1) {
            0 => Some(first),
            n => others().nth(n - 1),
        }
    }
}
