//! Times as sums of the blocks they are made of, as the paper writes them.

use std::fmt;

use super::definition::{Graph, Path};

/// The fixed time of a pattern: how often each block's `a` is in it, and where processes share
/// processors a wake-up `w` and the change `c` of a processor.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Small(Vec<(u32, String)>);

/// The time of a byte of a pattern: steps, each as long as the block that takes longest for its
/// messages.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Large(Vec<(u32, Step)>);

/// How many messages each block has in a step.
pub(super) type Step = Vec<(u32, String)>;

impl Small {
    /// Adds a term once more.
    pub(super) fn add(&mut self, term: String) {
        match self.0.iter_mut().find(|(_, known)| *known == term) {
            Some((count, _)) => *count += 1,
            None => self.0.push((1, term)),
        }
    }

    /// How often a term is in it: `a_W`, or `w` for a wake-up.
    #[must_use]
    pub fn count(&self, term: &str) -> u32 {
        self.0.iter().find(|(_, known)| known == term).map_or(0, |(count, _)| *count)
    }
}

impl Large {
    pub(super) fn of(steps: Vec<Step>) -> Self {
        let mut all: Vec<(u32, Step)> = Vec::new();
        for step in steps {
            match all.iter_mut().find(|(_, known)| *known == step) {
                Some((count, _)) => *count += 1,
                None => all.push((1, step)),
            }
        }
        Self(all)
    }
}

/// `3 a_C`, without a factor of 1.
fn term(count: u32, what: &str) -> String {
    if count == 1 { what.to_owned() } else { format!("{count} {what}") }
}

impl fmt::Display for Small {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let terms = self.0.iter().map(|(count, what)| term(*count, what));
        f.write_str(&terms.collect::<Vec<_>>().join(" + "))
    }
}

impl fmt::Display for Large {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slowest = |step: &Step| {
            let loads = step.iter().map(|(count, symbol)| term(*count, &format!("b_{symbol}")));
            let loads: Vec<String> = loads.collect();
            match &loads[..] {
                [one] => one.clone(),
                several => format!("max({})", several.join(", ")),
            }
        };
        let terms = self.0.iter().map(|(count, step)| term(*count, &slowest(step)));
        f.write_str(&terms.collect::<Vec<_>>().join(" + "))
    }
}

impl Graph {
    /// How many messages each block has among these, the most of those with one symbol; `None`
    /// where a path is no row of blocks that are independent. Blocks that cost nothing for a byte
    /// are left out.
    pub(super) fn loads(&self, messages: &[usize]) -> Option<Step> {
        let mut counts = vec![0; self.blocks.len()];
        for at in messages {
            self.plain(&self.messages[*at].via)?.into_iter().for_each(|block| counts[block] += 1);
        }
        let mut step: Step = Vec::new();
        for (node, count) in self.blocks.iter().zip(counts) {
            if count == 0 || node.block.byte.number() == 0.0 {
                continue;
            }
            match step.iter_mut().find(|(_, symbol)| *symbol == node.symbol) {
                Some((most, _)) => *most = count.max(*most),
                None => step.push((count, node.symbol.clone())),
            }
        }
        step.sort_by(|l, r| l.1.cmp(&r.1));
        Some(step)
    }

    /// The blocks of a path that is a row of independent ones.
    pub(super) fn plain(&self, path: &Path) -> Option<Vec<usize>> {
        let parts = match path {
            Path::Block(_) => std::slice::from_ref(path),
            Path::Serial(parts) => parts,
            Path::Parallel(_) => return None,
        };
        let block = |part: &Path| if let Path::Block(at) = part { Some(*at) } else { None };
        let blocks: Vec<usize> = parts.iter().map(block).collect::<Option<_>>()?;
        let processor = |at: &usize| &self.blocks[*at].processor;
        let is_alone =
            |at: &usize| blocks.iter().filter(|b| processor(b) == processor(at)).count() == 1;
        blocks.iter().all(is_alone).then_some(blocks)
    }
}
