use super::*;

const PAGE: usize = 4096;

/// A message of sixteen pages, more than can be left unclosed.
const LEN: u64 = 16 * PAGE as u64;

fn part(start: usize, front: u64, got: u64, len: u64) -> Option<Range<usize>> {
    part_to_close(start, PAGE, front, got, len)
}

#[test]
fn part_to_close__of_whole_pages_is_what_is_still_to_come() {
    assert_eq!(part(0, 0, 0, LEN), Some(0..LEN as usize));
    assert_eq!(part(PAGE, 0, 5000, LEN), Some(5000..LEN as usize));
}

#[test]
fn part_to_close__waits_for_what_lies_on_the_first_page() {
    // 96 bytes of the buffer lie on a page that is not all its own.
    let start = PAGE - 96;
    assert_eq!(part(start, 0, 95, LEN + 96), None);
    assert_eq!(part(start, 0, 96, LEN + 96), Some(96..LEN as usize + 96));
}

#[test]
fn part_to_close__waits_for_what_lies_on_the_last_page() {
    let len = LEN + 100;
    assert_eq!(part(0, 99, 99, len), None, "one byte of the last page is to come");
    assert_eq!(part(0, 100, 99, len), None, "the end is not here yet");
    assert_eq!(part(0, 100, 100, len), Some(0..LEN as usize));
}

#[test]
fn part_to_close__leaves_alone_what_is_soon_here() {
    let got = LEN - LEAST_TO_COME as u64;
    assert_eq!(part(0, 0, got, LEN), Some(got as usize..LEN as usize));
    assert_eq!(part(0, 0, got + 1, LEN), None);
    assert_eq!(part(0, 0, LEN, LEN), None);
}
