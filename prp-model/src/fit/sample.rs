//! What was measured.

use crate::graph::PatternKind;
use crate::unit::{Bytes, Hops, Seconds};

/// What a measured time is the time of.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq, Hash)]
pub enum TimeKind {
    /// Of a message, from the sender's call to the receiver's return.
    #[default]
    OneWay,
    /// Of the sender's processor: how long the call to send takes. LogP's `o`.
    Send,
}

/// A pattern of messages among processes of one node, which sleep as soon as they wait.
#[derive(Copy, Clone, Debug, PartialEq, PartialOrd)]
pub struct Played {
    /// Which.
    pub kind: PatternKind,
    /// Among how many processes.
    pub processes: u32,
    /// The processors of the node.
    pub processors: u32,
}

/// One measurement.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Sample {
    /// The size of each message.
    pub size: Bytes,
    /// Routers on the path; `None` where the measurement does not say.
    pub hops: Option<Hops>,
    /// Messages in a row that the time is for; LogP's gap shows from two on.
    pub messages: u32,
    /// Pairs of processes that send at the same time over one network (section 4 of the hyperbolic
    /// model).
    pub pairs: u32,
    /// The pattern whose time it is; `None`: as many pairs, each process with a processor.
    pub played: Option<Played>,
    /// What it is the time of.
    pub kind: TimeKind,
    /// The round in which it was taken: what is common to a round is not independent. `None`: of
    /// its own.
    pub round: Option<u32>,
    /// How long it took.
    pub time: Seconds,
}

impl Sample {
    /// A message of `size` that took `time` one way.
    #[must_use]
    pub fn one_way(size: Bytes, time: Seconds) -> Self {
        let kind = TimeKind::OneWay;
        Self { size, hops: None, messages: 1, pairs: 1, played: None, kind, round: None, time }
    }

    /// The same over `hops` routers.
    #[must_use]
    pub fn over(self, hops: Hops) -> Self {
        Self { hops: Some(hops), ..self }
    }
}

/// Where a time is predicted or was measured: all of a sample but the time.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Setting {
    /// The size of each message.
    pub size: Bytes,
    /// Routers on the path.
    pub hops: Hops,
    /// Messages in a row.
    pub messages: u32,
    /// Pairs that send at the same time.
    pub pairs: u32,
    /// The pattern, as in a sample.
    pub played: Option<Played>,
    /// What it is the time of.
    pub kind: TimeKind,
}

impl Played {
    /// Whether there can be such a pattern.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.processors > 0 && self.kind.suits(self.processes)
    }
}

impl Setting {
    /// One message of `size` between neighbours, with nothing beside it.
    #[must_use]
    pub fn one_way(size: Bytes) -> Self {
        let kind = TimeKind::OneWay;
        Self { size, hops: Hops::new(0.0), messages: 1, pairs: 1, played: None, kind }
    }
}

impl From<&Sample> for Setting {
    fn from(sample: &Sample) -> Self {
        Self {
            size: sample.size,
            hops: sample.hops.unwrap_or_default(),
            messages: sample.messages,
            pairs: sample.pairs,
            played: sample.played,
            kind: sample.kind,
        }
    }
}
