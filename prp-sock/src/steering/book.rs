//! The steward's book: who has which ports, and who stands where in which row.
//!
//! A place in a row stays as it is for as long as the row exists, since the steward holds every socket of it
//! open: the kernel moves the last socket into the place of one that is closed. What a process leaves is a
//! gap; when there are too many of them the row is given up for a new one.

use std::collections::BTreeMap;

use prp_proto::addr::Port;

use crate::device::{MAX_STRETCHES, PortMap};

/// A process, as the steward knows it.
#[derive(Copy, Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Member(pub(super) u32);

/// Gaps a row may have before it is given up, if they are as many as those who stand in it. Each gap keeps
/// the memory of a receiving ring; each new row costs everybody new sockets.
const GAPS: usize = 16;

/// Ports are reserved by this many and multiples: where one process ends and another begins, the program
/// grows.
const UNIT: u16 = 32;

/// First port that is given out: as for connections without steering.
const FIRST_HIGH: u16 = 32768;

/// Who has which ports.
#[derive(Debug, Default)]
pub(super) struct Book {
    owners: BTreeMap<Port, Member>,
    /// First and last port, rising and apart.
    reserved: BTreeMap<Port, (Port, Member)>,
}

/// The order of one row.
#[derive(Debug, Default)]
pub(super) struct Row {
    places: Vec<Option<Member>>,
}

impl Book {
    /// Whether there is room for so many more entries: each may part a stretch of the program.
    pub(super) fn has_room(&self, entries: usize) -> bool {
        2 * (self.owners.len() + self.reserved.len() + entries) < MAX_STRETCHES
    }

    /// `port` is `member`'s from now on, whoever had it before: it owns the name.
    pub(super) fn claim(&mut self, member: Member, port: Port) {
        self.owners.insert(port, member);
    }

    /// `port` is no more `member`'s; whether somebody else gets its frames now.
    pub(super) fn release(&mut self, member: Member, port: Port) -> bool {
        let had = self.owners.get(&port) == Some(&member);
        if had {
            self.owners.remove(&port);
        }
        had && self.holder(port).is_some()
    }

    /// Gives `member` a stretch of ports that nobody has, of `count` or fewer.
    pub(super) fn reserve(&mut self, member: Member, count: u16) -> Option<(Port, Port)> {
        let count = count.clamp(UNIT, 8 * UNIT).next_multiple_of(UNIT);
        let (first, last) = self.stretch(count).or_else(|| self.stretch(UNIT))?;
        self.reserved.insert(first, (last, member));
        Some((first, last))
    }

    /// A free stretch of `count` ports.
    fn stretch(&self, count: u16) -> Option<(Port, Port)> {
        let starts = (FIRST_HIGH..=u16::MAX - (count - 1)).step_by(usize::from(UNIT));
        let mut ends = starts.map(|first| (Port::new(first), Port::new(first + (count - 1))));
        ends.find(|(first, last)| {
            let before = self.reserved.range(..=*last).next_back();
            before.is_none_or(|(_, (end, _))| end < first)
                && self.owners.range(*first..=*last).next().is_none()
        })
    }

    /// `member` has nothing any more.
    pub(super) fn forget(&mut self, member: Member) {
        self.owners.retain(|_, owner| *owner != member);
        self.reserved.retain(|_, (_, owner)| *owner != member);
    }

    /// Who gets frames for `port`.
    pub(super) fn holder(&self, port: Port) -> Option<Member> {
        let reserved = || {
            let (_, (last, member)) = self.reserved.range(..=port).next_back()?;
            (port <= *last).then_some(*member)
        };
        self.owners.get(&port).copied().or_else(reserved)
    }

    /// Which place of `row` gets the frames of which port.
    pub(super) fn map(&self, row: &Row) -> PortMap {
        let places: BTreeMap<Member, u16> = (0..)
            .zip(&row.places)
            .filter_map(|(place, member)| member.map(|member| (member, place)))
            .collect();
        // Looked up once per holding, not once per port.
        let mut ports = vec![None; 1 << 16];
        for (first, (last, member)) in &self.reserved {
            let place = places.get(member).copied();
            ports[usize::from(first.number())..=usize::from(last.number())].fill(place);
        }
        for (port, member) in &self.owners {
            ports[usize::from(port.number())] = places.get(member).copied();
        }
        PortMap::new(|port| ports[usize::from(port)])
    }
}

impl Row {
    /// `member` stands behind all others.
    pub(super) fn push(&mut self, member: Member) {
        self.places.push(Some(member));
    }

    /// `member` has left a gap.
    pub(super) fn leave(&mut self, member: Member) {
        for place in &mut self.places {
            *place = place.filter(|other| *other != member);
        }
    }

    /// Whether only gaps are left.
    pub(super) fn is_deserted(&self) -> bool {
        self.places.iter().all(Option::is_none)
    }

    /// Whether there are so many gaps that a new row is better.
    pub(super) fn is_worn(&self) -> bool {
        let gaps = self.places.iter().filter(|place| place.is_none()).count();
        gaps >= GAPS && gaps * 2 >= self.places.len()
    }
}

#[cfg(test)]
mod tests;
