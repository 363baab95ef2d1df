use alloc::vec;

use super::*;

const START: Instant = Instant::from_nanos(1_000_000_000);

/// A buffer pool of `chunks` chunks, put there at [`START`].
fn pool(chunks: usize) -> BufferPool {
    let mut pool = BufferPool::default();
    (0..chunks).for_each(|i| pool.put(START, vec![i as u8; CHUNK]));
    pool
}

#[test]
fn take__gives_what_came_last() {
    let mut pool = pool(2);
    assert_eq!(pool.held(), 2 * CHUNK);
    assert_eq!(pool.take().unwrap()[0], 1);
    assert_eq!(pool.take().unwrap()[0], 0);
    assert!(pool.take().is_none());
    assert_eq!(pool.held(), 0);
}

#[test]
fn put__keeps_no_more_than_there_is_room_for() {
    let mut pool = pool(0);
    assert_eq!((pool.held(), pool.due()), (0, None));
    for _ in 0..MAX_POOL_BYTES / CHUNK + 1 {
        pool.put(START, vec![0; CHUNK]);
    }
    assert_eq!(pool.held(), MAX_POOL_BYTES);
}

#[test]
fn expire__frees_what_was_not_wanted_meanwhile() {
    let mut pool = pool(3);
    pool.expire(START);
    assert_eq!(pool.held(), 3 * CHUNK, "not yet");
    let first = pool.due().unwrap();
    pool.expire(first);
    assert_eq!(pool.held(), 3 * CHUNK, "it came since the last look");

    let used = [pool.take().unwrap(), pool.take().unwrap()];
    used.into_iter().for_each(|chunk| pool.put(first, chunk));
    let second = pool.due().unwrap();
    pool.expire(second);
    assert_eq!(pool.held(), 2 * CHUNK, "two of the three were of use");
    assert!(pool.chunks.iter().all(|chunk| chunk[0] > 0), "the one used least of all has gone");

    let third = pool.due().unwrap();
    pool.expire(third);
    assert_eq!((pool.held(), pool.due()), (0, None));
}

/// What is freed is told once, by whichever path it went.
#[test]
fn take_freed__counts_all_that_is_freed() {
    let mut pool = pool(3);
    pool.expire(pool.due().unwrap());
    assert!(!pool.take_freed(1), "they were wanted just now");
    pool.expire(pool.due().unwrap());
    assert!(!pool.take_freed(3 * CHUNK + 1));
    pool.note_freed(1);
    assert!(pool.take_freed(3 * CHUNK + 1));
    assert!(!pool.take_freed(1));
    (0..=MAX_POOL_BYTES / CHUNK).for_each(|_| pool.put(START, vec![0; CHUNK]));
    assert!(pool.take_freed(CHUNK));
}
