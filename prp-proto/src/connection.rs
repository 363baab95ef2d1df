//! One connection: what it agreed on, what it has sent and received, what it waits for.
//!
//! The work is split by direction and by kind of frame: [`handshake`] makes it, [`receive`] takes
//! data in, [`acknowledge`] gives and takes acknowledgements, [`dispatch`] sorts frames,
//! [`header_prediction`] takes the usual one, [`transmit`] puts them out, [`next_to_send`] says
//! what goes next and what may not, [`run`] how many like it follow, [`close`] ends it, [`clock`]
//! acts when time passes, [`user`] is what the application asks for.

mod ack_state;
mod acknowledge;
mod base;
mod classic;
mod clock;
mod close;
mod dispatch;
mod fast_send;
mod gso_batch;
mod handshake;
mod header_prediction;
mod inspect;
mod next_to_send;
mod parts;
mod path_change;
mod path_size;
mod peer_window;
mod protection;
mod receive;
mod receive_run;
mod run;
mod send_slot;
mod sender;
mod transmit;
mod user;

use alloc::boxed::Box;

use prp_key::{Mode, TRAILER_BYTES};

pub use inspect::ConnInfo;

pub(crate) use handshake::{Request, RequestKind};
pub(crate) use protection::Protection;
pub(crate) use receive::{Receiver, Share};
pub(crate) use send_slot::SendSlot;
pub(crate) use sender::Sender;

use crate::addr::PrpAddr;
use crate::buffer::{BufferPool, Sink};
use crate::config::ConnConfig;
use crate::error::ConnError;
use crate::event::{ConnHandle, Readiness};
use crate::recovery::{Policy, policy};
use crate::seq::{Seq, SeqWidth};
use crate::state::State;
use crate::stats::ConnStats;
use crate::time::Instant;
use crate::timer::{QueuedDeadlines, TimerTable};
use crate::transmit::Path;
use crate::wire::{CLASSIC_MSS, CRC_LEN, Reliability, ResetReason};

/// How much of a connection has been traced.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default, Hash)]
pub(crate) enum Traced {
    #[default]
    Nothing,
    Beginning,
    End,
}

/// What both ends agreed on, or will have to until they do.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Hash)]
#[non_exhaustive]
pub struct Terms {
    /// The peer knows our options; otherwise it knows the paper's header and no more.
    pub extended: bool,
    /// What happens to lost segments.
    pub reliability: Reliability,
    /// Payload bytes of the largest segment either may send.
    pub mss: u16,
    /// Every frame ends with a CRC trailer.
    pub crc: bool,
    /// How the cluster's key protects the frames; they have its trailer in place of the CRC's.
    pub security: Mode,
    /// The id of the cluster's secret that was agreed with.
    pub key: Option<u16>,
}

impl Terms {
    /// What the paper's header allows.
    pub const CLASSIC: Self = Self {
        extended: false,
        reliability: Reliability::Detect,
        mss: CLASSIC_MSS,
        crc: false,
        security: Mode::Off,
        key: None,
    };

    pub(crate) const fn width(&self) -> SeqWidth {
        if self.extended { SeqWidth::Bits20 } else { SeqWidth::Bits16 }
    }

    pub(crate) fn policy(&self) -> &'static dyn Policy {
        policy(self.reliability)
    }

    /// Bytes behind the payload of each segment.
    pub(crate) const fn trailer(&self) -> u16 {
        match self.security {
            Mode::Off if self.crc => CRC_LEN as u16,
            Mode::Off => 0,
            Mode::Sign | Mode::Seal => TRAILER_BYTES as u16,
        }
    }
}

/// The random names both ends gave the connection.
#[derive(Copy, Clone, Debug, Default, Hash)]
pub(crate) struct Ids {
    pub(crate) local: u32,
    /// Zero until the peer's is known, and for classic peers.
    pub(crate) remote: u32,
}

/// Frames waiting to be sent beside data.
#[derive(Copy, Clone, Debug, Default, Hash)]
pub(crate) struct Pending {
    pub(crate) request: bool,
    pub(crate) accept: bool,
    pub(crate) ack: bool,
    pub(crate) probe: bool,
    pub(crate) size_probe: bool,
    pub(crate) size_ack: Option<u16>,
    pub(crate) reset: Option<ResetReason>,
}

/// One connection of an endpoint.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Connection {
    pub(crate) handle: ConnHandle,
    pub(crate) local: PrpAddr,
    pub(crate) remote: PrpAddr,
    pub(crate) state: State,
    pub(crate) config: ConnConfig,
    /// Payload and trailer of the largest segment: what we offer, then what was agreed on.
    segment: u16,
    /// Payload and trailer that the device takes.
    device_mss: u16,
    pub(crate) terms: Terms,
    pub(crate) ids: Ids,
    /// Number of our first segment, which handshake frames repeat.
    first: Seq,
    pub(crate) path: Path,
    /// With the cluster's key, if frames are protected or are to be.
    pub(crate) protection: Option<Box<Protection>>,
    /// Paths that were tried before this one.
    pub(crate) path_attempts: u8,
    /// Nothing has come back for so long that this path may be dead.
    pub(crate) lost: bool,
    pub(crate) send: Sender,
    pub(crate) recv: Receiver,
    pub(crate) request: Request,
    pub(crate) pending: Pending,
    pub(crate) timers: TimerTable,
    /// Why it ended, until the application is told.
    error: Option<ConnError>,
    /// It ended before the peer had acknowledged everything written.
    has_lost_data: bool,
    /// What happened since the driver last asked.
    pub(crate) ready: Readiness,
    /// A write has left less room than is worth waking a writer for.
    starved: bool,
    /// The application waits until everything written is acknowledged.
    flush_awaited: bool,
    /// The peer asked for it, not this end.
    server: bool,
    /// It is in the application's hands: taken from the backlog, or asked for.
    pub(crate) accepted: bool,
    /// The application has let go of it.
    pub(crate) orphan: bool,
    /// When the application let go of it.
    orphaned: Instant,
    /// The peer is known to have received our part of the handshake.
    pub(crate) confirmed: bool,
    /// It is in the endpoint's connection log.
    pub(crate) is_logged: bool,
    pub(crate) traced: Traced,
    /// When a credible frame last came.
    pub(crate) last_received: Instant,
    /// Probes sent since.
    probes_unanswered: u8,
    /// When the peer was last asked whether it had sent something we did not believe.
    challenged: Option<Instant>,
    /// Both directions have just closed and TIME-WAIT must start.
    time_wait_wanted: bool,
    /// How long it stays, once it has come to its end.
    time_wait_until: Instant,
    /// Its process is about to end.
    leaving: bool,
    /// It has come to its end, and the peer may stay because it does not know.
    owes_farewell: bool,
    /// The peer's process ends: it has said all, and hears no more.
    peer_left: bool,
    pub(crate) stats: ConnStats,
    /// What the endpoint counts for what it holds and has advertised.
    pub(crate) charged: usize,
    /// Its place among the connections to the same node that wait to send new data.
    pub(crate) send_slot: SendSlot,
    /// Bookkeeping of the endpoint: queued for sending, for an event, and for which deadlines.
    pub(crate) queued_transmit: bool,
    pub(crate) queued_event: bool,
    pub(crate) queued_owing: bool,
    queued_time_wait: bool,
    pub(crate) queued_deadlines: QueuedDeadlines,
}

/// What a new connection starts from.
#[derive(Debug)]
pub(crate) struct Seed {
    pub(crate) handle: ConnHandle,
    pub(crate) local: PrpAddr,
    pub(crate) remote: PrpAddr,
    pub(crate) config: ConnConfig,
    pub(crate) path: Path,
    pub(crate) id: u32,
    /// Number of the first segment.
    pub(crate) first: Seq,
    /// What the device takes.
    pub(crate) device_mss: u16,
    /// Segments of this size are known to get through to the node.
    pub(crate) proven: u16,
    /// What it may advertise.
    pub(crate) share: Share,
    pub(crate) now: Instant,
}

impl Connection {
    fn new(seed: &Seed) -> Box<Self> {
        let segment = seed.config.offered_segment(seed.device_mss);
        Box::new(Self {
            handle: seed.handle,
            local: seed.local,
            remote: seed.remote,
            state: State::Close,
            config: seed.config,
            segment,
            device_mss: seed.device_mss,
            terms: Terms { mss: segment, ..Terms::CLASSIC },
            ids: Ids { local: seed.id, remote: 0 },
            first: seed.first,
            path: seed.path,
            protection: None,
            path_attempts: 0,
            lost: false,
            send: Sender::new(seed),
            recv: Receiver::new(seed),
            request: Request::default(),
            pending: Pending::default(),
            timers: TimerTable::default(),
            error: None,
            has_lost_data: false,
            ready: Readiness::default(),
            starved: false,
            flush_awaited: false,
            server: false,
            accepted: true,
            orphan: false,
            orphaned: seed.now,
            confirmed: false,
            is_logged: false,
            traced: Traced::default(),
            last_received: seed.now,
            probes_unanswered: 0,
            challenged: None,
            time_wait_wanted: false,
            time_wait_until: seed.now,
            leaving: false,
            owes_farewell: false,
            peer_left: false,
            stats: ConnStats::default(),
            charged: 0,
            send_slot: SendSlot::default(),
            queued_transmit: false,
            queued_event: false,
            queued_owing: false,
            queued_time_wait: false,
            queued_deadlines: QueuedDeadlines::default(),
        })
    }

    /// Why it ended, if the application was not told yet.
    pub(crate) const fn error(&self) -> Option<ConnError> {
        self.error
    }

    /// Whether the peer asked for it.
    pub(crate) const fn is_server(&self) -> bool {
        self.server
    }

    /// Whether nothing is left to do or to say.
    pub(crate) fn is_over(&self) -> bool {
        self.state == State::Close && self.pending.reset.is_none()
    }

    /// Makes room for `len` bytes that are about to be written, with memory from `pool` if it has
    /// some.
    pub(crate) fn acquire_to_write(&mut self, len: usize, pool: &mut BufferPool) {
        if self.state.can_send() {
            self.send.buf.acquire(len, pool);
        }
    }

    /// As [`Self::acquire_to_write`], for what has arrived and `sink` does not take.
    pub(crate) fn acquire_to_receive(
        &mut self,
        len: usize,
        sink: Option<&Sink<'_>>,
        pool: &mut BufferPool,
    ) {
        if self.state.can_receive() {
            self.recv.buf.acquire(len, sink, pool);
        }
    }

    /// Gives memory of buffers that nothing is held in any more to `pool`.
    #[inline]
    pub(crate) fn release_chunks(&mut self, now: Instant, pool: &mut BufferPool) {
        self.send.buf.release_chunks(now, pool);
        self.recv.buf.release_chunks(now, pool);
    }

    /// Memory held beside the struct itself.
    pub(crate) fn memory(&self) -> usize {
        self.send.memory() + self.recv.memory()
    }
}
