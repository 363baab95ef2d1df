//! What a rank does in a collective operation, step by step.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use crate::exchange::Exchange;
use crate::matching::Pattern;
use crate::request::{Outcome, RequestId};
use crate::sys::memory::Region;
use crate::wire::{Header, Kind, Signature};

/// Combines the elements of a lower rank with those of a higher one, which get the result.
#[derive(Clone)]
pub enum Combine {
    /// By a predefined operation.
    Predefined(Arc<CombineFunction>),
    /// By a function of the program, which may wait for other threads of the program, or touch
    /// pages that are closed: it is called without the exchange.
    OfProgram(Arc<CombineFunction>),
}

/// As [`Combine`] says.
pub type CombineFunction = dyn Fn(&[u8], &mut [u8]) + Send + Sync;

/// What is done at the end with the memory of the schedule.
pub type Finish = Box<dyn FnOnce(&Region) + Send>;

/// One thing that a rank does. Ranges are of the schedule's memory.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Step {
    /// Sends these bytes to a rank of the group.
    Send(usize, Range<usize>),
    /// Receives these bytes from a rank of the group.
    Receive(usize, Range<usize>),
    /// Waits until all that was begun is done.
    Wait,
    /// Combines two ranges, the first of lower ranks; the second has the result.
    Combine(Range<usize>, Range<usize>),
    /// Copies the first range to the second.
    Copy(Range<usize>, Range<usize>),
}

/// How far a schedule has come.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(crate) enum Advance {
    /// It waits for messages.
    Waits,
    /// A function of the program is to be called.
    Combines,
    /// Nothing is left.
    Done,
}

/// A collective operation of one rank.
pub struct Schedule {
    /// World ranks of the group, by rank.
    pub peers: Arc<[usize]>,
    /// Own rank in the group.
    pub rank: i32,
    /// Context of its messages.
    pub context: u64,
    /// The how-manieth on the communicator.
    pub number: i32,
    /// What all must agree on.
    pub signature: Signature,
    /// Memory that the steps work on.
    pub memory: Region,
    /// What is left to do.
    pub steps: VecDeque<Step>,
    /// How elements are combined.
    pub combine: Option<Combine>,
    /// What is done at the end.
    pub finish: Option<Finish>,
    pub(crate) request: Option<RequestId>,
    pub(crate) outcome: Outcome,
    begun: Vec<RequestId>,
}

impl Schedule {
    /// Nothing to do yet, on `memory`.
    pub fn new(peers: Arc<[usize]>, rank: i32, context: u64, number: i32, memory: Region) -> Self {
        Self {
            peers,
            rank,
            context,
            number,
            signature: Signature { root: -1, ..Signature::default() },
            memory,
            steps: VecDeque::new(),
            combine: None,
            finish: None,
            request: None,
            outcome: Outcome::Success,
            begun: Vec::new(),
        }
    }

    /// Does what can be done.
    pub(crate) fn advance(&mut self, exchange: &mut Exchange) -> Advance {
        loop {
            match self.steps.front().cloned() {
                None | Some(Step::Wait) => {
                    if !self.has_all(exchange) {
                        return Advance::Waits;
                    }
                    if self.steps.pop_front().is_none() {
                        return Advance::Done;
                    }
                    continue;
                }
                Some(Step::Send(to, range)) => {
                    let header = Header {
                        kind: Kind::Collective,
                        source: self.rank,
                        tag: self.number,
                        id: 0,
                        context: self.context,
                        len: 0,
                        signature: self.signature,
                    };
                    let region = self.memory.part(range);
                    self.begun.push(exchange.send(self.peers[to], header, &region));
                }
                Some(Step::Receive(from, range)) => {
                    let pattern = Pattern {
                        context: self.context,
                        source: i32::try_from(from).ok(),
                        tag: Some(self.number),
                    };
                    self.begun.push(exchange.receive(pattern, self.memory.part(range)));
                }
                Some(Step::Combine(..)) => match self.combine {
                    Some(Combine::OfProgram(_)) => return Advance::Combines,
                    Some(Combine::Predefined(_)) | None => {
                        self.combine();
                        continue;
                    }
                },
                Some(Step::Copy(from, to)) => {
                    let from = self.memory.part(from);
                    self.memory.part(to).copy_from(&from);
                }
            }
            self.steps.pop_front();
        }
    }

    /// Does the next step, which combines.
    pub(crate) fn combine(&mut self) {
        if let Some(Step::Combine(lower, higher)) = self.steps.pop_front()
            && let Some(Combine::Predefined(function) | Combine::OfProgram(function)) =
                &self.combine
        {
            let lower = self.memory.part(lower);
            let mut higher = self.memory.part(higher);
            if let (Some(from), Some(to)) = (lower.bytes(), higher.bytes_mut(0)) {
                function(from, to);
            }
        }
    }

    fn has_all(&mut self, exchange: &mut Exchange) -> bool {
        self.begun.retain(|request| match exchange.take(*request) {
            Some(status) => {
                if status.outcome != Outcome::Success {
                    self.outcome = status.outcome;
                }
                false
            }
            None => true,
        });
        self.begun.is_empty()
    }

    /// Does what is to be done at the end.
    pub(crate) fn finish(&mut self) {
        if let Some(finish) = self.finish.take() {
            finish(&self.memory);
        }
    }
}

impl fmt::Debug for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Schedule");
        shown.field("context", &self.context).field("number", &self.number);
        shown.field("steps", &self.steps).finish_non_exhaustive()
    }
}
