//! Operations that were begun and may not be done.

/// Number of a request.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Hash, PartialOrd, Ord)]
pub struct RequestId(pub u32);

/// What went wrong with an operation, as the standard names it.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub enum Outcome {
    /// Nothing.
    #[default]
    Success,
    /// The message was longer than the buffer.
    Truncated,
}

/// What became of an operation.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct Status {
    /// Rank of the sender in the communicator.
    pub source: i32,
    /// Tag.
    pub tag: i32,
    /// Bytes received.
    pub bytes: u64,
    /// Whether it was taken back.
    pub cancelled: bool,
    /// What went wrong.
    pub outcome: Outcome,
}

impl Status {
    /// What an operation has that received nothing: any source, any tag.
    pub const EMPTY: Self =
        Self { source: -1, tag: -2, bytes: 0, cancelled: false, outcome: Outcome::Success };
}

/// A request as the exchange sees it.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) status: Status,
    /// What it still waits for.
    pub(crate) pending: u32,
    /// No call asks for its end: it goes as soon as it is done.
    pub(crate) is_free: bool,
    /// A receive that may be released early.
    pub(crate) is_releasable: bool,
    /// It counts as done although its message is not whole.
    pub(crate) is_released: bool,
}

/// All requests.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    all: Vec<Option<Request>>,
    unused: Vec<u32>,
    /// How many were done so far.
    completed: u64,
}

impl Requests {
    /// A request that waits for `pending` things.
    pub(crate) fn begin(&mut self, pending: u32, status: Status) -> RequestId {
        let request =
            Request { status, pending, is_free: false, is_releasable: false, is_released: false };
        if let Some(index) = self.unused.pop() {
            self.all[index as usize] = Some(request);
            return RequestId(index);
        }
        self.all.push(Some(request));
        RequestId(self.all.len() as u32 - 1)
    }

    pub(crate) fn at(&mut self, id: RequestId) -> Option<&mut Request> {
        self.all.get_mut(id.0 as usize)?.as_mut()
    }

    /// One of the things it waits for has happened.
    pub(crate) fn advance(&mut self, id: RequestId) {
        if let Some(request) = self.at(id) {
            request.pending -= 1;
            if request.pending == 0 {
                let is_free = request.is_free;
                self.completed += 1;
                if is_free {
                    self.remove(id);
                }
            }
        }
    }

    /// How many were done so far.
    pub(crate) const fn completed(&self) -> u64 {
        self.completed
    }

    /// Whether nothing is left to wait for.
    pub(crate) fn is_done(&self, id: RequestId) -> bool {
        self.all.get(id.0 as usize).is_none_or(|r| {
            let is_done = |r: &Request| r.pending == 0 || r.is_released;
            r.as_ref().is_none_or(is_done)
        })
    }

    /// What became of it, if it is done: after that it is no more.
    pub(crate) fn take(&mut self, id: RequestId) -> Option<Status> {
        if !self.is_done(id) {
            return None;
        }
        let Some(request) = self.at(id) else { return Some(Status::EMPTY) };
        let status = request.status;
        if request.pending > 0 {
            // Released early: it goes when its message is whole.
            request.is_free = true;
        } else {
            self.remove(id);
        }
        Some(status)
    }

    /// Forgets it when it is done.
    pub(crate) fn free(&mut self, id: RequestId) {
        match self.at(id) {
            Some(request) if request.pending > 0 => request.is_free = true,
            Some(_) => self.remove(id),
            None => {}
        }
    }

    fn remove(&mut self, id: RequestId) {
        if self.all[id.0 as usize].take().is_some() {
            self.unused.push(id.0);
        }
    }

    /// Requests that are not done.
    pub(crate) fn pending(&self) -> usize {
        self.all.iter().flatten().filter(|r| r.pending > 0).count()
    }
}
