//! The order in which nodes reached `via` others are resolved, and the loops that have none.

use alloc::vec;
use alloc::vec::Vec;

use super::{Hosts, StoredReach};

/// A row on the way from a root, and how many of its hops have been followed.
pub(crate) struct Step {
    pub(crate) row: usize,
    followed: usize,
}

impl Step {
    /// The hop of the row that leads to the next step.
    pub(super) fn hop(&self) -> usize {
        self.followed - 1
    }
}

#[derive(Copy, Clone, PartialEq)]
enum Mark {
    New,
    Open,
    Done,
}

/// What [`walk`] comes across.
pub(crate) enum Visit<'a> {
    /// All rows this one goes via have been visited, but for those of a loop.
    Done(usize),
    /// The last step goes via this row, which is a step of the way already.
    Loop(&'a [Step], usize),
}

/// Visits every row once, in file order but after the rows it goes via. Iterative, since a chain
/// may be as long as the file.
pub(crate) fn walk(hosts: &Hosts, mut visit: impl FnMut(Visit<'_>)) {
    let mut marks = vec![Mark::New; hosts.rows().len()];
    let mut way: Vec<Step> = Vec::new();
    for root in 0..marks.len() {
        if marks[root] == Mark::New {
            marks[root] = Mark::Open;
            way.push(Step { row: root, followed: 0 });
        }
        while let Some(step) = way.last_mut() {
            let row = step.row;
            let Some(hop) = hosts.stored_hops(row).get(step.followed) else {
                marks[row] = Mark::Done;
                visit(Visit::Done(row));
                way.pop();
                continue;
            };
            step.followed += 1;
            let StoredReach::Via(gateway) = hop.reach else { continue };
            // Unknown gateways and a row via itself are mistakes of their own.
            let Some(next) = hosts.row_index(gateway).filter(|&next| next != row) else { continue };
            match marks[next] {
                Mark::New => {
                    marks[next] = Mark::Open;
                    way.push(Step { row: next, followed: 0 });
                }
                Mark::Open => visit(Visit::Loop(&way, next)),
                Mark::Done => {}
            }
        }
    }
}
