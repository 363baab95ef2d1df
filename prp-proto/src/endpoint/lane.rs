//! Which connections may send new data to a node, and when.
//!
//! Connections to one node fill the same receiving rings there, and the same caches here. Each with
//! a window of its own in flight, a hundred of them overflow the one and are in none of the other.
//! So all of them share what one connection would have in flight (an ensemble, RFC 9040), and where
//! that is used up they take turns: the next connection sends on for a while instead of a segment
//! or two (deficit round robin, Shreedhar and Varghese 1995). Those with little to say pass those
//! with much (RFC 8290), but for every second turn.
//!
//! Repeats, acknowledgements and probes wait for nobody, nor does the segment of a connection that has nothing in flight.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use hashbrown::HashMap;

use crate::addr::NodeId;
use crate::connection::{Connection, Turn};
use crate::event::ConnHandle;

/// Bytes, frame costs included, that the others to a node may have in flight when a connection begins to send: the window of
/// one connection with default buffers, of which a receiving ring holds two.
const SHARE: usize = 512 * 1024;

/// The way to one node.
#[derive(Clone, Debug)]
struct Lane {
    node: NodeId,
    /// Connections that use it.
    conns: u32,
    in_flight: usize,
    /// Those with little to say.
    brief: VecDeque<ConnHandle>,
    /// The others.
    bulk: VecDeque<ConnHandle>,
    /// The last turn was one of the brief.
    brief_was_last: bool,
    /// It is on the list of those to look at.
    listed: bool,
}

impl Lane {
    const fn new(node: NodeId) -> Self {
        Self {
            node,
            conns: 0,
            in_flight: 0,
            brief: VecDeque::new(),
            bulk: VecDeque::new(),
            brief_was_last: false,
            listed: false,
        }
    }

    /// Whether it is the turn of one with little to say.
    fn is_brief_next(&self) -> bool {
        !self.brief.is_empty() && (self.bulk.is_empty() || !self.brief_was_last)
    }

    /// The line of those with little to say, or of the others.
    fn line(&mut self, brief: bool) -> &mut VecDeque<ConnHandle> {
        if brief { &mut self.brief } else { &mut self.bulk }
    }

    fn has_waiting(&self) -> bool {
        !self.brief.is_empty() || !self.bulk.is_empty()
    }
}

/// The ways to all nodes there are connections to.
#[derive(Clone, Debug)]
pub(super) struct Lanes {
    lanes: Vec<Lane>,
    free: Vec<u32>,
    by_node: HashMap<NodeId, u32, foldhash::fast::FixedState>,
    /// Lanes on which somebody may be able to send.
    listed: VecDeque<u32>,
}

impl Lanes {
    pub(super) fn new(hasher: foldhash::fast::FixedState) -> Self {
        let by_node = HashMap::with_hasher(hasher);
        Self { lanes: Vec::new(), free: Vec::new(), by_node, listed: VecDeque::new() }
    }

    /// A connection to `node` begins.
    pub(super) fn enter(&mut self, node: NodeId) -> Turn {
        let index = self.by_node.get(&node).copied().unwrap_or_else(|| {
            let index = self.free.pop().unwrap_or(self.lanes.len() as u32);
            match self.lanes.get_mut(index as usize) {
                Some(lane) => *lane = Lane::new(node),
                None => self.lanes.push(Lane::new(node)),
            }
            self.by_node.insert(node, index);
            index
        });
        self.lanes[index as usize].conns += 1;
        Turn::on(index)
    }

    /// A connection is no more.
    pub(super) fn leave(&mut self, turn: &Turn) {
        self.count(turn, 0);
        let lane = &mut self.lanes[turn.lane as usize];
        lane.conns -= 1;
        if lane.conns == 0 {
            // Connections that still stand in line do not exist.
            lane.brief = VecDeque::new();
            lane.bulk = VecDeque::new();
            self.by_node.remove(&lane.node);
            self.free.push(turn.lane);
            let listed = core::mem::take(&mut lane.listed);
            if listed {
                self.listed.retain(|index| *index != turn.lane);
            }
        }
    }

    /// The connection of `turn` has `in_flight` bytes in flight now.
    fn count(&mut self, turn: &Turn, in_flight: usize) {
        let lane = &mut self.lanes[turn.lane as usize];
        lane.in_flight = lane.in_flight - turn.in_flight + in_flight;
        if in_flight < turn.in_flight && lane.has_waiting() {
            self.list(turn.lane);
        }
    }

    /// After everything that touches a connection: counts what it has in flight, and puts it in line if it wants to be.
    #[inline(always)]
    pub(super) fn mind(&mut self, conn: &mut Connection) {
        if let Some(in_flight) = conn.uncounted() {
            self.count(&conn.turn, in_flight);
            conn.turn.in_flight = in_flight;
        }
        if conn.comes() {
            let brief = conn.line_up();
            self.line_up(conn.handle, &conn.turn, brief);
        }
    }

    /// Puts `conn`, whose turn it was or who comes, at the end of its line: of those with little to say if it is `brief`.
    fn line_up(&mut self, conn: ConnHandle, turn: &Turn, brief: bool) {
        self.lanes[turn.lane as usize].line(brief).push_back(conn);
        self.list(turn.lane);
    }

    fn list(&mut self, index: u32) {
        let lane = &mut self.lanes[index as usize];
        if !core::mem::replace(&mut lane.listed, true) {
            self.listed.push_back(index);
        }
    }

    /// Whether somebody may be able to send.
    pub(super) fn is_any_listed(&self) -> bool {
        !self.listed.is_empty()
    }

    /// The next lane to look at, and whose turn it is there. Each is named once, until something changes or it is
    /// [listed again](Self::go_on).
    pub(super) fn next(&mut self) -> Option<(u32, ConnHandle)> {
        loop {
            let index = self.listed.pop_front()?;
            let lane = &mut self.lanes[index as usize];
            lane.listed = false;
            let brief = lane.is_brief_next();
            if let Some(conn) = lane.line(brief).front().copied() {
                return Some((index, conn));
            }
        }
    }

    /// Whether the connection of `turn` may begin to send.
    pub(super) fn has_room(&self, turn: &Turn) -> bool {
        self.lanes[turn.lane as usize].in_flight - turn.in_flight < SHARE
    }

    /// The turn of the first in line is over.
    pub(super) fn step_back(&mut self, index: u32) {
        let lane = &mut self.lanes[index as usize];
        let brief = lane.is_brief_next();
        lane.line(brief).pop_front();
        lane.brief_was_last = brief;
    }

    /// There is more to be done on a lane, if somebody waits there.
    pub(super) fn go_on(&mut self, index: u32) {
        if self.lanes[index as usize].has_waiting() {
            self.list(index);
        }
    }

    /// Bytes of heap.
    pub(super) fn memory(&self) -> usize {
        let lines = self.lanes.iter().map(|lane| lane.brief.capacity() + lane.bulk.capacity());
        lines.sum::<usize>() * size_of::<ConnHandle>()
            + self.lanes.capacity() * size_of::<Lane>()
            + (self.free.capacity() + self.listed.capacity()) * size_of::<u32>()
            + self.by_node.allocation_size()
    }
}

/// Lanes in the order of their nodes, since numbers depend on who came first.
#[cfg(any(test, feature = "testing"))]
impl core::hash::Hash for Lanes {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        let mut lanes: Vec<_> = self.by_node.iter().collect();
        lanes.sort_unstable();
        for (node, index) in lanes {
            let lane = &self.lanes[*index as usize];
            (node, lane.in_flight, &lane.brief, &lane.bulk).hash(state);
            (lane.brief_was_last, lane.listed).hash(state);
        }
    }
}

#[cfg(test)]
mod tests;
