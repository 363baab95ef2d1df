//! What is played: the ends that send, how much they send, and what may go wrong.

use std::time::Duration;

use prp_proto::config::{Classic, ConnConfig, Keepalive};
use prp_proto::congestion::Controller;
use prp_proto::key::Mode;
use prp_proto::seq::SeqWidth;
use prp_proto::wire::{Reliability, ReliabilitySet};

/// What both ends know.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub enum Peers {
    /// Both know our options.
    Extended(Reliability),
    /// The client knows only the paper's header.
    Classic,
}

/// Two nodes, what they say to each other, and how much may go wrong on the path.
#[derive(Copy, Clone, Debug)]
pub struct Scene {
    /// What it is called on the command line and in reports.
    pub name: &'static str,
    /// What both ends know.
    pub peers: Peers,
    /// Segments the client writes, and the server.
    pub segments: [u8; 2],
    /// Bytes of a segment: its writer, its number, and nothing more. An end repeats a short segment
    /// where it would ask whether a longer one has come.
    pub length: u8,
    /// Both ends ask for the connection, instead of one that listens.
    pub crossing: bool,
    /// Initial numbers are the last two before the wrap.
    pub wrap: bool,
    /// Frames that may be lost, doubled or kept back: in all, in any mixture.
    pub faults: u8,
    /// Times a deadline may pass while frames wait.
    pub early_deadlines: u8,
    /// Restarts of either node: in all.
    pub restarts: u8,
    /// Deadlines that may pass before the network heals.
    pub deadlines: u8,
    /// The server accepts connections at any time, and not at once.
    pub accepts_late: bool,
    /// What a cluster key does for the frames of both.
    pub key: Mode,
}

const fn extended(name: &'static str, reliability: Reliability) -> Scene {
    Scene {
        name,
        peers: Peers::Extended(reliability),
        segments: [2, 1],
        length: 2,
        crossing: false,
        wrap: false,
        faults: 1,
        early_deadlines: 0,
        restarts: 0,
        deadlines: 4,
        accepts_late: false,
        key: Mode::Off,
    }
}

use Reliability::{Detect, GoBackN, SelectiveRepeat};

/// Bytes of a segment that is not repeated before it is known to be lost.
const LONG_SEGMENT: u8 = 129;

const CLASSIC: Scene =
    Scene { peers: Peers::Classic, wrap: true, ..extended("classic-wrap", Detect) };

const fn restart(name: &'static str, reliability: Reliability) -> Scene {
    Scene { segments: [1, 1], restarts: 1, faults: 0, ..extended(name, reliability) }
}

impl Scene {
    /// The scenes of CI: within a minute in all.
    pub const SMOKE: [Self; 17] = [
        extended("selective-repeat", SelectiveRepeat),
        extended("go-back-n", GoBackN),
        extended("detect", Detect),
        Self { wrap: true, ..extended("selective-repeat-wrap", SelectiveRepeat) },
        Self { wrap: true, ..extended("go-back-n-wrap", GoBackN) },
        Self { length: LONG_SEGMENT, ..extended("selective-repeat-long", SelectiveRepeat) },
        Self { length: LONG_SEGMENT, ..extended("go-back-n-long", GoBackN) },
        Self { crossing: true, segments: [1, 1], ..extended("crossing", SelectiveRepeat) },
        CLASSIC,
        Self {
            early_deadlines: 1,
            faults: 0,
            ..extended("selective-repeat-late", SelectiveRepeat)
        },
        restart("selective-repeat-restart", SelectiveRepeat),
        restart("go-back-n-restart", GoBackN),
        restart("detect-restart", Detect),
        Self { accepts_late: true, ..restart("selective-repeat-restart-accept", SelectiveRepeat) },
        Self { key: Mode::Seal, segments: [1, 1], ..extended("key", SelectiveRepeat) },
        Self {
            key: Mode::Seal,
            crossing: true,
            segments: [1, 1],
            ..extended("key-crossing", SelectiveRepeat)
        },
        Self { key: Mode::Sign, ..restart("key-restart", SelectiveRepeat) },
    ];

    /// The scenes of a long run: what CI plays, with more said and more going wrong.
    pub fn deep() -> Vec<Self> {
        Self::SMOKE
            .into_iter()
            .map(|scene| Self {
                segments: [scene.segments[0] + 1, scene.segments[1]],
                faults: scene.faults + 1,
                early_deadlines: scene.early_deadlines.min(1),
                ..scene
            })
            .collect()
    }

    /// Settings of the connection for the client (0) or the server (1). Keepalive is quick, so that
    /// what a restart leaves behind is found within the run.
    pub(super) fn config(&self, node: usize) -> ConnConfig {
        let (reliability, classic) = match self.peers {
            Peers::Extended(one) => (ReliabilitySet::only(one), Classic::Refuse),
            Peers::Classic if node == 0 => (ReliabilitySet::only(Detect), Classic::Only),
            Peers::Classic => (ReliabilitySet::only(Detect), Classic::Allow),
        };
        let keepalive = Keepalive {
            idle: Duration::from_secs(1),
            interval: Duration::from_millis(500),
            probes: 2,
        };
        ConnConfig {
            reliability,
            classic,
            keepalive: Some(keepalive),
            // It remembers the least: counts of rounds and round trips would be states that differ
            // in nothing else.
            congestion: Controller::Aimd,
            ..ConnConfig::default()
        }
    }

    /// How many bits of a segment number travel.
    pub(super) const fn width(&self) -> SeqWidth {
        match self.peers {
            Peers::Extended(_) => SeqWidth::Bits20,
            Peers::Classic => SeqWidth::Bits16,
        }
    }

    /// Whether losses are made good.
    pub(super) const fn is_reliable(&self) -> bool {
        matches!(self.peers, Peers::Extended(GoBackN | SelectiveRepeat))
    }
}
