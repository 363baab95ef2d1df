//! Two nodes in virtual time. Files by subject.

mod acknowledgement;
mod blocked;
mod borrowed_write;
mod classic;
mod close;
mod connection_log;
mod connection_trace;
mod crossing;
mod event;
mod fast_send;
mod handshake;
mod hostile;
mod idle;
mod inspect;
mod key;
mod late_accept;
mod leave;
mod loss;
mod memory;
mod message;
mod outage;
mod path;
mod path_size;
mod peer_scheduler;
mod port;
mod receive_run;
mod run;
mod send_growth;
mod send_refusal;
mod slow;
mod stalled_devices;
mod timeout;
mod transfer;
mod udp;
mod unix;
mod unowned;
mod window;

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::time::Duration;

use crate::addr::{NodeId, Port, PrpAddr};
use crate::config::{Classic, ConnConfig, Keepalive};
use crate::congestion::Controller;
use crate::endpoint::Ending;
use crate::error::{ConnError, ReadError, WriteError};
use crate::event::{ConnHandle, Event};
use crate::state::State;
use crate::stats::DropReason;
use crate::testing::{Direction, FrameAction, Pair};
use crate::wire::{
    CrcKey, ETHERTYPE, EthernetHeader, Flags, Frame, Head, NetworkHeader, Offer, Reliability,
    ReliabilitySet, ResetBlock, ResetReason, TransportHeader, checksum, packet_header,
};

use Direction::{ToClient, ToServer};

const MS: Duration = Duration::from_millis(1);

/// Without trailers: full segments are of 1484 bytes, and a stranger can make some.
fn plain() -> ConnConfig {
    ConnConfig { crc: false, ..ConnConfig::default() }
}

/// Without trailers, and with one policy.
fn with_policy(reliability: Reliability) -> ConnConfig {
    ConnConfig { reliability: ReliabilitySet::only(reliability), ..plain() }
}

/// Bytes that repeat with no period a segment boundary could hide.
fn pattern(len: usize) -> Vec<u8> {
    (0..len as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect()
}

/// Whether a frame carries data (or EOC).
fn is_data(bytes: &[u8]) -> bool {
    let flags = flags(bytes);
    !flags.intersects(Flags::CREQ | Flags::CACK | Flags::CTL | Flags::RST)
}

fn flags(bytes: &[u8]) -> Flags {
    Frame::parse(bytes, ETHERTYPE).unwrap().flags()
}

/// A rule that drops the frames of one direction whose running number, from 0, is in `which`.
fn drop_nth(direction: Direction, which: &'static [usize]) -> crate::testing::Rule {
    let mut n = 0;
    Box::new(move |d, bytes| {
        if d != direction || !is_data(bytes) {
            return FrameAction::Pass;
        }
        n += 1;
        if which.contains(&(n - 1)) { FrameAction::Drop } else { FrameAction::Pass }
    })
}

/// Sends `bytes` in one direction, runs both ends until all of it is read or the connection ends,
/// and gives what came.
fn transfer(
    pair: &mut Pair,
    direction: Direction,
    from: ConnHandle,
    to: ConnHandle,
    bytes: &[u8],
) -> Vec<u8> {
    let mut written = 0;
    let mut got = Vec::new();
    pair.drive_until(|pair| {
        let now = pair.time;
        let sender = &mut pair.sender(direction).endpoint;
        if let Ok(n) = sender.write(now, from, &bytes[written..], Ending::Write) {
            written += n;
        }
        got.extend(pair.read_available(direction, to));
        got.len() >= bytes.len() || pair.receiver(direction).endpoint.state(to) == State::Close
    });
    got
}
