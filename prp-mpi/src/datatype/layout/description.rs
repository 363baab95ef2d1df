//! Layouts as bytes, for other ranks.

use std::sync::Arc;

use super::{Layout, Part, Parts};
use crate::datatype::{Basic, Class};

/// Layouts are within each other at most this often: a description that goes on is none.
const DEEPEST: u32 = 256;

const RUN: u8 = 1;
const REPEAT: u8 = 2;
const PARTS: u8 = 3;

fn take<const N: usize>(from: &mut &[u8]) -> Option<[u8; N]> {
    let (bytes, rest) = from.split_first_chunk()?;
    *from = rest;
    Some(*bytes)
}

fn number(from: &mut &[u8]) -> Option<usize> {
    usize::try_from(u64::from_le_bytes(take(from)?)).ok()
}

/// Reads a place in memory.
pub(in crate::datatype) fn place(from: &mut &[u8]) -> Option<isize> {
    isize::try_from(i64::from_le_bytes(take(from)?)).ok()
}

impl Layout {
    fn describe(&self, to: &mut Vec<u8>) {
        match self {
            Self::Run(basic, count) => {
                to.extend([RUN, basic.class as u8, basic.size, basic.external]);
                to.extend((*count as u64).to_le_bytes());
            }
            Self::Repeat(repeat) => {
                to.push(REPEAT);
                to.extend((repeat.count as u64).to_le_bytes());
                to.extend((repeat.stride as i64).to_le_bytes());
                repeat.inner.describe(to);
            }
            Self::Parts(all) => {
                to.push(PARTS);
                to.extend((all.parts.len() as u64).to_le_bytes());
                all.parts.iter().for_each(|part| part.describe(to));
            }
        }
    }

    fn read(from: &mut &[u8], depth: u32) -> Option<Self> {
        let depth = depth.checked_sub(1)?;
        let layout = match take::<1>(from)? {
            [RUN] => {
                let [class, size, external] = take(from)?;
                let class = *Class::ALL.get(usize::from(class))?;
                let count = number(from)?;
                if size == 0 || count == 0 {
                    return None;
                }
                Self::Run(Basic::new(class, size).with_external(external), count)
            }
            [REPEAT] => {
                let (count, stride) = (number(from)?, place(from)?);
                Self::read(from, depth)?.repeated(count, stride)?
            }
            [PARTS] => {
                let (mut parts, mut facts) = (Vec::new(), None);
                let mut before = 0_usize;
                for _ in 0..number(from)? {
                    let part = Part { before, ..Part::read_within(from, depth)? };
                    let own = part.facts()?;
                    before = before.checked_add(own.size)?;
                    facts = Some(match facts {
                        None => own,
                        Some(others) => super::Facts::and(others, own)?,
                    });
                    parts.push(part);
                }
                Self::Parts(Arc::new(Parts { parts, facts: facts? }))
            }
            _ => return None,
        };
        layout.checked_facts().map(|_| layout)
    }
}

impl Part {
    /// Writes it, behind what `to` has.
    pub(in crate::datatype) fn describe(&self, to: &mut Vec<u8>) {
        to.extend((self.at as i64).to_le_bytes());
        self.layout.describe(to);
    }

    /// Reads it, and takes it off. `None` if `from` begins with nothing of the kind.
    pub(in crate::datatype) fn read(from: &mut &[u8]) -> Option<Self> {
        Self::read_within(from, DEEPEST)
    }

    fn read_within(from: &mut &[u8], depth: u32) -> Option<Self> {
        let at = place(from)?;
        Some(Self::new(at, Layout::read(from, depth)?))
    }
}
