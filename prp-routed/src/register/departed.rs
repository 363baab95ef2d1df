//! What is left of a process that is dead: connections, which are reset in rounds.

use std::collections::HashMap;
use std::time::Duration;

use prp_proto::addr::Port;
use prp_proto::endpoint::Standing;
use prp_proto::time::Instant;
use prp_sock::node::LedgerReader;

/// Pauses before all is done once more. A dying process closes one descriptor after another, so the first time
/// its ports may still be its own; and a reset may be lost, as any frame.
const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_millis(350)];

/// A process that is dead.
#[derive(Debug)]
pub(super) struct Departed {
    pub(super) user: u32,
    ledger: LedgerReader,
    /// When there is something to do.
    pub(super) due: Instant,
    round: usize,
    /// The row to go on with.
    at: usize,
    /// What was found out in this round: whether nobody owns a port.
    free: HashMap<Port, bool>,
}

impl Departed {
    /// The process of `user` that kept `ledger` has just ended.
    pub(super) fn new(user: u32, ledger: LedgerReader, now: Instant) -> Self {
        Self { user, ledger, due: now, round: 0, at: 0, free: HashMap::new() }
    }

    /// Adds the next few connections to be reset to `all`; whether there will be more.
    ///
    /// Only those whose port nobody owns: a process cannot have the connections of another one reset, since
    /// that one owns its ports as long as it has any.
    pub(super) fn resets(
        &mut self,
        now: Instant,
        is_free: &mut impl FnMut(Port) -> bool,
        all: &mut Vec<Standing>,
    ) -> bool {
        let mut found = Vec::new();
        let next = self.ledger.read(self.at, &mut found).unwrap_or_default();
        found.retain(|standing| {
            *self.free.entry(standing.local).or_insert_with(|| is_free(standing.local))
        });
        all.extend(found);
        if let Some(next) = next {
            self.at = next;
            return true;
        }
        self.at = 0;
        self.free.clear();
        let pause = PAUSES.get(self.round);
        self.round += 1;
        self.due = now + pause.copied().unwrap_or_default();
        pause.is_some()
    }
}
