//! The engine's devices: which frames the kernel passes to them, and their return after an error.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use prp_proto::addr::{DeviceId, NodeId, Port};
use prp_proto::endpoint::Device;
use prp_proto::event::Disposition;
use prp_proto::stats::DropReason;
use prp_proto::time::Instant;

use super::Core;
use crate::engine::device_slot::{DeviceCounters, DeviceSlot};
use prp_device::LinkState;
use prp_device::{DeviceIo, KernelDevice, Managed, PortFilter};

/// How long after an error to check whether an interface is there again, and how often: well under
/// the time after which peers give up.
const REVIVE_AFTER: Duration = Duration::from_millis(500);

/// Misdirected frames after which a filter is installed: half of what one receive batch takes in.
pub(super) const MISDIRECTED: u32 = 16;

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
    /// all of them that they are absent, down or without a carrier.
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

    /// Notes of every device, in order, what the kernel says of it: one that has come, or has taken
    /// the name of another one, is used from now on, with the address it has. One of which the
    /// kernel has never spoken is not there if the links are `all_known`, and one that has lost its
    /// name goes on.
    pub(crate) fn note_links(
        &mut self,
        now: Instant,
        all_known: bool,
        links: impl Iterator<Item = Option<LinkState>>,
    ) {
        for (at, (slot, link)) in self.devices.iter_mut().zip(links).enumerate() {
            let is_udp = matches!(slot.io, DeviceIo::Udp(_));
            let absent = (all_known && slot.index.is_none() && !is_udp).then_some(false);
            slot.usable = link.map(|link| link.up).or(absent);
            let Some(link) = link.filter(|link| link.index.is_some()) else { continue };
            if slot.index != link.index {
                slot.index = link.index;
                if slot.io.kernel().is_some_and(|kernel| !kernel.revive()) {
                    self.reopen_at = Some(now + REVIVE_AFTER);
                }
            }
            let id = DeviceId(at as u16);
            let Some(ours) = self.endpoint.device(id).filter(|ours| !ours.loopback) else {
                continue;
            };
            // What its receiving ring has no room for it never takes.
            let fits = slot.io.mtu();
            let mtu = slot.io.kernel().map_or(ours.mtu, |_| link.mtu.min(fits));
            let device = Device::ethernet(link.mac, mtu);
            if *ours != device {
                self.endpoint.set_device(id, device);
            }
        }
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
                self.endpoint.set_device(id, udp.as_device(ours.addr));
            }
        }
    }

    /// Whether something waits at a device that shared memory does not show.
    pub(in crate::engine) fn poll_sockets(&mut self) -> bool {
        self.devices.iter_mut().any(|slot| slot.io.poll_once())
    }

    /// How each device carries what it carries, in order.
    pub(in crate::engine) fn device_ios(&mut self) -> impl Iterator<Item = &mut DeviceIo> {
        self.devices.iter_mut().map(|slot| &mut slot.io)
    }

    /// Makes sure the kernel passes frames for `port`, which has just become ours.
    pub(crate) fn refilter(&mut self, port: Port) -> io::Result<()> {
        own(&mut self.devices, &self.node.claims.held_with(port), true);
        if self.filter.passes(port) {
            return Ok(());
        }
        self.close_filter(self.filter.is_steward())
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
    fn close_filter(&mut self, steward: bool) -> io::Result<()> {
        self.filter = PortFilter::new(self.endpoint.local_node(), steward, self.node.claims.held());
        self.apply_filter()
    }

    /// Passes frames for our ports only, if everything passed, now that enough has come that is not
    /// for us: there are other processes, and they go on.
    #[cold]
    pub(super) fn close_filter_to_others(&mut self) {
        self.misdirected = 0;
        if self.filter.is_open()
            && let Err(e) = self.close_filter(self.filter.is_steward())
        {
            self.fail(e.kind());
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
        if !self.filter.is_open()
            && let Err(e) = self.close_filter(is)
        {
            self.fail(e.kind());
        }
    }

    pub(super) fn apply_filter(&mut self) -> io::Result<()> {
        let Self { devices, filter, .. } = self;
        kernel_devices(devices).try_for_each(|device| device.set_filter(filter))
    }

    /// After a sleep: checks the devices a while after one of them had an error, until all are
    /// there. Not at once, since an interface that is being removed is still to be found.
    pub(in crate::engine) fn revive_devices(&mut self, now: Instant, troubled: bool) {
        if troubled {
            self.devices.iter_mut().for_each(|device| device.io.take_errors());
        }
        let due = self.reopen_at.is_some_and(|at| now >= at);
        if troubled || (due && !kernel_devices(&mut self.devices).all(|device| device.revive())) {
            self.reopen_at = Some(now + REVIVE_AFTER);
        } else if due {
            self.reopen_at = None;
        }
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

/// Those of `devices` that the kernel filters for us.
fn kernel_devices(devices: &mut [DeviceSlot]) -> impl Iterator<Item = &mut dyn KernelDevice> {
    devices.iter_mut().filter_map(|device| device.io.kernel())
}

/// Tells `devices` whether frames for `ports` are `ours`.
fn own(devices: &mut [DeviceSlot], ports: &(impl Iterator<Item = Port> + Clone), ours: bool) {
    kernel_devices(devices).for_each(|device| device.tcx_rx().own(ports.clone(), ours));
}
