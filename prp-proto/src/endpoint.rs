//! All connections of one node in one process.
//!
//! A caller runs an endpoint from outside. Its methods are of four kinds:
//!
//! - **getters** may be called at any time;
//! - **commands** (`listen`, `connect`, `accept`, `read`, `write`, …) come from applications;
//! - **`handle_*`** bring frames, time and idleness;
//! - **`poll_*`** take out what came of it.
//!
//! After any command or `handle_*` call the driver drains [`Endpoint::poll_transmit`] (and calls
//! [`Endpoint::handle_sent`] where it stops before nothing is left; [`Endpoint::set_stalled`] says
//! that a device has no room), then [`Endpoint::poll_event`], and sleeps no longer than
//! [`Endpoint::poll_timeout`] says, which [`Endpoint::revise_timeout`] makes worth a timer. Calling
//! any of them without need is harmless.

mod borrowed_write;
mod command;
mod connection_log;
mod connection_trace;
mod echo;
mod farewell;
#[cfg(any(test, feature = "testing"))]
mod fingerprint;
mod input;
mod output;
mod path;
mod peer_scheduler;
mod port;
mod receive_memory;
mod refusal;
mod request;
mod security;
mod send_growth;
mod send_refusal;
mod stalled_devices;
mod table;
mod unconfirmed;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::time::Duration;

use hashbrown::HashMap;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

pub use crate::buffer::{Ending, MessagePart, Sink};
pub use crate::connection::{ConnInfo, Terms};
pub use crate::device::Device;
pub use borrowed_write::BorrowedWrite;
pub use connection_log::{ConnectionChange, EstablishedId};
pub use connection_trace::{ConnectionTrace, TracePoint};
pub use refusal::UnownedPort;
pub(crate) use refusal::is_keyed;
pub use send_refusal::SendRefusal;

use crate::addr::{NodeId, Port, PrpAddr};
use crate::buffer::BufferPool;
use crate::config::{ConnConfig, EndpointConfig};
use crate::connection::Connection;
use crate::event::{ConnHandle, Event};
use crate::route::{RouteTable, UnusableHops};
use crate::seq::{Seq, SeqWidth};
use crate::stats::{ConnStats, EndpointStats};
use crate::time::Instant;
use crate::timer::TimerQueue;
use crate::transmit::Path;
use connection_log::ConnectionLog;
use connection_trace::ConnectionTraces;
use echo::EchoQueue;
use farewell::Farewells;
use peer_scheduler::PeerScheduler;
use port::Ports;
use receive_memory::ReceiveMemory;
use refusal::ResetQueue;
use request::Listener;
use security::Security;
use send_growth::SendGrowth;
use send_refusal::RefusedHops;
use stalled_devices::StalledDevices;
use table::Table;
use unconfirmed::Unconfirmed;

/// Connections we have asked for that stay after their end (SPEC PRP-CLOSE-5), each with a port of
/// its own and some memory. This number stays for 40 ms in the process that makes the most a
/// second.
const MAX_TIME_WAIT: usize = 256;

/// All connections of one node in one process.
#[cfg_attr(any(test, feature = "testing"), derive(Clone))]
#[derive(Debug)]
pub struct Endpoint {
    config: EndpointConfig,
    routes: RouteTable,
    /// The cluster's key, if there is one.
    security: Option<Box<Security>>,
    unusable: UnusableHops,
    refused_hops: RefusedHops,
    devices: Vec<Device>,
    rng: ChaCha8Rng,
    table: Table,
    listeners: BTreeMap<Port, Listener>,
    ports: Ports,
    refusals: ResetQueue,
    echoes: EchoQueue,
    /// Largest segments known to reach a node.
    proven: HashMap<NodeId, u16, foldhash::fast::FixedState>,
    unconfirmed: Unconfirmed,
    timers: TimerQueue,
    /// Memory of buffers that are not in use.
    pool: BufferPool,
    receive_memory: ReceiveMemory,
    send_growth: SendGrowth,
    transmit_queue: VecDeque<ConnHandle>,
    stalled: StalledDevices,
    /// Which connection sends next, to each node.
    scheduler: PeerScheduler,
    event_queue: VecDeque<Event>,
    /// Connections of which something was sent that is not handled yet.
    sent: Vec<ConnHandle>,
    /// Connections we have asked for that have come to their end, in order; some are gone.
    in_time_wait: VecDeque<ConnHandle>,
    /// Connections that are over, and whose peers may stay.
    farewells: Farewells,
    /// Connections that owe an acknowledgement they are holding back.
    owing: Vec<ConnHandle>,
    /// The driver is asked about ports that this endpoint does not own.
    reports_unowned: bool,
    /// Echoes that all processes of the node get are ours to answer.
    answers_echoes: bool,
    connection_log: ConnectionLog,
    connection_traces: ConnectionTraces,
    stats: EndpointStats,
}

impl Endpoint {
    /// An endpoint for the local node of `routes`, on `devices` (indexed by
    /// [`DeviceId`](crate::addr::DeviceId)). All randomness comes from `seed`: initial numbers,
    /// connection ids, hash keys.
    pub fn new(
        config: EndpointConfig,
        routes: RouteTable,
        devices: Vec<Device>,
        seed: [u8; 32],
    ) -> Self {
        let mut rng = ChaCha8Rng::from_seed(seed);
        let hasher = foldhash::fast::FixedState::with_seed(rng.next_u64());
        Self {
            config,
            routes,
            security: None,
            unusable: UnusableHops::default(),
            refused_hops: RefusedHops::default(),
            devices,
            table: Table::new(hasher.clone()),
            listeners: BTreeMap::new(),
            ports: Ports::new(rng.next_u32()),
            refusals: ResetQueue::new(config.refusals_per_second),
            echoes: EchoQueue::new(),
            proven: HashMap::with_hasher(hasher.clone()),
            unconfirmed: Unconfirmed::new(hasher.clone()),
            timers: TimerQueue::default(),
            pool: BufferPool::default(),
            receive_memory: ReceiveMemory::new(config.receive_memory),
            send_growth: SendGrowth::new(config.receive_memory / 2),
            transmit_queue: VecDeque::new(),
            stalled: StalledDevices::default(),
            scheduler: PeerScheduler::new(hasher),
            event_queue: VecDeque::new(),
            sent: Vec::new(),
            in_time_wait: VecDeque::new(),
            farewells: Farewells::default(),
            owing: Vec::new(),
            reports_unowned: false,
            answers_echoes: false,
            connection_log: ConnectionLog::default(),
            connection_traces: ConnectionTraces::default(),
            stats: EndpointStats::default(),
            rng,
        }
    }

    /// The node we are.
    pub fn local_node(&self) -> NodeId {
        self.routes.local()
    }

    /// The routes in force.
    pub const fn routes(&self) -> &RouteTable {
        &self.routes
    }

    /// Counters over all connections.
    pub const fn stats(&self) -> &EndpointStats {
        &self.stats
    }

    /// Counters of one connection, while it exists.
    pub fn conn_stats(&self, conn: ConnHandle) -> Option<&ConnStats> {
        self.table.get(conn).map(|c| &c.stats)
    }

    /// What both ends of a connection agreed on.
    pub fn terms(&self, conn: ConnHandle) -> Option<Terms> {
        self.table.get(conn).map(|c| c.terms)
    }

    /// Returns how much longer a round trip takes than the shortest one did: the time for which
    /// segments wait in queues. Zero while nothing is in flight.
    pub fn queueing_delay(&self, conn: ConnHandle) -> Duration {
        self.table.get(conn).map_or(Duration::ZERO, Connection::queueing_delay)
    }

    /// Returns the state of a connection at `now`, for tools that list connections.
    pub fn conn_info(&self, now: Instant, conn: ConnHandle) -> Option<ConnInfo> {
        self.table.get(conn).map(|c| c.info(now))
    }

    /// The ports that are listened on, in order: each with how many connections wait to be
    /// accepted, and how many may.
    pub fn listening(&self) -> impl Iterator<Item = (Port, usize, usize)> + '_ {
        self.listeners.iter().map(|(port, l)| (*port, l.queue.len(), l.backlog))
    }

    /// Connections that exist, those in their TIME-WAIT included.
    pub fn connections(&self) -> usize {
        self.table.len()
    }

    /// Returns how many refusals are to be sent, by an endpoint that may have no connection.
    pub fn refusals_owed(&self) -> usize {
        self.refusals.len()
    }

    /// Whether no connection exists and nothing waits to be sent.
    pub fn is_idle(&self) -> bool {
        self.table.len() == 0 && self.listeners.is_empty() && self.refusals.is_empty()
    }

    /// The connections that exist.
    pub fn handles(&self) -> Vec<ConnHandle> {
        self.table.handles()
    }

    /// Connections whose peer lacks something that was written.
    pub fn unflushed(&self) -> usize {
        self.table.handles().into_iter().filter(|h| !self.is_flushed(*h)).count()
    }

    /// Bytes held by `conn`: its own state, and its buffers.
    pub fn memory(&self, conn: ConnHandle) -> Option<(usize, usize)> {
        self.table.get(conn).map(|c| (size_of::<Connection>(), c.memory()))
    }

    /// Bytes of heap the endpoint holds beside its connections: queues, timers, what it knows of
    /// nodes, and for a second or two the memory of buffers that connections left behind.
    pub fn overhead(&self) -> usize {
        self.timers.memory()
            + self.pool.held()
            + self.refusals.memory()
            + self.farewells.memory()
            + self.scheduler.memory()
            + self.transmit_queue.capacity() * size_of::<ConnHandle>()
            + self.stalled.memory()
            + self.event_queue.capacity() * size_of::<Event>()
            + self.in_time_wait.capacity() * size_of::<ConnHandle>()
            + (self.sent.capacity() + self.owing.capacity()) * size_of::<ConnHandle>()
            + self.proven.allocation_size()
            + self.unconfirmed.memory()
            + self.routes.heap_size()
    }

    /// Whether `bytes` of buffers have been freed since this was last the case: an allocator keeps
    /// what is freed to it, and the driver may have it give that back.
    pub const fn take_freed(&mut self, bytes: usize) -> bool {
        self.pool.take_freed(bytes)
    }

    /// Settings of a connection with `peer`. The frames of a node to itself are copied in its
    /// memory and cross no wire, so a trailer would find nothing that a copy of its own could not
    /// have done (SPEC PRP-CRC-5).
    fn config_for(&self, peer: PrpAddr, path: &Path, config: ConnConfig) -> ConnConfig {
        let crc = config.crc && peer.node != self.local_node();
        let window = self.device(path.device).map(|device| device.window);
        ConnConfig { crc, recv_buffer: config.recv_buffer.or(window), ..config }
    }

    /// A connection id: anything but zero.
    fn new_id(&mut self) -> u32 {
        loop {
            let id = self.rng.next_u32();
            if id != 0 {
                return id;
            }
        }
    }

    /// An initial number. With a peer that may be classic only the bits that it knows.
    fn new_first(&mut self, width: SeqWidth) -> Seq {
        Seq::new(self.rng.next_u32() & width.mask())
    }

    /// Queues what a change of `conn` calls for: transmission, event, deadline, removal. To be
    /// called after everything that touches a connection.
    fn settle(&mut self, handle: ConnHandle, now: Instant) {
        let Some(conn) = self.table.get_mut(handle) else { return };
        if self.refused_hops.any() {
            conn.explain_error(|error, path| self.refused_hops.explain(error, path));
        }
        conn.arm_time_wait(now);
        self.connection_log.note(conn);
        self.connection_traces.note(conn);
        let is_known = conn.accepted && !conn.orphan;
        if conn.ready.any() && !conn.queued_event && is_known {
            conn.queued_event = true;
            self.event_queue.push_back(Event::Conn(handle, crate::event::Readiness::default()));
        }
        let (is_over, stays) = (conn.is_over(), conn.enters_time_wait());
        self.settle_frames(handle, now);
        if is_over {
            self.on_over(handle, now);
        } else if stays {
            self.in_time_wait.push_back(handle);
            if self.in_time_wait.len() > MAX_TIME_WAIT {
                self.end_oldest_time_wait(now);
            }
        }
    }

    /// Ends the TIME-WAIT of the connection that has been in it longest; whether there was one.
    #[cold]
    fn end_oldest_time_wait(&mut self, now: Instant) -> bool {
        while let Some(handle) = self.in_time_wait.pop_front() {
            if let Some(conn) = self.table.get_mut(handle)
                && conn.state.is_finished()
            {
                conn.end_time_wait_early();
                self.settle(handle, now);
                return true;
            }
        }
        false
    }

    /// The part of [`Self::settle`] that is left after a frame that was expected: memory,
    /// transmission, deadline.
    #[inline]
    fn settle_frames(&mut self, handle: ConnHandle, now: Instant) {
        let Some(conn) = self.table.get_mut(handle) else { return };
        conn.release_chunks(now, &mut self.pool);
        self.stats.windows_limited += u64::from(self.receive_memory.charge(conn));
        self.scheduler.update(conn);
        if !conn.queued_transmit && conn.wants_transmit() {
            conn.queued_transmit = true;
            self.transmit_queue.push_back(handle);
        }
        if let Some(at) = conn.timers.next()
            && conn.queued_deadlines.add(at)
        {
            self.timers.push(at, handle);
        }
    }

    /// A connection is over: no application needs it, or only its ends are free. One that waits to
    /// be accepted stays in its listener's queue if there is something to read (SPEC PRP-CLOSE-12).
    #[cold]
    fn on_over(&mut self, handle: ConnHandle, now: Instant) {
        self.note_farewell(handle, now);
        let is_needed =
            |conn: &Connection| !conn.orphan && (conn.accepted || conn.has_something_to_read());
        if !self.table.get(handle).is_some_and(is_needed) {
            self.remove(handle, now);
        } else {
            self.table.unlink(handle);
            self.ports.ends_freed();
        }
    }

    /// Takes a connection into the table. Its port was `named`, or is one of our choice.
    fn admit(&mut self, mut conn: Box<Connection>, named: bool) {
        conn.send_slot = self.scheduler.enter(conn.remote.node);
        self.ports.conn_started(conn.local.port, named);
        self.table.insert(conn);
    }

    fn remove(&mut self, handle: ConnHandle, now: Instant) {
        let Some(conn) = self.table.remove(handle) else { return };
        self.pool.note_freed(conn.memory());
        self.scheduler.leave(&conn.send_slot);
        self.connection_log.remove(&conn);
        self.receive_memory.discharge(&conn);
        self.send_growth.take_back(&conn);
        if !conn.confirmed && conn.is_server() {
            self.unconfirmed.remove(conn.remote.node, handle);
        }
        if !conn.accepted
            && let Some(listener) = self.listeners.get_mut(&conn.local.port)
        {
            listener.queue.retain(|h| *h != handle);
        }
        let known = self.proven_size(conn.remote.node);
        if conn.proven() > known || (conn.is_reduced() && conn.proven() < known) {
            self.proven.insert(conn.remote.node, conn.proven());
        }
        self.ports.conn_ended(now, conn.local.port);
        self.timers.compact(|handle| self.table.get(handle).is_some());
    }
}

#[cfg(test)]
mod tests;
