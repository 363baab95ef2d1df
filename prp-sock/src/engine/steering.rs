//! Many processes on one node: each frame to the one process it is for, whatever their number.
//!
//! docs/steering.md has the plan. A process begins by itself, with a filter on sockets of its own. After a
//! while it asks the node's steward to put these sockets into rows ([`crate::steering`]); from then on ports have to
//! be agreed with the steward. At any disturbance it opens new sockets and is by itself again
//! ([`usher`]); nothing that others do or fail to do can keep it from that.

mod usher;

use std::collections::BTreeSet;
use std::io;
use std::task::Waker;

use prp_proto::addr::Port;

use super::claims::Claims;
use super::guard::Calls;
use crate::steering::message::{Reply, Request};
pub(super) use usher::Usher;

/// Ports a process reserves at first for connections to come; then as many as it has.
const FIRST_RESERVE: u16 = 32;

/// Why a process is to be by itself again.
#[derive(Copy, Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Trouble {
    /// The steward asks for it.
    Asked,
    /// The steward does not answer, or cannot help.
    Silence,
    /// A device went down: the kernel puts its row in another order when it comes back.
    Disorder,
}

/// What this process has agreed with the steward.
#[derive(Debug, Default)]
pub(crate) struct Steering {
    /// Whether ports have to be agreed.
    member: bool,
    /// Our sockets may stand in rows.
    enlisted: bool,
    /// Ports whose frames come to us.
    steered: BTreeSet<Port>,
    /// Those of them that were reserved for connections to come.
    reserved: BTreeSet<Port>,
    /// Those of them that we do not own yet, as far as we know.
    fresh: BTreeSet<Port>,
    /// To be told to the steward.
    outbox: Vec<Request>,
    /// Asked for and not answered.
    pending: Vec<(u32, Request)>,
    trouble: Option<Trouble>,
    /// The request we joined with: answers to others before it come too late.
    since: u32,
    usher: Option<Waker>,
}

impl Steering {
    /// What must be agreed with the steward before `local`, or any port, can be used.
    fn missing(&self, local: Option<Port>) -> Option<Request> {
        if !self.member {
            return None;
        }
        match local {
            Some(port) => (!self.steered.contains(&port)).then_some(Request::Claim(port)),
            None if self.fresh.is_empty() => {
                let had = u16::try_from(self.reserved.len()).unwrap_or(u16::MAX);
                Some(Request::Reserve(had.max(FIRST_RESERVE)))
            }
            None => None,
        }
    }

    /// Asks the steward, unless that is under way; whether it was not.
    fn ask(&mut self, request: Request) -> bool {
        let same = |other: &Request| match (other, &request) {
            (Request::Reserve(_), Request::Reserve(_)) => true,
            (other, request) => other == request,
        };
        let under_way = self.outbox.iter().chain(self.pending.iter().map(|(_, r)| r)).any(same);
        if !under_way {
            self.outbox.push(request);
        }
        !under_way
    }

    /// Makes a port that nobody asked for by number ours, if its frames would come to us.
    pub(crate) fn claim(&mut self, claims: &mut Claims, port: Port) -> io::Result<bool> {
        if self.member && !self.fresh.remove(&port) {
            return Ok(false);
        }
        claims.claim(port)
    }

    /// Whether all ports we could use for new connections are used up.
    pub(crate) fn is_short(&self) -> bool {
        self.member && self.fresh.is_empty()
    }

    /// A port is ours no more.
    pub(super) fn release(&mut self, port: Port, calls: &mut Calls) {
        if !self.member {
            return;
        }
        if self.reserved.contains(&port) {
            self.fresh.insert(port);
        } else if self.steered.remove(&port) {
            self.outbox.push(Request::Release(port));
            self.call(calls);
        }
    }

    /// A device of ours went down.
    pub(super) fn disturb(&mut self, calls: &mut Calls) {
        if self.member {
            self.be_troubled(Trouble::Disorder);
            self.call(calls);
        }
    }

    fn be_troubled(&mut self, trouble: Trouble) {
        self.trouble = self.trouble.max(Some(trouble));
    }

    fn call(&self, calls: &mut Calls) {
        if let Some(usher) = &self.usher {
            calls.wake(usher.clone());
        }
    }

    /// From now on ports have to be agreed; these are ours.
    fn begin(&mut self, ports: impl Iterator<Item = Port>, number: u32) -> Request {
        self.member = true;
        self.since = number;
        self.steered = ports.collect();
        Request::Join(self.steered.iter().copied().collect())
    }

    /// We are by ourselves again.
    fn end(&mut self) {
        *self = Self { usher: self.usher.take(), ..Self::default() };
    }

    /// The steward has answered request `number`.
    fn hear(&mut self, number: u32, reply: Reply) {
        let at = self.pending.iter().position(|(n, _)| *n == number);
        let request = at.map(|at| self.pending.swap_remove(at).1);
        match (reply, request) {
            (Reply::Enlisted, _) => {
                self.enlisted = true;
                // It comes late: we have left meanwhile, with sockets that were about to be in rows.
                if !self.member {
                    self.be_troubled(Trouble::Asked);
                }
            }
            (Reply::Withdraw, _) => self.be_troubled(Trouble::Asked),
            (Reply::Steered, Some(Request::Claim(port))) => {
                self.steered.insert(port);
            }
            (Reply::Reserved(first, last), Some(Request::Reserve(_))) => {
                let ports = (first.number()..=last.number()).map(Port::new);
                let new: Vec<_> = ports.filter(|p| !self.steered.contains(p)).collect();
                self.steered.extend(&new);
                self.reserved.extend(&new);
                self.fresh.extend(&new);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
