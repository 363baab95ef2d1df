//! Waiting for any of several streams and listeners.

use std::os::fd::{BorrowedFd, RawFd};
use std::time::Duration;

use parking_lot::Mutex;
use prp_sock::{Awaited, PrpListener, wait_any_polling};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::error::raised;
use crate::handle::Handle;
use crate::listener::Listener;
use crate::settings::seconds;
use crate::stream::{Stream, waiting};
use crate::sys::descriptor;

/// What is waited for.
enum Source {
    Stream(Handle),
    Listener(PrpListener),
}

/// One that is waited for: its key, and for what.
struct Member {
    key: i64,
    source: Source,
    reads: bool,
    writes: bool,
}

impl Member {
    fn of(key: i64, object: &Bound<'_, PyAny>, reads: bool, writes: bool) -> PyResult<Self> {
        let source = if let Ok(stream) = object.cast::<Stream>() {
            Source::Stream(stream.get().handle()?)
        } else if let Ok(listener) = object.cast::<Listener>() {
            Source::Listener(listener.get().listener()?)
        } else {
            return Err(PyTypeError::new_err("expected a Stream or a Listener"));
        };
        Ok(Self { key, source, reads, writes })
    }

    fn awaited(&self) -> impl Iterator<Item = (bool, Awaited<'_>)> {
        let both = match &self.source {
            Source::Listener(l) => [self.reads.then(|| (true, Awaited::accept(l))), None],
            Source::Stream(s) => [
                self.reads.then(|| (true, Awaited::read(s))),
                self.writes.then(|| (false, Awaited::write(s))),
            ],
        };
        both.into_iter().flatten()
    }
}

/// Waits for any of `members`, or until `other` is readable: keys of those that are ready, with
/// whether to read and to write.
fn wait(
    py: Python<'_>,
    members: &[Member],
    other: Option<BorrowedFd<'_>>,
    timeout: Option<Duration>,
) -> PyResult<Vec<(i64, bool, bool)>> {
    let (mut places, mut awaited) = (Vec::new(), Vec::new());
    for (at, member) in members.iter().enumerate() {
        for (reads, one) in member.awaited() {
            places.push((at, reads));
            awaited.push(one);
        }
    }
    waiting(py, || wait_any_polling(&mut awaited, other, timeout))?.map_err(|e| raised(&e))?;
    let mut ready: Vec<(usize, bool, bool)> = Vec::new();
    for ((at, reads), _) in places.iter().zip(&awaited).filter(|(_, one)| one.is_ready()) {
        match ready.last_mut() {
            Some((last, read, write)) if last == at => {
                *read |= reads;
                *write |= !reads;
            }
            _ => ready.push((*at, *reads, !*reads)),
        }
    }
    Ok(ready.into_iter().map(|(at, read, write)| (members[at].key, read, write)).collect())
}

/// Waits until any of the streams and listeners in `rlist` can be received from, or any of the
/// streams in `wlist` can be sent to: those that can. As `select.select`, but the calling thread
/// receives and sends the frames itself meanwhile.
#[pyfunction]
#[pyo3(signature = (rlist, wlist, timeout=None))]
#[allow(clippy::type_complexity, reason = "two lists, as of select.select")]
pub(crate) fn select<'py>(
    py: Python<'py>,
    rlist: Vec<Bound<'py, PyAny>>,
    wlist: Vec<Bound<'py, PyAny>>,
    timeout: Option<f64>,
) -> PyResult<(Vec<Bound<'py, PyAny>>, Vec<Bound<'py, PyAny>>)> {
    let of = |list: &[Bound<'py, PyAny>], first: usize, reads: bool| {
        let member = |(at, object)| Member::of((first + at) as i64, object, reads, !reads);
        list.iter().enumerate().map(member).collect::<PyResult<Vec<_>>>()
    };
    let mut members = of(&rlist, 0, true)?;
    members.extend(of(&wlist, rlist.len(), false)?);
    let ready = wait(py, &members, None, timeout.map(seconds).transpose()?)?;
    let (mut readable, mut writable) = (Vec::new(), Vec::new());
    for (key, _, _) in ready {
        let at = key.unsigned_abs() as usize;
        match rlist.get(at) {
            Some(object) => readable.push(object.clone()),
            None => writable.push(wlist[at - rlist.len()].clone()),
        }
    }
    Ok((readable, writable))
}

/// Streams and listeners that an event loop waits for together with its other descriptors.
#[pyclass(frozen, module = "parmaprp")]
pub(crate) struct WaitSet {
    members: Mutex<Vec<Member>>,
}

#[pymethods]
impl WaitSet {
    #[new]
    fn new() -> Self {
        Self { members: Mutex::new(Vec::new()) }
    }

    /// Waits for `object` from now on, under `key`.
    fn set(&self, key: i64, object: &Bound<'_, PyAny>, reads: bool, writes: bool) -> PyResult<()> {
        let member = Member::of(key, object, reads, writes)?;
        let replaced = {
            let mut members = self.members.lock();
            match members.iter_mut().find(|known| known.key == key) {
                Some(known) => Some(std::mem::replace(known, member)),
                None => {
                    members.push(member);
                    None
                }
            }
        };
        // Outside of the lock: it may be the last handle of a stream, whose closing lets threads
        // run that want the lock.
        drop(replaced);
        Ok(())
    }

    /// Waits for `key` no longer.
    fn discard(&self, key: i64) {
        let removed = {
            let mut members = self.members.lock();
            let at = members.iter().position(|known| known.key == key);
            at.map(|at| members.swap_remove(at))
        };
        // Outside of the lock, as in `set`.
        drop(removed);
    }

    fn __len__(&self) -> usize {
        self.members.lock().len()
    }

    /// Waits until one of them is ready, or the descriptor `fd` is readable: keys, whether to read,
    /// whether to write. One thread at a time.
    fn wait(
        &self,
        py: Python<'_>,
        fd: RawFd,
        timeout: Option<f64>,
    ) -> PyResult<Vec<(i64, bool, bool)>> {
        let members = std::mem::take(&mut *self.members.lock());
        let timeout = timeout.map(seconds).transpose();
        let ready = timeout.and_then(|timeout| {
            descriptor::borrowed(fd, |fd| wait(py, &members, Some(fd), timeout))
        });
        let mut back = self.members.lock();
        // What a handler of a signal has added meanwhile is newer.
        let is_older = |member: &Member| back.iter().any(|known| known.key == member.key);
        let (older, kept): (Vec<_>, Vec<_>) = members.into_iter().partition(is_older);
        back.extend(kept);
        drop(back);
        // Outside of the lock, as in `set`.
        drop(older);
        ready
    }
}
