//! The neighbours frames are sent to, and whether they may be used: link, liveness, and a pause
//! before one that was dead is used again.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use prp_proto::addr::{DeviceId, LinkAddr, NodeId, StationAddr};
use prp_proto::forward::{ForwardDrop, Forwarder};
use prp_proto::liveness::{LivenessConfig, LivenessState, Session};
use prp_proto::route::{HopUse, NextHop, RouteTable};
use prp_proto::time::Instant;
use prp_proto::wire::LivenessBlock;

/// How to find out, and what follows.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct LivenessSettings {
    /// Probes to neighbours that route for us; none if they are not to be probed.
    pub probes: Option<LivenessConfig>,
    /// How long a neighbour must be well before it is used again: a link that comes and goes does
    /// not take its traffic along.
    pub hold: Duration,
}

impl Default for LivenessSettings {
    fn default() -> Self {
        // Three times 100 ms: ten small frames a second, and a death is noticed before people
        // notice.
        let probes = LivenessConfig { interval: Duration::from_millis(100), multiplier: 3 };
        Self { probes: Some(probes), hold: Duration::from_secs(1) }
    }
}

/// One neighbour.
#[derive(Clone, Debug)]
pub struct Neighbour {
    /// How it is reached.
    pub hop: NextHop,
    /// Where it is, whatever number routes have for that.
    pub station: StationAddr,
    /// Other nodes are reached by it, so it had better route.
    pub routes: bool,
    /// Whether all frames are sent to it that it leads to.
    pub usable: bool,
    /// How often that has changed.
    pub changes: u64,
    session: Option<Session>,
    /// Its session has been up, so it has a router, and silence means something.
    has_been_up: bool,
    /// Its router has said that it stops on purpose, and no session has been up since.
    has_stopped: bool,
    /// How long it must be well before it is used again.
    pause: Duration,
    /// When it may be used again.
    again: Option<Instant>,
    /// What it has said last with the cluster's key; none if its last probe was not signed.
    signed: Option<SignedProbe>,
    /// Probes sent to it.
    sent: u64,
}

/// The session of a signed probe and its number there (SPEC PRP-LIVE-6).
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
struct SignedProbe {
    session: u32,
    number: u64,
}

/// A probe that is due.
#[derive(Copy, Clone, Debug)]
pub struct Probe {
    /// To whom.
    pub to: NodeId,
    /// By which device.
    pub device: DeviceId,
    /// At which address.
    pub addr: LinkAddr,
    /// What it says.
    pub block: LivenessBlock,
    /// Its number among those to this neighbour, which it has if it is signed.
    pub number: u64,
    /// The neighbour signs its own, so this one is to be signed as well.
    pub is_signed: bool,
}

/// A probe that has come.
#[derive(Copy, Clone, Debug)]
pub struct ProbeReceived {
    /// By which device.
    pub device: DeviceId,
    /// From which address.
    pub addr: LinkAddr,
    /// What it says.
    pub block: LivenessBlock,
    /// Its number, if the cluster's key vouches for it.
    pub number: Option<u64>,
}

/// All of them.
#[derive(Debug, Default)]
pub struct Neighbours {
    settings: LivenessSettings,
    list: Vec<Neighbour>,
    /// Numbers of sessions; they begin anywhere, so that one after a restart is another.
    next_number: u32,
}

impl Neighbours {
    /// None yet.
    pub fn new(settings: LivenessSettings) -> Self {
        // Seeded by the kernel: a probe that was recorded before a restart fits no session.
        let next_number = RandomState::new().hash_one(std::process::id()) as u32;
        Self { settings, list: Vec::new(), next_number }
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Neighbour> {
        self.list.iter()
    }

    /// Other routes are in force: neighbours that stay keep their sessions.
    pub fn follow(&mut self, routes: &RouteTable, now: Instant) {
        let gateways = gateways(routes);
        let mut old = std::mem::take(&mut self.list);
        for hop in routes.neighbours() {
            // Routes have an address for each of their hops.
            let Some(station) = routes.station(hop.addr) else { continue };
            let at = old.iter().position(|n| (n.hop.device, n.station) == (hop.device, station));
            let mut neighbour = match at {
                Some(at) => old.swap_remove(at),
                None => Neighbour {
                    hop,
                    station,
                    routes: false,
                    usable: true,
                    changes: 0,
                    session: None,
                    has_been_up: false,
                    has_stopped: false,
                    pause: Duration::ZERO,
                    again: None,
                    signed: None,
                    sent: 0,
                },
            };
            neighbour.hop = hop;
            neighbour.routes = gateways.contains(&(hop.device, hop.addr));
            if neighbour.routes && neighbour.session.is_none() {
                neighbour.session = self.session(now);
            }
            if let Some(session) = &mut neighbour.session {
                session.set_passive(!neighbour.routes);
            }
            self.list.push(neighbour);
        }
    }

    fn session(&mut self, now: Instant) -> Option<Session> {
        let probes = self.settings.probes?;
        Some(Session::new(probes, next(&mut self.next_number), now))
    }

    /// Takes a probe from a neighbour. One that we do not probe ourselves, since no route of ours
    /// uses it, may reach others by us. `is_asked` says of a node whether its frames are to be
    /// signed.
    ///
    /// # Errors
    /// Why it was not taken.
    pub fn receive(
        &mut self,
        now: Instant,
        probe: &ProbeReceived,
        is_asked: impl FnOnce(NodeId) -> bool,
    ) -> Result<(), ForwardDrop> {
        let ProbeReceived { device, addr, block, number } = *probe;
        let is_sender = |n: &Neighbour| n.hop.device == device && n.hop.addr.covers(addr);
        let Some(at) = self.list.iter().position(is_sender) else { return Ok(()) };
        // It may name another node as its source, behind the same address, that need not sign.
        if number.is_none() && is_asked(self.list[at].hop.node) {
            return Err(ForwardDrop::Unsigned);
        }
        if self.list[at].has_come_before(&block, number) {
            return Err(ForwardDrop::Replayed);
        }
        if self.list[at].session.is_none() {
            // Neither of the two needs one, and this may be the last of a session that has ended.
            if block.passive && !self.list[at].routes {
                return Ok(());
            }
            self.list[at].session = self.session(now);
            let is_passive = !self.list[at].routes;
            self.list[at].session.iter_mut().for_each(|session| session.set_passive(is_passive));
        }
        let neighbour = &mut self.list[at];
        neighbour.signed = number.map(|number| SignedProbe { session: block.mine, number });
        if let Some(session) = &mut neighbour.session
            && session.handle(now, &block)
            && matches!(session.state(), LivenessState::Down | LivenessState::AdminDown)
            && number.is_some()
        {
            // Nor does anything that was recorded until now bring it up (PRP-LIVE-6).
            session.renumber(next(&mut self.next_number));
        }
        Ok(())
    }

    /// Lets time and links act on `forwarder`. Gives the probes that are due to `send`, and the
    /// neighbours whose use has changed to `changed`.
    pub fn poll(
        &mut self,
        now: Instant,
        forwarder: &mut Forwarder,
        link_up: impl Fn(DeviceId) -> bool,
        mut send: impl FnMut(Probe),
        mut changed: impl FnMut(&Neighbour),
    ) {
        let Self { settings, list, next_number } = self;
        for neighbour in list {
            let NextHop { node, device, addr, .. } = neighbour.hop;
            if let Some(session) = &mut neighbour.session {
                if session.handle_timeout(now) && neighbour.signed.is_some() {
                    // What was recorded until now names another session of ours (PRP-LIVE-6).
                    session.renumber(next(next_number));
                }
                let (up, stopped) = (LivenessState::Up, LivenessState::AdminDown);
                neighbour.has_been_up |= session.state() == up;
                neighbour.has_stopped |= session.state() == stopped;
                neighbour.has_stopped &= session.state() != up;
                while let Some(block) = session.poll(now) {
                    neighbour.sent += 1;
                    let (number, is_signed) = (neighbour.sent, neighbour.signed.is_some());
                    send(Probe { to: node, device, addr, block, number, is_signed });
                }
            }
            if neighbour.session.as_ref().is_some_and(Session::is_over) {
                neighbour.session = None;
                (neighbour.has_been_up, neighbour.has_stopped) = (false, false);
            }
            let before = neighbour.usable;
            let link_up = link_up(device);
            neighbour.judge(now, link_up, settings.hold);
            if neighbour.usable != before {
                neighbour.changes += 1;
                changed(neighbour);
            }
            forwarder.set_link_up(device, link_up);
            forwarder.set_use(device, addr, neighbour.hop_use());
        }
    }

    /// What to send to all neighbours before stopping.
    pub fn farewells(&self) -> impl Iterator<Item = Probe> + '_ {
        self.list.iter().filter_map(|neighbour| {
            let NextHop { node, device, addr, .. } = neighbour.hop;
            let block = neighbour.session.as_ref()?.farewell();
            let (number, is_signed) = (neighbour.sent + 1, neighbour.signed.is_some());
            Some(Probe { to: node, device, addr, block, number, is_signed })
        })
    }

    /// When [`Self::poll`] has something to do.
    pub fn next_timeout(&self) -> Option<Instant> {
        let timers = self.list.iter().flat_map(|neighbour| {
            let session = neighbour.session.as_ref().map(Session::next_timeout);
            [session, neighbour.again].into_iter().flatten()
        });
        timers.min()
    }
}

/// The next number of a session.
fn next(number: &mut u32) -> u32 {
    *number = number.wrapping_add(1).max(1);
    *number
}

impl Neighbour {
    /// Whether a probe with this `number` says what was said before: by its number, or since the
    /// session that is up is another one (SPEC PRP-LIVE-6).
    fn has_come_before(&self, block: &LivenessBlock, number: Option<u64>) -> bool {
        let (Some(number), Some(last)) = (number, self.signed) else { return false };
        if last.session == block.mine {
            return number <= last.number;
        }
        self.session.as_ref().is_some_and(|session| session.state() == LivenessState::Up)
    }

    /// Whether it answers our probes, where it is probed.
    pub fn liveness(&self) -> Option<&'static str> {
        self.session.as_ref().map(|session| session.state().name())
    }

    /// The frames that it is sent while its device has a link.
    pub fn hop_use(&self) -> HopUse {
        match (self.usable, self.has_stopped) {
            (true, _) => HopUse::All,
            (false, true) => HopUse::Itself,
            (false, false) => HopUse::LastResort,
        }
    }

    fn judge(&mut self, now: Instant, link_up: bool, hold: Duration) {
        let state = self.session.as_ref().map(Session::state);
        let has_failed = !link_up || self.has_been_up && state == Some(LivenessState::Down);
        // Nothing but its own frames are for one by which no other node is reached.
        if has_failed || self.has_stopped && self.routes {
            // That a router has stopped is no failure: there is no pause before it is used again.
            let pause = if has_failed { hold } else { Duration::ZERO };
            (self.usable, self.again, self.pause) = (false, None, self.pause.max(pause));
        } else if !self.usable {
            // One that is still finding itself, after a silence, is not well yet.
            let is_well = !self.has_been_up || state.is_none_or(|it| it == LivenessState::Up);
            if !is_well {
                self.again = None;
                return;
            }
            let again = *self.again.get_or_insert(now + self.pause);
            if now >= again {
                (self.usable, self.again, self.pause) = (true, None, Duration::ZERO);
            }
        }
    }
}

/// The next hops by which other nodes than themselves are reached.
fn gateways(routes: &RouteTable) -> HashSet<(DeviceId, LinkAddr)> {
    let nodes = (1..=routes.highest()).filter_map(NodeId::new);
    let hops = nodes.flat_map(|node| {
        routes.lookup(node).next_hops().iter().filter(move |hop| hop.node != node)
    });
    hops.map(|hop| (hop.device, hop.addr)).collect()
}

#[cfg(test)]
mod tests;
