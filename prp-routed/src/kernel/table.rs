//! Writes what the program reads, a half at a time.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use prp_proto::addr::{DeviceId, LinkAddr, NodeId};
use prp_proto::forward::Forwarder;
use prp_proto::route::NextHop;

use super::layout::{
    COUNTER, COUNTER_BYTES, COUNTER_SENT, COUNTERS, DEVICES, GENERATION, HALVES, Layout, NEIGHBOUR,
    NEIGHBOUR_EXIT, NEIGHBOUR_HEAD, PROBES, ROW, ROW_LIST, key,
};

/// A device frames can leave by.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) struct Exit {
    /// The kernel's number of it.
    pub(super) index: u32,
    /// The longest frame it takes at present.
    pub(super) longest: usize,
}

/// What the kernel has counted of a device.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub struct DeviceCounts {
    /// Frames it received that went on.
    pub frames: u64,
    /// Bytes of those.
    pub bytes: u64,
    /// Frames that went on by it.
    pub sent: u64,
}

/// The table in the memory `words`.
#[derive(Debug)]
pub(super) struct SharedTable<'a> {
    pub(super) words: &'a [AtomicU64],
    pub(super) layout: Layout,
}

impl SharedTable<'_> {
    /// Puts `half` in force: for the next frame, all at once.
    pub(super) fn put_in_force(&self, half: &[u64]) {
        let generation = self.words[GENERATION].load(Ordering::Relaxed);
        let start = (HALVES + (generation as usize + 1) % 2 * self.layout.half()) / 8;
        // A program that sees any of what is written from here on also sees that its half is in
        // force no more.
        fence(Ordering::SeqCst);
        for (to, from) in self.words[start..].iter().zip(half) {
            to.store(*from, Ordering::Relaxed);
        }
        self.words[GENERATION].store(generation.wrapping_add(1), Ordering::Release);
    }

    /// What was counted of `device`.
    pub(super) fn counted(&self, device: usize) -> DeviceCounts {
        if device >= DEVICES {
            return DeviceCounts::default();
        }
        let at = COUNTERS + device * COUNTER;
        let load = |offset: usize| self.words[(at + offset) / 8].load(Ordering::Relaxed);
        DeviceCounts { frames: load(0), bytes: load(COUNTER_BYTES), sent: load(COUNTER_SENT) }
    }
}

/// A half that says what `forwarder` has settled, over devices `exits`.
pub(super) fn half(layout: &Layout, forwarder: &Forwarder, exits: &[Option<Exit>]) -> Vec<u64> {
    let mut half = vec![0; layout.half() / 8];
    let (neighbours, rows) = half.split_at_mut(layout.rows_at() / 8);
    let numbers = write_neighbours(layout, neighbours, forwarder, exits);
    for number in 1..=forwarder.routes().highest() {
        let row =
            rows.get_mut(usize::from(number) * ROW / 8..).and_then(|row| row.get_mut(..ROW / 8));
        if let (Some(row), Some(node)) = (row, NodeId::new(number)) {
            write_row(row, forwarder, exits, &numbers, node);
        }
    }
    half
}

/// Puts the neighbours into their slots; their numbers.
fn write_neighbours(
    layout: &Layout,
    slots: &mut [u64],
    forwarder: &Forwarder,
    exits: &[Option<Exit>],
) -> HashMap<(DeviceId, LinkAddr), u16> {
    let mut numbers = HashMap::new();
    for hop in forwarder.routes().neighbours() {
        let device = usize::from(hop.device.0);
        let (Some(Some(exit)), Some(ours)) = (exits.get(device), forwarder.devices().get(device))
        else {
            continue;
        };
        let (Some(theirs), Some(ours)) = (hop.addr.mac(), ours.addr.mac()) else { continue };
        let key = key(hop.device, theirs);
        let mut near = (0..PROBES).map(|probe| (layout.home(key) + probe) % layout.slots());
        let Some(slot) = near.find(|slot| slots[slot * NEIGHBOUR / 8] == 0) else { continue };
        let mut head = [0; 16];
        head[..6].copy_from_slice(&theirs.0);
        head[6..12].copy_from_slice(&ours.0);
        let entry = &mut slots[slot * NEIGHBOUR / 8..][..NEIGHBOUR / 8];
        entry[0] = key;
        entry[NEIGHBOUR_EXIT / 8] = u64::from(exit.index) | (device as u64) << 32;
        write_bytes(&mut entry[NEIGHBOUR_HEAD / 8..], &head);
        numbers.insert((hop.device, hop.addr), slot as u16 + 1);
    }
    numbers
}

/// Writes the row of `node`.
fn write_row(
    row: &mut [u64],
    forwarder: &Forwarder,
    exits: &[Option<Exit>],
    numbers: &HashMap<(DeviceId, LinkAddr), u16>,
    node: NodeId,
) {
    let number_of = |device, addr| numbers.get(&(device, addr)).copied();
    let mut takers = Vec::new();
    if let Some(settled) = forwarder.settled(node) {
        // A next hop that has no number, or no device at present, is served in user space, with
        // those that share frames with it.
        let exit = |hop: &NextHop| exits.get(usize::from(hop.device.0)).copied().flatten();
        let room = settled.hops.iter().map(|hop| exit(hop).map_or(0, |exit| exit.longest)).min();
        takers.extend(settled.hops.iter().filter_map(|hop| number_of(hop.device, hop.addr)));
        if let Some(room) = room.filter(|_| takers.len() == settled.hops.len()) {
            let share = if takers.len() > 1 { takers.len() as u64 } else { settled.back.into() };
            row[0] = settled.longest.min(room) as u64 | share << 32;
        }
    }
    let hops = forwarder.routes().lookup(node).next_hops();
    let others = hops.iter().filter_map(|hop| number_of(hop.device, hop.addr));
    let others = others.filter(|other| !takers.contains(other));
    let mut list = [0; ROW - ROW_LIST];
    let all = takers.iter().copied().chain(others);
    for (to, number) in list.chunks_exact_mut(2).zip(all) {
        to.copy_from_slice(&number.to_ne_bytes());
    }
    write_bytes(&mut row[ROW_LIST / 8..], &list);
}

/// Has `words` lie in memory as `bytes` do, whose number is a multiple of eight.
fn write_bytes(words: &mut [u64], bytes: &[u8]) {
    let (eights, _) = bytes.as_chunks();
    words.iter_mut().zip(eights).for_each(|(word, eight)| *word = u64::from_ne_bytes(*eight));
}
