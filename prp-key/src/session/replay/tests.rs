use proptest::prelude::*;
use std::collections::BTreeSet;

use super::*;

proptest! {
    /// The window is compared with a set of all that has come.
    #[test]
    fn window__takes_each_frame_once_and_none_that_is_too_old(
        steps in proptest::collection::vec((any::<bool>(), 0_u32..3000), 1..400),
    ) {
        let (mut window, mut came) = (ReplayWindow::new(), BTreeSet::<u32>::new());
        for (is_forward, distance) in steps {
            let newest: u32 = came.last().copied().unwrap_or_default();
            let index = if is_forward { newest + distance } else { newest.saturating_sub(distance) };
            let reached = came.last().map_or(0, |newest| newest + 1);
            let is_recent = index + WINDOW >= reached;
            prop_assert_eq!(window.is_new(index), is_recent && !came.contains(&index), "{}", index);
            if window.is_new(index) {
                window.note(index);
                came.insert(index);
            }
            prop_assert_eq!(window.reached(), came.last().map_or(0, |newest| newest + 1));
        }
    }
}

/// SPEC PRP-KEY-12: 1024 segments may be in flight, and as many be repeated.
#[test]
fn window__holds_twice_the_segments_in_flight() {
    let mut window = ReplayWindow::new();
    window.note(5000);
    assert!(window.is_new(5000 - 2047) && !window.is_new(5000 - 2048) && !window.is_new(5000));
}
