//! What a process does in each pattern: the same messages as those of `prp_model::graph::Kind`.

use std::io;

use clap::ValueEnum;

use super::mesh::Mesh;

/// A pattern of messages.
#[derive(Copy, Clone, Debug, Eq, PartialEq, ValueEnum)]
pub(super) enum Pattern {
    /// Down a binary tree
    TreeBroadcast,
    /// From process 0 to each of the others, one after another
    FlatBroadcast,
    /// Up the tree, and then from process 0 to each of the others
    Reduction,
    /// Each to both of its neighbours in a ring
    Neighbours,
    /// Each with an even number to the next one
    Pairs,
}

impl Pattern {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::TreeBroadcast => "tree-broadcast",
            Self::FlatBroadcast => "flat-broadcast",
            Self::Reduction => "reduction",
            Self::Neighbours => "neighbours",
            Self::Pairs => "pairs",
        }
    }

    /// Whether `processes` processes can play it.
    pub(super) const fn suits(self, processes: usize) -> bool {
        match self {
            // Two neighbours.
            Self::Neighbours => processes > 2,
            Self::Pairs => processes.is_multiple_of(2),
            _ => true,
        }
    }

    /// This process's part.
    pub(super) fn play(self, mesh: &Mesh, count: usize, message: &mut [u8]) -> io::Result<()> {
        let rank = mesh.rank;
        let children = || [2 * rank + 1, 2 * rank + 2].into_iter().filter(|child| *child < count);
        match self {
            Self::TreeBroadcast => {
                if rank > 0 {
                    mesh.receive((rank - 1) / 2, message)?;
                }
                children().try_for_each(|child| mesh.send(child, message))
            }
            Self::FlatBroadcast => from_root(mesh, count, message),
            Self::Reduction => {
                children().try_for_each(|child| mesh.receive(child, message))?;
                if rank > 0 {
                    mesh.send((rank - 1) / 2, message)?;
                }
                from_root(mesh, count, message)
            }
            Self::Neighbours => {
                let (left, right) = ((rank + count - 1) % count, (rank + 1) % count);
                mesh.send(right, message)?;
                mesh.send(left, message)?;
                mesh.receive(left, message)?;
                mesh.receive(right, message)
            }
            Self::Pairs if rank.is_multiple_of(2) => mesh.send(rank + 1, message),
            Self::Pairs => mesh.receive(rank - 1, message),
        }
    }
}

fn from_root(mesh: &Mesh, count: usize, message: &mut [u8]) -> io::Result<()> {
    if mesh.rank > 0 {
        return mesh.receive(0, message);
    }
    (1..count).try_for_each(|to| mesh.send(to, message))
}
