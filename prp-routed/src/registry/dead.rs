//! What is left of processes that are dead: connections, which are reset in rounds.

use std::collections::HashMap;
use std::time::Duration;

use prp_node::LedgerReader;
use prp_proto::addr::Port;
use prp_proto::endpoint::EstablishedId;
use prp_proto::time::Instant;
use prp_proto::token_bucket::TokenBucket;

/// Pauses before all is done once more. A dying process closes one descriptor after another, so the
/// first time its ports may still be its own; and a reset may be lost, as any frame.
const PAUSES: [Duration; 2] = [Duration::from_millis(50), Duration::from_millis(350)];

/// How long to wait where the second's resets are used up: for the next few dozen.
const SHORT_OF_TOKENS: Duration = Duration::from_millis(5);

/// Processes that are dead.
#[derive(Debug, Default)]
pub(super) struct DeadProcesses {
    all: Vec<DeadProcess>,
    /// How often each user of theirs was served: the user with the fewest is next, so that one with
    /// many dead processes does not keep the others waiting.
    served: HashMap<u32, u64>,
}

impl DeadProcesses {
    pub(super) const fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn of_user(&self, user: u32) -> usize {
        self.all.iter().filter(|dead| dead.user == user).count()
    }

    /// The process of `user` that kept `ledger` has just ended.
    pub(super) fn add(&mut self, user: u32, ledger: LedgerReader, now: Instant) {
        // A new user begins where the others are.
        let least = self.served.values().min().copied().unwrap_or_default();
        self.served.entry(user).or_insert(least);
        let free = HashMap::new();
        self.all.push(DeadProcess { user, ledger, due: now, round: 0, at: 0, free });
    }

    /// When [`Self::resets`] has something to do.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.all.iter().map(|dead| dead.due).min()
    }

    /// The next few connections to be reset, as far as `tokens` go.
    pub(super) fn resets(
        &mut self,
        now: Instant,
        tokens: &mut TokenBucket,
        mut is_free: impl FnMut(Port) -> bool,
    ) -> Vec<EstablishedId> {
        let mut found = Vec::new();
        let served = &self.served;
        let due = self.all.iter().enumerate().filter(|(_, dead)| dead.due <= now);
        let next = due.min_by_key(|(_, dead)| served.get(&dead.user).copied().unwrap_or_default());
        let Some((at, _)) = next else { return found };
        let dead = &mut self.all[at];
        *self.served.entry(dead.user).or_default() += 1;
        if !tokens.take(now) {
            dead.due = now + SHORT_OF_TOKENS;
        } else if !dead.resets(now, tokens, &mut is_free, &mut found) {
            let user = self.all.swap_remove(at).user;
            if self.of_user(user) == 0 {
                self.served.remove(&user);
            }
        }
        found
    }
}

/// A process that is dead.
#[derive(Debug)]
struct DeadProcess {
    user: u32,
    ledger: LedgerReader,
    /// When there is something to do.
    due: Instant,
    round: usize,
    /// The row to go on with.
    at: usize,
    /// What was found out in this round: whether a port has no owner.
    free: HashMap<Port, bool>,
}

impl DeadProcess {
    /// Adds the connections of the next rows that are to be reset to `all`; whether there will be
    /// more.
    ///
    /// Only those whose port has no owner: a process cannot have the connections of another one
    /// reset, since that one owns its ports as long as it has any.
    fn resets(
        &mut self,
        now: Instant,
        tokens: &mut TokenBucket,
        is_free: &mut impl FnMut(Port) -> bool,
        all: &mut Vec<EstablishedId>,
    ) -> bool {
        let next = self.ledger.read(self.at, all).unwrap_or_default();
        // Each costs a check of its port, even if nothing is to be reset.
        tokens.spend(all.len());
        all.retain(|established| {
            *self.free.entry(established.local).or_insert_with(|| is_free(established.local))
        });
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
