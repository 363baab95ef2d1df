//! Buffers of collective calls that have a part for each rank.

use std::ops::Range;
use std::sync::Arc;

use prp_mpi::datatype::Datatype;
use prp_mpi::sys::memory::Region;

use crate::api::error::{Class, Failure};
use crate::api::message::{refuse_in_place, refuse_overlap, refuse_overlap_of, region, type_of};
use crate::object::Handle;
use crate::sys::pointer::{Address, Counts};

/// A buffer with a part for each rank.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    pub(crate) regions: Vec<Region>,
}

impl Parts {
    /// One part.
    pub(crate) fn single(
        buffer: Address,
        count: i64,
        datatype: Handle,
        comm: Handle,
    ) -> Result<Self, Failure> {
        Ok(Self { regions: vec![region(buffer, count, datatype, comm)?] })
    }

    /// The same number of elements for each rank, one after the other.
    pub(crate) fn equal(
        buffer: Address,
        count: i64,
        datatype: Handle,
        ranks: usize,
        comm: Handle,
    ) -> Result<Self, Failure> {
        refuse_in_place(buffer, comm)?;
        let of = type_of(datatype, comm)?;
        let step = count as isize * of.extent();
        let parts =
            (0..ranks as isize).map(|r| region(buffer.offset(r * step), count, datatype, comm));
        Ok(Self { regions: parts.collect::<Result<_, _>>()? })
    }

    /// As many elements for each rank as it says, and where it says.
    pub(crate) fn listed(
        buffer: Address,
        counts: Counts,
        displacements: Counts,
        datatype: Handle,
        ranks: usize,
        comm: Handle,
    ) -> Result<Self, Failure> {
        refuse_in_place(buffer, comm)?;
        let of = type_of(datatype, comm)?;
        let parts = (0..ranks).map(|r| {
            let at = buffer.offset(displacements.at(r) as isize * of.extent());
            region(at, counts.at(r), datatype, comm)
        });
        Ok(Self { regions: parts.collect::<Result<_, _>>()? })
    }

    /// A datatype for each rank, too, and displacements in bytes.
    pub(crate) fn typed(
        buffer: Address,
        counts: Counts,
        displacements: Counts,
        datatypes: &[Handle],
        comm: Handle,
    ) -> Result<Self, Failure> {
        refuse_in_place(buffer, comm)?;
        let parts = datatypes.iter().enumerate().map(|(r, &datatype)| {
            region(buffer.offset(displacements.at(r) as isize), counts.at(r), datatype, comm)
        });
        Ok(Self { regions: parts.collect::<Result<_, _>>()? })
    }

    /// Fails if a buffer that is sent shares a byte with one of these, which are received.
    pub(crate) fn refuse_overlap(&self, sent: &Region, comm: Handle) -> Result<(), Failure> {
        self.regions.iter().try_for_each(|part| refuse_overlap(sent, part, comm))
    }

    /// The same for all parts of two buffers, each of which is in one piece.
    pub(crate) fn refuse_overlap_of_all(&self, other: &Self, comm: Handle) -> Result<(), Failure> {
        match (self.addresses(), other.addresses()) {
            (Some(sent), Some(received)) => refuse_overlap_of(&sent, &received, comm),
            _ => Ok(()),
        }
    }

    /// The addresses of all parts, if they follow each other without a gap.
    fn addresses(&self) -> Option<Range<usize>> {
        let mut all = self.regions.first()?.addresses()?;
        for part in &self.regions[1..] {
            let next = part.addresses().filter(|next| next.start == all.end)?;
            all.end = next.end;
        }
        Some(all)
    }

    /// Where each part lies when they are packed one after the other, from `start` on.
    pub(crate) fn ranges(&self, start: usize) -> Vec<Range<usize>> {
        let mut at = start;
        let parts = self.regions.iter().map(|r| (at..at + r.len(), at += r.len()).0);
        parts.collect()
    }

    /// Bytes of all.
    pub(crate) fn len(&self) -> usize {
        self.regions.iter().map(Region::len).sum()
    }

    /// Packs all of them into `memory` from `start` on.
    pub(crate) fn pack(&self, memory: &Region, start: usize) {
        for (region, range) in self.regions.iter().zip(self.ranges(start)) {
            memory.part(range).copy_from(region);
        }
    }

    /// Takes all of them out of `memory`, where they lie from `start` on.
    pub(crate) fn unpack(&self, memory: &Region, start: usize) {
        for (region, range) in self.regions.iter().zip(self.ranges(start)) {
            region.clone().copy_from(&memory.part(range));
        }
    }
}

/// A number for the kind of elements, and the bytes of `count` of them: what ranks must agree on.
pub(crate) fn kind(datatype: &Arc<Datatype>, count: i64) -> (u16, u64) {
    let element = datatype.only_basic().map_or(0, prp_mpi::datatype::Basic::code);
    (element, count.max(0) as u64 * datatype.size() as u64)
}

/// A root that is a rank.
pub(crate) fn root_of(root: i32, ranks: usize, comm: Handle) -> Result<usize, Failure> {
    let found = usize::try_from(root).ok().filter(|&r| r < ranks);
    found.ok_or_else(|| {
        let text = format!("root {root} is not in the communicator of {ranks}");
        Failure::new(Class::Root, comm, text)
    })
}
