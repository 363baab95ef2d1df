//! One direction of a wire: decides which frames are lost, repeated, delayed or changed.

use std::fmt;
use std::time::{Duration, Instant};

use super::Faults;
use crate::seed::{Dice, generator};

/// The Ethernet header is not changed: the frame would go to another host, which is a loss.
const ETHERNET: usize = 14;

/// The largest number of frames that overtake a late one. A sender that counts three later frames
/// takes it for lost, while it still arrives.
const MAX_LATE: usize = 8;

/// A late frame waits at most this time for later ones: it may be the last frame.
const MAX_WAIT: Duration = Duration::from_millis(1);

/// Counters of one direction.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub struct Counters {
    /// Frames that came in.
    pub frames: u64,
    /// Lost on purpose.
    pub lost: u64,
    /// Sent twice.
    pub doubled: u64,
    /// Let others pass.
    pub late: u64,
    /// Changed.
    pub corrupted: u64,
    /// Lost because the machine was too slow, or the device was down: not by the faults.
    pub overruns: u64,
}

impl fmt::Display for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { frames, lost, doubled, late, corrupted, overruns } = self;
        write!(
            f,
            "frames={frames} lost={lost} doubled={doubled} late={late} corrupted={corrupted} \
             overruns={overruns}"
        )
    }
}

/// A late frame.
#[derive(Debug)]
struct Late {
    frame: Vec<u8>,
    /// It is sent after the frame of this number.
    after: u64,
    /// It is sent at this time at the latest.
    until: Instant,
}

/// One direction of a wire.
#[derive(Debug)]
pub struct Impairment {
    faults: Faults,
    dice: Dice,
    late: Vec<Late>,
    counters: Counters,
}

impl Impairment {
    /// An impairment with these faults, chosen by `seed`.
    pub fn new(faults: Faults, seed: u64) -> Self {
        Self { faults, dice: generator(seed), late: Vec::new(), counters: Counters::default() }
    }

    /// Changes the faults; the sequence of random numbers continues.
    pub const fn set_faults(&mut self, faults: Faults) {
        self.faults = faults;
    }

    /// The counters.
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    /// Counts `frames` that were lost outside.
    pub const fn note_overruns(&mut self, frames: u64) {
        self.counters.overruns += frames;
    }

    /// Handles a frame that arrives at `now`; calls `out` for each frame to send.
    pub fn pass(&mut self, frame: &[u8], now: Instant, out: &mut Vec<Vec<u8>>) {
        self.counters.frames += 1;
        // Every frame draws all random numbers, so that a change of one rate does not change the
        // decisions of the others.
        let [lost, doubled, late, corrupted] = [(); 4].map(|()| self.dice.number());
        if self.faults.loss.is_hit(lost) {
            self.counters.lost += 1;
        } else {
            let mut frame = frame.to_vec();
            if self.faults.corrupt.is_hit(corrupted) && frame.len() > ETHERNET {
                self.counters.corrupted += 1;
                let bit = self.dice.below((frame.len() - ETHERNET) * 8);
                frame[ETHERNET + bit / 8] ^= 1 << (bit % 8);
            }
            if self.faults.dup.is_hit(doubled) {
                self.counters.doubled += 1;
                out.push(frame.clone());
            }
            if self.faults.reorder.is_hit(late) {
                self.counters.late += 1;
                let after = self.counters.frames + 1 + self.dice.below(MAX_LATE) as u64;
                self.late.push(Late { frame, after, until: now + MAX_WAIT });
            } else {
                out.push(frame);
            }
        }
        self.release(now, out);
    }

    /// Sends late frames whose time has come.
    pub fn release(&mut self, now: Instant, out: &mut Vec<Vec<u8>>) {
        let passed = self.counters.frames;
        let due = self.late.extract_if(.., |late| late.after <= passed || late.until <= now);
        out.extend(due.map(|late| late.frame));
    }

    /// The time at which the next of the late frames is sent at the latest.
    pub fn next(&self) -> Option<Instant> {
        self.late.iter().map(|late| late.until).min()
    }
}

#[cfg(test)]
mod tests;
