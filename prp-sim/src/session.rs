//! An application at one end of a connection. It does what its script says, when events tell it
//! that it can, and checks every byte.

mod read;
mod write;

use prp_proto::endpoint::{Endpoint, Terms};
use prp_proto::error::ConnError;
use prp_proto::event::{ConnHandle, Readiness};
use prp_proto::state::State;
use prp_proto::time::Instant;
use prp_proto::wire::Reliability;

use crate::content::Content;
use crate::plan::{Closing, FlowPlan, Script};

/// Which end of a flow.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub(crate) enum Role {
    Client,
    Server,
}

/// How an application's part in a connection ended.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub(crate) enum EndKind {
    /// It has not.
    Open,
    /// It let go.
    Released,
    /// It aborted.
    Aborted,
    /// Its process was restarted.
    Killed,
}

/// What there is to know of one end afterwards.
#[derive(Clone, Debug)]
pub(crate) struct EndRecord {
    pub(crate) flow: usize,
    pub(crate) role: Role,
    /// Agreed terms, once it was established.
    pub(crate) terms: Option<Terms>,
    pub(crate) wrote: u64,
    pub(crate) read: u64,
    /// Everything the script had to write was written.
    pub(crate) wrote_all: bool,
    /// Written bytes that the peer's end had acknowledged at some time.
    pub(crate) flushed: u64,
    /// The end of the peer's stream was read, before any error.
    pub(crate) eof: bool,
    /// The first error the application saw.
    pub(crate) error: Option<ConnError>,
    pub(crate) how: EndKind,
}

/// An application at one end of a connection.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) record: EndRecord,
    pub(crate) conn: ConnHandle,
    outgoing: Content,
    incoming: Content,
    /// The request was answered, for a client.
    pub(crate) connected: bool,
    can_read: bool,
    can_write: bool,
    /// No more will be read.
    read_over: bool,
    /// No more will be written.
    write_over: bool,
    shut: bool,
    /// What was written is worth asking about: is it acknowledged?
    ask_flushed: bool,
    /// It is, or never will be.
    flushed: bool,
    /// The item being written, and how much of it is.
    item: (usize, u64),
    /// The message being read, and how much of it is.
    message: (usize, u64),
    /// Bytes read since the last rest, and when the present one ends.
    since_rest: u64,
    rests_until: Option<Instant>,
    /// When something last moved.
    pub(crate) moved: Instant,
}

impl Session {
    pub(crate) fn new(flow: usize, role: Role, conn: ConnHandle, now: Instant) -> Self {
        let client = role == Role::Client;
        Self {
            record: EndRecord {
                flow,
                role,
                terms: None,
                wrote: 0,
                read: 0,
                wrote_all: false,
                flushed: 0,
                eof: false,
                error: None,
                how: EndKind::Open,
            },
            conn,
            outgoing: Content::new(flow, client),
            incoming: Content::new(flow, !client),
            connected: !client,
            can_read: !client,
            can_write: !client,
            read_over: false,
            write_over: false,
            shut: false,
            ask_flushed: true,
            flushed: false,
            item: (0, 0),
            message: (0, 0),
            since_rest: 0,
            rests_until: None,
            moved: now,
        }
    }

    /// Our part and the peer's.
    fn scripts<'a>(&self, flow: &'a FlowPlan) -> (&'a Script, &'a Script) {
        match self.record.role {
            Role::Client => (&flow.up, &flow.down),
            Role::Server => (&flow.down, &flow.up),
        }
    }

    /// Takes news of the connection. Nothing else tells the application that it may try again.
    pub(crate) fn on_event(&mut self, ready: Readiness) {
        self.connected |= ready.connected;
        self.can_read |= ready.readable;
        self.can_write |= ready.writable;
        self.ask_flushed |= ready.flushed;
    }

    /// Whether the application is through.
    pub(crate) fn is_over(&self) -> bool {
        self.record.how != EndKind::Open
    }

    /// When it wants to go on by itself.
    pub(crate) fn wakes_at(&self) -> Option<Instant> {
        self.rests_until
    }

    /// Does what can be done.
    ///
    /// # Errors
    /// What should never happen.
    pub(crate) fn act(
        &mut self,
        now: Instant,
        endpoint: &mut Endpoint,
        flow: &FlowPlan,
        scratch: &mut Vec<u8>,
    ) -> Result<(), String> {
        if self.rests_until.is_some_and(|at| at <= now) {
            self.rests_until = None;
            self.moved = now;
        }
        if !self.connected {
            self.abort_if_due(now, endpoint, flow);
            return Ok(());
        }
        if self.record.terms.is_none() && endpoint.state(self.conn) != State::Close {
            self.record.terms = endpoint.terms(self.conn);
            if self.scripts(flow).0.closing == Closing::Deaf {
                endpoint.shutdown_receive(now, self.conn);
                self.read_over = true;
            }
        }
        let mut progress = true;
        while progress && !self.is_over() {
            progress = self.read_some(now, endpoint, flow, scratch)?;
            progress |= self.write_some(now, endpoint, flow, scratch)?;
            if progress {
                self.moved = now;
            }
            self.note_flushed(endpoint);
            self.close_if_due(now, endpoint, flow);
        }
        Ok(())
    }

    /// The process is gone.
    pub(crate) fn kill(&mut self) {
        self.record.how = EndKind::Killed;
    }

    /// Notes what has been delivered, if the connection is established: one that has ended is
    /// "flushed" because nothing more will be.
    fn note_flushed(&mut self, endpoint: &Endpoint) {
        let is_established = matches!(endpoint.state(self.conn), State::Established { .. });
        if is_established && endpoint.is_flushed(self.conn) {
            self.record.flushed = self.record.wrote;
        }
    }

    fn abort_if_due(&mut self, now: Instant, endpoint: &mut Endpoint, flow: &FlowPlan) {
        if let Closing::Abort(after) = self.scripts(flow).0.closing
            && self.record.read + self.record.wrote >= after
        {
            self.end(now, endpoint, true);
        }
    }

    fn close_if_due(&mut self, now: Instant, endpoint: &mut Endpoint, flow: &FlowPlan) {
        self.abort_if_due(now, endpoint, flow);
        if self.is_over() {
            return;
        }
        if self.record.error.is_some() {
            if self.read_over {
                self.end(now, endpoint, false);
            }
            return;
        }
        let script = self.scripts(flow).0;
        if !self.write_over || (script.writing.flush && !self.is_flushed(endpoint)) {
            return;
        }
        let shuts = matches!(script.closing, Closing::HalfClose | Closing::Deaf);
        if shuts && !self.shut {
            self.shut = true;
            endpoint.shutdown_send(now, self.conn);
        }
        if self.read_over || script.closing == Closing::AtOnce {
            self.end(now, endpoint, false);
        }
    }

    /// Whether everything written is acknowledged. Asked once, and again when an event says so.
    fn is_flushed(&mut self, endpoint: &mut Endpoint) -> bool {
        if !self.flushed && self.ask_flushed {
            self.ask_flushed = false;
            self.flushed = endpoint.await_flushed(self.conn);
        }
        self.flushed
    }

    fn end(&mut self, now: Instant, endpoint: &mut Endpoint, abort: bool) {
        endpoint.release(now, self.conn, abort);
        self.record.how = if abort { EndKind::Aborted } else { EndKind::Released };
        self.moved = now;
        self.rests_until = None;
    }

    /// Takes an error the application was told.
    fn on_error(&mut self, error: ConnError) -> Result<(), String> {
        if let Some(first) = self.record.error
            && !matches!(first, ConnError::Gap { .. })
        {
            return Err(format!("told {error:?} after {first:?}"));
        }
        let reliable = self.record.terms.is_some_and(|t| t.reliability != Reliability::Detect);
        if reliable && matches!(error, ConnError::Gap { .. } | ConnError::PeerGap) {
            return Err(format!("{error:?} on a reliable connection"));
        }
        self.record.error.get_or_insert(error);
        self.write_over = true;
        // An application that was told of an error takes what is left to read.
        self.can_read = true;
        Ok(())
    }
}
