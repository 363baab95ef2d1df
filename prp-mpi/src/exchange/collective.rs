//! The collective operations in progress, and the comparison of what the ranks call.

use std::collections::VecDeque;

use super::Exchange;
use crate::collective::schedule::{Advance, Schedule};
use crate::request::{Outcome, RequestId, Status};
use crate::wire::{Header, Signature};

/// Collective calls of a communicator that are remembered, for comparison with what others call.
const REMEMBERED: usize = 16;

/// The last collective calls on a communicator that were begun here, each at the place of its
/// number.
#[derive(Debug, Default)]
pub(super) struct CallHistory([Option<(i32, Signature)>; REMEMBERED]);

impl CallHistory {
    const fn place(number: i32) -> usize {
        number.cast_unsigned() as usize % REMEMBERED
    }

    const fn put(&mut self, number: i32, signature: Signature) {
        self.0[Self::place(number)] = Some((number, signature));
    }

    /// How the call that a message of rank `from` belongs to differs from the one that was begun
    /// here; `None` if it does not, or none was.
    fn differs(&self, header: &Header, from: usize) -> Option<Mismatch> {
        let (number, ours) = self.0[Self::place(header.tag)].as_ref()?;
        if *number != header.tag || agree(ours, &header.signature) {
            return None;
        }
        Some(Mismatch {
            context: header.context,
            other: from,
            theirs: header.signature,
            ours: *ours,
            number: header.tag,
        })
    }
}

/// Two ranks that call different collective operations at the same point.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct Mismatch {
    /// The context of the communicator.
    pub context: u64,
    /// World rank of the other one.
    pub other: usize,
    /// What the other one calls.
    pub theirs: Signature,
    /// What is called here.
    pub ours: Signature,
    /// The how-manieth collective call on the communicator it is; negative if it is a persistent
    /// operation, of which it is the how-manieth from the smallest number on.
    pub number: i32,
}

/// Collective operations whose next step is a function of the program.
#[derive(Debug, Default)]
pub(super) struct Combining {
    /// It is to be called.
    waiting: VecDeque<Schedule>,
    /// A thread calls it: contexts.
    called: Vec<u64>,
}

impl Combining {
    /// Whether an operation of this context is among them.
    pub(super) fn has(&self, context: u64) -> bool {
        self.waiting.iter().any(|schedule| schedule.context == context)
            || self.called.contains(&context)
    }
}

/// A function of the program that is to be called without the exchange. The operation goes on when
/// it is [put back](Exchange::put_back).
#[derive(Debug)]
#[must_use = "the operation does not go on by itself"]
pub struct Combination(Schedule);

impl Combination {
    /// Calls it.
    pub fn run(&mut self) {
        self.0.combine();
    }
}

impl Exchange {
    /// Begins a collective operation.
    pub fn start(&mut self, mut schedule: Schedule) -> RequestId {
        self.remember(&schedule);
        let request = self.requests.begin(1, Status::EMPTY);
        schedule.request = Some(request);
        self.advance(schedule);
        request
    }

    /// The next function of the program that is to be called.
    pub fn take_combination(&mut self) -> Option<Combination> {
        let schedule = self.combining.waiting.pop_front()?;
        self.combining.called.push(schedule.context);
        Some(Combination(schedule))
    }

    /// Whether a function of the program is being called for a collective operation.
    pub const fn is_combining(&self) -> bool {
        !self.combining.called.is_empty()
    }

    /// The function has returned.
    pub fn put_back(&mut self, combination: Combination) {
        let Combination(schedule) = combination;
        let called = &mut self.combining.called;
        if let Some(at) = called.iter().position(|context| *context == schedule.context) {
            called.swap_remove(at);
        }
        self.advance(schedule);
    }

    /// Goes on with an operation. `false` if it waits for messages.
    fn advance(&mut self, mut schedule: Schedule) -> bool {
        match schedule.advance(self) {
            Advance::Waits => {
                self.schedules.push(schedule);
                return false;
            }
            Advance::Combines => self.combining.waiting.push_back(schedule),
            Advance::Done => self.finish(schedule),
        }
        true
    }

    fn finish(&mut self, mut schedule: Schedule) {
        schedule.finish();
        if let Some(request) = schedule.request {
            if schedule.outcome == Outcome::Truncated
                && let Some(request) = self.requests.at(request)
            {
                request.status.outcome = Outcome::Truncated;
            }
            self.requests.advance(request);
        }
    }

    /// Notes what is called, and compares it with what others have sent before.
    fn remember(&mut self, schedule: &Schedule) {
        let calls = self.calls.entry(schedule.context).or_default();
        calls.put(schedule.number, schedule.signature);
        let (context, number) = (schedule.context, schedule.number);
        let mut early = self.matching.unexpected_with(context, number, schedule.peers.len());
        if let Some(found) = early.find_map(|m| calls.differs(&m.header, m.from)) {
            self.mismatch.get_or_insert(found);
        }
    }

    /// Compares the collective call a message belongs to with the one made here.
    pub(super) fn compare(&mut self, header: &Header, from: usize) {
        let calls = self.calls.get(&header.context);
        if let Some(found) = calls.and_then(|calls| calls.differs(header, from)) {
            self.mismatch.get_or_insert(found);
        }
    }

    /// Goes on with the collective operations. `false` if all wait for messages.
    pub(super) fn advance_schedules(&mut self) -> bool {
        let mut moved = false;
        let mut at = 0;
        while at < self.schedules.len() {
            let schedule = self.schedules.swap_remove(at);
            if self.advance(schedule) {
                moved = true;
                // What was last is at this place now.
            } else {
                let last = self.schedules.len() - 1;
                self.schedules.swap(at, last);
                at += 1;
            }
        }
        moved
    }
}

/// Whether two ranks mean the same collective call.
fn agree(a: &Signature, b: &Signature) -> bool {
    let same_bytes = a.bytes == b.bytes || a.bytes == u64::MAX || b.bytes == u64::MAX;
    let same_element = a.element == b.element || a.element == 0 || b.element == 0;
    a.call == b.call && a.op == b.op && a.root == b.root && same_bytes && same_element
}
