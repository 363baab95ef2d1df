//! What applications ask for.

use super::Endpoint;
use super::port::Range;
use super::request::Listener;
use crate::addr::{Port, PrpAddr};
use crate::buffer::{Ending, MessagePart};
use crate::config::{Classic, ConnConfig};
use crate::connection::{Connection, Seed};
use crate::error::{ConnError, ConnectError, ListenError, ReadError, WriteError};
use crate::event::{ConnHandle, ListenHandle};
use crate::seq::SeqWidth;
use crate::state::State;
use crate::time::Instant;
use crate::transmit::TransmitBatch;

impl Endpoint {
    /// Whether this endpoint owns `port`.
    pub fn owns(&self, port: Port) -> bool {
        self.ports.owns(port)
    }

    /// The ports this endpoint owns, in no order.
    pub fn ports(&self) -> impl Iterator<Item = Port> + '_ {
        self.ports.iter()
    }

    /// Whether the driver wants to be asked about ports that this endpoint does not own
    /// ([`Event::UnownedPort`](crate::event::Event::UnownedPort)), as it is not at first.
    pub fn report_unowned_ports(&mut self, wanted: bool) {
        self.reports_unowned = wanted;
    }

    /// Whether this endpoint answers echoes that come by Unix sockets, which all processes of the
    /// node get, as it does not at first: the steward's does (SPEC PRP-UNIX-4).
    pub fn answer_unix_echoes(&mut self, wanted: bool) {
        self.answers_echoes = wanted;
    }

    /// A port without an owner, now ours; `claim` makes a port ours against other processes.
    pub fn pick_port(&mut self, claim: impl FnMut(Port) -> bool) -> Option<Port> {
        let port = self.ports.pick_unused(claim)?;
        self.ports.name(port);
        Some(port)
    }

    /// Takes requests on `port`, which the driver has made ours. At most `backlog` connections wait
    /// to be accepted.
    ///
    /// # Errors
    /// [`ListenError::InUse`].
    pub fn listen(
        &mut self,
        port: Port,
        backlog: usize,
        config: ConnConfig,
    ) -> Result<ListenHandle, ListenError> {
        if self.listeners.contains_key(&port) {
            return Err(ListenError::InUse);
        }
        let listener = Listener { config, backlog: backlog.max(1), queue: Default::default() };
        self.listeners.insert(port, listener);
        self.ports.name(port);
        self.ports.set_listening(port, true);
        Ok(ListenHandle { port })
    }

    /// Takes no more requests; connections that were not accepted are reset.
    pub fn unlisten(&mut self, now: Instant, listener: ListenHandle) {
        let Some(closed) = self.listeners.remove(&listener.port) else { return };
        for handle in closed.queue {
            if let Some(conn) = self.table.get_mut(handle) {
                conn.release(now, true);
                self.settle(handle, now);
            }
        }
        self.ports.set_listening(listener.port, false);
    }

    /// Asks `remote` for a connection, from `local` or a port of our choice; `claim` makes a port
    /// ours against other processes.
    ///
    /// # Errors
    /// A [`ConnectError`]; anything that happens later is in the connection's events.
    pub fn connect(
        &mut self,
        now: Instant,
        remote: PrpAddr,
        local: Option<Port>,
        config: ConnConfig,
        claim: impl FnMut(Port) -> bool,
    ) -> Result<ConnHandle, ConnectError> {
        let config = self.config_with_key(remote.node, config);
        let no_route = ConnectError::NoRoute(remote.node);
        let device_mss = self.largest_segment(remote.node).ok_or(no_route)?;
        let (table, node) = (&self.table, self.local_node());
        // A connection needs two ends: from an address to itself there is none (SPEC PRP-PORT-5).
        let taken = |port| table.find(port, remote).is_some() || PrpAddr::new(node, port) == remote;
        let port = match local {
            Some(port) => port,
            None => {
                let classic = config.classic != Classic::Refuse;
                let range = if classic { Range::Classic } else { Range::High };
                let picked = self.ports.pick(now, remote, range, claim, taken);
                picked.ok_or(ConnectError::InUse)?
            }
        };
        if taken(port) {
            return Err(ConnectError::InUse);
        }
        let path = self.path(port, remote, 0).ok_or(no_route)?;
        let width = match config.classic {
            Classic::Refuse => SeqWidth::Bits20,
            Classic::Allow | Classic::Only => SeqWidth::Bits16,
        };
        let seed = Seed {
            handle: self.table.next_handle(),
            local: PrpAddr::new(self.local_node(), port),
            remote,
            config: self.config_for(remote, &path, config),
            path,
            id: self.new_id(),
            first: self.new_first(width),
            device_mss,
            proven: self.proven_size(remote.node),
            share: self.receive_memory.share(true),
            now,
        };
        let mut conn = Connection::connect(&seed);
        self.ask_with_key(now, &mut conn);
        self.admit(conn, local.is_some());
        self.settle(seed.handle, now);
        Ok(seed.handle)
    }

    /// Moves received bytes to the reader; 0 is the end of the stream (or an empty `out`).
    ///
    /// # Errors
    /// [`ReadError`].
    pub fn read(
        &mut self,
        now: Instant,
        conn: ConnHandle,
        out: &mut [u8],
    ) -> Result<usize, ReadError> {
        let Some(c) = self.table.get_mut(conn) else { return Ok(0) };
        let read = c.read(out);
        // Nothing there has changed nothing, but that there may be room.
        if read != Err(ReadError::Blocked) || c.wants_transmit() {
            self.note_command(now, conn);
        }
        read
    }

    /// Copies received bytes and keeps them.
    ///
    /// # Errors
    /// [`ReadError`].
    pub fn peek(
        &mut self,
        now: Instant,
        conn: ConnHandle,
        out: &mut [u8],
    ) -> Result<usize, ReadError> {
        self.with(now, conn, |c| c.peek(out)).unwrap_or(Ok(0))
    }

    /// Moves bytes of the next message to the reader; `None` is the end of the stream.
    ///
    /// # Errors
    /// [`ReadError`].
    pub fn read_message(
        &mut self,
        now: Instant,
        conn: ConnHandle,
        out: &mut [u8],
    ) -> Result<Option<MessagePart>, ReadError> {
        self.with(now, conn, |c| c.read_message(out)).unwrap_or(Ok(None))
    }

    /// After a [`Sink`](super::Sink) took data: tells the peer about the room it left.
    pub fn note_read(&mut self, now: Instant, conn: ConnHandle) {
        if self.table.get_mut(conn).is_some_and(Connection::note_read) {
            self.note_command(now, conn);
        }
    }

    /// Takes what fits of `bytes`.
    ///
    /// # Errors
    /// [`WriteError`].
    pub fn write(
        &mut self,
        now: Instant,
        conn: ConnHandle,
        bytes: &[u8],
        ending: Ending,
    ) -> Result<usize, WriteError> {
        let Some(c) = self.table.get_mut(conn) else { return Err(WriteError::Closed) };
        c.acquire_to_write(bytes.len(), &mut self.pool);
        let written = c.write(bytes, ending);
        if written.is_ok() && c.has_nothing_in_flight() && !c.queued_transmit {
            // A message may well go at once, and the rest is handled when it has.
            c.queued_transmit = true;
            self.transmit_queue.push_back(conn);
        } else {
            self.note_command(now, conn);
        }
        written
    }

    /// Takes `bytes` and puts their frame into `batch`, which must be empty, if they are a message
    /// on an idle connection: nothing else is to be sent, and they may go at once. Whether they
    /// are: otherwise nothing has changed, and [`Self::write`] takes them, or says why not.
    ///
    /// The same as that and [`Self::poll_transmit`] after it, in less time; what is said there of
    /// the batch holds here.
    pub fn try_send_now(
        &mut self,
        now: Instant,
        conn: ConnHandle,
        bytes: &[u8],
        ending: Ending,
        batch: &mut TransmitBatch,
    ) -> bool {
        // A connection that waits to send goes first.
        if self.wants_transmit() {
            return false;
        }
        let Some(c) = self.table.get_mut(conn) else { return false };
        if self.stalled.contains(c.path.device) || !c.can_send_now(now, bytes.len()) {
            return false;
        }
        c.acquire_to_write(bytes.len(), &mut self.pool);
        let is_taken = c.try_send_now(now, bytes, ending, batch);
        if is_taken {
            self.scheduler.update(c);
            self.sent.push(conn);
            self.stats.frames_sent += 1;
        }
        is_taken
    }

    /// Says that the rest of a write begun with [`Ending::More`] or [`Ending::Part`] does not
    /// follow at once: what is there is sent. A message stays without an end (SPEC PRP-SEG-6).
    pub fn finish_write(&mut self, now: Instant, conn: ConnHandle) {
        self.with(now, conn, Connection::finish_write);
    }

    /// The application writes no more.
    pub fn shutdown_send(&mut self, now: Instant, conn: ConnHandle) {
        self.with(now, conn, Connection::shutdown_send);
    }

    /// The application reads no more.
    pub fn shutdown_receive(&mut self, now: Instant, conn: ConnHandle) {
        self.with(now, conn, Connection::shutdown_receive);
    }

    /// The application lets go of the connection. What was written is still delivered, unless
    /// `abort` or something is unread: then the peer gets a reset.
    pub fn release(&mut self, now: Instant, conn: ConnHandle, abort: bool) {
        self.with(now, conn, |c| c.release(now, abort));
    }

    /// Changes settings that hold from now on: timeouts, keepalive, hop limit.
    pub fn configure(&mut self, now: Instant, conn: ConnHandle, f: impl FnOnce(&mut ConnConfig)) {
        self.with(now, conn, |c| {
            f(&mut c.config);
            c.arm_keepalive(now);
        });
    }

    /// Changes the hop limit of connections accepted from now on.
    pub fn set_hop_limit(&mut self, listener: ListenHandle, hops: u8) {
        if let Some(listener) = self.listeners.get_mut(&listener.port) {
            listener.config.hop_limit = hops;
        }
    }

    /// The settings of `conn`.
    pub fn conn_config(&self, conn: ConnHandle) -> Option<&ConnConfig> {
        self.table.get(conn).map(|c| &c.config)
    }

    /// The error the connection ended with, once.
    pub fn take_error(&mut self, conn: ConnHandle) -> Option<ConnError> {
        self.table.get_mut(conn)?.take_error()
    }

    /// The state of a connection.
    pub fn state(&self, conn: ConnHandle) -> State {
        self.table.get(conn).map_or(State::Close, |c| c.state)
    }

    /// Both ends: ours, then the peer's.
    pub fn ends(&self, conn: ConnHandle) -> Option<(PrpAddr, PrpAddr)> {
        self.table.get(conn).map(|c| (c.local, c.remote))
    }

    /// Whether a read would return at once: of bytes, or of messages, one without bytes included
    /// (SPEC PRP-SEG-7).
    pub fn is_readable(&self, conn: ConnHandle) -> bool {
        self.table.get(conn).is_none_or(Connection::readable)
    }

    /// Whether nothing more can be read than what has come: the peer sends no more, the application
    /// reads no more, or there is no connection.
    pub fn has_ended(&self, conn: ConnHandle) -> bool {
        self.table.get(conn).is_none_or(Connection::has_ended)
    }

    /// Whether the connection ended with an error that the application was not told.
    pub fn has_error(&self, conn: ConnHandle) -> bool {
        self.table.get(conn).is_some_and(Connection::has_error)
    }

    /// Returns whether the connection ended before the peer had acknowledged everything written,
    /// whether the application was told or not.
    pub fn has_lost_data(&self, conn: ConnHandle) -> bool {
        self.table.get(conn).is_some_and(Connection::has_lost_data)
    }

    /// Bytes that have come in order and were not read yet.
    pub fn unread(&self, conn: ConnHandle) -> usize {
        self.table.get(conn).map_or(0, Connection::unread)
    }

    /// Whether a writer that has waited should go on: half of the send buffer is free, or writing
    /// would fail.
    pub fn is_writable(&self, conn: ConnHandle) -> bool {
        match self.table.get(conn) {
            Some(c) if c.state == State::ConnWait => false,
            Some(c) => c.should_wake_writer(),
            None => true,
        }
    }

    /// Bytes that could be written at once; `None` if writing would fail.
    pub fn room(&self, conn: ConnHandle) -> Option<usize> {
        self.table.get(conn)?.writable()
    }

    /// Whether the peer has acknowledged everything written, or never will.
    pub fn is_flushed(&self, conn: ConnHandle) -> bool {
        self.table.get(conn).is_none_or(Connection::flushed)
    }

    /// As [`Self::is_flushed`]; if not, there will be an event when it is.
    pub fn await_flushed(&mut self, conn: ConnHandle) -> bool {
        self.table.get_mut(conn).is_none_or(Connection::await_flushed)
    }

    fn with<T>(
        &mut self,
        now: Instant,
        handle: ConnHandle,
        f: impl FnOnce(&mut Connection) -> T,
    ) -> Option<T> {
        let result = f(self.table.get_mut(handle)?);
        self.note_command(now, handle);
        Some(result)
    }

    /// Sees to what follows from a command.
    pub(super) fn note_command(&mut self, now: Instant, handle: ConnHandle) {
        let Some(conn) = self.table.get_mut(handle) else { return };
        // What was written into a closed window is not sent by itself: ask whether it has opened.
        conn.arm_persist(now);
        self.settle(handle, now);
    }
}
