//! The time that a link takes for a frame: a fixed part, and a random one for each frame.

use std::collections::VecDeque;
use std::str::FromStr;
use std::time::{Duration, Instant};

use crate::seed::{Dice, generator};

/// Longest delay of a link. Frames in flight are kept in memory.
const MAX: Duration = Duration::from_secs(10);

/// The delay of a link in both directions: `25us`, or `25us/1ms` for one of its own in each
/// direction.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub struct BothDirections(pub [Duration; 2]);

impl FromStr for BothDirections {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (there, back) = text.split_once('/').unwrap_or((text, text));
        Ok(Self([duration(there)?, duration(back)?]))
    }
}

/// Parses a duration in `us`, `ms` or `s`.
fn duration(text: &str) -> Result<Duration, String> {
    let units = [("us", 1e-6), ("ms", 1e-3), ("s", 1.0)];
    let unit = units.iter().find_map(|(unit, scale)| Some((text.strip_suffix(unit)?, scale)));
    let seconds = unit.and_then(|(number, scale)| Some(number.parse::<f64>().ok()? * scale));
    let seconds = seconds.filter(|seconds| (0.0..=MAX.as_secs_f64()).contains(seconds));
    let seconds = seconds.ok_or_else(|| format!("'{text}': 0us to 10s is possible"))?;
    Ok(Duration::from_secs_f64(seconds))
}

/// The delay of one direction, and the frames that are in flight. They keep their order.
#[derive(Debug)]
pub struct DelayLine {
    fixed: Duration,
    jitter: Duration,
    dice: Dice,
    in_flight: VecDeque<(Instant, Vec<u8>)>,
}

impl DelayLine {
    /// A line without delay, whose random numbers `seed` chooses.
    pub fn new(seed: u64) -> Self {
        Self {
            fixed: Duration::ZERO,
            jitter: Duration::ZERO,
            dice: generator(seed),
            in_flight: VecDeque::new(),
        }
    }

    /// Changes the delay of the frames to come: `fixed`, and up to `jitter` more, each as likely.
    pub const fn set(&mut self, fixed: Duration, jitter: Duration) {
        (self.fixed, self.jitter) = (fixed, jitter);
    }

    /// Takes a frame at `now`.
    pub fn push(&mut self, frame: Vec<u8>, now: Instant) {
        let part = f64::from(self.dice.number()) / f64::from(u32::MAX);
        let due = now + self.fixed + self.jitter.mul_f64(part);
        let due = self.in_flight.back().map_or(due, |&(last, _)| due.max(last));
        self.in_flight.push_back((due, frame));
    }

    /// Moves the frames that have arrived at `now` to `out`.
    pub fn release(&mut self, now: Instant, out: &mut Vec<Vec<u8>>) {
        while let Some((_, frame)) = self.in_flight.pop_front_if(|(due, _)| *due <= now) {
            out.push(frame);
        }
    }

    /// The time at which the next frame arrives.
    pub fn next(&self) -> Option<Instant> {
        self.in_flight.front().map(|&(due, _)| due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: Duration = Duration::from_micros(1);

    #[test]
    fn both_directions__from_text() {
        let parse = str::parse::<BothDirections>;
        assert_eq!(parse("25us"), Ok(BothDirections([25 * US, 25 * US])));
        assert_eq!(parse("0.5ms/2s"), Ok(BothDirections([500 * US, 2_000_000 * US])));
        for text in ["", "25", "us", "-1us", "11s", "nans", "1us/", "1us/2us/3us"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn delay_line__frames_arrive_when_they_are_due() {
        let (mut line, start, mut out) = (DelayLine::new(1), Instant::now(), Vec::new());
        line.set(25 * US, Duration::ZERO);
        line.push(vec![1], start);
        line.push(vec![2], start + 10 * US);
        assert_eq!(line.next(), Some(start + 25 * US));
        line.release(start + 24 * US, &mut out);
        assert!(out.is_empty());
        line.release(start + 25 * US, &mut out);
        assert_eq!(out, [[1]]);
        line.release(start + 35 * US, &mut out);
        assert_eq!((out, line.next()), (vec![vec![1], vec![2]], None));
    }

    #[test]
    fn delay_line__jitter_and_changes_keep_the_order() {
        let (mut line, start, mut out) = (DelayLine::new(7), Instant::now(), Vec::new());
        line.set(100 * US, 100 * US);
        let mut dues = Vec::new();
        for n in 0..200 {
            line.push(vec![n], start + u32::from(n) * US);
            dues.push(line.in_flight.back().expect("a frame").0);
        }
        line.set(Duration::ZERO, Duration::ZERO);
        line.push(vec![200], start + 200 * US);
        assert!(dues.is_sorted() && dues[0] >= start + 100 * US);
        assert!(dues.iter().zip(0u32..).all(|(due, n)| *due <= start + (200 + n) * US));
        assert!(dues.iter().zip(0u32..).any(|(due, n)| *due > start + (120 + n) * US));
        line.release(start + 1000 * US, &mut out);
        assert!(out.iter().flatten().copied().eq(0..=200));
    }
}
