//! What is idle costs nothing: no processor time, and after a while no thread.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::fd::AsFd;
use std::thread;
use std::time::Duration;

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use prp_sock::testing::{Pair, wait_until, within_patience};
use prp_sock::{Builder, PrpStream};

/// Processor time this process has used, in milliseconds.
fn processor_ms() -> i64 {
    let usage = getrusage(UsageWho::RUSAGE_SELF).unwrap();
    (usage.user_time() + usage.system_time()).num_milliseconds()
}

/// Background threads of engines.
fn keepers() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.filter_map(|t| std::fs::read_to_string(t.ok()?.path().join("comm")).ok());
    names.filter(|name| name.trim_end() == "prp-keeper").count()
}

fn exchange(ours: &mut PrpStream, theirs: &mut PrpStream) {
    for _ in 0..1000 {
        ours.write_all(&[1; 100]).unwrap();
        theirs.read_exact(&mut [0; 100]).unwrap();
        theirs.write_all(&[1; 100]).unwrap();
        ours.read_exact(&mut [0; 100]).unwrap();
    }
}

/// Idle connections of every kind, after some exchange: no thread waits; threads wait, one of them
/// leading and the others following; a descriptor is in a poll set; a listener waits; and a wait
/// that may spin for long.
#[test]
fn idle__costs_no_processor_time_and_in_the_end_no_thread() {
    within_patience(|| {
        // The last pair is never used at all.
        let pairs: Vec<_> = (0..4).map(|_| Pair::new()).collect();
        let mut streams: Vec<_> = pairs[..3]
            .iter()
            .flat_map(|pair| (0..4).map(|_| pair.streams()).collect::<Vec<_>>())
            .collect();
        streams.iter_mut().for_each(|(ours, theirs)| exchange(ours, theirs));
        let waiting: Vec<_> = streams[4..7]
            .iter()
            .map(|(ours, _)| {
                let mut stream = ours.try_clone().unwrap();
                thread::spawn(move || stream.read(&mut [0]))
            })
            .collect();
        let _shown = streams[8].0.as_fd();
        let listener = pairs[2].beta.listen(80, &Builder::new()).unwrap();
        thread::spawn(move || listener.accept());
        // What is in progress, acknowledgements and the keeper's ticks, comes to its end.
        thread::sleep(Duration::from_millis(500));

        let before = processor_ms();
        thread::sleep(Duration::from_secs(3));
        let used = processor_ms() - before;
        // Expect: 1 % of a core, for eight engines and twelve connections together.
        assert!(used < 30, "{used} ms of processor time in 3 s of idleness");

        streams.iter().for_each(|(ours, _)| ours.shutdown(Shutdown::Both).unwrap());
        streams.iter().for_each(|(_, theirs)| theirs.shutdown(Shutdown::Both).unwrap());
        waiting.into_iter().for_each(|reader| assert_eq!(reader.join().unwrap().unwrap(), 0));
        // Some handles outlive their connections.
        drop(streams.split_off(4));
        thread::sleep(Duration::from_millis(500));
        drop(streams);
        // The listener's thread keeps its engine, and nothing keeps the others.
        drop(pairs);
        assert_eq!(keepers(), 8);
        wait_until("the end of seven engines", || keepers() == 1);
    });
}
