use super::super::extent::tests::strided;
use super::*;

/// The pieces of a share, as they are in the window.
fn places_of(share: &Share, window: usize) -> Vec<Range<usize>> {
    let mut places = Vec::new();
    each_place(&share.places, window, |place| places.push(place)).expect("they are places");
    places
}

#[test]
fn of__all_bytes_are_in_one_window_each() {
    let view = strided(30, 10, 25);
    for (first, len) in [(0, 200), (7, 93), (10, 1), (0, 0)] {
        for window in [16, 25, 64, 1000] {
            let mut pieces = Vec::new();
            let mut done = 0;
            for start in (0..1000).step_by(window) {
                let share = Share::of(&view, (first, len), &(start..start + window as u64));
                assert_eq!(share.bytes.start, done, "from {first}, window {window} at {start}");
                done = share.bytes.end;
                let places = places_of(&share, window);
                assert_eq!(places.iter().map(Range::len).sum::<usize>(), share.bytes.len());
                let bytes = places.into_iter().flatten();
                pieces.extend(bytes.map(|at| start + at as u64));
            }
            let mut expected = Vec::new();
            view.each_piece(first, len, |at, len| expected.extend(at..at + len as u64));
            assert_eq!((done, pieces), (len, expected), "from {first}, window {window}");
        }
    }
}

#[test]
fn of__regular_pieces_take_few_bytes() {
    let share = Share::of(&strided(0, 8, 32), (0, 8 << 16), &(0..32 << 16));
    assert_eq!(share.bytes, 0..8 << 16);
    assert!(share.places.len() < 16, "{} bytes", share.places.len());
}

#[test]
fn each_place__what_describes_no_places_of_the_window_is_none() {
    let of = |numbers: &[u64]| {
        let mut text = Vec::new();
        numbers.iter().for_each(|number| put_number(&mut text, *number));
        each_place(&text, 100, |_| {})
    };
    assert_eq!(of(&[0, 50, 2]), Some(()));
    for bad in [&[0, 101, 1][..], &[0, 50, 3], &[u64::MAX, 1, 1], &[0, 0, u64::MAX], &[1, 2]] {
        assert_eq!(of(bad), None, "{bad:?}");
    }
    assert_eq!(each_place(&[MORE; 11], 100, |_| {}), None);
    let (mut text, largest) = (Vec::new(), u64::MAX);
    put_number(&mut text, largest);
    assert_eq!(take_number(&mut &text[..]), Some(largest));
}
