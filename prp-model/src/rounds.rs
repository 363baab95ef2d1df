//! Figures of several rounds. Transports are interleaved (A B A B), so that what the machine does
//! meanwhile hits all of them alike; medians and ratios of neighbours then mean something on a
//! noisy machine too.

/// Rounds that differ by more than this, as a part of their median, make a figure noisy: what tells
/// two transports apart should be larger.
const NOISY: f64 = 0.25;

/// Returns the middle one of some values, or the middle of the two; `None` if there are none.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n.is_multiple_of(2) => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
        _ => Some(sorted[middle]),
    }
}

/// Returns how far the rounds lie apart: largest less smallest, as a part of the median. Zero for
/// less than two.
pub fn spread(values: &[f64]) -> f64 {
    let Some(middle) = median(values).filter(|m| *m > 0.0) else { return 0.0 };
    let largest = values.iter().copied().fold(f64::MIN, f64::max);
    let smallest = values.iter().copied().fold(f64::MAX, f64::min);
    (largest - smallest) / middle
}

/// Tells whether rounds lie so far apart that their median says little.
pub fn is_noisy(values: &[f64]) -> bool {
    spread(values) > NOISY
}

/// Returns the median of the ratios of rounds that were neighbours; `None` if there are none.
pub fn ratio(ours: &[f64], theirs: &[f64]) -> Option<f64> {
    let pairs = ours.iter().zip(theirs).filter(|(_, theirs)| **theirs > 0.0);
    median(&pairs.map(|(ours, theirs)| ours / theirs).collect::<Vec<_>>())
}

/// Returns the median of the differences of rounds that were neighbours; `None` if there are none.
pub fn difference(ours: &[f64], theirs: &[f64]) -> Option<f64> {
    let pairs = ours.iter().zip(theirs);
    median(&pairs.map(|(ours, theirs)| ours - theirs).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median__of_odd_even_and_none() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[7.0]), Some(7.0));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn spread__is_relative() {
        assert_eq!(spread(&[10.0, 9.0, 12.0]), 0.3);
        assert_eq!(spread(&[5.0]), 0.0);
        assert_eq!(spread(&[]), 0.0);
        assert_eq!(spread(&[0.0, 0.0]), 0.0);
        assert!(is_noisy(&[10.0, 9.0, 12.0]) && !is_noisy(&[10.0, 9.0, 11.0]));
    }

    /// A machine that gets twice as slow halfway through changes the figures, not their ratio.
    #[test]
    fn ratio__pairs_neighbours() {
        let (ours, theirs) = ([1.0, 1.0, 2.0, 2.0], [2.0, 2.0, 4.0, 4.0]);
        assert_eq!(ratio(&ours, &theirs), Some(0.5));
        assert_eq!(ratio(&ours, &[0.0, 4.0]), Some(0.25));
        assert_eq!(ratio(&ours, &[]), None);
    }

    #[test]
    fn difference__pairs_neighbours() {
        assert_eq!(difference(&[1.5, 2.5, 9.0], &[1.0, 2.25, 8.75]), Some(0.25));
        assert_eq!(difference(&[1.0], &[]), None);
    }
}
