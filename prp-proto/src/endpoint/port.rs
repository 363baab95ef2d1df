//! Which ports this process owns, and which one a new connection gets (SPEC PRP-PORT-1 to 5).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::time::Duration;

use crate::addr::{Port, PrpAddr};
use crate::time::Instant;

/// Ports given to outgoing connections that are kept after their last connection ended, ready for
/// the next one: owning a port costs system calls, keeping it a descriptor.
const KEPT_IDLE: usize = 16;

/// Idle ports are kept until no port was wanted for this time: a process that connects again and
/// again is not idle for that long.
const KEPT_FOR: Duration = Duration::from_secs(1);

/// First port given out.
const FIRST_HIGH: u16 = Port::FIRST_AUTOMATIC.number();

/// Ports tried before one is shared instead. Others are other processes', or there is no descriptor
/// left for one.
const TRIES: usize = 1024;

/// Where to search for a port.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub(super) enum Range {
    /// Above the ports of servers.
    High,
    /// The paper's 1 to 1024, which are all that a classic peer knows.
    Classic,
}

impl Range {
    const fn contains(self, port: u16) -> bool {
        match self {
            Self::High => port >= FIRST_HIGH,
            Self::Classic => port != 0 && port <= Port::LAST_CLASSIC.number(),
        }
    }
}

#[derive(Copy, Clone, Debug, Default, Hash)]
struct PortUse {
    conns: u32,
    /// The application asked for this very port: it is not for outgoing connections to share.
    named: bool,
    listening: bool,
}

/// The ports of a process.
#[derive(Clone, Debug, Hash)]
pub(super) struct Ports {
    owned: BTreeMap<u16, PortUse>,
    /// The peer for which the last search found no shared port that was left, if nothing has
    /// changed that since: a process that connects again and again should not search all of them
    /// each time.
    full_for: Option<PrpAddr>,
    /// Owned, not named and without a connection.
    idle: Vec<u16>,
    /// When a port was last wanted, or left.
    wanted: Instant,
    /// Given up since the driver last asked.
    released: Vec<Port>,
    high_cursor: u16,
    classic_cursor: u16,
}

impl Ports {
    pub(super) fn new(random: u32) -> Self {
        Self {
            owned: BTreeMap::new(),
            full_for: None,
            idle: Vec::new(),
            wanted: Instant::ZERO,
            released: Vec::new(),
            high_cursor: FIRST_HIGH | (random >> 16) as u16,
            classic_cursor: (random % u32::from(Port::LAST_CLASSIC.number())) as u16,
        }
    }

    pub(super) fn owns(&self, port: Port) -> bool {
        self.owned.contains_key(&port.number())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Port> + '_ {
        self.owned.keys().map(|p| Port::new(*p))
    }

    /// Takes `port`, which the caller has made ours, because the application asked for it by
    /// number.
    pub(super) fn name(&mut self, port: Port) {
        self.idle.retain(|p| *p != port.number());
        self.own(port).named = true;
    }

    pub(super) fn set_listening(&mut self, port: Port, listening: bool) {
        if let Some(usage) = self.owned.get_mut(&port.number()) {
            usage.listening = listening;
            usage.named |= listening;
        }
        self.release_if_unused(port);
    }

    /// A connection has `port`; `named` says that the application asked for this very one.
    pub(super) fn conn_started(&mut self, port: Port, named: bool) {
        self.idle.retain(|p| *p != port.number());
        let usage = self.own(port);
        usage.conns += 1;
        usage.named |= named;
    }

    pub(super) fn conn_ended(&mut self, now: Instant, port: Port) {
        if let Some(usage) = self.owned.get_mut(&port.number()) {
            usage.conns = usage.conns.saturating_sub(1);
            if usage.conns > 0 {
                // Its peer can have it again.
                self.full_for = None;
            }
        }
        self.wanted = now;
        self.release_if_unused(port);
    }

    /// The ends of a connection are free for another one, though its port is still in use.
    pub(super) fn ends_freed(&mut self) {
        self.full_for = None;
    }

    /// A port for an outgoing connection: an idle one of ours, else a new one, else one of ours
    /// that has no connection to that peer. `claim` makes a port ours against other processes;
    /// `taken` says which ones will not do: a connection to the peer has it already, or it is the
    /// peer itself.
    pub(super) fn pick(
        &mut self,
        now: Instant,
        peer: PrpAddr,
        range: Range,
        mut claim: impl FnMut(Port) -> bool,
        taken: impl Fn(Port) -> bool,
    ) -> Option<Port> {
        self.wanted = now;
        let suits = |port: &u16| range.contains(*port) && !taken(Port::new(*port));
        if let Some(at) = self.idle.iter().rposition(suits) {
            return Some(Port::new(self.idle.swap_remove(at)));
        }
        if let Some(port) = self.pick_new(range, TRIES, &mut claim, &taken) {
            return Some(port);
        }
        if let Some(port) = self.share(peer, range, &taken) {
            return Some(port);
        }
        // None left but what takes long to find.
        self.full_for = Some(peer);
        self.pick_new(Range::High, usize::MAX, &mut claim, &taken)
    }

    /// A port for a listener: a new one. One that connections have used until now may be among the
    /// classic ones, and peers that have not heard of its end still send to it.
    pub(super) fn pick_unused(&mut self, mut claim: impl FnMut(Port) -> bool) -> Option<Port> {
        self.pick_new(Range::High, usize::MAX, &mut claim, &|_| false)
    }

    /// One of ours that others use, but for other peers.
    fn share(&self, peer: PrpAddr, range: Range, taken: &impl Fn(Port) -> bool) -> Option<Port> {
        if self.full_for == Some(peer) {
            return None;
        }
        let shared = self.owned.iter().filter(|(port, usage)| {
            !usage.named && range.contains(**port) && !taken(Port::new(**port))
        });
        shared.map(|(port, _)| Port::new(*port)).next()
    }

    /// What is known of `port`, which is ours from now on if it was not.
    fn own(&mut self, port: Port) -> &mut PortUse {
        // Nobody has heard that it was given up, and has given it to others.
        self.released.retain(|released| *released != port);
        self.owned.entry(port.number()).or_insert_with(|| {
            self.full_for = None;
            PortUse::default()
        })
    }

    /// A port that was not ours, of at most `tries` that are tried.
    fn pick_new(
        &mut self,
        range: Range,
        tries: usize,
        claim: &mut impl FnMut(Port) -> bool,
        taken: &impl Fn(Port) -> bool,
    ) -> Option<Port> {
        let size = match range {
            Range::High => usize::from(u16::MAX - FIRST_HIGH) + 1,
            Range::Classic => usize::from(Port::LAST_CLASSIC.number()),
        };
        for _ in 0..size.min(tries) {
            let port = Port::new(self.next(range));
            if self.owns(port) || taken(port) {
                continue;
            }
            // One that was given up, and nobody has heard of that, is ours still.
            if self.released.contains(&port) || claim(port) {
                self.own(port);
                return Some(port);
            }
        }
        None
    }

    /// The next number of `range`, round and round.
    fn next(&mut self, range: Range) -> u16 {
        match range {
            Range::High => {
                self.high_cursor = self.high_cursor.wrapping_add(1) | FIRST_HIGH;
                self.high_cursor
            }
            Range::Classic => {
                self.classic_cursor = self.classic_cursor % Port::LAST_CLASSIC.number() + 1;
                self.classic_cursor
            }
        }
    }

    /// When ports that are not wanted are given up.
    pub(super) fn due(&self) -> Option<Instant> {
        (!self.idle.is_empty()).then(|| self.wanted + KEPT_FOR)
    }

    /// Gives up the ports that were not wanted for long.
    pub(super) fn expire(&mut self, now: Instant) {
        if self.due().is_some_and(|due| due <= now) {
            for port in core::mem::take(&mut self.idle) {
                self.give_up(Port::new(port));
            }
        }
    }

    /// Whether [`Self::poll_released`] has one.
    pub(super) const fn has_released(&self) -> bool {
        !self.released.is_empty()
    }

    /// Takes a port that was given up.
    pub(super) fn poll_released(&mut self) -> Option<Port> {
        self.released.pop()
    }

    fn release_if_unused(&mut self, port: Port) {
        let Some(usage) = self.owned.get(&port.number()) else { return };
        if usage.conns > 0 || usage.listening {
            return;
        }
        if !usage.named && self.idle.len() < KEPT_IDLE {
            if !self.idle.contains(&port.number()) {
                self.idle.push(port.number());
            }
            return;
        }
        self.give_up(port);
    }

    fn give_up(&mut self, port: Port) {
        self.owned.remove(&port.number());
        self.released.push(port);
    }
}
