//! Memory that two ranks of a node share: a ring of bytes for each direction, and the bell by which
//! a rank wakes another one that sleeps.

mod block;

use std::io::{self, IoSlice};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use std::{fs::File, num::NonZero, slice};

use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::mman::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};
use prp_node::limits::without_size_signal;

pub use self::block::{NamedMemory, SharedBlock};

/// What every mapping begins at a multiple of: the smallest page that Linux has.
const PAGE: usize = 4096;

/// Where the bytes of the first ring begin: the positions have a page to themselves.
const HEAD: usize = PAGE;

/// Bytes that are copied before the other rank is told of them: both copy at the same time then.
const CHUNK: usize = 16 << 10;

/// Bytes that are packed before the other rank is told of them: it takes them apart, which takes as
/// long, while the next ones are packed.
const PACKED: usize = 1 << 10;

/// Most bytes of a ring: a cache of the second level holds the two that a pair uses.
const LARGEST: usize = 256 << 10;

/// Fewest bytes of a ring: some messages of a segment's size.
const SMALLEST: usize = 16 << 10;

/// What all rings of a node may take together if every rank sends much to every other one.
const TOGETHER: usize = 256 << 20;

/// Bytes of a ring where `ranks` are on a node.
fn ring_bytes(ranks: usize) -> usize {
    let most = TOGETHER / (ranks * ranks).max(1);
    let power = if most.is_power_of_two() { most } else { most.next_power_of_two() / 2 };
    power.clamp(SMALLEST, LARGEST)
}

/// The bell of a rank: a descriptor that is readable once it has been rung.
#[derive(Debug)]
pub struct Bell(EventFd);

impl Bell {
    /// A bell that was not rung.
    ///
    /// # Errors
    /// Those of `eventfd`.
    pub fn new() -> io::Result<Self> {
        let flags = EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK;
        Ok(Self(EventFd::from_flags(flags)?))
    }

    /// Wakes the one that waits for it. A bell that was rung very often refuses, and wakes as well.
    pub fn ring(&self) {
        let _ = self.0.write(1);
    }

    /// Whether it was rung since the last time; forgets it.
    pub fn was_rung(&self) -> bool {
        self.0.read().is_ok()
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Positions of a ring: bytes since the beginning. Each is on a cache line of its own, since each
/// is written by another processor.
#[repr(C, align(64))]
struct Positions {
    written: Line<AtomicU64>,
    read: Line<AtomicU64>,
    /// The reader sleeps until something is written.
    reader_sleeps: Line<AtomicU32>,
    /// The writer sleeps until half of the ring is free.
    writer_sleeps: Line<AtomicU32>,
}

#[repr(C, align(64))]
struct Line<T>(T);

/// The mapping of a pair's memory.
#[derive(Debug)]
struct Mapping {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: the memory belongs to no thread, and is reached through atomics and copies only.
unsafe impl Send for Mapping {}
// SAFETY: as for `Send`.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(memory: &impl AsFd, len: usize) -> io::Result<Self> {
        let size = NonZero::new(len).ok_or(io::ErrorKind::InvalidData)?;
        let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: a new mapping at a place that the kernel chooses touches no other memory.
        let base = unsafe { mmap(None, size, access, MapFlags::MAP_SHARED, memory, 0) }?;
        Ok(Self { base: base.cast(), len })
    }

    /// Maps at a multiple of `alignment`, a power of two; returns how far from the beginning of the
    /// mapping that is.
    fn aligned(memory: &impl AsFd, len: usize, alignment: usize) -> io::Result<(Self, usize)> {
        if alignment <= PAGE {
            return Ok((Self::new(memory, len)?, 0));
        }
        let too_long = || io::Error::from(io::ErrorKind::OutOfMemory);
        let whole = len.checked_add(alignment).ok_or_else(too_long)?;
        let flags = MapFlags::MAP_PRIVATE | MapFlags::MAP_NORESERVE;
        let size = NonZero::new(whole).ok_or_else(too_long)?;
        // SAFETY: a new mapping at a place that the kernel chooses touches no other memory.
        let base = unsafe { mmap_anonymous(None, size, ProtFlags::PROT_NONE, flags) }?;
        let room = Self { base: base.cast(), len: whole };
        let at = room.base.addr().get().wrapping_neg() & (alignment - 1);
        let place = room.base.addr().checked_add(at).ok_or_else(too_long)?;
        let size = NonZero::new(len).ok_or_else(too_long)?;
        let access = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        let flags = MapFlags::MAP_SHARED | MapFlags::MAP_FIXED;
        // SAFETY: the mapping takes the place of a part of `room`, which nothing else uses.
        unsafe { mmap(Some(place), size, access, flags, memory, 0) }?;
        Ok((room, at))
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: base and length are those of the mapping, and no reference into it is left: they
        // live as long as this.
        let _ = unsafe { munmap(self.base.cast(), self.len) };
    }
}

/// One end of the memory of a pair.
#[derive(Debug)]
pub struct SharedEnd {
    mapping: Mapping,
    /// Bytes of a ring, a power of two.
    ring: usize,
    /// Which ring this end writes: 0 is the one of the rank that made the memory.
    ours: usize,
    peer: OwnedFd,
}

impl SharedEnd {
    /// Memory for a pair on a node of `ranks`, to be sent to the other rank.
    ///
    /// # Errors
    /// Those of `memfd_create` and `ftruncate`.
    pub fn memory(ranks: usize) -> io::Result<OwnedFd> {
        let flags = MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING;
        let memory = memfd_create(c"prp-mpi", flags)?;
        let file = File::from(memory);
        without_size_signal(|| file.set_len((HEAD + 2 * ring_bytes(ranks)) as u64))?;
        // A process that touches memory which was cut off is killed.
        let seals = SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SEAL;
        fcntl(&file, FcntlArg::F_ADD_SEALS(seals))?;
        Ok(file.into())
    }

    /// The end of the rank that made `memory`, or of the other one. `peer` is the other one's bell.
    ///
    /// # Errors
    /// Those of `mmap`; `InvalidData` if it is no memory of a pair.
    pub fn new(memory: OwnedFd, has_made: bool, peer: OwnedFd) -> io::Result<Self> {
        let file = File::from(memory);
        let len = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        let ring = len.saturating_sub(HEAD) / 2;
        let seals = fcntl(&file, FcntlArg::F_GET_SEALS)?;
        let is_fixed = SealFlag::from_bits_retain(seals).contains(SealFlag::F_SEAL_SHRINK);
        if !ring.is_power_of_two() || len != HEAD + 2 * ring || !is_fixed {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mapping = Mapping::new(&file, len)?;
        Ok(Self { mapping, ring, ours: usize::from(!has_made), peer })
    }

    fn positions(&self, ring: usize) -> &Positions {
        let at = self.mapping.base.as_ptr().cast::<Positions>().wrapping_add(ring);
        // SAFETY: both `Positions` are within the first page, aligned to their size; the memory is
        // zero at first, which they may be, and is changed through atomics only.
        unsafe { &*at }
    }

    /// The bytes of a ring from `position` on, at most `most` in one piece.
    fn piece(&self, ring: usize, position: u64, most: usize) -> (*mut u8, usize) {
        let offset = position as usize & (self.ring - 1);
        let at = self.mapping.base.as_ptr().wrapping_add(HEAD + ring * self.ring + offset);
        (at, most.min(self.ring - offset))
    }

    /// Bytes that are in a ring. The other rank may have written anything.
    fn filled(&self, positions: &Positions) -> io::Result<usize> {
        let written = positions.written.0.load(Ordering::Acquire);
        let read = positions.read.0.load(Ordering::Acquire);
        let filled = written.wrapping_sub(read);
        if filled > self.ring as u64 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(filled as usize)
    }

    /// Takes bytes that are there.
    ///
    /// # Errors
    /// `WouldBlock` if there are none; `InvalidData` if the positions make no sense.
    pub fn read(&self, into: &mut [u8]) -> io::Result<usize> {
        let positions = self.positions(1 - self.ours);
        let mut total = 0;
        while total < into.len() {
            let filled = self.filled(positions)?;
            if filled == 0 {
                break;
            }
            let position = positions.read.0.load(Ordering::Relaxed);
            let most = filled.min(into.len() - total).min(CHUNK);
            let (at, n) = self.piece(1 - self.ours, position, most);
            // SAFETY: the other rank does not write these bytes before the position has moved on.
            into[total..total + n].copy_from_slice(unsafe { slice::from_raw_parts(at, n) });
            positions.read.0.store(position.wrapping_add(n as u64), Ordering::Release);
            total += n;
            if filled - n <= self.ring / 2 {
                self.wake(&positions.writer_sleeps.0);
            }
        }
        if total == 0 && !into.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(total)
    }

    /// Writes what there is room for.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn write(&self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        let positions = self.positions(self.ours);
        let mut total = 0;
        let mut untold = 0;
        let mut position = positions.written.0.load(Ordering::Relaxed);
        let mut room = self.ring - self.filled(positions)?;
        'all: for buf in bufs {
            let mut rest: &[u8] = buf;
            while !rest.is_empty() {
                if room == 0 {
                    self.publish(positions, position);
                    untold = 0;
                    room = self.ring - self.filled(positions)?;
                    if room == 0 {
                        break 'all;
                    }
                }
                let (at, n) = self.piece(self.ours, position, room.min(rest.len()).min(CHUNK));
                // SAFETY: the other rank does not read these bytes before the position has moved
                // on, and there is room for them.
                unsafe { slice::from_raw_parts_mut(at, n) }.copy_from_slice(&rest[..n]);
                (rest, room, total) = (&rest[n..], room - n, total + n);
                (position, untold) = (position.wrapping_add(n as u64), untold + n);
                if untold >= CHUNK {
                    self.publish(positions, position);
                    untold = 0;
                }
            }
        }
        if untold > 0 {
            self.publish(positions, position);
        }
        if total == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(total)
    }

    /// Writes of `len` bytes what there is room for. `pack` writes some at a time where they
    /// belong, from the place on that it is told.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn write_packed(
        &self,
        len: usize,
        mut pack: impl FnMut(usize, &mut [u8]),
    ) -> io::Result<usize> {
        let positions = self.positions(self.ours);
        let mut total = 0;
        let mut position = positions.written.0.load(Ordering::Relaxed);
        let mut room = 0;
        while total < len {
            if room == 0 {
                room = self.ring - self.filled(positions)?;
                if room == 0 {
                    break;
                }
            }
            let (at, n) = self.piece(self.ours, position, room.min(len - total).min(PACKED));
            // SAFETY: the other rank does not read these bytes before the position has moved on,
            // and there is room for them.
            pack(total, unsafe { slice::from_raw_parts_mut(at, n) });
            (room, total, position) = (room - n, total + n, position.wrapping_add(n as u64));
            self.publish(positions, position);
        }
        if total == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(total)
    }

    /// Shows the reader what was written.
    fn publish(&self, positions: &Positions, position: u64) {
        positions.written.0.store(position, Ordering::Release);
        self.wake(&positions.reader_sleeps.0);
    }

    /// Rings if the other rank sleeps.
    fn wake(&self, sleeps: &AtomicU32) {
        // The position is seen by a rank that says after this that it sleeps, or this sees that.
        fence(Ordering::SeqCst);
        if sleeps.load(Ordering::Relaxed) != 0 && sleeps.swap(0, Ordering::Relaxed) != 0 {
            // Only a bell that was rung very often refuses, and it wakes its owner as well.
            let _ = nix::unistd::write(&self.peer, &1_u64.to_ne_bytes());
        }
    }

    /// Says that this rank sleeps until there is something to read, or room. `true` if there is
    /// already, or the memory makes no sense: then it must not sleep.
    pub fn begin_sleep(&self, reads: bool, writes: bool) -> bool {
        let (from, to) = (self.positions(1 - self.ours), self.positions(self.ours));
        from.reader_sleeps.0.store(u32::from(reads), Ordering::Relaxed);
        to.writer_sleeps.0.store(u32::from(writes), Ordering::Relaxed);
        fence(Ordering::SeqCst);
        reads && self.filled(from).map_or(true, |n| n > 0)
            || writes && self.filled(to).map_or(true, |n| n <= self.ring / 2)
    }

    /// Says that this rank is awake.
    pub fn end_sleep(&self) {
        self.positions(1 - self.ours).reader_sleeps.0.store(0, Ordering::Relaxed);
        self.positions(self.ours).writer_sleeps.0.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
