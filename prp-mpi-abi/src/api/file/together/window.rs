//! What an aggregator has of the file in memory.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use super::covered::Covered;
use super::share::each_place;
use crate::api::file::alone::{SPARSE, read_at};

/// A part of the file in memory, of which some bytes are known.
#[derive(Debug)]
pub(super) struct Window<'a> {
    file: &'a File,
    /// Where it is in the file.
    start: u64,
    bytes: Vec<u8>,
    covered: Covered,
    /// How far the file reaches, after it was read.
    end: usize,
}

impl<'a> Window<'a> {
    /// No part yet.
    pub(super) fn new(file: &'a File) -> Self {
        Self { file, start: 0, bytes: Vec::new(), covered: Covered::default(), end: 0 }
    }

    /// Becomes another part, of which no rank has any byte.
    pub(super) fn move_to(&mut self, range: &Range<u64>) {
        let len = (range.end - range.start) as usize;
        self.start = range.start;
        self.bytes.resize(len, 0);
        self.covered.clear(len);
    }

    /// Takes in what a rank writes, packed, and where it goes. `None` if the places are none.
    pub(super) fn put(&mut self, places: &[u8], mut from: &[u8]) -> Option<()> {
        let Self { bytes, covered, .. } = self;
        let mut fits = true;
        each_place(places, bytes.len(), |place| match from.split_at_checked(place.len()) {
            Some((now, later)) => {
                bytes[place.clone()].copy_from_slice(now);
                covered.add(place);
                from = later;
            }
            None => fits = false,
        })?;
        fits.then_some(())
    }

    /// Notes what a rank reads. `None` if the places are none.
    pub(super) fn want(&mut self, places: &[u8]) -> Option<()> {
        let covered = &mut self.covered;
        each_place(places, self.bytes.len(), |place| covered.add(place))
    }

    /// Writes what ranks have, and nothing between that.
    pub(super) fn write(&self) -> io::Result<()> {
        self.covered.ranges().try_for_each(|range| {
            self.file.write_all_at(&self.bytes[range.clone()], self.start + range.start as u64)
        })
    }

    /// Reads what ranks want: all that lies between that at once, unless that is much more.
    pub(super) fn read(&mut self) -> io::Result<()> {
        self.end = 0;
        let wanted = self.covered.count() as u64;
        let mut ranges = self.covered.ranges();
        let Some(first) = ranges.next() else { return Ok(()) };
        let last = ranges.last().map_or(first.end, |last| last.end);
        let all = first.start..last;
        let ranges: Vec<_> = match all.len() as u64 > SPARSE * wanted {
            true => self.covered.ranges().collect(),
            false => vec![all],
        };
        for range in ranges {
            let into = &mut self.bytes[range.clone()];
            let there = read_at(self.file, self.start + range.start as u64, into)?;
            self.end = range.start + there;
            if there < range.len() {
                break;
            }
        }
        Ok(())
    }

    /// Packs what a rank wants, as much as the file has of it; how many bytes.
    pub(super) fn take(&self, places: &[u8], mut into: &mut [u8]) -> usize {
        let room = into.len();
        // The places were looked at before.
        let _ = each_place(places, self.bytes.len(), |place| {
            let there = place.start..place.end.min(self.end);
            if let Some(there) = self.bytes.get(there)
                && let Some((now, later)) =
                    std::mem::take(&mut into).split_at_mut_checked(there.len())
            {
                now.copy_from_slice(there);
                into = later;
            }
        });
        room - into.len()
    }
}
