//! Handles: numbers that look like pointers, and point to nothing.
//!
//! A handle is checked at each call, so a program that uses one after it has closed it gets an
//! error, and not another program's memory. The number has a generation, which changes when its
//! slot is used again, and a kind.

use std::io;
use std::sync::Arc;

use parking_lot::RwLock;

/// Bits of the kind, the lowest ones: no handle is zero.
const KIND_BITS: u32 = 4;
/// Bits of the index in the table.
const INDEX_BITS: u32 = if usize::BITS == 64 { 28 } else { 16 };

/// The kind of a handle: one that is passed for another kind is refused.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) enum HandleKind {
    /// Of a stream.
    Stream = 1,
    /// Of a listener.
    Listener = 2,
    /// Of settings.
    Options = 3,
}

/// What the handles of a kind stand for.
#[derive(Debug)]
pub(crate) struct HandleTable<T> {
    kind: HandleKind,
    slots: RwLock<Slots<T>>,
}

#[derive(Debug)]
struct Slots<T> {
    all: Vec<Slot<T>>,
    free: Vec<usize>,
}

#[derive(Debug)]
struct Slot<T> {
    generation: usize,
    value: Option<Arc<T>>,
}

/// A handle in its parts.
#[derive(Copy, Clone)]
struct Parts {
    generation: usize,
    index: usize,
    kind: usize,
}

impl Parts {
    const fn of(handle: usize) -> Self {
        Self {
            generation: handle >> (INDEX_BITS + KIND_BITS),
            index: (handle >> KIND_BITS) & ((1 << INDEX_BITS) - 1),
            kind: handle & ((1 << KIND_BITS) - 1),
        }
    }

    const fn handle(self) -> usize {
        self.generation << (INDEX_BITS + KIND_BITS) | self.index << KIND_BITS | self.kind
    }
}

/// The generation after `generation`, from 1 up.
const fn next(generation: usize) -> usize {
    let most = usize::MAX >> (INDEX_BITS + KIND_BITS);
    if generation >= most { 1 } else { generation + 1 }
}

impl<T> HandleTable<T> {
    /// An empty one.
    pub(crate) const fn new(kind: HandleKind) -> Self {
        Self { kind, slots: RwLock::new(Slots { all: Vec::new(), free: Vec::new() }) }
    }

    /// A handle for `value`.
    ///
    /// # Errors
    /// `EMFILE` if there are too many.
    pub(crate) fn insert(&self, value: T) -> io::Result<usize> {
        let value = Some(Arc::new(value));
        let mut slots = self.slots.write();
        let index = match slots.free.pop() {
            Some(index) => index,
            None if slots.all.len() >> INDEX_BITS > 0 => {
                return Err(io::Error::from_raw_os_error(libc::EMFILE));
            }
            None => {
                slots.all.push(Slot { generation: 1, value: None });
                slots.all.len() - 1
            }
        };
        let slot = &mut slots.all[index];
        slot.value = value;
        Ok(Parts { generation: slot.generation, index, kind: self.kind as usize }.handle())
    }

    /// What `handle` stands for.
    ///
    /// # Errors
    /// `EBADF` if it stands for nothing here.
    pub(crate) fn find(&self, handle: usize) -> io::Result<Arc<T>> {
        let parts = Parts::of(handle);
        let slots = self.slots.read();
        let slot = slots.all.get(parts.index).filter(|slot| self.is_of(parts, slot));
        slot.and_then(|slot| slot.value.clone()).ok_or_else(|| self.refusal(handle))
    }

    /// Ends `handle`; what it stood for lives until the last call that uses it has returned.
    ///
    /// # Errors
    /// As [`Self::find`].
    pub(crate) fn remove(&self, handle: usize) -> io::Result<Arc<T>> {
        let parts = Parts::of(handle);
        let mut slots = self.slots.write();
        let Slots { all, free } = &mut *slots;
        let slot = all.get_mut(parts.index).filter(|slot| self.is_of(parts, slot));
        let found = slot.and_then(|slot| {
            let value = slot.value.take()?;
            slot.generation = next(slot.generation);
            Some(value)
        });
        if found.is_some() {
            free.push(parts.index);
        }
        found.ok_or_else(|| self.refusal(handle))
    }

    fn is_of(&self, parts: Parts, slot: &Slot<T>) -> bool {
        parts.kind == self.kind as usize && parts.generation == slot.generation
    }

    fn refusal(&self, handle: usize) -> io::Error {
        let name = match self.kind {
            HandleKind::Stream => "stream",
            HandleKind::Listener => "listener",
            HandleKind::Options => "prp_options",
        };
        let why = match handle {
            0 => format!("a {name} that is NULL: the call that was to make it has failed"),
            _ => format!("no {name} of this process: it was closed, or opened before a fork"),
        };
        crate::error_number::explained(libc::EBADF, why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn find__what_was_inserted_until_it_is_removed() {
        let table = HandleTable::new(HandleKind::Stream);
        let handles: Vec<_> = (0..3).map(|n| table.insert(n).unwrap()).collect();
        for (n, handle) in handles.iter().enumerate() {
            assert_eq!(*table.find(*handle).unwrap(), n);
        }
        assert_eq!(*table.remove(handles[1]).unwrap(), 1);
        for refused in [handles[1], 0, usize::MAX, handles[0] + (1 << KIND_BITS << 20)] {
            let error = table.find(refused).unwrap_err();
            assert_eq!(crate::error_number::of(&error), libc::EBADF);
            table.remove(refused).unwrap_err();
        }
        // Expect: the slot again, and another handle.
        let again = table.insert(7).unwrap();
        assert_eq!(Parts::of(again).index, 1);
        assert_ne!(again, handles[1]);
        assert_eq!(*table.find(again).unwrap(), 7);
        table.find(handles[1]).unwrap_err();
    }

    #[test]
    fn find__not_by_a_handle_of_another_kind() {
        let (streams, listeners) =
            (HandleTable::new(HandleKind::Stream), HandleTable::new(HandleKind::Listener));
        let stream = streams.insert(()).unwrap();
        listeners.insert(()).unwrap();
        listeners.find(stream).unwrap_err();
    }

    #[test]
    fn next__comes_back_to_one() {
        assert_eq!(next(1), 2);
        assert_eq!(next(usize::MAX >> (INDEX_BITS + KIND_BITS)), 1);
    }
}
