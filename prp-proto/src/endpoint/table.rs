//! Where connections live, and how a frame finds its own.

use alloc::boxed::Box;
use alloc::vec::Vec;

use hashbrown::HashMap;

use crate::addr::{Port, PrpAddr};
use crate::connection::Connection;
use crate::event::ConnHandle;

/// Both ends of a connection as one number: local port, peer node, peer port. The local node is the
/// endpoint's.
fn key(local: Port, remote: PrpAddr) -> u64 {
    u64::from(local.number()) << 32
        | u64::from(remote.node.number()) << 16
        | u64::from(remote.port.number())
}

#[derive(Clone, Debug, Hash)]
struct Slot {
    generation: u32,
    conn: Option<Box<Connection>>,
}

/// Connections by handle and by ends; cost does not depend on how many there are.
#[derive(Clone, Debug)]
pub(super) struct Table {
    slots: Vec<Slot>,
    free: Vec<u32>,
    live: usize,
    by_ends: HashMap<u64, u32, foldhash::fast::FixedState>,
    /// What was found last: frames of a connection come one after another.
    last: Option<(u64, u32)>,
}

impl Table {
    pub(super) fn new(hasher: foldhash::fast::FixedState) -> Self {
        let by_ends = HashMap::with_hasher(hasher);
        Self { slots: Vec::new(), free: Vec::new(), live: 0, by_ends, last: None }
    }

    pub(super) fn len(&self) -> usize {
        self.live
    }

    /// The handle the next connection will get.
    pub(super) fn next_handle(&self) -> ConnHandle {
        match self.free.last() {
            Some(index) => {
                ConnHandle { index: *index, generation: self.slots[*index as usize].generation }
            }
            None => ConnHandle { index: self.slots.len() as u32, generation: 0 },
        }
    }

    /// Stores `conn` under the handle [`Self::next_handle`] gave, which it carries already.
    pub(super) fn insert(&mut self, conn: Box<Connection>) {
        let index = conn.handle.index;
        self.by_ends.insert(key(conn.local.port, conn.remote), index);
        self.last = None;
        self.live += 1;
        if self.free.last() == Some(&index) {
            self.free.pop();
            self.slots[index as usize].conn = Some(conn);
        } else {
            self.slots.push(Slot { generation: 0, conn: Some(conn) });
        }
    }

    pub(super) fn remove(&mut self, handle: ConnHandle) -> Option<Box<Connection>> {
        let slot = self.slots.get_mut(handle.index as usize)?;
        if slot.generation != handle.generation {
            return None;
        }
        let conn = slot.conn.take()?;
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(handle.index);
        self.live -= 1;
        self.forget_ends(handle, key(conn.local.port, conn.remote));
        Some(conn)
    }

    /// Makes the ends of a connection that is over free for another one, though its application
    /// still holds it.
    pub(super) fn unlink(&mut self, handle: ConnHandle) {
        if let Some(ends) = self.get(handle).map(|c| key(c.local.port, c.remote)) {
            self.forget_ends(handle, ends);
        }
    }

    fn forget_ends(&mut self, handle: ConnHandle, ends: u64) {
        self.last = None;
        if self.by_ends.get(&ends) == Some(&handle.index) {
            self.by_ends.remove(&ends);
        }
    }

    pub(super) fn get(&self, handle: ConnHandle) -> Option<&Connection> {
        let slot = self.slots.get(handle.index as usize)?;
        if slot.generation == handle.generation { slot.conn.as_deref() } else { None }
    }

    pub(super) fn get_mut(&mut self, handle: ConnHandle) -> Option<&mut Connection> {
        let slot = self.slots.get_mut(handle.index as usize)?;
        if slot.generation == handle.generation { slot.conn.as_deref_mut() } else { None }
    }

    pub(super) fn find(&self, local: Port, remote: PrpAddr) -> Option<ConnHandle> {
        let index = *self.by_ends.get(&key(local, remote))?;
        self.handle(index)
    }

    /// As [`Self::find`], for a frame.
    pub(super) fn find_for_frame(&mut self, local: Port, remote: PrpAddr) -> Option<ConnHandle> {
        let ends = key(local, remote);
        let index = match self.last {
            Some((last, index)) if last == ends => index,
            _ => *self.by_ends.get(&ends)?,
        };
        self.last = Some((ends, index));
        self.handle(index)
    }

    fn handle(&self, index: u32) -> Option<ConnHandle> {
        let generation = self.slots.get(index as usize)?.generation;
        Some(ConnHandle { index, generation })
    }

    /// Puts everything that decides what happens next into `state`.
    #[cfg(any(test, feature = "testing"))]
    pub(super) fn fingerprint<H: core::hash::Hasher>(&self, state: &mut H) {
        use core::hash::Hash;
        self.slots.hash(state);
        self.free.hash(state);
        let mut ends: Vec<_> = self.by_ends.iter().collect();
        ends.sort_unstable();
        ends.hash(state);
    }

    /// All handles, in order of slot.
    pub(super) fn handles(&self) -> Vec<ConnHandle> {
        (0u32..)
            .zip(&self.slots)
            .filter(|(_, slot)| slot.conn.is_some())
            .map(|(index, slot)| ConnHandle { index, generation: slot.generation })
            .collect()
    }
}
