use std::sync::mpsc::channel;
use std::thread;

use super::*;
use crate::process::{Identity, Launcher};
use crate::sys::shared::Bell;

/// A rank of which as many threads wait.
fn process(waiting: usize) -> Process {
    let bell = Bell::new().unwrap();
    let first = Identity { job: 0, number: 0 };
    let made = Process::with(0, first, vec![0], vec![None], bell, Launcher::None).unwrap();
    let wait = || Waiting::new("MPI_Recv", "MPI_COMM_WORLD".to_owned(), String::new());
    made.waiting.lock().extend((0..waiting).map(|_| wait()));
    made
}

/// Whether the rank says that it waits for others.
fn waits(process: &Process) -> bool {
    process.whereabouts().lines().nth(3).is_some_and(|state| !state.is_empty())
}

#[test]
fn whereabouts__a_rank_with_a_thread_that_may_call_does_not_wait_for_others() {
    // More than this process has threads.
    const MANY: usize = 100_000;
    let (going_on, stop) = channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || stop.recv().unwrap_err());
        let [one, all] = [1, MANY].map(process);
        assert!(waits(&one) && waits(&all), "only threads that wait may call");
        one.share();
        all.share();
        assert!(!waits(&one));
        assert!(waits(&all));
        drop(going_on);
    });
}

#[test]
fn program_threads__are_all_but_those_of_the_library() {
    let names = ["a program\n", "prp-mpi-control\n", "prp-mpi-window\n", "prp-mpi-windows\n"];
    assert_eq!(program_threads(names.into_iter().map(str::to_owned)), 2);
}
