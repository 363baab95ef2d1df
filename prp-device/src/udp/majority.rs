//! The sender that most datagrams come from.

use std::net::SocketAddr;

/// How many more must come from one sender than from all others together: what comes by one call
/// of the system counts once. A connection takes as long as some three datagrams.
const ENOUGH: u32 = 64;

/// The sender that has the majority of what comes, by the vote of Boyer and Moore: `lead` says how
/// many times more often than all others the candidate has come since it became one.
#[derive(Debug, Default)]
pub(super) struct Majority {
    candidate: Option<SocketAddr>,
    lead: u32,
}

impl Majority {
    /// Something has come from `from`; whether it has had the majority for long.
    pub(super) fn note(&mut self, from: SocketAddr) -> bool {
        if self.candidate == Some(from) {
            self.lead += 1;
        } else {
            self.note_other();
            if self.lead == 0 {
                (self.candidate, self.lead) = (Some(from), 1);
            }
        }
        self.lead >= ENOUGH
    }

    /// Something has come from an address that is not the candidate.
    pub(super) const fn note_other(&mut self) {
        self.lead = self.lead.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sender(port: u16) -> SocketAddr {
        SocketAddr::new([127, 0, 0, 1].into(), port)
    }

    #[test]
    fn note__takes_a_majority_that_lasts() {
        let mut majority = Majority::default();
        // Turns have none.
        assert!(!(0..1000).any(|at| majority.note(sender(at % 2))));
        let until = (1..).find(|_| majority.note(sender(1))).unwrap();
        assert!((ENOUGH - 1..=ENOUGH + 2).contains(&until), "{until}");
        assert!(majority.note(sender(1)), "it stays");
        // Twice as many from one as from the other.
        let mut majority = Majority::default();
        let until = (1..).find(|at| majority.note(sender((at % 3 == 0).into()))).unwrap();
        assert!((3 * ENOUGH - 9..=3 * ENOUGH + 9).contains(&until), "{until}");
        (0..ENOUGH).for_each(|_| majority.note_other());
        assert!(!majority.note(sender(0)));
    }
}
