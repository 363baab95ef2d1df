//! What the kernel is given for a GSO batch.

use super::*;

#[test]
fn join__pieces_that_lie_one_behind_the_other_are_one() {
    let bytes: Vec<u8> = (0..100).collect();
    let mut list = SendList::default();
    let pieces = |a: Range<usize>, b: Range<usize>| ((), [&bytes[a], &bytes[b], &[], &[]]);
    list.load([pieces(0..10, 10..40), pieces(40..60, 0..0), pieces(61..80, 90..100)].into_iter());
    let joined = |list: &mut SendList<()>, range| {
        list.join(range);
        let offset = |piece: &libc::iovec| piece.iov_base.addr() - bytes.as_ptr().addr();
        list.joined.iter().map(|p| (offset(p), p.iov_len)).collect::<Vec<_>>()
    };
    assert_eq!(joined(&mut list, 0..5), [(0, 60), (61, 19), (90, 10)]);
    // Expect: what was joined for one call is not so for the next one.
    assert_eq!(joined(&mut list, 1..3), [(10, 50)]);
    assert_eq!(joined(&mut list, 0..1), [(0, 10)]);
}
