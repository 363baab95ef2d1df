//! Copies of pieces that lie at regular places: a column of a matrix, and the like.

/// Copies `count` pieces of `len` bytes each, one after the other. Each place has the address of
/// its first piece, and the bytes from one piece to the next.
///
/// # Safety
/// The pieces at `from` must be readable, and those at `to` writable.
pub(super) unsafe fn copy(
    from: (*const u8, isize),
    to: (*mut u8, isize),
    len: usize,
    count: usize,
) {
    // A call for each piece would take longer than to copy it.
    // SAFETY: the caller's promise, for pieces of this length.
    unsafe {
        match len {
            1 => copy_blocks::<1>(from, to, count),
            2 => copy_blocks::<2>(from, to, count),
            4 => copy_blocks::<4>(from, to, count),
            8 => copy_blocks::<8>(from, to, count),
            12 => copy_blocks::<12>(from, to, count),
            16 => copy_blocks::<16>(from, to, count),
            24 => copy_blocks::<24>(from, to, count),
            32 => copy_blocks::<32>(from, to, count),
            _ => each_piece(from, to, count, |from, to| std::ptr::copy(from, to, len)),
        }
    }
}

/// Copies pieces of `N` bytes, each by as few instructions as that takes.
///
/// # Safety
/// As of [`copy`].
unsafe fn copy_blocks<const N: usize>(
    from: (*const u8, isize),
    to: (*mut u8, isize),
    count: usize,
) {
    each_piece(from, to, count, |from, to| {
        // SAFETY: the caller's promise; an array of bytes has no alignment.
        unsafe { to.cast::<[u8; N]>().write(from.cast::<[u8; N]>().read()) };
    });
}

fn each_piece(
    (mut from, from_stride): (*const u8, isize),
    (mut to, to_stride): (*mut u8, isize),
    count: usize,
    piece: impl Fn(*const u8, *mut u8),
) {
    for _ in 0..count {
        piece(from, to);
        from = from.wrapping_offset(from_stride);
        to = to.wrapping_offset(to_stride);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copy__pieces_of_any_length_and_nothing_between_them() {
        for len in 1..=40 {
            for gap in [0, 1, 5] {
                let count = 7;
                let packed: Vec<u8> = (0..count * len).map(|i| i as u8).collect();
                let mut spread = vec![0xff; count * (len + gap)];
                let stride = (len + gap) as isize;
                let from = (packed.as_ptr(), len as isize);
                // SAFETY: both have room for all pieces.
                unsafe { copy(from, (spread.as_mut_ptr(), stride), len, count) };
                for (piece, expected) in spread.chunks(len + gap).zip(packed.chunks(len)) {
                    assert_eq!(piece[..len], *expected, "{len}");
                    assert!(piece[len..].iter().all(|byte| *byte == 0xff), "{len} {gap}");
                }
                let mut back = vec![0; packed.len()];
                // The last piece first.
                let last = spread.as_ptr().wrapping_add((count - 1) * (len + gap));
                // SAFETY: as before.
                unsafe { copy((last, -stride), (back.as_mut_ptr(), len as isize), len, count) };
                let reversed: Vec<u8> = packed.chunks(len).rev().flatten().copied().collect();
                assert_eq!(back, reversed, "{len} {gap}");
            }
        }
    }
}
