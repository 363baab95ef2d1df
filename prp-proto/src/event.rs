//! What the endpoint tells its driver.

use crate::addr::DeviceId;
use crate::stats::DropReason;

/// A connection of an endpoint. Stays distinct from whatever later takes its slot.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug)]
pub struct ConnHandle {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

impl ConnHandle {
    /// A small number, unique among the connections that exist at one time: a table index.
    pub const fn slot(self) -> usize {
        self.index as usize
    }
}

/// A listener of an endpoint.
#[derive(Copy, Clone, Eq, PartialEq, Ord, PartialOrd, Hash, Debug)]
pub struct ListenHandle {
    pub(crate) port: crate::addr::Port,
}

/// An event for which the caller may want to wake a thread.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Hash)]
pub enum Event {
    /// A connection waits to be accepted.
    Incoming(ListenHandle),
    /// A connection changed; what has happened to it since the last time is in the flags.
    Conn(ConnHandle, Readiness),
    /// A peer waits for an answer of a port that this endpoint does not own. If no process of the
    /// node owns it, one of them answers: its driver calls [`crate::endpoint::Endpoint::refuse`]
    /// with the token. There are no more of these than
    /// [`refusals_per_second`](crate::config::EndpointConfig::refusals_per_second): finding out
    /// costs more than a frame.
    UnownedPort(crate::endpoint::UnownedPort),
}

/// What a connection has become ready for.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Default, Hash)]
pub struct Readiness {
    /// Data, the end of data or an error can be read. Not for data that went into a reader's own
    /// buffer.
    pub readable: bool,
    /// There is room again where a write had left little, or writing would fail at once.
    pub writable: bool,
    /// The request was answered, by yes or no.
    pub connected: bool,
    /// Everything written has been acknowledged, or never will be; for a caller that has asked by
    /// [`await_flushed`](crate::endpoint::Endpoint::await_flushed).
    pub flushed: bool,
}

impl Readiness {
    pub(crate) const fn any(self) -> bool {
        self.readable || self.writable || self.connected || self.flushed
    }
}

/// What became of a received frame.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Disposition {
    /// It was for us and was acted upon.
    Accepted,
    /// It is for another node and came in by this device.
    Transit(DeviceId),
    /// It went no further.
    Dropped(DropReason),
}
