//! The order in which nodes reached `via` others are resolved, and the loops that have none.

use alloc::vec;
use alloc::vec::Vec;

use super::{Hosts, StoredTarget};

/// An entry on the path from a root, and how many of its hops have been followed.
pub(crate) struct Step {
    pub(crate) entry: usize,
    followed: usize,
}

impl Step {
    /// The hop of the entry that leads to the next step.
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
    /// All entries this one goes via have been visited, but for those of a loop.
    Done(usize),
    /// The last step goes via this entry, which is a step of the path already.
    Loop(&'a [Step], usize),
}

/// Visits every entry once, in file order but after the entries it goes via. Iterative, since a
/// chain may be as long as the file.
pub(crate) fn walk(hosts: &Hosts, mut visit: impl FnMut(Visit<'_>)) {
    let mut marks = vec![Mark::New; hosts.stored_entries().len()];
    let mut path: Vec<Step> = Vec::new();
    for root in 0..marks.len() {
        if marks[root] == Mark::New {
            marks[root] = Mark::Open;
            path.push(Step { entry: root, followed: 0 });
        }
        while let Some(step) = path.last_mut() {
            let entry = step.entry;
            let Some(hop) = hosts.stored_hops(entry).get(step.followed) else {
                marks[entry] = Mark::Done;
                visit(Visit::Done(entry));
                path.pop();
                continue;
            };
            step.followed += 1;
            let StoredTarget::Via(gateway) = hop.target else { continue };
            // Unknown gateways and an entry via itself are mistakes of their own.
            let Some(next) = hosts.entry_index(gateway).filter(|&next| next != entry) else {
                continue;
            };
            match marks[next] {
                Mark::New => {
                    marks[next] = Mark::Open;
                    path.push(Step { entry: next, followed: 0 });
                }
                Mark::Open => visit(Visit::Loop(&path, next)),
                Mark::Done => {}
            }
        }
    }
}
