//! An endpoint between a friend and a stranger: whatever the stranger sends and whatever the
//! application does with its connections, nothing panics, memory stays bounded, and the friend's
//! connection delivers every byte.

mod harness;
mod stranger;

use std::time::Duration;

use arbitrary::{Result, Unstructured};

use prp_proto::addr::Port;
use prp_proto::endpoint::{Ending, Sink};
use prp_proto::event::ConnHandle;
use prp_proto::state::State;
use prp_proto::wire::{Reliability, ReliabilitySet};

use harness::{BACKLOG, Fault, Friends, Harness, STRANGER, addr, mac};
use stranger::Stranger;

/// Operations of one input at most.
const MOST_OPERATIONS: usize = 200;

/// Frames of one burst at most, as a power of two: a few of these overrun any queue without a
/// bound.
const LONGEST_BURST: u32 = 10;

/// Frames of the friends' wire that may be lost or doubled: fewer than the three probes of a silent
/// peer after which a connection rightly ends.
const MOST_FAULTS: usize = 2;

/// Connections the application holds with the stranger at most.
const MOST_HELD: usize = 8;

/// What one connection may hold beside its struct. Its buffers are set to 8 KiB to receive and 16
/// KiB to send, once that has grown, and their memory is of powers of two, so they may take 16 and
/// 32 KiB; as much again for the ends of messages; a full window of segments kept out of order, and
/// the tables that list them.
const CONNECTION_LIMIT: usize = 128 * 1024;

/// What an endpoint may hold beside its connections.
const OVERHEAD_LIMIT: usize = 128 * 1024;

/// Longest time after which nothing may be left: an orphan waits 60 s for its peer.
const END_LIMIT: Duration = Duration::from_secs(200);

/// Bytes the friends exchange in each direction after all operations.
const REST: usize = 4000;

/// One run.
struct FuzzRun {
    harness: Harness,
    friends: Friends,
    stranger: Stranger,
    held: Vec<ConnHandle>,
    reliable: bool,
    faults: usize,
    /// Bytes written and read between the friends: out of the near end, out of the far end.
    written: [usize; 2],
    read: [usize; 2],
}

/// Plays what `data` says.
///
/// # Panics
/// If memory grows past its bounds, the friends' connection ends or loses anything, or something is
/// left when all have closed.
pub fn endpoint(data: &[u8]) {
    let mut u = Unstructured::new(data);
    let which = u.int_in_range(0..=2).unwrap_or(0);
    let reliability = Reliability::STRONGEST_FIRST[which];
    let (harness, friends) = Harness::new(reliability);
    let mut scene = FuzzRun {
        harness,
        friends,
        stranger: Stranger::default(),
        held: Vec::new(),
        reliable: reliability != Reliability::Detect,
        faults: 0,
        written: [0; 2],
        read: [0; 2],
    };
    for _ in 0..MOST_OPERATIONS {
        if u.is_empty() || scene.operation(&mut u).is_err() {
            break;
        }
        scene.harness.settle();
        scene.check();
    }
    scene.end();
}

/// The byte at `at` of what one friend writes; the period hides no segment boundary.
fn content(at: usize) -> u8 {
    ((at as u32).wrapping_mul(2_654_435_761) >> 24) as u8
}

impl FuzzRun {
    fn operation(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        match u.int_in_range(0..=16)? {
            0 => self.noise(u)?,
            1..=4 => self.approach(u)?,
            5 => self.burst(u)?,
            6 => {
                let forgery = Stranger::forgery(u, self.friends.ids)?;
                self.harness.attack(&forgery, None);
            }
            7 => self.harness.next_timer(),
            8 => self.harness.pass(Duration::from_millis(u.int_in_range(0..=200)?)),
            9..=11 => self.application(u)?,
            12 => self.talk(u.int_in_range(0..=5000)?, u.int_in_range(0..=5000)?),
            13 => self.listen(u)?,
            14 => self.fault(u)?,
            15 => self.write_borrowed(u.int_in_range(0..=20_000)?, u.int_in_range(1..=5)?),
            _ => self.connect(u)?,
        }
        for frame in std::mem::take(&mut self.harness.caught) {
            self.stranger.learn(&frame);
        }
        Ok(())
    }

    /// Any bytes, unless they are from the friend's hardware address in the friend's name: the
    /// segment is trusted not to carry that (SPEC section 13).
    fn noise(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let len = u.int_in_range(0..=100)?.min(u.len());
        let bytes = u.bytes(len)?;
        if bytes.get(6..12) != Some(&mac(harness::FRIEND).0) {
            self.harness.attack(bytes, None);
        }
        Ok(())
    }

    fn approach(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let frame = self.stranger.frame(u)?;
        let mut buf = [0; 100];
        let reader = if self.held.is_empty() || u.ratio(3, 4)? {
            None
        } else {
            Some(*u.choose(&self.held)?)
        };
        let mut sink = reader.map(|conn| Sink::new(conn, &mut buf));
        self.harness.attack(&frame, sink.as_mut());
        if let Some(conn) = reader {
            self.harness.target.note_read(self.harness.now, conn);
        }
        Ok(())
    }

    /// The same frame again and again under rising numbers.
    fn burst(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let mut frame = self.stranger.frame(u)?;
        // The transport header's segment number is 4 bytes into it.
        const SEQ: std::ops::Range<usize> = 22..24;
        let step: u16 = if u.ratio(3, 4)? { 1 } else { u.arbitrary()? };
        for _ in 0..1u32 << u.int_in_range(0..=LONGEST_BURST)? {
            self.harness.attack(&frame, None);
            let seq = u16::from_be_bytes([frame[SEQ.start], frame[SEQ.start + 1]]);
            frame[SEQ].copy_from_slice(&seq.wrapping_add(step).to_be_bytes());
        }
        Ok(())
    }

    /// What the target's application does with its connections to the stranger.
    fn application(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let now = self.harness.now;
        let target = &mut self.harness.target;
        if let Some(listener) = self.harness.listener
            && self.held.len() < MOST_HELD
            && let Some(conn) = target.accept(now, listener)
        {
            self.held.push(conn);
        }
        if self.held.is_empty() {
            return Ok(());
        }
        let which = u.choose_index(self.held.len())?;
        let conn = self.held[which];
        let mut buf = [0; 3000];
        let len = u.int_in_range(0..=buf.len())?;
        match u.int_in_range(0..=8)? {
            0 | 1 => drop(target.read(now, conn, &mut buf[..len])),
            2 => drop(target.read_message(now, conn, &mut buf[..len])),
            3 => drop(target.peek(now, conn, &mut buf[..len])),
            4 => {
                let endings = [Ending::More, Ending::Write, Ending::Part, Ending::Message];
                let _ = target.write(now, conn, &buf[..len], *u.choose(&endings)?);
            }
            5 => target.shutdown_send(now, conn),
            6 => target.shutdown_receive(now, conn),
            7 => drop(target.take_error(conn)),
            _ => {
                target.release(now, conn, u.ratio(1, 2)?);
                self.held.swap_remove(which);
            }
        }
        Ok(())
    }

    fn listen(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        if u.ratio(1, 4)? {
            self.harness.unlisten();
        } else {
            self.harness.listen();
        }
        self.harness.target.report_unowned_ports(u.arbitrary()?);
        Ok(())
    }

    fn fault(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        let fault = if u.ratio(1, 2)? { Fault::Drop } else { Fault::Duplicate };
        // Policy detect ends with an error when a segment is lost, as it says.
        let allowed = self.reliable || fault == Fault::Duplicate;
        if allowed && self.faults < MOST_FAULTS {
            self.faults += 1;
            self.harness.faults.push_back(fault);
        }
        Ok(())
    }

    fn connect(&mut self, u: &mut Unstructured<'_>) -> Result<()> {
        if self.held.len() < MOST_HELD {
            let config = harness::config(ReliabilitySet::ALL);
            let remote = addr(STRANGER, u.int_in_range(1..=4)?);
            let port = u.ratio(1, 2)?.then_some(Port::new(83));
            let asked =
                self.harness.target.connect(self.harness.now, remote, port, config, |_| true);
            self.held.extend(asked);
        }
        Ok(())
    }

    /// The friends write and read a little.
    fn talk(&mut self, out: usize, back: usize) {
        let now = self.harness.now;
        let Friends { near, far, .. } = self.friends;
        let ends = [(&mut self.harness.friend, near, out), (&mut self.harness.target, far, back)];
        for (side, (endpoint, conn, len)) in ends.into_iter().enumerate() {
            let from = self.written[side];
            let bytes: Vec<u8> = (from..from + len).map(content).collect();
            self.written[side] += endpoint.write(now, conn, &bytes, Ending::Write).unwrap_or(0);
        }
        self.harness.settle();
        self.listen_to_friends();
    }

    /// The friend writes without having it all copied.
    fn write_borrowed(&mut self, len: usize, exchanges: usize) {
        let from = self.written[0];
        let bytes: Vec<u8> = (from..from + len).map(content).collect();
        self.written[0] += self.harness.write_borrowed(self.friends.near, &bytes, exchanges);
        self.harness.settle();
        self.listen_to_friends();
    }

    /// The friends read what has come, and it is what was written.
    fn listen_to_friends(&mut self) {
        let now = self.harness.now;
        let Friends { near, far, .. } = self.friends;
        let mut buf = [0; 4096];
        let ends = [(&mut self.harness.target, far), (&mut self.harness.friend, near)];
        for (side, (endpoint, conn)) in ends.into_iter().enumerate() {
            while let Ok(n @ 1..) = endpoint.read(now, conn, &mut buf) {
                let from = self.read[side];
                let right = buf[..n].iter().zip(from..).all(|(b, at)| *b == content(at));
                assert!(right, "the friends read what was not written");
                self.read[side] += n;
                assert!(self.read[side] <= self.written[side], "more was read than written");
            }
        }
    }

    /// What holds at any time.
    fn check(&self) {
        let Friends { near, far, .. } = self.friends;
        assert_eq!(self.harness.friend.state(near), State::OPEN, "the friend's end was ended");
        assert_eq!(self.harness.target.state(far), State::OPEN, "the target's end was ended");
        let target = &self.harness.target;
        for conn in target.handles() {
            let (_, heap) = target.memory(conn).unwrap_or_default();
            assert!(heap <= CONNECTION_LIMIT, "a connection holds {heap} bytes");
        }
        let overhead = target.overhead();
        assert!(overhead <= OVERHEAD_LIMIT, "the endpoint holds {overhead} bytes");
        // Ours, the application's, what it let go of, both backlogs.
        let most = 1 + MOST_HELD + MOST_OPERATIONS + 2 * BACKLOG;
        assert!(target.connections() <= most, "{} connections", target.connections());
    }

    /// The stranger falls silent; the friends finish what they have to say, and all close.
    fn end(&mut self) {
        self.harness.unlisten();
        self.harness.end_service();
        let now = self.harness.now;
        for conn in self.held.drain(..) {
            self.harness.target.release(now, conn, false);
        }
        let goal = [self.written[0] + REST, self.written[1] + REST];
        for _ in 0..1000 {
            let left = [goal[0] - self.written[0], goal[1] - self.written[1]];
            self.talk(left[0], left[1]);
            if self.read == goal {
                break;
            }
            self.harness.pass(Duration::from_millis(5));
        }
        assert_eq!(self.read, goal, "the friends lack something");
        let Friends { near, far, .. } = self.friends;
        self.harness.friend.shutdown_send(self.harness.now, near);
        self.harness.pass(Duration::from_secs(1));
        assert_eq!(self.harness.target.read(self.harness.now, far, &mut [0; 1]), Ok(0));
        self.harness.target.release(self.harness.now, far, false);
        self.harness.pass(Duration::from_secs(1));
        assert_eq!(self.harness.friend.read(self.harness.now, near, &mut [0; 1]), Ok(0));
        self.harness.friend.release(self.harness.now, near, false);
        self.harness.pass(END_LIMIT);
        assert_eq!(self.harness.friend.connections(), 0, "the friend is left with a ghost");
        assert_eq!(self.harness.target.connections(), 0, "the target is left with a ghost");
    }
}
