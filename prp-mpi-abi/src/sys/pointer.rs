//! Pointers that come from C.

use std::ffi::{CStr, OsStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;

use prp_mpi::datatype::Datatype;
use prp_mpi::sys::memory::Region;

/// A pointer that the application has passed, to what the parameter is for.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct Ptr<T>(pub(crate) *mut T);

impl<T> Clone for Ptr<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Ptr<T> {}

// SAFETY: what it points to is the application's, which may call from any thread.
unsafe impl<T> Send for Ptr<T> {}
// SAFETY: as for `Send`.
unsafe impl<T> Sync for Ptr<T> {}

/// A buffer.
pub(crate) type Address = Ptr<u8>;

/// The buffer that stands for "in place".
const IN_PLACE: usize = 1;

impl<T: Copy> Ptr<T> {
    /// Whether there is none.
    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// What it points to.
    pub(crate) fn get(self) -> T {
        self.at(0)
    }

    /// Element `index` of the array.
    pub(crate) fn at(self, index: usize) -> T {
        // SAFETY: the caller has passed an array that is long enough, as the standard demands.
        unsafe { self.0.add(index).read_unaligned() }
    }

    /// Writes what it points to, if anything.
    pub(crate) fn put(self, value: T) {
        self.set(0, value);
    }

    /// Writes element `index` of the array, if there is one.
    pub(crate) fn set(self, index: usize, value: T) {
        if !self.0.is_null() {
            // SAFETY: the caller has passed an array that is long enough, as the standard demands.
            unsafe { self.0.add(index).write_unaligned(value) };
        }
    }

    /// The first `count` elements.
    pub(crate) fn list(self, count: usize) -> Vec<T> {
        (0..count).map(|i| self.at(i)).collect()
    }

    /// The address as a number.
    pub(crate) fn address(self) -> usize {
        self.0 as usize
    }

    /// The same address, of something else.
    pub(crate) const fn cast<U>(self) -> Ptr<U> {
        Ptr(self.0.cast())
    }
}

impl Address {
    /// Whether it stands for "in place".
    pub(crate) fn is_in_place(self) -> bool {
        self.address() == IN_PLACE
    }

    /// An address that was kept as a number.
    pub(crate) const fn from_number(number: usize) -> Self {
        Self(std::ptr::with_exposed_provenance_mut(number))
    }

    /// `bytes` further.
    pub(crate) const fn offset(self, bytes: isize) -> Self {
        Self(self.0.wrapping_offset(bytes))
    }

    /// The buffer as a region.
    pub(crate) fn region(self, count: usize, datatype: &Arc<Datatype>) -> Region {
        // SAFETY: the caller has passed a buffer of that many elements, and leaves it alone until
        // the operation is done.
        unsafe { Region::foreign(self.0, count, datatype) }
    }
}

impl Ptr<c_char> {
    /// The text it points to.
    pub(crate) fn text(self) -> String {
        if self.is_null() {
            return String::new();
        }
        // SAFETY: the caller has passed a string, as the standard demands.
        unsafe { CStr::from_ptr(self.0) }.to_string_lossy().into_owned()
    }

    /// The file that it names, which need not be text.
    pub(crate) fn path(self) -> PathBuf {
        if self.is_null() {
            return PathBuf::new();
        }
        // SAFETY: the caller has passed a string, as the standard demands.
        let name = unsafe { CStr::from_ptr(self.0) };
        OsStr::from_bytes(name.to_bytes()).into()
    }

    /// Writes `text` with its end, cut to `room` bytes with it; how long it is then.
    pub(crate) fn put_text(self, text: &str, room: usize) -> c_int {
        let length = text.len().min(room.saturating_sub(1));
        for (i, byte) in text.bytes().take(length).chain([0]).enumerate() {
            self.set(i, byte.cast_signed());
        }
        length as c_int
    }
}

/// An array of counts or displacements, of either size, or a place for one.
#[derive(Copy, Clone, Debug)]
pub(crate) enum Counts {
    /// Of `int`.
    Int(Ptr<c_int>),
    /// Of `MPI_Count` or `MPI_Aint`.
    Long(Ptr<i64>),
}

impl Counts {
    /// Element `index`.
    pub(crate) fn at(self, index: usize) -> i64 {
        match self {
            Self::Int(p) => i64::from(p.at(index)),
            Self::Long(p) => p.at(index),
        }
    }

    /// The first `count` elements.
    pub(crate) fn list(self, count: usize) -> Vec<i64> {
        (0..count).map(|i| self.at(i)).collect()
    }

    /// Writes a number, or `MPI_UNDEFINED` if it does not fit.
    pub(crate) fn put(self, value: i64) {
        self.set(0, value);
    }

    /// Writes element `index`, or `MPI_UNDEFINED` if the number does not fit.
    pub(crate) fn set(self, index: usize, value: i64) {
        match self {
            Self::Int(p) => p.set(index, c_int::try_from(value).unwrap_or(crate::api::UNDEFINED)),
            Self::Long(p) => p.set(index, value),
        }
    }
}

/// Returns a block of memory for `MPI_Alloc_mem` at a multiple of `alignment`, a power of two; null
/// if there is none.
pub(crate) fn allocate(size: usize, alignment: usize) -> Address {
    let Some(size) = size.max(1).checked_next_multiple_of(alignment) else {
        return Address::from_number(0);
    };
    // SAFETY: the alignment is a power of two, and the size is a multiple of it.
    Ptr(unsafe { libc::aligned_alloc(alignment, size) }.cast())
}

/// Gives back what [`allocate`] has given.
pub(crate) fn free(address: Address) {
    // SAFETY: the caller gives back what `MPI_Alloc_mem` has given, once.
    unsafe { libc::free(address.0.cast()) };
}

/// The status of an operation, as the ABI lays it out.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
#[repr(C)]
pub(crate) struct Status {
    pub(crate) source: c_int,
    pub(crate) tag: c_int,
    pub(crate) error: c_int,
    /// Bytes received, low half and high half.
    pub(crate) bytes: [u32; 2],
    pub(crate) cancelled: c_int,
    pub(crate) spare: [c_int; 2],
}
