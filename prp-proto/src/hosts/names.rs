//! The names of all nodes: one string, and a table to find them in.

use alloc::string::String;
use alloc::vec::Vec;
use core::hash::BuildHasher;
use core::mem::size_of;

use foldhash::fast::FixedState;
use hashbrown::HashTable;

use super::MAX_NAME;

/// Names in the order of their adding; found in any case of ASCII letters.
#[derive(Clone, Default)]
pub(super) struct Names {
    /// All names, one after another.
    text: String,
    /// A name reaches up to where the next one begins.
    spans: Vec<NameSpan>,
    /// Indices into `spans`, by the hash of the name in lower case.
    table: HashTable<u32>,
}

#[derive(Copy, Clone)]
struct NameSpan {
    start: u32,
    /// The entry it names.
    entry: u32,
}

impl Names {
    pub(super) fn len(&self) -> usize {
        self.spans.len()
    }

    /// Name `index`, which must be below `len`.
    pub(super) fn get(&self, index: usize) -> &str {
        slice(&self.text, &self.spans, index)
    }

    /// The entry that `name` names.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        let found =
            self.table.find(hash(name), |&i| self.get(i as usize).eq_ignore_ascii_case(name));
        found.map(|&i| self.spans[i as usize].entry as usize)
    }

    /// Adds `name` for `entry`, or returns which entry has it already.
    pub(super) fn add(&mut self, name: &str, entry: usize) -> Result<(), usize> {
        if let Some(owner) = self.find(name) {
            return Err(owner);
        }
        let index = self.spans.len() as u32;
        self.spans.push(NameSpan { start: self.text.len() as u32, entry: entry as u32 });
        self.text.push_str(name);
        let (text, spans) = (&self.text, &self.spans);
        self.table.insert_unique(hash(name), index, |&i| hash(slice(text, spans, i as usize)));
        Ok(())
    }

    pub(super) fn shrink(&mut self) {
        self.text.shrink_to_fit();
        self.spans.shrink_to_fit();
        let (text, spans) = (&self.text, &self.spans);
        self.table.shrink_to_fit(|&i| hash(slice(text, spans, i as usize)));
    }

    pub(super) fn heap_size(&self) -> usize {
        self.text.capacity()
            + self.spans.capacity() * size_of::<NameSpan>()
            + self.table.allocation_size()
    }
}

fn slice<'a>(text: &'a str, spans: &[NameSpan], index: usize) -> &'a str {
    let end = spans.get(index + 1).map_or(text.len(), |next| next.start as usize);
    &text[spans[index].start as usize..end]
}

/// The hash of `name` in lower case. The seed is fixed: names come from the administrator's own
/// file.
fn hash(name: &str) -> u64 {
    let mut lower = [0; MAX_NAME];
    let bytes = name.as_bytes();
    // Longer names are in no file, so what is hashed of them does not matter.
    let len = bytes.len().min(MAX_NAME);
    lower[..len].copy_from_slice(&bytes[..len]);
    lower[..len].make_ascii_lowercase();
    FixedState::default().hash_one(&lower[..len])
}
