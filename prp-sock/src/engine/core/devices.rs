//! The engine's devices: which frames the kernel passes to them, and what it says of them.

use std::io;
use std::sync::Arc;

use prp_proto::addr::{DeviceId, MacAddr, NodeId, Port};
use prp_proto::device::Device;
use prp_proto::event::Disposition;
use prp_proto::hosts::{self, interface_name};
use prp_proto::stats::DropReason;

use super::Core;
use crate::engine::device_slot::{DeviceCounters, DeviceSlot};
use prp_device::{KernelDevice, LinkState, LinkStates, Managed, PortFilter, UdpDevice, Underlay};

/// Misdirected frames after which a filter is installed: half of what one receive batch takes in.
pub(super) const MISDIRECTED: u32 = 16;

/// What the kernel says of a device.
#[derive(Copy, Clone, Debug)]
pub(crate) enum LinkNews {
    /// Nothing.
    Unknown,
    /// It is not there.
    Absent,
    /// How it is.
    There(LinkState),
}

/// Whether a frame is one that a filter would have kept from us.
pub(super) const fn is_misdirected(disposition: Disposition) -> bool {
    use DropReason::{NotOurMac, NotOurNode, NotOurPort};
    matches!(
        disposition,
        Disposition::Transit(_) | Disposition::Dropped(NotOurMac | NotOurNode | NotOurPort)
    )
}

impl Core {
    /// The first of the devices that lead to `node`, and whether it is there, if the kernel says of
    /// all of them that they are absent, down or without a link.
    pub(crate) fn device_down(&self, node: NodeId) -> Option<(DeviceId, bool)> {
        let mut first = None;
        for hop in self.endpoint.routes().lookup(node).next_hops() {
            let slot = self.devices.get(usize::from(hop.device.0))?;
            if slot.usable != Some(false) {
                return None;
            }
            first = first.or_else(|| Some((hop.device, slot.index.is_some())));
        }
        first
    }

    /// Notes of every device, in order, what the kernel says of it, if it says anything. A device
    /// stays the one that it is, whatever it and others are called, as long as that is there. If it
    /// has gone, it is the one that is called by its name of `names` now, if that has the address
    /// that it had, or `is_own` says that prphosts gives it that address: it has been made again.
    /// One that was not there yet is the first that has the name. Whether names have changed.
    pub(in crate::engine) fn note_links(
        &mut self,
        link_states: Option<&LinkStates>,
        names: &[String],
        is_own: impl Fn(&str, MacAddr) -> bool,
    ) -> bool {
        let mut renamed = false;
        for (at, name) in names.iter().enumerate() {
            let id = DeviceId(at as u16);
            let had = self.endpoint.device(id).and_then(|ours| ours.addr.mac());
            let Some(slot) = self.devices.get_mut(at) else { continue };
            let Some(kernel) = slot.io.ethernet() else { continue };
            let Some(link_states) = link_states else {
                self.note_link(id, LinkNews::Unknown);
                continue;
            };
            let is_meant = |mac| {
                had.is_none_or(|had| [mac, MacAddr::ZERO].contains(&had)) || is_own(name, mac)
            };
            let news = match (link_states.follow(kernel, name, is_meant), kernel.index()) {
                (Some(link), _) => LinkNews::There(link),
                (None, Some(_)) => LinkNews::Unknown,
                (None, None) => LinkNews::Absent,
            };
            if let LinkNews::There(link) = news {
                let other = link_states.name(link.index).filter(|now| *now != interface_name(name));
                let other = other.map(|other| hosts::renamed(name, other));
                renamed |= slot.other_name != other;
                slot.other_name = other;
            }
            self.note_link(id, news);
        }
        renamed
    }

    /// Notes what the kernel says of device `id`, which has the address and the MTU that it says
    /// from now on.
    pub(crate) fn note_link(&mut self, id: DeviceId, news: LinkNews) {
        let Some(slot) = self.devices.get_mut(usize::from(id.0)) else { return };
        let link = match news {
            LinkNews::Unknown => return slot.usable = None,
            LinkNews::Absent => return (slot.usable, slot.index) = (Some(false), None),
            LinkNews::There(link) => link,
        };
        (slot.usable, slot.index) = (Some(link.up), Some(link.index));
        let Some(ours) = self.endpoint.device(id).filter(|ours| !ours.loopback) else { return };
        // What its receiving ring has no room for it never takes.
        let device = Device::ethernet(link.mac, link.mtu.min(slot.io.capabilities().mtu));
        if *ours != device {
            self.endpoint.set_device(id, device);
        }
    }

    /// What devices are called by now that were opened by other names.
    pub(in crate::engine) fn other_names(&self) -> Vec<(DeviceId, String)> {
        let slots = self.devices.iter().enumerate();
        slots
            .filter_map(|(at, slot)| Some((DeviceId(at as u16), slot.other_name.clone()?)))
            .collect()
    }

    /// Whether a device is not there.
    pub(in crate::engine) fn lacks_device(&mut self) -> bool {
        self.devices.iter_mut().any(|slot| slot.index.is_none() && slot.io.ethernet().is_some())
    }

    /// Which devices are known to be absent, down or without a link, in order.
    pub(in crate::engine) fn devices_down(&self) -> impl Iterator<Item = bool> {
        self.devices.iter().map(|slot| slot.usable == Some(false))
    }

    /// Notes of every device that is a UDP socket, in order, how large its datagrams may be.
    pub(in crate::engine) fn note_udp_mtus(&mut self, mtus: impl Iterator<Item = Option<u32>>) {
        for (at, (slot, mtu)) in self.devices.iter_mut().zip(mtus).enumerate() {
            let id = DeviceId(at as u16);
            if let (Some(udp), Some(mtu), Some(ours)) =
                (slot.io.udp_mut(), mtu, self.endpoint.device(id))
                && udp.mtu() != mtu
            {
                udp.set_mtu(mtu);
                self.endpoint.set_device(id, Device::new(ours.addr, udp.capabilities()));
            }
        }
    }

    /// Whether something waits at a device that shared memory does not show.
    pub(in crate::engine) fn poll_sockets(&mut self) -> bool {
        self.devices.iter_mut().any(|slot| slot.io.poll_once())
    }

    /// What carries the packets of each device, in order.
    pub(in crate::engine) fn underlays(&self) -> impl Iterator<Item = &dyn Underlay> {
        self.devices.iter().map(|slot| slot.io.as_ref())
    }

    /// Those of the devices that are UDP sockets.
    pub(in crate::engine) fn udp_devices(&mut self) -> impl Iterator<Item = &mut UdpDevice> {
        self.devices.iter_mut().filter_map(|slot| slot.io.udp_mut())
    }

    /// Makes sure the kernel passes frames for `port`, which has just become ours.
    pub(crate) fn refilter(&mut self, port: Port) -> io::Result<()> {
        own(&mut self.devices, &self.node.claims.held_with(port), true);
        if self.filter.passes(port) {
            return Ok(());
        }
        self.close_filter()
    }

    /// Whether frames for `ports` are `ours`: to be told of every port that becomes ours, and of
    /// every one that ceases to be.
    pub(in crate::engine) fn own(
        &mut self,
        ports: &(impl Iterator<Item = Port> + Clone),
        ours: bool,
    ) {
        own(&mut self.devices, ports, ours);
    }

    /// Passes frames for our ports only from now on, and what a steward answers.
    fn close_filter(&mut self) -> io::Result<()> {
        let steward = self.node.steward.is_held();
        let node = self.endpoint.local_node();
        self.apply_filter(PortFilter::new(node, steward, self.node.claims.held()))
    }

    /// Passes frames for our ports only, if everything passed, now that enough has come that is not
    /// for us: there are other processes, and they go on.
    #[cold]
    pub(super) fn close_filter_to_others(&mut self) {
        self.misdirected = 0;
        if self.filter.is_open() {
            // Frames that nobody keeps from us are dropped here.
            let _ = self.close_filter();
        }
    }

    /// Takes the steward's place if this process `may_be` the steward, which answers for ports that
    /// no process owns (SPEC PRP-PORT-4), and gives it up otherwise.
    pub(in crate::engine) fn set_steward(&mut self, may_be: bool) {
        let was = self.node.steward.is_held();
        if may_be {
            self.node.steward.try_take();
        } else {
            self.node.steward.release();
        }
        let is = self.node.steward.is_held();
        if is == was {
            return;
        }
        self.endpoint.answer_unix_echoes(is);
        if !self.filter.is_open() {
            // The next port that becomes ours is another occasion.
            let _ = self.close_filter();
        }
    }

    /// Has the kernel pass what `filter` passes, or more.
    pub(super) fn apply_filter(&mut self, filter: PortFilter) -> io::Result<()> {
        // Of what some devices have and others not, nothing passes for sure.
        self.filter = PortFilter::new(filter.node(), filter.is_steward(), std::iter::empty());
        let devices = &mut self.devices;
        self.filter = widened_to_fit(filter, |filter| {
            kernel_devices(devices).try_for_each(|device| device.set_filter(filter))
        })?;
        Ok(())
    }

    /// Takes the errors that the kernel keeps for the devices' sockets.
    pub(in crate::engine) fn take_errors(&mut self) {
        self.devices.iter_mut().for_each(|device| device.io.take_errors());
    }

    /// The paths past the devices' sockets.
    pub(in crate::engine) fn fast_paths(&mut self) -> Vec<Arc<dyn Managed>> {
        kernel_devices(&mut self.devices).flat_map(|device| device.fast_paths()).collect()
    }

    /// Counters of every device, in order.
    pub(crate) fn device_counters(&mut self) -> impl Iterator<Item = DeviceCounters> {
        self.devices.iter_mut().map(DeviceSlot::counters)
    }
}

/// Has `apply` put `filter` in force, or one that passes more where the kernel has no memory for it
/// (net.core.optmem_max); which one that is.
fn widened_to_fit(
    mut filter: PortFilter,
    mut apply: impl FnMut(&PortFilter) -> io::Result<()>,
) -> io::Result<PortFilter> {
    loop {
        match apply(&filter) {
            Ok(()) => return Ok(filter),
            Err(e) if e.raw_os_error() == Some(libc::ENOMEM) && !filter.is_open() => {
                filter = filter.widened();
            }
            Err(e) => return Err(e),
        }
    }
}

/// Those of `devices` that the kernel filters for us.
fn kernel_devices(devices: &mut [DeviceSlot]) -> impl Iterator<Item = &mut dyn KernelDevice> {
    devices.iter_mut().filter_map(|device| device.io.ethernet())
}

/// Tells `devices` whether frames for `ports` are `ours`.
fn own(devices: &mut [DeviceSlot], ports: &(impl Iterator<Item = Port> + Clone), ours: bool) {
    kernel_devices(devices).for_each(|device| device.tcx_rx().own(ports.clone(), ours));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widened_to_fit__passes_more_where_the_kernel_has_no_memory_for_less() {
        let node = NodeId::new(7).unwrap();
        let mut ports = (0..100).map(|i| Port::new(100 * i + 1));
        let wanted = PortFilter::new(node, true, ports.clone());
        let fit = |most: usize| {
            widened_to_fit(wanted.clone(), |filter| {
                let fits = filter.program().len() <= most;
                if fits { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ENOMEM)) }
            })
        };
        assert_eq!(fit(usize::MAX).unwrap(), wanted);
        let wider = fit(wanted.program().len() / 2).unwrap();
        assert!(!wider.is_open() && wider.is_steward());
        assert!(ports.all(|port| wider.passes(port)));
        assert!(fit(10).unwrap().is_open());
        assert_eq!(fit(0).unwrap_err().raw_os_error(), Some(libc::ENOMEM));
    }
}
