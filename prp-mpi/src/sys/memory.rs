//! Memory that messages are sent from and received into.

use std::ops::Range;
use std::sync::Arc;

use super::protection::Closed;
use super::strided;
use crate::datatype::{Datatype, Pieces};

/// A buffer of an application, or of a collective operation, seen as the packed bytes of its
/// elements.
///
/// Every holder of a region may read and write its bytes: the exchange's lock orders them.
#[derive(Clone, Debug)]
pub struct Region {
    base: *mut u8,
    len: usize,
    /// How the bytes lie in memory, unless they lie in one piece.
    layout: Option<Arc<Datatype>>,
    /// Pages that the application may not touch yet; its bytes lie in one piece then.
    closed: Option<Arc<Closed>>,
    _keep: Option<Arc<Owned>>,
}

/// Memory that a region keeps alive by itself.
#[derive(Debug)]
struct Owned {
    base: *mut u8,
    len: usize,
}

// SAFETY: the memory was leaked from a box of bytes, which any thread may free.
unsafe impl Send for Owned {}
// SAFETY: the fields do not change, and the bytes are only reached through regions.
unsafe impl Sync for Owned {}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: base and length are those of the box that was leaked for this region, and no
        // region is left.
        drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(self.base, self.len)) });
    }
}

impl From<Vec<u8>> for Region {
    /// Has the region keep the bytes.
    fn from(bytes: Vec<u8>) -> Self {
        let len = bytes.len();
        let base = Box::leak(bytes.into_boxed_slice()).as_mut_ptr();
        let keep = (len > 0).then(|| Arc::new(Owned { base, len }));
        Self { base, len, layout: None, closed: None, _keep: keep }
    }
}

// SAFETY: the memory is the application's or our own, neither of which is bound to a thread; the
// exchange's lock is held by every thread that reaches it.
unsafe impl Send for Region {}
// SAFETY: as for `Send`.
unsafe impl Sync for Region {}

impl Region {
    /// `count` elements of `datatype` at `base`.
    ///
    /// # Safety
    /// Until the last clone is dropped, all bytes of the elements must be readable, and writable if
    /// the region is received into; nothing else may use them as MPI forbids it for a
    /// buffer in use.
    pub unsafe fn foreign(base: *mut u8, count: usize, datatype: &Arc<Datatype>) -> Self {
        let len = count.saturating_mul(datatype.size());
        if datatype.is_contiguous() || len == 0 {
            let base = base.wrapping_offset(datatype.first_byte());
            return Self { base, len, layout: None, closed: None, _keep: None };
        }
        Self { base, len, layout: Some(datatype.clone()), closed: None, _keep: None }
    }

    /// Memory of its own, all zero.
    pub fn owned(len: usize) -> Self {
        Self::from(vec![0; len])
    }

    /// Part of a region in one piece.
    ///
    /// # Panics
    /// If the region is not in one piece, or ends before the part does.
    pub fn part(&self, range: Range<usize>) -> Self {
        assert!(self.layout.is_none() && range.start <= range.end && range.end <= self.len);
        Self {
            base: self.base.wrapping_add(range.start),
            len: range.len(),
            layout: None,
            closed: None,
            _keep: self._keep.clone(),
        }
    }

    /// `count` elements of `datatype`, seen from byte `at` of this on, which lies in one piece.
    /// `None` if they reach beyond it.
    pub fn elements(&self, at: isize, count: usize, datatype: &Arc<Datatype>) -> Option<Self> {
        let len = count.checked_mul(datatype.size())?;
        if len == 0 {
            return Some(Self::owned(0));
        }
        let (low, high) = datatype.span(count)?;
        let (low, high) = (at.checked_add(low)?, at.checked_add(high)?);
        if self.layout.is_some() || low < 0 || high > isize::try_from(self.len).ok()? {
            return None;
        }
        let base = self.base.wrapping_offset(at);
        let (base, layout) = if datatype.is_contiguous() {
            (base.wrapping_offset(datatype.first_byte()), None)
        } else {
            (base, Some(datatype.clone()))
        };
        Some(Self { base, len, layout, closed: None, _keep: self._keep.clone() })
    }

    /// The addresses of its bytes, if they lie in one piece.
    pub fn addresses(&self) -> Option<Range<usize>> {
        let start = self.base.expose_provenance();
        self.layout.is_none().then(|| start..start + self.len)
    }

    /// The addresses between which all of its bytes lie.
    pub fn span(&self) -> Range<usize> {
        let start = self.base.expose_provenance();
        match &self.layout {
            None => start..start + self.len,
            Some(datatype) => {
                let (low, high) = datatype.span(self.len / datatype.size()).unwrap_or((0, 0));
                start.wrapping_add_signed(low)..start.wrapping_add_signed(high)
            }
        }
    }

    /// Keeps the application from the pages that have a byte of this part until they are written,
    /// from the first byte of the part on. Pages that reach beyond the region are left out. `false`
    /// if no page can be.
    pub fn close(&mut self, part: Range<usize>) -> bool {
        let addresses = self.addresses().filter(|_| self._keep.is_none());
        let closed = addresses
            .and_then(|a| Closed::new(a.clone(), a.start + part.start..a.start + part.end));
        self.closed = closed.map(Arc::new);
        self.closed.is_some()
    }

    /// Packed bytes.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes, if they lie in one piece.
    pub fn bytes(&self) -> Option<&[u8]> {
        if self.len == 0 {
            return Some(&[]);
        }
        // SAFETY: the caller that made the region promised that its bytes may be read.
        self.layout.is_none().then(|| unsafe { std::slice::from_raw_parts(self.base, self.len) })
    }

    /// The bytes from `offset` on to write to, if they lie in one piece and no page is closed.
    pub fn bytes_mut(&mut self, offset: usize) -> Option<&mut [u8]> {
        if self.layout.is_some() || self.closed.is_some() || offset > self.len {
            return None;
        }
        if offset == self.len {
            return Some(&mut []);
        }
        let len = self.len - offset;
        // SAFETY: the caller that made the region promised that its bytes may be written; `offset`
        // is within them.
        Some(unsafe { std::slice::from_raw_parts_mut(self.base.wrapping_add(offset), len) })
    }

    /// Copies packed bytes from `offset` on out of the region; how many there were.
    pub fn read(&self, offset: usize, into: &mut [u8]) -> usize {
        let n = into.len().min(self.len.saturating_sub(offset));
        self.pieces(offset, n, |at, before, some| {
            let to = into[before..before + some.reach()].as_mut_ptr();
            let Pieces { len, count, stride, packed_stride, .. } = some;
            // SAFETY: the pieces are within the region, whose bytes may be read; `into` has room
            // for all of them.
            unsafe { strided::copy((at, stride), (to, packed_stride as isize), len, count) };
        });
        n
    }

    /// Copies `from` to the packed bytes from `offset` on; how many there was room for.
    pub fn write(&mut self, offset: usize, from: &[u8]) -> usize {
        let n = from.len().min(self.len.saturating_sub(offset));
        if let Some(closed) = &self.closed {
            closed.write(self.base.wrapping_add(offset).addr(), &from[..n]);
            return n;
        }
        self.pieces(offset, n, |at, before, some| {
            let from = from[before..before + some.reach()].as_ptr();
            let Pieces { len, count, stride, packed_stride, .. } = some;
            // SAFETY: `from` has all of these bytes, and the pieces are within the region, whose
            // bytes may be written.
            unsafe { strided::copy((from, packed_stride as isize), (at, stride), len, count) };
        });
        n
    }

    /// The packed bytes of a range, in one piece: those of the region itself if they are.
    pub fn packed(&self, range: Range<usize>) -> Self {
        if self.layout.is_none() {
            return self.part(range);
        }
        let mut packed = Self::owned(range.len());
        if let Some(bytes) = packed.bytes_mut(0) {
            self.read(range.start, bytes);
        }
        packed
    }

    /// All packed bytes.
    pub fn to_vec(&self) -> Vec<u8> {
        self.bytes().map_or_else(
            || {
                let mut packed = vec![0; self.len];
                self.read(0, &mut packed);
                packed
            },
            <[u8]>::to_vec,
        )
    }

    /// Copies all of `from` that fits to the beginning of this.
    pub fn copy_from(&mut self, from: &Self) {
        if let Some(bytes) = from.bytes() {
            self.write(0, bytes);
        } else if let Some(room) = self.bytes_mut(0) {
            from.read(0, room);
        } else {
            self.write(0, &from.to_vec());
        }
    }

    /// Names the pieces of memory that hold `n` packed bytes from `offset` on, with the address of
    /// the first, and the number of these packed bytes before it.
    fn pieces(&self, offset: usize, n: usize, mut pieces: impl FnMut(*mut u8, usize, Pieces)) {
        match &self.layout {
            _ if n == 0 => {}
            None => pieces(self.base.wrapping_add(offset), 0, Pieces::one(0, n)),
            Some(datatype) => datatype.pieces(offset, n, |before, some| {
                pieces(self.base.wrapping_offset(some.at), before, some);
            }),
        }
    }
}

#[cfg(test)]
mod tests;
