//! Random programs of calls on both ends of a connection, over both stacks. After every call the
//! run waits until its effect has reached the other end, so that the outcome of the next call does
//! not depend on timing. `PRP_SEED` repeats a run, and a failure prints the program.

use std::fmt;
use std::io::{ErrorKind, IoSlice, IoSliceMut};
use std::net::Shutdown;
use std::time::Duration;

use prp_tests::seed::{self, Dice};

use crate::model::{Effect, Model};
use crate::scene::{NODE_PAIRS, NodePair, Scene, until_available, until_ended, until_over};
use crate::stack::{Kernel, Prp, Stack, Stream};

/// Programs in a run.
const PROGRAMS: u64 = 1000;
/// Calls in a program.
const LENGTH: usize = 24;

/// A call on one of the two ends.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Step {
    /// 0 is the client, 1 the server.
    pub(crate) end: usize,
    pub(crate) call: Call,
}

#[derive(Copy, Clone, Debug)]
pub(crate) enum Call {
    Write(usize),
    WriteVectored(usize, usize),
    Read(usize),
    ReadVectored(usize, usize),
    Peek(usize),
    Shutdown(Shutdown),
    TakeError,
    Drop,
    /// With a linger time of zero.
    Abort,
}

/// The result of a call: a number of bytes, or an error.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
enum Outcome {
    Bytes(usize, u8),
    Done,
    Error(ErrorKind),
    Pending(Option<ErrorKind>),
    Skipped,
}

/// Compares [`PROGRAMS`] programs.
pub(crate) fn programs() {
    let seed = seed::of("random__programs");
    for number in 0..PROGRAMS {
        let mut dice = seed::generator(seed.wrapping_add(number));
        let program = make(&mut dice);
        let nodes = NODE_PAIRS[number as usize % NODE_PAIRS.len()];
        let tcp = run::<Kernel>(nodes, &program);
        let prp = run::<Prp>(nodes, &program);
        assert!(
            tcp == prp,
            "PRP_SEED={seed}: program {number} differs on {nodes:?}:\n{}",
            Listing { program: &program, tcp: &tcp, prp: &prp }
        );
    }
}

/// Weighted so that most programs transfer data for a while before a direction or the connection
/// ends.
fn make(dice: &mut Dice) -> Vec<Step> {
    let sizes = [1, 2, 10, 100, 1000, 1484, 1485, 5000, 20_000];
    let step = |_| {
        let end = dice.below(2);
        let (a, b) = (dice.pick(&sizes), dice.pick(&sizes));
        let call = match dice.below(40) {
            0..=10 => Call::Write(a),
            11..=13 => Call::WriteVectored(a, b),
            14..=23 => Call::Read(a),
            24..=26 => Call::ReadVectored(a, b),
            27..=30 => Call::Peek(a),
            // Not of the reading direction alone: the effect on later data is a difference by
            // design.
            31..=34 => Call::Shutdown(Shutdown::Write),
            35 => Call::Shutdown(Shutdown::Both),
            36 | 37 => Call::TakeError,
            38 => Call::Drop,
            _ => Call::Abort,
        };
        Step { end, call }
    };
    (0..LENGTH).map(step).collect()
}

/// Runs `program` over one stack.
fn run<S: Stack>(nodes: NodePair, program: &[Step]) -> Vec<Outcome> {
    let (client, server) = Scene::<S>::new(nodes).pair();
    let mut ends = [Some(client), Some(server)];
    let mut model = Model::default();
    let mut outcomes = Vec::new();
    for step in program {
        let (Some(stream), false) = (&ends[step.end], model.is_too_much(*step)) else {
            outcomes.push(Outcome::Skipped);
            continue;
        };
        // Only for the call itself: the waiting below needs a blocking stream.
        stream.set_nonblocking(true).expect("a mode");
        let outcome = call(stream, step.call);
        stream.set_nonblocking(false).expect("a mode");
        let done = match outcome {
            Outcome::Bytes(n, _) => Some(n),
            Outcome::Done => Some(0),
            _ => None,
        };
        outcomes.push(outcome);
        if matches!(step.call, Call::Drop | Call::Abort) {
            ends[step.end] = None;
        }
        for (end, effect) in model.note(*step, done) {
            if let Some(stream) = &ends[end] {
                settle(stream, effect);
            }
        }
    }
    outcomes
}

fn settle(stream: &impl Stream, effect: Effect) {
    match effect {
        Effect::Available(bytes) => until_available(stream, bytes),
        Effect::Ended => until_ended(stream),
        Effect::Over => until_over(stream),
    }
}

fn call(stream: &impl Stream, call: Call) -> Outcome {
    let mut a = vec![0; 20_000];
    let mut b = a.clone();
    let moved = match call {
        Call::Write(n) => stream.put(&PATTERN[..n]),
        Call::WriteVectored(n, m) => {
            stream.put_vectored(&[IoSlice::new(&PATTERN[..n]), IoSlice::new(&PATTERN[..m])])
        }
        Call::Read(n) => stream.get(&mut a[..n]),
        Call::ReadVectored(n, m) => {
            stream.get_vectored(&mut [IoSliceMut::new(&mut a[..n]), IoSliceMut::new(&mut b[..m])])
        }
        Call::Peek(n) => stream.peek(&mut a[..n]),
        Call::Shutdown(how) => return ended(stream.shutdown(how).map_err(|e| e.kind())),
        Call::TakeError => {
            return match stream.take_error() {
                Ok(error) => Outcome::Pending(error.map(|e| e.kind())),
                Err(e) => Outcome::Error(e.kind()),
            };
        }
        Call::Abort => {
            return ended(stream.set_linger(Some(Duration::ZERO)).map_err(|e| e.kind()));
        }
        Call::Drop => return Outcome::Done,
    };
    match moved {
        Ok(n) => Outcome::Bytes(n, sum(&a[..n.min(a.len())])),
        Err(e) => Outcome::Error(e.kind()),
    }
}

fn ended(result: Result<(), ErrorKind>) -> Outcome {
    result.map_or_else(Outcome::Error, |()| Outcome::Done)
}

/// A checksum that detects bytes in the wrong order.
fn sum(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0u8, |sum, byte| sum.rotate_left(1) ^ byte)
}

/// The written data, which do not repeat.
static PATTERN: [u8; 20_000] = {
    let mut bytes = [0; 20_000];
    let mut at = 0;
    while at < bytes.len() {
        bytes[at] = (at * at / 7 + at) as u8;
        at += 1;
    }
    bytes
};

struct Listing<'a> {
    program: &'a [Step],
    tcp: &'a [Outcome],
    prp: &'a [Outcome],
}

impl fmt::Display for Listing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for ((step, tcp), prp) in self.program.iter().zip(self.tcp).zip(self.prp) {
            let mark = if tcp == prp { ' ' } else { '!' };
            let name = ["client", "server"][step.end];
            writeln!(f, "{mark} {name} {:?}: TCP {tcp:?}, PRP {prp:?}", step.call)?;
        }
        Ok(())
    }
}
