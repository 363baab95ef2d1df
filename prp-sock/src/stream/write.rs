//! Writing: a few bytes are copied into the send buffer; many are sent from where they lie, and
//! what the peer has by the end of the call is never copied.

use std::io::{self, IoSlice};
use std::mem;
use std::sync::atomic::Ordering;

use prp_proto::config::ConnConfig;
use prp_proto::endpoint::{BorrowedWrite, Ending};
use prp_proto::error::WriteError;
use prp_proto::event::ConnHandle;
use prp_proto::time::Instant;

use super::{StreamInner, load_timeout};
use crate::engine::tuning::{
    BORROW_BYTES, COPY_BYTES, GATHER_BYTES, WAKE_ROOM_BYTES, WRITE_HOLD_BYTES,
};
use crate::engine::{Core, Engine, Interest, Wait};
use crate::error;
use crate::sys::baton::LockClass;

/// What a thread with `left` bytes left to write wants the lock for.
pub(crate) const fn lock_class(left: usize) -> LockClass {
    if left >= BORROW_BYTES { LockClass::Long } else { LockClass::Short }
}

impl StreamInner {
    /// Writes `bufs` as one write: all of it, unless time or room run out.
    pub(crate) fn write_with(&self, bufs: &[IoSlice<'_>], ending: Ending) -> io::Result<usize> {
        self.write_as(self.nonblocking.load(Ordering::Relaxed), bufs, ending)
    }

    /// As [`Self::write_with`], whatever the stream was told about blocking.
    pub(crate) fn write_as(
        &self,
        nonblocking: bool,
        bufs: &[IoSlice<'_>],
        ending: Ending,
    ) -> io::Result<usize> {
        if bufs.len() > 1 && bufs.iter().map(|b| b.len()).sum::<usize>() <= GATHER_BYTES {
            return self.write_gathered(nonblocking, bufs, ending);
        }
        let mut wait = WriteWait::new(self, bufs, ending, nonblocking);
        if wait.total == 0 && ending != Ending::Message {
            return self.write_nothing();
        }
        let deadline = load_timeout(&self.write_timeout).map(|t| self.engine.now() + t);
        let result = loop {
            let result = if nonblocking {
                self.try_once(&mut wait)
            } else {
                let interest = Interest::Write(self.conn);
                self.engine
                    .wait(interest, deadline, self.options.waits, &mut wait)
                    .map_err(error::wait)
            };
            if !mem::take(&mut wait.paused) {
                break result;
            }
        };
        let done = wait.done;
        if done < wait.total {
            let now = self.engine.now();
            let mut core = self.engine.lock();
            core.endpoint.finish_write(now, self.conn);
            self.engine.finish(core, now);
        }
        match result {
            Err(_) if done > 0 => Ok(done),
            result => result?,
        }
    }

    /// Writes `bufs`, which are few bytes, in one piece. A function of its own: the piece would
    /// make the frame of [`Self::write_as`] larger.
    #[inline(never)]
    fn write_gathered(
        &self,
        nonblocking: bool,
        bufs: &[IoSlice<'_>],
        ending: Ending,
    ) -> io::Result<usize> {
        let mut piece = [0; GATHER_BYTES];
        let mut filled = 0;
        for buf in bufs {
            piece[filled..filled + buf.len()].copy_from_slice(buf);
            filled += buf.len();
        }
        self.write_as(nonblocking, &[IoSlice::new(&piece[..filled])], ending)
    }

    /// One attempt to write some of `bufs`, for a task; `None` if there is no room. The next
    /// attempt writes what is left of a message.
    #[cfg(feature = "tokio")]
    pub(crate) fn write_some(
        &self,
        core: &mut Core,
        now: &mut Instant,
        bufs: &[IoSlice<'_>],
        ending: Ending,
    ) -> Option<io::Result<usize>> {
        let mut wait = WriteWait::new(self, bufs, ending, true);
        if wait.total == 0 && ending != Ending::Message {
            return Some(Ok(0));
        }
        let outcome = wait.attempt(core, now)?;
        if wait.done == 0 || wait.done == wait.total {
            return Some(outcome);
        }
        // An error is for the next call to report. The rest of a message follows.
        if ending != Ending::Message {
            core.endpoint.finish_write(*now, self.conn);
        }
        Some(Ok(wait.done))
    }

    /// Puts nothing on the wire, but fails if a byte would, as a kernel socket does.
    pub(super) fn write_nothing(&self) -> io::Result<usize> {
        let now = self.engine.now();
        let mut core = self.engine.lock();
        let written = core.endpoint.write(now, self.conn, &[], Ending::More);
        core.show(self.conn);
        drop(core);
        match written {
            Err(WriteError::Blocked) => Ok(0),
            written => written.map_err(error::write),
        }
    }
}

/// Waits for room for everything that is to be written.
struct WriteWait<'a> {
    engine: &'a Engine,
    conn: ConnHandle,
    bufs: &'a [IoSlice<'a>],
    ending: Ending,
    total: usize,
    done: usize,
    nonblocking: bool,
    /// The write was ended for others to have the lock, and is to be begun again at once.
    paused: bool,
}

impl<'a> WriteWait<'a> {
    fn new(
        inner: &'a StreamInner,
        bufs: &'a [IoSlice<'a>],
        ending: Ending,
        nonblocking: bool,
    ) -> Self {
        Self {
            engine: &inner.engine,
            conn: inner.conn,
            bufs,
            ending,
            total: bufs.iter().map(|b| b.len()).sum(),
            done: 0,
            nonblocking,
            paused: false,
        }
    }

    /// The next bytes to write, at most `most`, and what holds after them.
    fn next(&self, most: usize) -> (&'a [u8], Ending) {
        let mut skip = self.done;
        for buf in self.bufs {
            if skip < buf.len() {
                let chunk = &buf[skip..buf.len().min(skip + most)];
                let last = self.done + chunk.len() == self.total;
                return (chunk, if last { self.ending } else { self.ending.continued() });
            }
            skip -= buf.len();
        }
        (&[], self.ending)
    }

    /// Bytes of room that a blocked writer with `left` to write goes on for: worth a system call,
    /// not every segment's.
    fn worthwhile(&self, core: &Core, left: usize) -> usize {
        let config = core.endpoint.conn_config(self.conn);
        let limit = config.map_or(0, |c| c.send_buffer.max(ConnConfig::MIN_BUFFER));
        left.min(WAKE_ROOM_BYTES).min(limit / 2)
    }

    /// Writes some of what is next, at most `most`; how many bytes.
    fn write(&self, core: &mut Core, now: &mut Instant, most: usize) -> Result<usize, WriteError> {
        let (mut bytes, mut ending) = self.next(most);
        if bytes.len() >= BORROW_BYTES {
            return self.write_borrowed(core, now, bytes, ending);
        }
        if bytes.len() > COPY_BYTES {
            (bytes, ending) = (&bytes[..COPY_BYTES], ending.continued());
        }
        if core.try_send_now(*now, self.conn, bytes, ending) {
            return Ok(bytes.len());
        }
        let written = core.endpoint.write(*now, self.conn, bytes, ending)?;
        // A message goes before anything else is checked.
        core.send_now(*now);
        Ok(written)
    }

    /// Sends `bytes` from where they lie, as far as there is room and the peer makes more; then the
    /// endpoint keeps what the peer may not have.
    fn write_borrowed(
        &self,
        core: &mut Core,
        now: &mut Instant,
        bytes: &[u8],
        ending: Ending,
    ) -> Result<usize, WriteError> {
        let mut lent = BorrowedWrite::new(self.conn, bytes);
        let mut outcome = Ok(0);
        loop {
            let before = (lent.taken(), core.endpoint.unsent(self.conn));
            // An error is for a call that has written nothing: this one would not report it.
            let open = lent.taken() == 0 || core.endpoint.room(self.conn).is_some();
            if open && lent.taken() < bytes.len() {
                outcome = core.endpoint.write_borrowed(*now, &mut lent, ending);
            }
            core.exchange(*now, &lent);
            *now = self.engine.now();
            // A writer that reports that there is no room is woken when there is some: not if it
            // came just now.
            let blocked = outcome == Err(WriteError::Blocked);
            let room_came = blocked && core.endpoint.room(self.conn).is_some_and(|room| room > 0);
            // Frames that come for others could go on for ever.
            if !room_came && before == (lent.taken(), core.endpoint.unsent(self.conn)) {
                break;
            }
        }
        let taken = lent.taken();
        core.endpoint.end_borrow(*now, lent);
        if taken > 0 { Ok(taken) } else { outcome }
    }
}

impl Wait for WriteWait<'_> {
    type Out = io::Result<usize>;

    fn lock_class(&self) -> LockClass {
        lock_class(self.total - self.done)
    }

    fn attempt(&mut self, core: &mut Core, now: &mut Instant) -> Option<io::Result<usize>> {
        let begun = self.done;
        loop {
            if self.done > 0 {
                let Some(room) = core.endpoint.room(self.conn) else {
                    return Some(Ok(self.done));
                };
                let left = self.total - self.done;
                if !self.nonblocking && room < self.worthwhile(core, left) {
                    return core.check().err().map(Err);
                }
            }
            match self.write(core, now, WRITE_HOLD_BYTES - (self.done - begun)) {
                Ok(n) => {
                    // The next frame may be the answer.
                    core.wait_policy.end_flow();
                    self.done += n;
                }
                Err(WriteError::Blocked) if self.nonblocking && self.done > 0 => {
                    return Some(Ok(self.done));
                }
                Err(WriteError::Blocked) => return core.check().err().map(Err),
                Err(e) => return Some(Err(error::write(e))),
            }
            if self.done == self.total {
                return Some(Ok(self.done));
            }
            if self.done - begun >= WRITE_HOLD_BYTES {
                self.paused = true;
                return Some(Ok(self.done));
            }
        }
    }
}
