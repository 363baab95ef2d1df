//! Memory of buffers goes back to the system once their connections are closed.
#![allow(non_snake_case, reason = "tests are named function__case")]
// Allocators other than the GNU C library's return memory themselves, when they want.
#![cfg(target_env = "gnu")]

use std::io::{ErrorKind, Write};

use prp_sock::testing::{Pair, wait_until, within_patience};

/// Bytes in the process's memory.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

/// The only test here: others in the process would have memory of their own.
#[test]
fn buffers__go_back_to_the_system() {
    const STREAMS: usize = 200;
    /// Much more than the two engines keep: what is less than 4 MiB is not worth giving back.
    const MIN_RETURNED: usize = 40 * 1024 * 1024;
    within_patience(|| {
        let pair = Pair::new();
        let before = resident();
        let streams: Vec<_> = (0..STREAMS).map(|_| pair.streams()).collect();
        for (ours, _) in &streams {
            ours.set_nonblocking(true).unwrap();
            let mut ours = ours;
            // Until it and its peer, which does not read, are full.
            let full = ours.write_all(&vec![7; 2 << 20]).unwrap_err();
            assert_eq!(full.kind(), ErrorKind::WouldBlock);
        }
        assert!(resident() > before + 2 * MIN_RETURNED, "{} bytes", resident() - before);
        drop(streams);
        wait_until("most of it is given back", || resident() < before + MIN_RETURNED);
    });
}
