//! What a stream is ready for, and waiting for it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use prp_proto::event::ConnHandle;
use prp_proto::state::State;
use prp_proto::time::Instant;
use tokio::io::Ready;

use super::super::waiting::WaitFuture;
use super::PrpStream;
use crate::engine::{Core, Interest, Wait};
use crate::stream::StreamInner;
use crate::sys::baton::LockClass;

impl PrpStream {
    /// Waits until the stream is ready for some of `interest`, and tells what for. Any number of
    /// tasks may wait.
    ///
    /// Readiness is what the stream shows now: it is not kept between calls, and a call that fails
    /// with `WouldBlock` need not be reported.
    ///
    /// # Errors
    /// What makes the devices unusable.
    pub async fn ready(&self, interest: tokio::io::Interest) -> io::Result<Ready> {
        let inner = self.stream.inner()?;
        let (engine, conn) = (&*inner.engine, inner.conn);
        let attempt = move |core: &mut Core, _: &mut Instant| readiness(core, conn, interest);
        // Errors and the end of the stream wake readers.
        let reads = interest != tokio::io::Interest::WRITABLE;
        let mut reading = reads.then(|| WaitFuture::new(engine, Interest::Read(conn), attempt));
        let mut writing =
            interest.is_writable().then(|| WaitFuture::new(engine, Interest::Write(conn), attempt));
        std::future::poll_fn(|cx| {
            for waiting in [&mut reading, &mut writing].into_iter().flatten() {
                if let Poll::Ready(ready) = Pin::new(waiting).poll(cx) {
                    return Poll::Ready(ready);
                }
            }
            Poll::Pending
        })
        .await
    }

    /// Waits until reading would not wait. Any number of tasks may.
    ///
    /// # Errors
    /// None that reading would not report.
    pub async fn readable(&self) -> io::Result<()> {
        self.wait(Interest::Read, reads_at_once).await
    }

    /// Waits until writing would not wait. Any number of tasks may.
    ///
    /// # Errors
    /// None that writing would not report.
    pub async fn writable(&self) -> io::Result<()> {
        self.wait(Interest::Write, writes_at_once).await
    }

    /// As [`Self::readable`], for the task that polls. Of those that poll for reading, the last one
    /// is woken.
    ///
    /// # Errors
    /// None that reading would not report.
    pub fn poll_read_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_with(LockClass::Short, cx, Interest::Read, reads_at_once)
    }

    /// As [`Self::writable`], for the task that polls. Of those that poll for writing, the last one
    /// is woken.
    ///
    /// # Errors
    /// None that writing would not report.
    pub fn poll_write_ready(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_with(LockClass::Short, cx, Interest::Write, writes_at_once)
    }

    /// Runs `f` if the stream is ready for some of `interest`.
    ///
    /// # Errors
    /// `WouldBlock` if it is not, and those of `f`.
    pub fn try_io<R>(
        &self,
        interest: tokio::io::Interest,
        f: impl FnOnce() -> io::Result<R>,
    ) -> io::Result<R> {
        let inner = self.stream.inner()?;
        inner.try_once(&mut ReadyWait { conn: inner.conn, interest })??;
        f()
    }

    /// Waits until the stream is ready for `interest` and runs `f`, until that gives something else
    /// than `WouldBlock`.
    ///
    /// # Errors
    /// Those of `f`, and as [`Self::ready`].
    pub async fn async_io<R>(
        &self,
        interest: tokio::io::Interest,
        mut f: impl FnMut() -> io::Result<R>,
    ) -> io::Result<R> {
        loop {
            self.ready(interest).await?;
            match f() {
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
                done => return done,
            }
        }
    }
}

fn reads_at_once(core: &mut Core, _: &mut Instant, stream: &StreamInner) -> Option<io::Result<()>> {
    core.endpoint.is_readable(stream.conn).then_some(Ok(()))
}

fn writes_at_once(
    core: &mut Core,
    _: &mut Instant,
    stream: &StreamInner,
) -> Option<io::Result<()>> {
    core.endpoint.is_writable(stream.conn).then_some(Ok(()))
}

struct ReadyWait {
    conn: ConnHandle,
    interest: tokio::io::Interest,
}

impl Wait for ReadyWait {
    type Out = io::Result<Ready>;

    fn attempt(&mut self, core: &mut Core, _: &mut Instant) -> Option<Self::Out> {
        readiness(core, self.conn, self.interest)
    }
}

/// For what of `interest` a connection is ready, if for anything.
fn readiness(
    core: &mut Core,
    conn: ConnHandle,
    interest: tokio::io::Interest,
) -> Option<io::Result<Ready>> {
    let endpoint = &core.endpoint;
    let state = endpoint.state(conn);
    let ended = endpoint.has_ended(conn);
    let failed = endpoint.has_error(conn);
    let over = ended && state != State::ConnWait && !state.can_send();
    let shown = [
        (interest.is_readable() && endpoint.is_readable(conn), Ready::READABLE),
        ((interest.is_readable() || interest.is_priority()) && ended, Ready::READ_CLOSED),
        (interest.is_writable() && endpoint.is_writable(conn), Ready::WRITABLE),
        (interest.is_writable() && (over || failed), Ready::WRITE_CLOSED),
        (interest.is_error() && failed, Ready::ERROR),
    ];
    let ready = shown.into_iter().filter(|(is, _)| *is).fold(Ready::EMPTY, |all, (_, r)| all | r);
    if ready.is_empty() { core.check().err().map(Err) } else { Some(Ok(ready)) }
}
