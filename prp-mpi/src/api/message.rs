//! Messages between two ranks: blocking, and begun with a buffer that is lent for a scope.

use super::communicator::Communicator;
use super::element::Element;
use super::{Error, Result};
use crate::exchange::Exchange;
use crate::matching::Pattern;
use crate::process::report::Waiting;
use crate::request::{Outcome, RequestId, Status};
use crate::sys::lend::{self, Scope, bytes_of_mut};
use crate::sys::memory::Region;
use crate::wire::{Header, Kind, Signature};

/// The tag of calls that name none.
const TAG: i32 = 0;

/// A rank of a communicator.
#[derive(Copy, Clone, Debug)]
pub struct ProcessAt<'a> {
    pub(super) comm: &'a Communicator,
    pub(super) rank: usize,
}

/// All ranks of a communicator, whichever sends.
#[derive(Copy, Clone, Debug)]
pub struct AnyProcess<'a> {
    pub(super) comm: &'a Communicator,
}

/// A message in transit whose buffer is lent.
#[derive(Debug)]
#[must_use = "its end is only told by `wait`"]
pub struct Pending<'scope, 'env> {
    scope: &'scope Scope<'scope, 'env>,
    request: RequestId,
    call: &'static str,
}

impl Pending<'_, '_> {
    /// Waits until the message has come, or its buffer is no longer needed.
    ///
    /// # Errors
    /// [`Error::Truncated`].
    pub fn wait(self) -> Result<Status> {
        let what = || Waiting::new(self.call, String::new(), String::new());
        check(self.scope.wait(self.request, &what))
    }

    /// The same if that is so by now; the message itself if not.
    ///
    /// # Errors
    /// [`Error::Truncated`].
    pub fn test(self) -> Result<Result<Status, Self>> {
        match self.scope.test(self.request) {
            Some(status) => check(status).map(Ok),
            None => Ok(Err(self)),
        }
    }
}

fn check(status: Status) -> Result<Status> {
    match status.outcome {
        Outcome::Success => Ok(status),
        Outcome::Truncated => Err(Error::Truncated(status.bytes)),
    }
}

fn checked_tag(tag: i32) -> Result<i32> {
    if tag < 0 { Err(Error::Tag(tag)) } else { Ok(tag) }
}

impl ProcessAt<'_> {
    fn header(self, kind: Kind, tag: i32) -> Header {
        Header {
            kind,
            source: self.comm.rank(),
            tag,
            id: 0,
            context: self.comm.messages(),
            len: 0,
            signature: Signature::default(),
        }
    }

    fn begin_send<'scope, 'env, T: Element>(
        self,
        scope: &'scope Scope<'scope, 'env>,
        from: &'env [T],
        kind: Kind,
        tag: i32,
        send: impl FnOnce(&mut Exchange, usize, Header, &Region) -> RequestId,
    ) -> Result<Pending<'scope, 'env>> {
        let header = self.header(kind, checked_tag(tag)?);
        let to = self.comm.group[self.rank];
        let send = |region: Region| send(&mut scope.process().exchange(), to, header, &region);
        Ok(Pending { scope, request: scope.lend(from, send), call: "send" })
    }

    /// Begins to send: the program goes on while the message leaves.
    ///
    /// # Errors
    /// None that a correct program sees.
    pub fn initwrite<'scope, 'env, T: Element>(
        self,
        scope: &'scope Scope<'scope, 'env>,
        from: &'env [T],
    ) -> Result<Pending<'scope, 'env>> {
        self.begin_send(scope, from, Kind::Message, TAG, Exchange::send_in_burst)
    }

    /// Begins to receive: what comes while the program goes on is taken straight into the buffer.
    ///
    /// # Errors
    /// None that a correct program sees.
    pub fn initread<'scope, 'env, T: Element>(
        self,
        scope: &'scope Scope<'scope, 'env>,
        into: &'env mut [T],
    ) -> Result<Pending<'scope, 'env>> {
        begin_receive(scope, self.comm, Some(self.rank), TAG, into)
    }

    /// Sends; when it returns the buffer may be used again.
    ///
    /// # Errors
    /// As [`Self::send_with_tag`].
    pub fn send<T: Element>(self, from: &[T]) -> Result<()> {
        self.send_with_tag(from, TAG)
    }

    /// Sends with a tag, by which the receiver may tell messages apart.
    ///
    /// # Errors
    /// [`Error::Tag`].
    pub fn send_with_tag<T: Element>(self, from: &[T], tag: i32) -> Result<()> {
        lend::scope(self.comm.process(), |scope| {
            self.begin_send(scope, from, Kind::Message, tag, Exchange::send)?.wait().map(drop)
        })
    }

    /// Sends; when it returns the receiver has begun to receive.
    ///
    /// # Errors
    /// None that a correct program sees.
    pub fn synchronous_send<T: Element>(self, from: &[T]) -> Result<()> {
        lend::scope(self.comm.process(), |scope| {
            self.begin_send(scope, from, Kind::Synchronous, TAG, Exchange::send)?.wait().map(drop)
        })
    }

    /// Receives a message of at most as many elements as the buffer has.
    ///
    /// # Errors
    /// [`Error::Truncated`].
    pub fn receive_into<T: Element>(self, into: &mut [T]) -> Result<Status> {
        self.receive_into_with_tag(into, TAG)
    }

    /// The same, with a tag.
    ///
    /// # Errors
    /// [`Error::Truncated`], [`Error::Tag`].
    pub fn receive_into_with_tag<T: Element>(self, into: &mut [T], tag: i32) -> Result<Status> {
        receive(self.comm, Some(self.rank), tag, into)
    }

    /// Receives a message of any length.
    ///
    /// # Errors
    /// [`Error::Length`] if it does not end with an element.
    pub fn receive_vec<T: Element>(self) -> Result<(Vec<T>, Status)> {
        receive_vec(self.comm, Some(self.rank))
    }
}

impl AnyProcess<'_> {
    /// Receives a message of at most as many elements as the buffer has.
    ///
    /// # Errors
    /// [`Error::Truncated`].
    pub fn receive_into<T: Element>(self, into: &mut [T]) -> Result<Status> {
        receive(self.comm, None, TAG, into)
    }

    /// Receives a message of any length.
    ///
    /// # Errors
    /// [`Error::Length`] if it does not end with an element.
    pub fn receive_vec<T: Element>(self) -> Result<(Vec<T>, Status)> {
        receive_vec(self.comm, None)
    }
}

fn pattern(comm: &Communicator, from: Option<usize>, tag: i32) -> Pattern {
    let source = from.map(|rank| rank as i32);
    Pattern { context: comm.messages(), source, tag: Some(tag) }
}

fn begin_receive<'scope, 'env, T: Element>(
    scope: &'scope Scope<'scope, 'env>,
    comm: &Communicator,
    from: Option<usize>,
    tag: i32,
    into: &'env mut [T],
) -> Result<Pending<'scope, 'env>> {
    let pattern = pattern(comm, from, checked_tag(tag)?);
    let receive = |region| scope.process().exchange().receive(pattern, region);
    Ok(Pending { scope, request: scope.lend_mut(into, receive), call: "receive" })
}

fn receive<T: Element>(
    comm: &Communicator,
    from: Option<usize>,
    tag: i32,
    into: &mut [T],
) -> Result<Status> {
    lend::scope(comm.process(), |scope| begin_receive(scope, comm, from, tag, into)?.wait())
}

fn receive_vec<T: Element>(comm: &Communicator, from: Option<usize>) -> Result<(Vec<T>, Status)> {
    let pattern = pattern(comm, from, TAG);
    let what = || Waiting::new("receive", String::new(), String::new());
    let (request, region) = comm.process().wait(&what, |exchange| {
        let (id, status) = exchange.probe(&pattern)?;
        let region = Region::owned(status.bytes as usize);
        Some((exchange.receive_message(id, region.clone()), region))
    });
    let status = check(comm.process().wait(&what, |exchange| exchange.take(request)))?;
    let count = region.len() / size_of::<T>();
    if count * size_of::<T>() != region.len() {
        return Err(Error::Length(region.len(), count * size_of::<T>()));
    }
    let mut all = vec![T::ZERO; count];
    region.read(0, bytes_of_mut(&mut all));
    Ok((all, status))
}
