//! Memory that the program frees.

use std::io;
use std::ptr::NonNull;
use std::slice;

/// Bytes in memory of the C library: handed to the program, which frees it by `prp_free`.
#[derive(Debug)]
pub(crate) struct Memory {
    start: NonNull<u8>,
    /// How many of the first bytes were taken: moving the others at each small piece that is taken
    /// would cost the square of their number.
    taken: usize,
    /// How many bytes there are, with those that were taken.
    filled: usize,
    capacity: usize,
}

// SAFETY: the block is owned, and the C library frees a block from any thread.
unsafe impl Send for Memory {}

impl Memory {
    /// None, with room for `capacity` of them.
    ///
    /// # Errors
    /// `ENOMEM`.
    pub(crate) fn new(capacity: usize) -> io::Result<Self> {
        let capacity = capacity.max(1);
        // SAFETY: the size is not zero. All of it is set to zero, so that it can be lent as bytes.
        let start = unsafe { libc::calloc(1, capacity) };
        let start = NonNull::new(start.cast()).ok_or_else(no_memory)?;
        Ok(Self { start, taken: 0, filled: 0, capacity })
    }

    /// How many bytes there are that were not taken.
    pub(crate) const fn len(&self) -> usize {
        self.filled - self.taken
    }

    /// Copies the first bytes into `room`, as many as fit; how many.
    pub(crate) fn copy_to(&self, room: &mut [u8]) -> usize {
        // SAFETY: the memory is owned by `self`, and its first `filled` bytes are initialised.
        let all = unsafe { slice::from_raw_parts(self.start.as_ptr(), self.filled) };
        let len = self.len().min(room.len());
        room[..len].copy_from_slice(&all[self.taken..][..len]);
        len
    }

    /// Copies the first bytes into `room`, as many as fit, and takes them; how many.
    pub(crate) fn take_front(&mut self, room: &mut [u8]) -> usize {
        let len = self.copy_to(room);
        self.taken += len;
        len
    }

    /// Moves the bytes to where those that were taken have been.
    pub(crate) fn close_up(&mut self) {
        // SAFETY: the memory is owned by `self`, and its first `filled` bytes are initialised.
        let all = unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.filled) };
        all.copy_within(self.taken.., 0);
        self.filled -= self.taken;
        self.taken = 0;
    }

    /// The room behind the bytes.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        // SAFETY: the memory is owned by `self`, has `capacity` bytes, all of them initialised, and
        // is lent for as long as `self` is.
        unsafe {
            let end = self.start.as_ptr().add(self.filled);
            slice::from_raw_parts_mut(end, self.capacity - self.filled)
        }
    }

    /// The first `bytes` of the room have been filled.
    ///
    /// # Panics
    /// If there is no room for as many.
    pub(crate) fn fill(&mut self, bytes: usize) {
        assert!(bytes <= self.capacity - self.filled, "{bytes} in {self:?}");
        self.filled += bytes;
    }

    /// Doubles the room, to `limit` bytes in all.
    ///
    /// # Errors
    /// `ENOMEM`.
    pub(crate) fn grow(&mut self, limit: usize) -> io::Result<()> {
        let capacity = self.capacity.saturating_mul(2).min(limit).max(self.capacity);
        // SAFETY: `start` is from `calloc` or `realloc`, and replaced at once by what comes back.
        // Without memory the old block stays as it is.
        let start = unsafe { libc::realloc(self.start.as_ptr().cast(), capacity) };
        self.start = NonNull::new(start.cast()).ok_or_else(no_memory)?;
        let fresh = capacity - self.capacity;
        // SAFETY: the block has `capacity` bytes now, of which those behind the old end are fresh.
        unsafe { self.start.as_ptr().add(self.capacity).write_bytes(0, fresh) };
        self.capacity = capacity;
        Ok(())
    }

    /// A copy of `bytes`.
    ///
    /// # Errors
    /// `ENOMEM`.
    pub(crate) fn copy(bytes: &[u8]) -> io::Result<Self> {
        let mut memory = Self::new(bytes.len())?;
        memory.room()[..bytes.len()].copy_from_slice(bytes);
        memory.fill(bytes.len());
        Ok(memory)
    }

    /// The bytes, for the program to free. None of them were taken.
    pub(crate) fn into_raw(self) -> *mut u8 {
        debug_assert_eq!(self.taken, 0, "close_up comes first");
        let start = self.start.as_ptr();
        std::mem::forget(self);
        start
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the block is from `calloc` or `realloc`, and was not handed on.
        unsafe { libc::free(self.start.as_ptr().cast()) };
    }
}

fn no_memory() -> io::Error {
    io::Error::from_raw_os_error(libc::ENOMEM)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_up__leaves_what_was_not_taken_and_room_behind_it() {
        let mut memory = Memory::copy(b"abcdef").unwrap();
        let mut room = [0; 2];
        assert_eq!((memory.take_front(&mut room), room), (2, *b"ab"));
        assert_eq!((memory.copy_to(&mut room), room), (2, *b"cd"));
        assert_eq!((memory.len(), memory.room().len()), (4, 0));
        memory.close_up();
        assert_eq!((memory.len(), memory.room().len()), (4, 2));
        memory.grow(16).unwrap();
        memory.room()[..1].copy_from_slice(b"g");
        memory.fill(1);
        let mut rest = [0; 8];
        assert_eq!((memory.take_front(&mut rest), &rest[..5]), (5, &b"cdefg"[..]));
        assert_eq!((memory.take_front(&mut rest), memory.len()), (0, 0));
    }
}
