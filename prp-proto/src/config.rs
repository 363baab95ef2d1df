//! What can be set, with the reasons for the defaults.

use core::time::Duration;

use crate::congestion::Controller;
use crate::device::Device;
use crate::wire::{CLASSIC_MSS, Offer, ReliabilitySet};

/// Largest window an end offers or uses, in segments. Below 2^15 so that 16 bits of acknowledgement
/// and 20 of segment number tell old from new (SPEC PRP-SEQ-3), and what an acknowledgement's
/// bitmap can speak of.
pub const MAX_WINDOW: u32 = crate::wire::Bitmap::SPAN;

/// Time without a frame after which a driver that polls calls
/// [`Endpoint::handle_idle`](crate::endpoint::Endpoint::handle_idle), which sends acknowledgements
/// that were held back: a sender that waits for one must not wait until the driver stops polling.
pub const IDLE_AFTER: Duration = Duration::from_micros(4);

/// How a connection treats peers that know only the paper's header.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Hash)]
pub enum Classic {
    /// Asks for our options and gives up if the peer has none.
    Refuse,
    /// Asks for our options and does without if the peer has none.
    Allow,
    /// Sends the paper's header and nothing else from the start.
    Only,
}

/// Probing of an idle peer.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Hash)]
pub struct Keepalive {
    /// Silence before the first probe.
    pub idle: Duration,
    /// Time between probes.
    pub interval: Duration,
    /// Unanswered probes before the connection ends.
    pub probes: u8,
}

impl Default for Keepalive {
    /// A peer that vanished is noticed within a minute and a half, at two frames per half minute.
    /// Kernel TCP has this off by default and leaves ghosts for ever.
    fn default() -> Self {
        Self { idle: Duration::from_secs(30), interval: Duration::from_secs(10), probes: 6 }
    }
}

/// Settings of one connection.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Hash)]
pub struct ConnConfig {
    /// Policies to offer (connecting) or accept (listening).
    pub reliability: ReliabilitySet,
    /// Peers without our options.
    pub classic: Classic,
    /// Have frames end with the CRC-32 trailer. Both ends must want it, and it is for wires: a
    /// node's connections with itself have none.
    pub crc: bool,
    /// Largest segment to offer, in bytes; the device's MTU lowers it further.
    pub max_segment: u16,
    /// Bytes written and not yet acknowledged that are kept. If it is [`Device::WINDOW`] or more,
    /// and may grow, it becomes the largest window that the peer states over UDP, up to
    /// [`Device::MAX_WINDOW`].
    pub send_buffer: usize,
    /// Bytes that this may grow to while a writer waits for a peer that does not read, if that is
    /// more (SPEC PRP-WIN-7).
    pub send_buffer_max: usize,
    /// Bytes received and not yet read that are kept; [`Device::window`] if there is no number.
    pub recv_buffer: Option<usize>,
    /// Idle probing; `None` is never.
    pub keepalive: Option<Keepalive>,
    /// Longest wait for the peer to acknowledge data; `None` is for ever.
    pub user_timeout: Option<Duration>,
    /// Longest wait for an answer to a request.
    pub connect_timeout: Duration,
    /// Routers a frame may cross, 1 to 15.
    pub hop_limit: u8,
    /// What decides how much may be in flight.
    pub congestion: Controller,
}

impl Default for ConnConfig {
    fn default() -> Self {
        Self {
            reliability: ReliabilitySet::RELIABLE,
            classic: Classic::Refuse,
            // Ethernet's checksum ends at every switch and router, and what is changed behind it is
            // delivered otherwise. What it costs is in docs/experiments.
            crc: true,
            max_segment: u16::MAX,
            send_buffer: Device::WINDOW,
            recv_buffer: None,
            // What Linux lets a TCP socket's grow to (net.ipv4.tcp_wmem): there are programs that
            // write this much in both directions before either end reads.
            send_buffer_max: 4 * 1024 * 1024,
            keepalive: Some(Keepalive::default()),
            // Long enough for a peer that is stopped, swapped or debugged for half a minute.
            user_timeout: Some(Duration::from_secs(60)),
            // A node that is up answers within a retry or two; a node that boots needs longer than
            // any timeout a caller would want by default.
            connect_timeout: Duration::from_secs(15),
            hop_limit: crate::wire::Flags::MAX_HOPS,
            congestion: Controller::default(),
        }
    }
}

impl ConnConfig {
    /// The least buffer in either direction: four classic segments keep a window open while one is
    /// lost.
    pub const MIN_BUFFER: usize = 4 * CLASSIC_MSS as usize;

    /// The largest segment to offer on a device that takes `device_mss`: at least four of them must
    /// fit the receive buffer, or one loss closes the window.
    pub(crate) fn offered_segment(&self, device_mss: u16) -> u16 {
        let quarter = (self.recv_limit() / 4).min(usize::from(u16::MAX)) as u16;
        self.max_segment.min(device_mss).min(quarter).max(Offer::MIN_MSS)
    }

    /// The receive buffer in force.
    pub(crate) fn recv_limit(&self) -> usize {
        self.recv_buffer.unwrap_or(Device::WINDOW).max(Self::MIN_BUFFER)
    }

    /// The send buffer in force, until it grows.
    pub(crate) fn send_limit(&self) -> usize {
        self.send_buffer.max(Self::MIN_BUFFER)
    }
}

/// Settings of an endpoint.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct EndpointConfig {
    /// EtherType of every frame.
    pub ethertype: u16,
    /// Connections one peer node may have unconfirmed at a time. A flood of requests costs this
    /// many connections and no more; an honest peer confirms within a round trip.
    pub unconfirmed_per_peer: u16,
    /// Refusals and resets sent per second to frames without a connection, so that a flood is not
    /// answered by a flood.
    pub refusals_per_second: u32,
    /// Bytes that peers may have sent, or may send, before the application reads them, over all
    /// connections. At half of this windows are small (64 KiB), at all of it they are of two
    /// segments, and nothing is dropped. Send buffers may grow by half as much, over all
    /// connections.
    pub receive_memory: usize,
}

impl Default for EndpointConfig {
    fn default() -> Self {
        Self {
            ethertype: crate::wire::ETHERTYPE,
            unconfirmed_per_peer: 128,
            refusals_per_second: 1000,
            // Windows of 512 KiB for 512 connections at a time, and small ones for 4096 more: the
            // default backlog, filled by peers that send as much as they may on each.
            receive_memory: 512 * 1024 * 1024,
        }
    }
}
