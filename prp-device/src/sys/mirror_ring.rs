//! Copies of frames in memory that one process fills and another one empties: a file in memory
//! whose size is sealed, so that neither process can take memory from the other.
//!
//! Each side writes to words of its own. The process that empties believes nothing that it reads:
//! it never leaves the memory.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use nix::fcntl::{FcntlArg, SealFlag, fcntl};
#[cfg(feature = "raw")]
use nix::sys::memfd::{MFdFlags, memfd_create};

use super::memory::SharedMemory;

const WORD: usize = size_of::<AtomicU64>();

// Where the words are. The words that the two sides write to are in cache lines of their own.
/// The device's number.
const DEVICE: usize = 0;
/// Slots that were filled.
const FILLED: usize = 1;
/// Frames for which there was no slot.
const LOST: usize = 2;
/// Slots that may be filled again.
const EMPTIED: usize = 8;
/// The slots: each has a time, in nanoseconds since 1970, then how many bytes the frame has and,
/// from bit 32 on, how many are here, and these.
const SLOTS: usize = 16;
const BEFORE_BYTES: usize = 2;

/// Slots: what the fastest stream fills in 20 ms. The reader takes nothing for up to 15 ms.
const COUNT: usize = 16_384;

/// The longest frame of a process that goes past packet sockets fits a slot of AF_XDP.
const LONGEST: usize = 2048;

/// A frame that was copied.
#[cfg(feature = "raw")]
#[derive(Debug)]
pub(crate) struct Copied<'a> {
    /// Nanoseconds since 1970.
    pub(crate) time: u64,
    pub(crate) device: u32,
    pub(crate) bytes: &'a [u8],
    pub(crate) len: usize,
}

/// The memory.
#[derive(Debug)]
pub(crate) struct MirrorRing {
    memory: SharedMemory,
    /// Words of it.
    len: usize,
    /// Bytes of a frame that are wanted; of the side that fills, those a slot has room for.
    room: usize,
    /// Slots that this side has filled or emptied.
    count: u64,
    /// Slots that may be filled.
    #[cfg(feature = "fast-paths")]
    limit: u64,
    /// Slots that this side has emptied and not given back, and those that it never gives.
    #[cfg(feature = "raw")]
    kept: u64,
    #[cfg(feature = "raw")]
    unused: u64,
    lost: u64,
    /// The frame of a slot.
    bytes: Vec<u8>,
}

/// Words of a slot for `room` bytes.
const fn slot_words(room: usize) -> usize {
    BEFORE_BYTES + room.div_ceil(WORD)
}

impl MirrorRing {
    /// A new one for the first `most` bytes of each frame, and for at most `frames` frames that
    /// have not been given back; and the file for the other side, which fills it.
    ///
    /// # Errors
    /// No memory or descriptor left.
    #[cfg(feature = "raw")]
    pub(crate) fn new(most: usize, frames: u64) -> io::Result<(Self, OwnedFd)> {
        let room = most.min(LONGEST);
        let file =
            memfd_create(c"prp-mirror", MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING)?;
        let file = std::fs::File::from(file);
        file.set_len(((SLOTS + COUNT * slot_words(room)) * WORD) as u64)?;
        let seals = SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SEAL;
        fcntl(&file, FcntlArg::F_ADD_SEALS(seals))?;
        let mut ring = Self::map(&file, room)?;
        ring.unused = (COUNT as u64).saturating_sub(frames);
        ring.give_back(|| false);
        Ok((ring, file.into()))
    }

    /// The one of `file`, to be filled with frames of `device`.
    ///
    /// # Errors
    /// `InvalidData` if it is none, or its size may change; no memory left.
    #[cfg(feature = "fast-paths")]
    pub(crate) fn open(file: &OwnedFd, device: u32) -> io::Result<Self> {
        let seals = fcntl(file, FcntlArg::F_GET_SEALS)?;
        let bytes = usize::try_from(nix::sys::stat::fstat(file)?.st_size).unwrap_or(0);
        let is_sealed = seals & SealFlag::F_SEAL_SHRINK.bits() != 0;
        let mut rooms = (WORD..=LONGEST).step_by(WORD);
        let room = rooms.find(|room| (SLOTS + COUNT * slot_words(*room)) * WORD == bytes);
        let room = room.filter(|_| is_sealed).ok_or(io::ErrorKind::InvalidData)?;
        let ring = Self::map(file, room)?;
        ring.words()[DEVICE].store(device.into(), Ordering::Relaxed);
        Ok(ring)
    }

    fn map(file: &impl AsFd, room: usize) -> io::Result<Self> {
        let len = SLOTS + COUNT * slot_words(room);
        let memory = SharedMemory::map(file.as_fd(), len * WORD)?;
        Ok(Self {
            memory,
            len,
            room,
            count: 0,
            #[cfg(feature = "fast-paths")]
            limit: 0,
            #[cfg(feature = "raw")]
            kept: 0,
            #[cfg(feature = "raw")]
            unused: 0,
            lost: 0,
            bytes: Vec::new(),
        })
    }

    fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping begins at a page, has `len` words that are initialised, since pages
        // of a file are zeros at first, and lives as long as `self`; the file's size is sealed, so
        // none of its pages can go away. Both processes access it by atomics alone.
        unsafe { std::slice::from_raw_parts(self.memory.base().as_ptr().cast(), self.len) }
    }

    /// Where the slot is that is used after `count` others.
    fn slot(&self, count: u64) -> &[AtomicU64] {
        let words = slot_words(self.room);
        let at = SLOTS + count as usize % COUNT * words;
        &self.words()[at..at + words]
    }

    /// Copies a frame, given in pieces, that leaves at `time`. The other side sees it after
    /// [`Self::publish`].
    #[cfg(feature = "fast-paths")]
    pub(crate) fn put(&mut self, time: u64, pieces: [&[u8]; 4]) {
        if self.count == self.limit {
            // Acquire: it has read the slots that it says it has emptied.
            let emptied = self.words()[EMPTIED].load(Ordering::Acquire);
            self.limit = emptied.wrapping_add(COUNT as u64);
            // The other process may have written anything.
            if self.limit.wrapping_sub(self.count).wrapping_sub(1) >= COUNT as u64 {
                self.limit = self.count;
                self.lost += 1;
                return;
            }
        }
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.clear();
        let len = pieces.iter().map(|piece| piece.len()).sum::<usize>();
        for piece in pieces {
            bytes.extend_from_slice(&piece[..piece.len().min(self.room - bytes.len())]);
        }
        let captured = bytes.len();
        bytes.resize(captured.next_multiple_of(WORD), 0);
        let (before, words) = self.slot(self.count).split_at(BEFORE_BYTES);
        before[0].store(time, Ordering::Relaxed);
        before[1].store(len as u64 | (captured as u64) << 32, Ordering::Relaxed);
        for (word, bytes) in words.iter().zip(bytes.as_chunks().0) {
            word.store(u64::from_ne_bytes(*bytes), Ordering::Relaxed);
        }
        self.bytes = bytes;
        self.count = self.count.wrapping_add(1);
    }

    /// Shows the other side what was copied.
    #[cfg(feature = "fast-paths")]
    pub(crate) fn publish(&self) {
        self.words()[LOST].store(self.lost, Ordering::Relaxed);
        // Release: what the slots have is visible to those who see this.
        self.words()[FILLED].store(self.count, Ordering::Release);
    }

    /// Passes the frames that left before `until` to `take`, in order. The other side may use their
    /// slots again after [`Self::give_back`].
    #[cfg(feature = "raw")]
    pub(crate) fn empty(&mut self, until: u64, take: &mut dyn FnMut(&Copied<'_>)) {
        // Acquire: and so is what the other side wrote before.
        let filled = self.words()[FILLED].load(Ordering::Acquire);
        if filled.wrapping_sub(self.count) > COUNT as u64 {
            // The length makes no sense.
            self.count = filled;
        }
        let device = self.words()[DEVICE].load(Ordering::Relaxed) as u32;
        let mut bytes = std::mem::take(&mut self.bytes);
        while self.count != filled {
            let (before, words) = self.slot(self.count).split_at(BEFORE_BYTES);
            let time = before[0].load(Ordering::Relaxed);
            if time >= until {
                break;
            }
            let lens = before[1].load(Ordering::Relaxed);
            let (len, captured) = (lens as u32 as usize, (lens >> 32) as usize);
            let captured = captured.min(len).min(self.room);
            bytes.clear();
            let words = &words[..captured.div_ceil(WORD)];
            words.iter().for_each(|w| bytes.extend(w.load(Ordering::Relaxed).to_ne_bytes()));
            bytes.truncate(captured);
            take(&Copied { time, device, bytes: &bytes, len });
            self.count = self.count.wrapping_add(1);
            self.kept += 1;
        }
        self.bytes = bytes;
    }

    /// Lets the other side use slots again that were emptied, as many as `may` allows, which is
    /// asked for each.
    #[cfg(feature = "raw")]
    pub(crate) fn give_back(&mut self, mut may: impl FnMut() -> bool) {
        while self.kept > 0 && may() {
            self.kept -= 1;
        }
        // Release: our reads of the slots end before the other side may write to them again.
        let emptied = self.count.wrapping_sub(self.kept + self.unused);
        self.words()[EMPTIED].store(emptied, Ordering::Release);
    }

    /// Frames that were lost since the last call, as the other side says.
    #[cfg(feature = "raw")]
    pub(crate) fn take_lost(&mut self) -> u64 {
        let lost = self.words()[LOST].load(Ordering::Relaxed);
        lost.wrapping_sub(std::mem::replace(&mut self.lost, lost))
    }
}

#[cfg(all(test, feature = "raw", feature = "fast-paths"))]
mod tests {
    use super::*;

    fn pair(most: usize) -> (MirrorRing, MirrorRing) {
        pair_for(most, u64::MAX)
    }

    fn pair_for(most: usize, frames: u64) -> (MirrorRing, MirrorRing) {
        let (reader, file) = MirrorRing::new(most, frames).expect("memory");
        (MirrorRing::open(&file, 7).expect("it is one"), reader)
    }

    fn emptied(reader: &mut MirrorRing, until: u64) -> Vec<(u64, Vec<u8>, usize)> {
        let mut frames = Vec::new();
        reader.empty(until, &mut |frame| {
            assert_eq!(frame.device, 7);
            frames.push((frame.time, frame.bytes.to_vec(), frame.len));
        });
        reader.give_back(|| true);
        frames
    }

    #[test]
    fn empty__what_was_put_in_order_and_cut() {
        let (mut writer, mut reader) = pair(6);
        writer.put(1, [b"ab", b"", b"cdefg", b"h"]);
        writer.put(2, [b"xyz", b"", b"", b""]);
        assert_eq!(emptied(&mut reader, u64::MAX), [], "it is not published");
        writer.publish();
        assert_eq!(emptied(&mut reader, 2), [(1, b"abcdef".to_vec(), 8)]);
        assert_eq!(emptied(&mut reader, 3), [(2, b"xyz".to_vec(), 3)]);
        assert_eq!(emptied(&mut reader, u64::MAX), []);
    }

    #[test]
    fn put__what_finds_no_slot_is_counted() {
        let (mut writer, mut reader) = pair(8);
        for round in 0..3 {
            (0..COUNT + 5).for_each(|n| writer.put(n as u64, [b"frame", b"", b"", b""]));
            writer.publish();
            assert_eq!(emptied(&mut reader, u64::MAX).len(), COUNT, "round {round}");
            assert_eq!(reader.take_lost(), 5);
        }
    }

    #[test]
    fn give_back__as_many_slots_as_it_may() {
        let (mut writer, mut reader) = pair(8);
        let mut fill = |n: usize| {
            (0..n).for_each(|n| writer.put(n as u64, [b"frame", b"", b"", b""]));
            writer.publish();
        };
        fill(COUNT);
        reader.empty(u64::MAX, &mut |_| {});
        let mut left = 10;
        reader.give_back(|| {
            left -= 1;
            left >= 0
        });
        fill(15);
        assert_eq!((reader.take_lost(), emptied(&mut reader, u64::MAX).len()), (5, 10));
        fill(COUNT);
        assert_eq!(reader.take_lost(), 0, "all were given back");
    }

    #[test]
    fn new__for_fewer_frames_than_there_is_room_for() {
        let (mut writer, mut reader) = pair_for(8, 3);
        for round in 0..3 {
            (0..5).for_each(|n| writer.put(n, [b"frame", b"", b"", b""]));
            writer.publish();
            let lost = reader.take_lost();
            assert_eq!((emptied(&mut reader, u64::MAX).len(), lost), (3, 2), "round {round}");
        }
    }

    /// Nothing that the other side writes leads out of the memory.
    #[test]
    fn empty__believes_nothing() {
        let (mut writer, mut reader) = pair(16);
        writer.put(1, [b"frame", b"", b"", b""]);
        writer.slot(0)[1].store(u64::MAX, Ordering::Relaxed);
        writer.publish();
        let frames = emptied(&mut reader, u64::MAX);
        assert_eq!(frames[0].1.len(), 16);
        writer.words()[FILLED].store(u64::MAX / 2, Ordering::Release);
        assert_eq!(emptied(&mut reader, u64::MAX), []);
        // Nor does what the reader says of what it has emptied.
        writer.words()[EMPTIED].store(u64::MAX / 3, Ordering::Release);
        (0..3 * COUNT).for_each(|_| writer.put(1, [b"frame", b"", b"", b""]));
        assert!(writer.lost > 0);
    }

    #[test]
    fn open__only_what_is_sealed() {
        let file = memfd_create(c"other", MFdFlags::MFD_CLOEXEC).expect("memory");
        let file = std::fs::File::from(file);
        file.set_len(((SLOTS + COUNT * slot_words(128)) * WORD) as u64).expect("memory");
        let error = MirrorRing::open(&file.into(), 7).map(drop).map_err(|e| e.kind());
        assert_eq!(error, Err(io::ErrorKind::InvalidData));
    }
}
