//! Two ends with the cluster's key, and a stranger that hears every frame and sends any that it can
//! make from them: nothing panics, no connection ends, and every byte comes as it was written, once
//! (SPEC section 14).

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arbitrary::{Result, Unstructured};

use prp_proto::config::ConnConfig;
use prp_proto::endpoint::Ending;
use prp_proto::event::{ConnHandle, ListenHandle};
use prp_proto::key::{KeyFile, Keyring, Member, Mode, Secret, Seed, TRAILER_BYTES};
use prp_proto::state::State;
use prp_proto::testing::{Direction, FrameAction, Pair};
use prp_proto::wire::{Reliability, ReliabilitySet};

/// Operations of one input at most.
const MOST_OPERATIONS: usize = 150;

/// Frames that the stranger remembers: the newest, and the first ones, with handshakes.
const REMEMBERED: usize = 64;

/// Frames of the wire that may be lost or doubled: fewer than end a connection.
const MOST_FAULTS: usize = 2;

/// Longest time after which nothing may be left: an orphan waits 60 s for its peer.
const END_LIMIT: Duration = Duration::from_secs(200);

/// Longer than keys are used.
const KEY_AGE: Duration = Duration::from_secs(121);

/// Bytes that go in each direction after all operations.
const REST: usize = 4000;

const PORT: u16 = 80;

const WAYS: [Direction; 2] = [Direction::ToServer, Direction::ToClient];

/// A value that the wire's rule and the run have in common.
type Shared<T> = Arc<Mutex<T>>;

/// One run.
struct KeyedRun {
    pair: Pair,
    heard: Shared<Vec<(Direction, Vec<u8>)>>,
    faults: Shared<VecDeque<FrameAction>>,
    listener: ListenHandle,
    /// The client's end and the server's.
    ends: [ConnHandle; 2],
    written: [usize; 2],
    read: [usize; 2],
}

/// Plays what `data` says.
///
/// # Panics
/// If the stranger's frames have done anything, or something is left when all have closed.
pub fn keyed(data: &[u8]) {
    let mut u = Unstructured::new(data);
    let mode = if u.arbitrary().unwrap_or(false) { Mode::Sign } else { Mode::Seal };
    let policies = [Reliability::GoBackN, Reliability::SelectiveRepeat];
    let policy = policies[usize::from(u.arbitrary().unwrap_or(false))];
    let mut run = KeyedRun::new(mode, policy);
    for _ in 0..MOST_OPERATIONS {
        if u.is_empty() || run.operation(&mut u).is_err() {
            break;
        }
        run.pair.drive();
        run.check();
    }
    run.end();
}

/// The byte at `at` of what one end writes; the period hides no segment boundary.
fn content(at: usize) -> u8 {
    ((at as u32).wrapping_mul(2_654_435_761) >> 24) as u8
}

fn with<T, R>(shared: &Shared<T>, f: impl FnOnce(&mut T) -> R) -> R {
    f(&mut shared.lock().unwrap_or_else(PoisonError::into_inner))
}

impl KeyedRun {
    fn new(mode: Mode, policy: Reliability) -> Self {
        let mut pair = Pair::default();
        for (way, seed) in WAYS.into_iter().zip([1, 2]) {
            let keys = KeyFile::new(mode, 1, Secret::new([7; 32]));
            let member = Member::new(Keyring::new(&keys), Seed::new([seed; 32]));
            pair.sender(way).endpoint.set_member(member);
        }
        let (heard, faults) = (Shared::default(), Shared::default());
        let (noted, next) = (Arc::clone(&heard), Arc::clone(&faults));
        pair.rule = Box::new(move |way, frame| {
            with(&noted, |noted: &mut Vec<_>| {
                if noted.len() == REMEMBERED {
                    noted.remove(REMEMBERED / 2);
                }
                noted.push((way, frame.to_vec()));
            });
            with(&next, VecDeque::pop_front).unwrap_or(FrameAction::Pass)
        });
        let config =
            ConnConfig { reliability: ReliabilitySet::only(policy), ..ConnConfig::default() };
        let ends = pair.established_with(config, config);
        let listener = pair.listen(PORT, ConnConfig::default());
        let ends = [ends.0, ends.1];
        Self { pair, heard, faults, listener, ends, written: [0; 2], read: [0; 2] }
    }

    fn operation(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        match u.int_in_range(0..=12)? {
            0..=2 => self.talk([u.int_in_range(0..=4000)?, u.int_in_range(0..=4000)?]),
            3..=8 => {
                for _ in 0..u.int_in_range(1..=8)? {
                    let (way, frame) = self.forgery(u)?;
                    self.pair.inject(way, &frame);
                }
            }
            9 => self.pair.drive_for(Duration::from_millis(u.int_in_range(0..=200)?)),
            10 => self.pair.drive_for(KEY_AGE),
            11 => {
                let is_lost = u.arbitrary()?;
                let fault = if is_lost { FrameAction::Drop } else { FrameAction::Duplicate };
                with(&self.faults, |faults| {
                    if faults.len() < MOST_FAULTS {
                        faults.push_back(fault);
                    }
                });
            }
            _ => self.connect_again(u)?,
        }
        Ok(())
    }

    /// A frame made from those that were heard, and where it goes.
    fn forgery(&self, u: &mut Unstructured<'_>) -> Result<(Direction, Vec<u8>)> {
        let pick = |u: &mut Unstructured<'_>| -> Result<(Direction, Vec<u8>)> {
            with(&self.heard, |heard| Ok(heard[u.choose_index(heard.len())?].clone()))
        };
        let (mut way, mut frame) = pick(u)?;
        for _ in 0..u.int_in_range(0..=3)? {
            let at = u.choose_index(frame.len().max(1))?;
            match u.int_in_range(0..=6)? {
                0 => frame.truncate(at),
                1 => frame.extend_from_slice(u.bytes(u.len().min(8))?),
                2 if at < frame.len() => frame[at] ^= 1 << u.int_in_range(0..=7)?,
                3 if at < frame.len() => frame[at] = u.arbitrary()?,
                4 => {
                    // Another counter.
                    if let Some(start) = frame.len().checked_sub(TRAILER_BYTES) {
                        frame[start..start + 4].copy_from_slice(&u.arbitrary::<[u8; 4]>()?);
                    }
                }
                5 => {
                    // The front of this one, the back of another.
                    let (_, other) = pick(u)?;
                    let from = at.min(other.len());
                    frame.truncate(at);
                    frame.extend_from_slice(&other[from..]);
                }
                _ => way = if way == WAYS[0] { WAYS[1] } else { WAYS[0] },
            }
        }
        Ok((way, frame))
    }

    /// Both ends write, and read what has come.
    fn talk(&mut self, lengths: [usize; 2]) {
        for (at, way) in WAYS.into_iter().enumerate() {
            let bytes: Vec<_> = (0..lengths[at]).map(|n| content(self.written[at] + n)).collect();
            let now = self.pair.time;
            let endpoint = &mut self.pair.sender(way).endpoint;
            // What does not fit may do so once something has arrived.
            let taken = endpoint.write(now, self.ends[at], &bytes, Ending::Write).unwrap_or(0);
            self.written[at] += taken;
        }
        self.pair.drive();
        self.hear();
    }

    fn hear(&mut self) {
        for (at, way) in WAYS.into_iter().enumerate() {
            for byte in self.pair.read_available(way, self.ends[1 - at]) {
                assert_eq!(byte, content(self.read[at]), "byte {} of {way:?}", self.read[at]);
                self.read[at] += 1;
            }
        }
    }

    /// A further connection, while the stranger sends frames of handshakes and others.
    fn connect_again(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let near = self.pair.connect(PORT, ConnConfig::default());
        let forged =
            (0..u.int_in_range(0..=4)?).map(|_| self.forgery(u)).collect::<Result<Vec<_>>>();
        for (way, frame) in forged? {
            self.pair.inject(way, &frame);
        }
        let listener = self.listener;
        let is_there = |pair: &mut Pair| pair.server.endpoint.pending(listener) > 0;
        assert!(self.pair.drive_until(is_there), "no connection");
        let far = self.pair.server.endpoint.accept(self.pair.time, listener).expect("it waits");
        let [client, server] = [(WAYS[0], near), (WAYS[1], far)]
            .map(|(way, conn)| self.pair.sender(way).endpoint.ends(conn).expect("it is there"));
        assert_eq!(client, (server.1, server.0), "the application has got another one");
        for (way, from, to) in [(WAYS[0], near, far), (WAYS[1], far, near)] {
            self.pair.write_all(way, from, b"again");
            let mut got = Vec::new();
            self.pair.drive_until(|pair| {
                got.extend(pair.read_available(way, to));
                got.len() >= 5
            });
            assert_eq!(got, b"again");
        }
        for (way, conn) in [(WAYS[0], near), (WAYS[1], far)] {
            let now = self.pair.time;
            self.pair.sender(way).endpoint.release(now, conn, false);
        }
        Ok(())
    }

    /// What holds at any time.
    fn check(&mut self) {
        for (way, conn) in WAYS.into_iter().zip(self.ends) {
            let endpoint = &self.pair.sender(way).endpoint;
            assert_eq!(endpoint.state(conn), State::OPEN, "an end was ended");
        }
        assert_eq!(self.pair.server.endpoint.pending(self.listener), 0, "a ghost is offered");
    }

    /// The stranger falls silent; the two finish what they have to say, and all close.
    fn end(mut self) {
        let goal = self.written.map(|written| written + REST);
        for _ in 0..1000 {
            let left = [goal[0] - self.written[0], goal[1] - self.written[1]];
            self.talk(left);
            if self.read == goal {
                break;
            }
            self.pair.drive_for(Duration::from_millis(5));
        }
        assert_eq!(self.read, goal, "something is missing");
        self.pair.server.endpoint.unlisten(self.pair.time, self.listener);
        for (way, conn) in WAYS.into_iter().zip(self.ends) {
            let now = self.pair.time;
            self.pair.sender(way).endpoint.release(now, conn, false);
        }
        self.pair.drive_for(END_LIMIT);
        for way in WAYS {
            let left = self.pair.sender(way).endpoint.connections();
            assert_eq!(left, 0, "a ghost is left");
        }
    }
}
