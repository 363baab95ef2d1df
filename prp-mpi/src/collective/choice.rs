//! Which algorithm a collective call takes: by the size of the message and the number of ranks, or
//! as the program's user has set it.

use super::Call;

/// How the messages of a collective call go.
#[derive(Copy, Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Algorithm {
    /// All of it down a binomial tree.
    Tree,
    /// A part to each rank, and then the parts around the ranks.
    Spread,
    /// Twice as much with each exchange.
    Doubling,
    /// Part by part around the ranks.
    Ring,
    /// To and from one rank after the other.
    Pairs,
    /// To and from all ranks at once.
    AtOnce,
}

impl Algorithm {
    /// Its name in settings and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tree => "tree",
            Self::Spread => "spread",
            Self::Doubling => "doubling",
            Self::Ring => "ring",
            Self::Pairs => "pairs",
            Self::AtOnce => "at_once",
        }
    }
}

/// The calls that have a choice: their names in settings, and what there is.
const KNOWN: [(Call, &str, [Algorithm; 2]); 4] = [
    (Call::Bcast, "bcast", [Algorithm::Tree, Algorithm::Spread]),
    (Call::Allreduce, "allreduce", [Algorithm::Doubling, Algorithm::Ring]),
    (Call::Allgather, "allgather", [Algorithm::Doubling, Algorithm::Ring]),
    (Call::Alltoall, "alltoall", [Algorithm::Pairs, Algorithm::AtOnce]),
];

/// Messages from this many bytes on are spread to four ranks and more: each rank then sends twice
/// the message, while the root of a tree sends it as often as the tree is deep.
const SPREAD: usize = 128 << 10;

/// Vectors from this many bytes on are reduced around the ranks: each byte is sent twice then,
/// instead of once for each doubling.
const RING_BYTES: usize = 32 << 10;

/// Parts of all ranks together from this many bytes on go around the ranks: then the bytes cost
/// more than the number of messages.
const GATHERED: usize = 32 << 10;

/// Parts of at most this many bytes go to all ranks at once: no window or ring of shared memory is
/// full with them, so that no rank waits for another.
const SMALL: usize = 4 << 10;

/// What is asked about a call.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct CallProperties {
    /// The call, of which those with counts for each rank are asked about as those without.
    pub call: Call,
    /// Bytes: of the message (bcast), of a vector (allreduce), of all parts (allgather), of one
    /// part (alltoall).
    pub bytes: usize,
    /// Ranks.
    pub ranks: usize,
    /// Whether elements may be combined in any order.
    pub commutes: bool,
}

impl CallProperties {
    /// Whether an algorithm can do it.
    const fn can(self, algorithm: Algorithm) -> bool {
        match (self.call, algorithm) {
            (Call::Allreduce, Algorithm::Ring) => self.commutes,
            (Call::Allgather, Algorithm::Doubling) => self.ranks.is_power_of_two(),
            _ => true,
        }
    }

    /// By size and number of ranks.
    const fn by_size(self) -> Algorithm {
        let Self { bytes, ranks, .. } = self;
        match self.call {
            Call::Allreduce if bytes >= RING_BYTES && ranks > 2 && self.commutes => Algorithm::Ring,
            Call::Allreduce => Algorithm::Doubling,
            Call::Allgather if bytes < GATHERED && ranks.is_power_of_two() => Algorithm::Doubling,
            Call::Allgather => Algorithm::Ring,
            Call::Alltoall if bytes <= SMALL => Algorithm::AtOnce,
            Call::Alltoall => Algorithm::Pairs,
            _ if bytes >= SPREAD && ranks >= 4 => Algorithm::Spread,
            _ => Algorithm::Tree,
        }
    }
}

/// What the user has set.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Choices(Vec<(Call, Algorithm)>);

impl Choices {
    /// Reads `allreduce=ring,bcast=tree`.
    ///
    /// # Errors
    /// Says which word is wrong, and what there is.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut all = Self::default();
        for word in text.split(',').map(str::trim).filter(|w| !w.is_empty()) {
            let (call, algorithm) = word.split_once('=').unwrap_or((word, ""));
            all.set(call, algorithm)?;
        }
        Ok(all)
    }

    /// Sets what one call takes.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn set(&mut self, name: &str, algorithm: &str) -> Result<(), String> {
        let of_call = KNOWN.iter().filter(|(_, known, _)| *known == name);
        let found = of_call.flat_map(|(call, _, all)| all.map(|a| (*call, a)));
        match found.into_iter().find(|(_, a)| a.name() == algorithm) {
            Some(choice) => {
                self.0.retain(|(call, _)| *call != choice.0);
                self.0.push(choice);
                Ok(())
            }
            None => Err(format!("no '{name}={algorithm}': there is {}", there_is())),
        }
    }

    /// What was set for a call, in `self` or else in `general`, if it can do it; or what fits size
    /// and ranks.
    pub fn choose(&self, general: &Self, question: CallProperties) -> Algorithm {
        let set = self.0.iter().chain(&general.0).find(|(call, _)| *call == question.call);
        let set = set.map(|(_, algorithm)| *algorithm).filter(|a| question.can(*a));
        set.unwrap_or_else(|| question.by_size())
    }
}

fn there_is() -> String {
    let line = |(_, name, [a, b]): (Call, &str, [Algorithm; 2])| {
        format!("{name}={}|{}", a.name(), b.name())
    };
    KNOWN.map(line).join(", ")
}

#[cfg(test)]
mod tests;
