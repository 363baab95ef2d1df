//! What the two applications of a connection do.

use core::time::Duration;

use super::super::FaultProfile;
use crate::plan::{Closing, Item, ReadCall, Reading, Script, Writing};
use crate::rng::SimRng;

/// How much a flow carries.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub(super) enum Size {
    /// Hardly anything: the connection is the point.
    Short,
    /// Mostly little, sometimes megabytes.
    Any,
}

/// Rests that a reader takes at most, so that slow readers are not slow for ever.
const RESTS: u64 = 40;

/// The client's and the server's script.
pub(super) fn scripts(
    rng: &mut SimRng,
    profile: FaultProfile,
    size: Size,
    budget: &mut u64,
) -> (Script, Script) {
    let (up, down) = match rng.below(10) {
        0..3 => (bulk(rng, size, budget), few(rng)),
        3..5 => (few(rng), bulk(rng, size, budget)),
        5 => (bulk(rng, size, budget), bulk(rng, size, budget)),
        6 => (Vec::new(), Vec::new()),
        _ => rounds(rng, size, budget),
    };
    let (up_closing, down_closing) = closings(rng, profile, &up, &down);
    let total = |items: &[Item]| items.iter().map(|i| u64::from(i.len)).sum::<u64>();
    let (up_bytes, down_bytes) = (total(&up), total(&down));
    let up = Script {
        items: up,
        writing: writing(rng),
        reading: reading(rng, profile, down_bytes),
        closing: up_closing,
    };
    let down = Script {
        items: down,
        writing: writing(rng),
        reading: reading(rng, profile, up_bytes),
        closing: down_closing,
    };
    (up, down)
}

fn spend(rng: &mut SimRng, size: Size, budget: &mut u64) -> u64 {
    let most = match (size, rng.below(100)) {
        (Size::Short, _) | (_, 0..55) => 3_000,
        (_, 55..82) => 65_536,
        (_, 82..96) => 400_000,
        _ => 3_000_000,
    };
    let spent = rng.spread(0, most).min(*budget);
    *budget -= spent;
    spent
}

/// `size` bytes, as one item or several.
fn bulk(rng: &mut SimRng, size: Size, budget: &mut u64) -> Vec<Item> {
    let mut left = spend(rng, size, budget);
    let most = if rng.one_in(2) { left } else { (left / 8).max(1) };
    let mut items = Vec::new();
    while left > 0 && items.len() < 50 {
        let len = if items.len() == 49 { left } else { rng.spread(0, most).min(left) };
        left -= len;
        items.push(Item { len: len as u32, gate: 0 });
    }
    items
}

/// A short answer, an empty message, or nothing.
fn few(rng: &mut SimRng) -> Vec<Item> {
    (0..rng.below(4)).map(|_| Item { len: rng.spread(0, 2_000) as u32, gate: 0 }).collect()
}

/// Requests and responses, each after the one before.
fn rounds(rng: &mut SimRng, size: Size, budget: &mut u64) -> (Vec<Item>, Vec<Item>) {
    let total = spend(rng, size, budget);
    let count = rng.spread(1, if size == Size::Short { 3 } else { 60 });
    let (mut up, mut down): (Vec<Item>, Vec<Item>) = (Vec::new(), Vec::new());
    let (mut asked, mut answered) = (0, 0);
    for _ in 0..count {
        let request = rng.spread(0, total / count);
        up.push(Item { len: request as u32, gate: answered });
        asked += request;
        let response = rng.spread(0, total / count);
        down.push(Item { len: response as u32, gate: asked });
        answered += response;
    }
    (up, down)
}

fn writing(rng: &mut SimRng) -> Writing {
    Writing {
        messages: rng.one_in(2),
        piece: rng.spread(200, 65_536) as usize,
        more: rng.one_in(2),
        flush: rng.one_in(4),
    }
}

fn reading(rng: &mut SimRng, profile: FaultProfile, bytes: u64) -> Reading {
    let calls =
        [ReadCall::Stream, ReadCall::Message, ReadCall::Lend, ReadCall::Lend, ReadCall::Peek];
    let slow = rng.one_in(6) && profile != FaultProfile::Classic;
    let rest = slow.then(|| {
        let every = rng.spread(1, 100_000).max(bytes / RESTS);
        (every, rng.span(Duration::from_micros(50), Duration::from_millis(100)))
    });
    // One very long rest: longer than a user timeout.
    let asleep = rng.one_in(60) && profile != FaultProfile::Classic;
    let asleep = asleep.then(|| (bytes / 2 + 1, Duration::from_secs(rng.between(20, 75))));
    // Tiny reads of large streams cost time and show nothing new.
    let least = 16.max(bytes / 2_000);
    Reading {
        how: rng.pick(&calls),
        piece: rng.spread(least, 65_536.max(least)) as usize,
        rest: asleep.or(rest),
    }
}

fn closings(
    rng: &mut SimRng,
    profile: FaultProfile,
    up: &[Item],
    down: &[Item],
) -> (Closing, Closing) {
    use Closing::{Abort, AfterPeer, AtOnce, Deaf, HalfClose};
    let kind = if profile == FaultProfile::Classic {
        rng.weighted(&PEACEFUL)
    } else {
        rng.weighted(&CLOSINGS)
    };
    let total: u64 = up.iter().chain(down).map(|i| u64::from(i.len)).sum();
    let part = rng.spread(0, total);
    match kind {
        Kind::Both => (HalfClose, HalfClose),
        Kind::ClientWaits => (AfterPeer, HalfClose),
        Kind::ServerWaits => (HalfClose, AfterPeer),
        Kind::ClientGoes => (AtOnce, HalfClose),
        Kind::ServerGoes => (HalfClose, AtOnce),
        Kind::BothGo => (AtOnce, AtOnce),
        Kind::ClientDeaf => (Deaf, HalfClose),
        Kind::ServerDeaf => (HalfClose, Deaf),
        Kind::ClientAborts => (Abort(part), HalfClose),
        Kind::ServerAborts => (HalfClose, Abort(part)),
    }
}

/// Which of the ends close, and how.
#[derive(Copy, Clone)]
enum Kind {
    Both,
    ClientWaits,
    ServerWaits,
    ClientGoes,
    ServerGoes,
    BothGo,
    ClientDeaf,
    ServerDeaf,
    ClientAborts,
    ServerAborts,
}

const CLOSINGS: [(u32, Kind); 10] = [
    (6, Kind::Both),
    (3, Kind::ClientWaits),
    (4, Kind::ServerWaits),
    (2, Kind::ClientGoes),
    (2, Kind::ServerGoes),
    (1, Kind::BothGo),
    (1, Kind::ClientDeaf),
    (1, Kind::ServerDeaf),
    (1, Kind::ClientAborts),
    (1, Kind::ServerAborts),
];

/// Those after which both ends know that all is over: a classic peer is told nothing else.
const PEACEFUL: [(u32, Kind); 3] =
    [(1, Kind::Both), (1, Kind::ClientWaits), (1, Kind::ServerWaits)];
