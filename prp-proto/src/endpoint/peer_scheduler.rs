//! Which connections may send new data to a node, and when.
//!
//! Connections to one node fill the same receiving rings there, and the same caches here. Each with
//! a window of its own in flight, a hundred of them overflow the one and are in none of the other.
//! So all of them share what one connection would have in flight (an ensemble, RFC 9040), and where
//! that is used up they alternate: the next connection sends on for a while instead of a segment or
//! two (deficit round robin, Shreedhar and Varghese 1995). Those with short sends pass those with
//! long ones (RFC 8290), but for every second time.
//!
//! Repeats, acknowledgements and probes wait for no slot, nor does the segment of a connection that
//! has nothing in flight.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use hashbrown::HashMap;

use super::Device;
use crate::addr::NodeId;
use crate::connection::{Connection, SendSlot};
use crate::event::ConnHandle;

/// Bytes, frame costs included, that the others to a node may have in flight when a connection
/// begins to send: the window of one connection with default buffers, of which a receiving ring
/// holds two.
const SHARE: usize = Device::WINDOW;

/// Those that the others may have to a node that states a window of `window` bytes: two windows of
/// [`Device::MAX_WINDOW`], since the buffer there is as large, and a reader that sleeps lets half a
/// window gather.
fn share(window: usize) -> usize {
    SHARE.max(4 * window.min(Device::MAX_WINDOW).saturating_sub(SHARE))
}

/// The queue of what goes to one node.
#[derive(Clone, Debug)]
struct PeerQueue {
    node: NodeId,
    /// Connections that use it.
    conns: u32,
    in_flight: usize,
    /// Those with little to say.
    short: VecDeque<ConnHandle>,
    /// The others.
    long: VecDeque<ConnHandle>,
    /// A short send came last.
    short_was_last: bool,
    /// It is on the list of those to check.
    active: bool,
}

impl PeerQueue {
    const fn new(node: NodeId) -> Self {
        Self {
            node,
            conns: 0,
            in_flight: 0,
            short: VecDeque::new(),
            long: VecDeque::new(),
            short_was_last: false,
            active: false,
        }
    }

    /// Whether a short send is next.
    fn is_short_next(&self) -> bool {
        !self.short.is_empty() && (self.long.is_empty() || !self.short_was_last)
    }

    /// The line of those with little to say, or of the others.
    fn line(&mut self, short: bool) -> &mut VecDeque<ConnHandle> {
        if short { &mut self.short } else { &mut self.long }
    }

    fn has_waiting(&self) -> bool {
        !self.short.is_empty() || !self.long.is_empty()
    }
}

/// The queues of all nodes there are connections to.
#[derive(Clone, Debug)]
pub(super) struct PeerScheduler {
    queues: Vec<PeerQueue>,
    free: Vec<u32>,
    by_node: HashMap<NodeId, u32, foldhash::fast::FixedState>,
    /// Queues on which a connection may be able to send.
    active: VecDeque<u32>,
}

impl PeerScheduler {
    pub(super) fn new(hasher: foldhash::fast::FixedState) -> Self {
        let by_node = HashMap::with_hasher(hasher);
        Self { queues: Vec::new(), free: Vec::new(), by_node, active: VecDeque::new() }
    }

    /// A connection to `node` begins.
    pub(super) fn enter(&mut self, node: NodeId) -> SendSlot {
        let index = self.by_node.get(&node).copied().unwrap_or_else(|| {
            let index = self.free.pop().unwrap_or(self.queues.len() as u32);
            match self.queues.get_mut(index as usize) {
                Some(queue) => *queue = PeerQueue::new(node),
                None => self.queues.push(PeerQueue::new(node)),
            }
            self.by_node.insert(node, index);
            index
        });
        self.queues[index as usize].conns += 1;
        SendSlot::on(index)
    }

    /// A connection is no more.
    pub(super) fn leave(&mut self, send_slot: &SendSlot) {
        self.count(send_slot, 0);
        let queue = &mut self.queues[send_slot.queue as usize];
        queue.conns -= 1;
        if queue.conns == 0 {
            // Connections that still wait in line do not exist.
            queue.short = VecDeque::new();
            queue.long = VecDeque::new();
            self.by_node.remove(&queue.node);
            self.free.push(send_slot.queue);
            let active = core::mem::take(&mut queue.active);
            if active {
                self.active.retain(|index| *index != send_slot.queue);
            }
        }
    }

    /// The connection of `send_slot` has `in_flight` bytes in flight now.
    fn count(&mut self, send_slot: &SendSlot, in_flight: usize) {
        let queue = &mut self.queues[send_slot.queue as usize];
        queue.in_flight = queue.in_flight - send_slot.in_flight + in_flight;
        if in_flight < send_slot.in_flight && queue.has_waiting() {
            self.list(send_slot.queue);
        }
    }

    /// After everything that touches a connection: counts what it has in flight, and puts it in
    /// line if it wants to be.
    #[inline(always)]
    pub(super) fn update(&mut self, conn: &mut Connection) {
        if let Some(in_flight) = conn.uncounted() {
            self.count(&conn.send_slot, in_flight);
            conn.send_slot.in_flight = in_flight;
        }
        if conn.comes() {
            let short = conn.enqueue();
            self.enqueue(conn.handle, &conn.send_slot, short);
        }
    }

    /// Puts `conn`, whose quantum is used up or which is new, at the end of its line: of short
    /// sends if it is `short`.
    fn enqueue(&mut self, conn: ConnHandle, send_slot: &SendSlot, short: bool) {
        self.queues[send_slot.queue as usize].line(short).push_back(conn);
        self.list(send_slot.queue);
    }

    fn list(&mut self, index: u32) {
        let queue = &mut self.queues[index as usize];
        if !core::mem::replace(&mut queue.active, true) {
            self.active.push_back(index);
        }
    }

    /// Whether a connection may be able to send.
    pub(super) fn is_any_active(&self) -> bool {
        !self.active.is_empty()
    }

    /// The next queue to check, and which connection is first there. Each is named once, until
    /// something changes or it is [listed again](Self::requeue).
    pub(super) fn next(&mut self) -> Option<(u32, ConnHandle)> {
        loop {
            let index = self.active.pop_front()?;
            let queue = &mut self.queues[index as usize];
            queue.active = false;
            let short = queue.is_short_next();
            if let Some(conn) = queue.line(short).front().copied() {
                return Some((index, conn));
            }
        }
    }

    /// Whether the connection of `send_slot` may begin to send, whose peer states a window of
    /// `window` bytes.
    pub(super) fn has_room(&self, send_slot: &SendSlot, window: usize) -> bool {
        self.queues[send_slot.queue as usize].in_flight - send_slot.in_flight < share(window)
    }

    /// The first in line has had its quantum.
    pub(super) fn dequeue(&mut self, index: u32) {
        let queue = &mut self.queues[index as usize];
        let short = queue.is_short_next();
        queue.line(short).pop_front();
        queue.short_was_last = short;
    }

    /// There is more to be done on a queue, if a connection waits there.
    pub(super) fn requeue(&mut self, index: u32) {
        if self.queues[index as usize].has_waiting() {
            self.list(index);
        }
    }

    /// Bytes of heap.
    pub(super) fn memory(&self) -> usize {
        let lines = self.queues.iter().map(|queue| queue.short.capacity() + queue.long.capacity());
        lines.sum::<usize>() * size_of::<ConnHandle>()
            + self.queues.capacity() * size_of::<PeerQueue>()
            + (self.free.capacity() + self.active.capacity()) * size_of::<u32>()
            + self.by_node.allocation_size()
    }
}

/// Queues in the order of their nodes, since numbers depend on which came first.
#[cfg(any(test, feature = "testing"))]
impl core::hash::Hash for PeerScheduler {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        let mut scheduler: Vec<_> = self.by_node.iter().collect();
        scheduler.sort_unstable();
        for (node, index) in scheduler {
            let queue = &self.queues[*index as usize];
            (node, queue.in_flight, &queue.short, &queue.long).hash(state);
            (queue.short_was_last, queue.active).hash(state);
        }
    }
}

#[cfg(test)]
mod tests;
