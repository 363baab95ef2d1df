//! The engine over a wire made of pipes: which thread leads, which sleeps, which is woken.

mod faults;
mod handover;
mod hosts;
mod keeper;
mod probe;
mod stall;
mod wake;

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use super::Engine;
use crate::stream::PrpStream;
use crate::testing::{Pair, wait_until};

/// Answers every `size` bytes with the same bytes until the peer closes.
fn echo(mut stream: PrpStream, size: usize) -> JoinHandle<()> {
    thread::spawn(move || {
        let mut buf = vec![0; size];
        while stream.read_exact(&mut buf).is_ok() {
            stream.write_all(&buf).expect("whoever asked reads the answer");
        }
    })
}

/// Reads one byte in a thread of its own.
fn read_byte(stream: &PrpStream) -> JoinHandle<io::Result<usize>> {
    let mut stream = stream.try_clone().expect("a clone");
    thread::spawn(move || stream.read(&mut [0]))
}

/// Waits until an application thread leads in `engine` and `followers` others wait for it.
fn wait_for_crew(engine: &Arc<Engine>, followers: usize) {
    wait_until(format_args!("a leader and {followers} followers"), || {
        let core = engine.lock();
        core.waiting.leader.is_some() && core.waiting.followers.len() == followers
    });
}

/// Alpha's ends of `n` connections, and beta's.
fn many(pair: &Pair, n: usize) -> (Vec<PrpStream>, Vec<PrpStream>) {
    (0..n).map(|_| pair.streams()).unzip()
}

/// A thread that leads in alpha while it waits for what never comes, until this is dropped.
struct IdleLeader {
    ours: PrpStream,
    _theirs: PrpStream,
    reading: Option<JoinHandle<io::Result<usize>>>,
}

impl IdleLeader {
    fn new(pair: &Pair) -> Self {
        let (mut ours, mut theirs) = pair.streams();
        // Beta knows now that its answer arrived, and has no reason to ask.
        ours.write_all(&[1]).expect("room for a byte");
        theirs.read_exact(&mut [0]).expect("a byte");
        let reading = Some(read_byte(&ours));
        wait_for_crew(pair.alpha.engine(), 0);
        Self { ours, _theirs: theirs, reading }
    }
}

impl Drop for IdleLeader {
    fn drop(&mut self) {
        let _ = self.ours.shutdown(Shutdown::Read);
        let read = self.reading.take().map(JoinHandle::join);
        if !thread::panicking() {
            assert!(matches!(read, Some(Ok(Ok(0)))), "the idle leader saw {read:?}");
        }
    }
}
