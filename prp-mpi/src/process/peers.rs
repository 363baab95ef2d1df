//! What this process calls others by: ranks of its own job by their ranks, and those of other jobs
//! that it is linked with by the numbers behind these. Other processes number them otherwise, so
//! what goes to them says the identity.

use std::fmt;
use std::io;
use std::str::FromStr;

use super::Process;
use crate::channel::Stream;

/// A process among those of all jobs: `0123456789abcdef:3`.
#[derive(Copy, Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Identity {
    /// The launcher that has started it, which may start several jobs.
    pub job: u64,
    /// Its number among all that this launcher has started.
    pub number: u32,
}

impl Identity {
    /// A rank among those of its job, where no other job is meant.
    pub(super) const fn of_rank(rank: usize) -> Self {
        Self { job: 0, number: rank as u32 }
    }

    /// The process that the same launcher has started `ranks` later.
    #[must_use]
    pub const fn plus(self, ranks: usize) -> Self {
        Self { number: self.number + ranks as u32, ..self }
    }

    /// As one number, which is another one for each process of a launcher.
    pub const fn as_number(self) -> u64 {
        // Bits of the multiplier and the launcher's are random.
        (self.job ^ self.number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}:{}", self.job, self.number)
    }
}

impl FromStr for Identity {
    type Err = io::Error;

    fn from_str(text: &str) -> io::Result<Self> {
        let parse = || {
            let (job, number) = text.split_once(':')?;
            Some(Self { job: u64::from_str_radix(job, 16).ok()?, number: number.parse().ok()? })
        };
        parse().ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

/// A process of another job.
#[derive(Debug)]
pub(super) struct Peer {
    identity: Identity,
    /// Communicators that it is in.
    uses: usize,
}

impl Process {
    /// Which process has a number here.
    pub fn identity_of(&self, index: usize) -> Identity {
        match index.checked_sub(self.size()) {
            None => self.first.plus(index),
            Some(other) => self.peers.lock()[other].identity,
        }
    }

    /// The number that a process has here, if it is linked with this one.
    pub fn index_of(&self, identity: Identity) -> Option<usize> {
        let rank = identity.number.checked_sub(self.first.number).map(|rank| rank as usize);
        match rank.filter(|&rank| identity.job == self.first.job && rank < self.size()) {
            None => {
                let peers = self.peers.lock();
                let found = peers.iter().position(|peer| peer.identity == identity);
                found.map(|at| self.size() + at)
            }
            rank => rank,
        }
    }

    /// Channels this process with one of another job; the number it has here from now on.
    pub(super) fn add_link(&self, identity: Identity, stream: Stream) -> io::Result<usize> {
        let mut exchange = self.exchange();
        if let Some(index) = self.index_of(identity) {
            return Ok(index);
        }
        let index = exchange.add_link(stream)?;
        self.peers.lock().push(Peer { identity, uses: 0 });
        Ok(index)
    }

    /// The processes of other jobs among these.
    pub fn foreign<'a>(&self, all: impl IntoIterator<Item = &'a usize>) -> Vec<usize> {
        all.into_iter().copied().filter(|&index| index >= self.size()).collect()
    }

    /// A communicator has these processes of other jobs. As long as one has, this process waits for
    /// them at its end, and ends if they are killed.
    pub fn hold(&self, foreign: &[usize]) {
        self.count_uses(foreign, |uses| *uses += 1);
    }

    /// A communicator with these processes is no more.
    pub fn release(&self, foreign: &[usize]) {
        self.count_uses(foreign, |uses| *uses -= 1);
    }

    fn count_uses(&self, foreign: &[usize], change: impl Fn(&mut usize)) {
        if foreign.is_empty() {
            return;
        }
        let mut exchange = self.exchange();
        let mut peers = self.peers.lock();
        for &index in foreign {
            let uses = &mut peers[index - self.size()].uses;
            let was_used = *uses > 0;
            change(uses);
            if was_used != (*uses > 0) {
                exchange.set_attached(index, *uses > 0);
            }
        }
    }

    /// Whether this rank may wait for a process that another launcher has started, of which its own
    /// knows nothing.
    pub(super) fn may_wait_for_outsiders(&self) -> bool {
        let is_outside = |peer: &Peer| peer.uses > 0 && peer.identity.job != self.first.job;
        self.peers.lock().iter().any(is_outside)
    }

    /// What the launcher calls a process, if it has started it.
    pub(super) fn number_by_launcher(&self, index: usize) -> Option<u32> {
        let identity = self.identity_of(index);
        (identity.job == self.first.job).then_some(identity.number)
    }

    /// A process, for people.
    pub(super) fn describe_process(&self, index: usize) -> String {
        match self.number_by_launcher(index) {
            Some(number) => format!("rank {number}"),
            None => format!("rank {} of another job", self.identity_of(index).number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identity__is_read_as_it_was_written() {
        let identity = Identity { job: 7 << 40, number: 12 };
        assert_eq!(identity.to_string().parse::<Identity>().unwrap(), identity);
        assert!("7".parse::<Identity>().is_err());
    }

    #[test]
    fn as_number__processes_of_one_launcher_and_of_several_differ() {
        let all = [(1, 0), (1, 1), (1, 2), (1 << 63, 0), (1 << 63, 1)];
        let mut numbers = all.map(|(job, number)| Identity { job, number }.as_number()).to_vec();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), all.len());
    }
}
