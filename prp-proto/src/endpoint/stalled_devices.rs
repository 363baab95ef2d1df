//! Devices that take no more at the moment. What would leave by them waits, and the rest goes on.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::Endpoint;
use crate::addr::DeviceId;
use crate::event::ConnHandle;

/// Devices that take no more, and connections that have something to send by them.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct StalledDevices {
    devices: Vec<DeviceId>,
    /// Connections that have left the queue of those that send, in order.
    held_back: Vec<ConnHandle>,
}

impl StalledDevices {
    /// Returns whether what would leave by `device` has to wait.
    #[inline]
    pub(super) fn contains(&self, device: DeviceId) -> bool {
        self.devices.contains(&device)
    }

    /// Keeps `conn` until its device takes more, or it has another one.
    pub(super) fn hold_back(&mut self, conn: ConnHandle) {
        self.held_back.push(conn);
    }

    /// Returns the place of the first in `queue` that need not wait; `device` tells by which each
    /// leaves.
    pub(super) fn first_to_go<T>(
        &self,
        queue: &VecDeque<T>,
        device: impl Fn(&T) -> DeviceId,
    ) -> Option<usize> {
        queue.iter().position(|waiting| !self.contains(device(waiting)))
    }

    /// Returns the bytes held.
    pub(super) fn memory(&self) -> usize {
        self.devices.capacity() * size_of::<DeviceId>()
            + self.held_back.capacity() * size_of::<ConnHandle>()
    }
}

impl Endpoint {
    /// Says whether `device` takes no more at the moment. What would leave by it waits until it
    /// does; connections that find another path meanwhile go on by that.
    pub fn set_stalled(&mut self, device: DeviceId, is_stalled: bool) {
        if self.stalled.contains(device) == is_stalled {
            return;
        }
        if is_stalled {
            self.stalled.devices.push(device);
        } else {
            self.stalled.devices.retain(|other| *other != device);
            self.requeue_held_back();
        }
    }

    /// Has all that were held back ask again: one of them may have a device that takes more.
    pub(super) fn requeue_held_back(&mut self) {
        self.transmit_queue.extend(self.stalled.held_back.drain(..));
    }
}
