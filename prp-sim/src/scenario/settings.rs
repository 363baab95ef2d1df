//! Settings of connections.

use core::time::Duration;

use prp_proto::config::{Classic, ConnConfig, Keepalive};
use prp_proto::congestion::Controller;
use prp_proto::endpoint::Device;
use prp_proto::wire::{Offer, Reliability, ReliabilitySet};

use super::FaultProfile;
use crate::rng::SimRng;

/// What the connections of a run have in common.
pub(super) struct Settings {
    profile: FaultProfile,
    reliability: Option<ReliabilitySet>,
    crc: Option<bool>,
    impatient: bool,
    hop_limit: u8,
}

impl Settings {
    /// Draws it. Frames cross up to `routers` routers.
    pub(super) fn draw(rng: &mut SimRng, profile: FaultProfile, routers: usize) -> Self {
        let only = ReliabilitySet::only;
        let reliability = rng.weighted(&[
            (4, Some(ReliabilitySet::RELIABLE)),
            (2, Some(only(Reliability::SelectiveRepeat))),
            (3, Some(only(Reliability::GoBackN))),
            (2, Some(only(Reliability::Detect))),
            (1, Some(ReliabilitySet::ALL)),
            // Every end its own: sometimes there is nothing in common.
            (2, None),
        ]);
        let crc = match profile {
            // A CRC is all there is against flipped bits.
            FaultProfile::Corrupting => Some(true),
            FaultProfile::Classic => Some(false),
            _ => rng.pick(&[Some(false), Some(true), Some(true), None]),
        };
        let exact = rng.one_in(8);
        Self {
            profile,
            reliability,
            crc,
            impatient: rng.one_in(10) && profile != FaultProfile::Classic,
            hop_limit: if exact { routers.max(1) as u8 } else { prp_proto::wire::Flags::MAX_HOPS },
        }
    }

    /// The settings of one end.
    pub(super) fn conn(&self, rng: &mut SimRng, client: bool) -> ConnConfig {
        if self.profile == FaultProfile::Classic {
            return classic(rng, client);
        }
        let default = ConnConfig::default();
        let any = [Reliability::Detect, Reliability::GoBackN, Reliability::SelectiveRepeat];
        let reliability = self.reliability.unwrap_or_else(|| {
            if rng.one_in(2) { ReliabilitySet::ALL } else { ReliabilitySet::only(rng.pick(&any)) }
        });
        ConnConfig {
            reliability,
            crc: self.crc.unwrap_or_else(|| rng.one_in(2)),
            max_segment: if rng.one_in(8) {
                rng.spread(u64::from(Offer::MIN_MSS), 4000) as u16
            } else {
                u16::MAX
            },
            send_buffer: buffer(rng, default.send_buffer),
            recv_buffer: Some(buffer(rng, Device::WINDOW)),
            keepalive: if self.impatient { Some(quick_keepalive(rng)) } else { default.keepalive },
            user_timeout: match rng.below(8) {
                0 => None,
                _ if self.impatient => {
                    Some(rng.span(Duration::from_millis(500), Duration::from_secs(10)))
                }
                _ => default.user_timeout,
            },
            hop_limit: self.hop_limit,
            congestion: rng.pick(&Controller::ALL),
            ..default
        }
    }
}

fn buffer(rng: &mut SimRng, default: usize) -> usize {
    match rng.below(8) {
        0 => ConnConfig::MIN_BUFFER,
        1..3 => rng.spread(ConnConfig::MIN_BUFFER as u64, 1 << 20) as usize,
        _ => default,
    }
}

/// Probing that notices within a second or so. Longer than any time a process is kept from running.
fn quick_keepalive(rng: &mut SimRng) -> Keepalive {
    Keepalive {
        idle: rng.span(Duration::from_millis(100), Duration::from_secs(2)),
        interval: rng.span(Duration::from_millis(50), Duration::from_millis(500)),
        probes: rng.between(3, 9) as u8,
    }
}

/// A client of 1997, and a server of today that allows it. Buffers hold all there is to send.
fn classic(rng: &mut SimRng, client: bool) -> ConnConfig {
    let classic = if client { rng.pick(&[Classic::Only, Classic::Allow]) } else { Classic::Allow };
    ConnConfig {
        classic,
        reliability: ReliabilitySet::ALL,
        send_buffer: 1 << 22,
        recv_buffer: Some(1 << 22),
        ..ConnConfig::default()
    }
}
