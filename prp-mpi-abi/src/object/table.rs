//! Which handle stands for what.

use std::cell::Cell;

use parking_lot::Mutex;

use super::Handle;

/// What handles of one kind stand for.
#[derive(Debug)]
pub(crate) struct Table<T> {
    entries: Mutex<Entries<T>>,
    /// Whether something in progress still uses it.
    is_used: fn(&T) -> bool,
}

#[derive(Debug)]
struct Entries<T> {
    all: Vec<Option<T>>,
    unused: Vec<usize>,
    /// The program has freed their handles, but what is in progress may hand these to a function of
    /// the program: they stand for nothing else until it is done.
    retired: Vec<usize>,
}

thread_local! {
    /// Functions of the program that this library has called and that have not returned.
    static CALLBACKS: Cell<u32> = const { Cell::new(0) };
}

/// Calls a function of the program that is given a handle, which may be retired.
pub(crate) fn within_callback<R>(does: impl FnOnce() -> R) -> R {
    CALLBACKS.set(CALLBACKS.get() + 1);
    let done = does();
    CALLBACKS.set(CALLBACKS.get() - 1);
    done
}

impl<T> Table<T> {
    /// Of what is freed at once.
    pub(crate) const fn new() -> Self {
        Self::of_shared(|_| false)
    }

    /// Of what may be in use when its handle is freed: `is_used` says so.
    pub(crate) const fn of_shared(is_used: fn(&T) -> bool) -> Self {
        let entries = Entries { all: Vec::new(), unused: Vec::new(), retired: Vec::new() };
        Self { entries: Mutex::new(entries), is_used }
    }

    /// A handle for something new.
    pub(crate) fn add(&self, value: T) -> Handle {
        let mut entries = self.entries.lock();
        entries.release(self.is_used);
        let index = entries.unused.pop().unwrap_or(entries.all.len());
        if index == entries.all.len() {
            entries.all.push(Some(value));
        } else {
            entries.all[index] = Some(value);
        }
        Handle(Handle::FIRST + index)
    }

    /// Takes what a handle stands for; it stands for nothing then.
    pub(crate) fn take(&self, handle: Handle) -> Option<T> {
        self.entries.lock().take(handle)
    }

    /// As [`Self::take`], of several handles.
    pub(crate) fn take_each(&self, handles: impl Iterator<Item = Handle>) -> Vec<Option<T>> {
        let mut entries = self.entries.lock();
        handles.map(|handle| entries.take(handle)).collect()
    }

    /// The program has freed a handle: it stands for nothing, but where functions of the program
    /// are called for what is in progress. `false` if it stood for nothing before.
    pub(crate) fn retire(&self, handle: Handle) -> bool {
        let Some(index) = handle.0.checked_sub(Handle::FIRST) else { return false };
        let mut entries = self.entries.lock();
        let is_there = entries.all.get(index).is_some_and(Option::is_some);
        let is_new = is_there && !entries.retired.contains(&index);
        if is_new {
            entries.retired.push(index);
            entries.release(self.is_used);
        }
        is_new
    }

    /// Does something with what a handle stands for.
    pub(crate) fn with<R>(&self, handle: Handle, f: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.entries.lock().at(handle).map(f)
    }

    /// As [`Self::with`], with what each of several handles stands for.
    pub(crate) fn with_each<R>(
        &self,
        handles: &[Handle],
        mut f: impl FnMut(&mut T) -> R,
    ) -> Vec<Option<R>> {
        let mut entries = self.entries.lock();
        handles.iter().map(|handle| entries.at(*handle).map(&mut f)).collect()
    }

    /// How many handles stand for something.
    pub(crate) fn len(&self) -> usize {
        let entries = self.entries.lock();
        entries.all.iter().flatten().count() - entries.retired.len()
    }
}

impl<T> Entries<T> {
    fn at(&mut self, handle: Handle) -> Option<&mut T> {
        let index = handle.0.checked_sub(Handle::FIRST)?;
        if self.retired.contains(&index) && CALLBACKS.get() == 0 {
            return None;
        }
        self.all.get_mut(index)?.as_mut()
    }

    fn take(&mut self, handle: Handle) -> Option<T> {
        let index = handle.0.checked_sub(Handle::FIRST)?;
        if self.retired.contains(&index) {
            return None;
        }
        let value = self.all.get_mut(index)?.take()?;
        self.unused.push(index);
        Some(value)
    }

    /// Frees what was retired and is no longer used.
    fn release(&mut self, is_used: fn(&T) -> bool) {
        let Self { all, unused, retired } = self;
        retired.retain(|&index| {
            let keeps = all[index].as_ref().is_some_and(is_used);
            if !keeps {
                all[index] = None;
                unused.push(index);
            }
            keeps
        });
    }
}

impl<T: Clone> Table<T> {
    /// What a handle stands for.
    pub(crate) fn at(&self, handle: Handle) -> Option<T> {
        self.with(handle, |v| v.clone())
    }
}

#[cfg(test)]
mod tests;
