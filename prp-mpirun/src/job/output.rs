//! What ranks print: whole lines, with the rank's number before them on wish.

use std::mem;

use prp_mpi::control::{Frame, Topic};

use super::Job;

/// Longest piece of a line that is kept until the rest of the line comes.
const LONGEST_LINE: usize = 64 << 10;

impl Job<'_> {
    /// Prints what a rank has written, in whole lines unless they are very long.
    pub(super) fn print(&mut self, frame: &Frame) {
        let rank = frame.rank as usize;
        let is_error = frame.topic == Topic::ErrorOutput;
        let state = &mut self.ranks[rank];
        let kept = if is_error { &mut state.error_output } else { &mut state.output };
        let before = kept.len();
        kept.extend_from_slice(&frame.content);
        let end = frame.content.iter().rposition(|&b| b == b'\n').map(|at| before + at + 1);
        let end = end.or_else(|| (kept.len() >= LONGEST_LINE).then_some(kept.len()));
        if let Some(end) = end {
            let whole: Vec<u8> = kept.drain(..end).collect();
            self.put(rank, is_error, whole);
        }
    }

    /// Prints what is left of the last line of a rank.
    pub(super) fn print_rest(&mut self, rank: usize) {
        for is_error in [false, true] {
            let state = &mut self.ranks[rank];
            let kept = if is_error { &mut state.error_output } else { &mut state.output };
            let rest = mem::take(kept);
            if !rest.is_empty() {
                self.put(rank, is_error, rest);
            }
        }
    }

    /// Prints what is left of all last lines.
    pub(super) fn print_rests(&mut self) {
        (0..self.ranks.len()).for_each(|rank| self.print_rest(rank));
    }

    fn put(&self, rank: usize, is_error: bool, bytes: Vec<u8>) {
        if !self.arguments.label {
            self.printer.put(is_error, bytes);
            return;
        }
        let mut labelled = Vec::new();
        for line in bytes.split_inclusive(|&b| b == b'\n') {
            labelled.extend_from_slice(format!("[{rank}] ").as_bytes());
            labelled.extend_from_slice(line);
        }
        // What another rank writes next has a label, which is at the begin of a line.
        if !labelled.ends_with(b"\n") {
            labelled.push(b'\n');
        }
        self.printer.put(is_error, labelled);
    }
}
