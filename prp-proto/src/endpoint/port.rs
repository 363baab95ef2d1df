//! Which ports this process owns, and which one a new connection gets (SPEC PRP-PORT-1 to 5).

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::addr::{Port, PrpAddr};

/// Ports given to outgoing connections that are kept after their last connection ended, ready for the
/// next one: owning a port costs system calls, keeping it a descriptor.
const KEPT_IDLE: usize = 64;

/// First port given out when the paper's 1024 are taken: where Linux starts its ephemeral range.
const FIRST_WIDE: u16 = 32768;

#[derive(Copy, Clone, Debug, Default, Hash)]
struct Use {
    conns: u32,
    /// Somebody asked for this very port: it is not for outgoing connections to share.
    named: bool,
    listening: bool,
}

/// The ports of a process.
#[derive(Clone, Debug, Hash)]
pub(super) struct Ports {
    owned: BTreeMap<u16, Use>,
    /// How many of the paper's 1024 are among them.
    classic: u16,
    /// The peer for which none of them that may be shared was left when it was last looked for, if nothing has
    /// changed that since: a process that connects again and again should not look at all of them each time.
    full_for: Option<PrpAddr>,
    /// Owned, not named and without a connection.
    idle: Vec<u16>,
    /// Given up since the driver last asked.
    released: Vec<Port>,
    cursor: u16,
    wide_cursor: u16,
}

impl Ports {
    pub(super) fn new(random: u32) -> Self {
        Self {
            owned: BTreeMap::new(),
            classic: 0,
            full_for: None,
            idle: Vec::new(),
            released: Vec::new(),
            cursor: (random % u32::from(Port::LAST_CLASSIC.number())) as u16,
            wide_cursor: FIRST_WIDE | (random >> 16) as u16,
        }
    }

    pub(super) fn owns(&self, port: Port) -> bool {
        self.owned.contains_key(&port.number())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Port> + '_ {
        self.owned.keys().map(|p| Port::new(*p))
    }

    /// Takes `port`, which the driver has made ours, because somebody asked for it by number.
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

    pub(super) fn conn_started(&mut self, port: Port) {
        self.idle.retain(|p| *p != port.number());
        self.own(port).conns += 1;
    }

    pub(super) fn conn_ended(&mut self, port: Port) {
        if let Some(usage) = self.owned.get_mut(&port.number()) {
            usage.conns = usage.conns.saturating_sub(1);
            if usage.conns > 0 {
                // Its peer can have it again.
                self.full_for = None;
            }
        }
        self.release_if_unused(port);
    }

    /// The ends of a connection are free for another one, though its port is still in use.
    pub(super) fn ends_freed(&mut self) {
        self.full_for = None;
    }

    /// A port for an outgoing connection: an idle one of ours, else a new one of the paper's 1024, else
    /// one of ours that has no connection to that peer, else a new one above. `claim` makes a port ours
    /// against other processes; `taken` says which ones will not do: a connection to the peer has it
    /// already, or it is the peer itself.
    pub(super) fn pick(
        &mut self,
        peer: PrpAddr,
        mut claim: impl FnMut(Port) -> bool,
        taken: impl Fn(Port) -> bool,
    ) -> Option<Port> {
        let port = self.pick_classic(&mut claim, &taken).or_else(|| self.share(peer, &taken));
        port.or_else(|| {
            let port = self.pick_wide(claim, taken);
            // The new one is the only one that came, and this peer has it.
            self.full_for = Some(peer);
            port
        })
    }

    /// A port for a listener: as [`Self::pick`], but none that connections have.
    pub(super) fn pick_unused(&mut self, mut claim: impl FnMut(Port) -> bool) -> Option<Port> {
        self.pick_classic(&mut claim, |_| false).or_else(|| self.pick_wide(claim, |_| false))
    }

    /// One of ours that others use, but for other peers.
    fn share(&self, peer: PrpAddr, taken: impl Fn(Port) -> bool) -> Option<Port> {
        if self.full_for == Some(peer) {
            return None;
        }
        let shared = self.owned.iter().filter(|(_, usage)| !usage.named);
        shared.map(|(port, _)| Port::new(*port)).find(|port| !taken(*port))
    }

    /// What is known of `port`, which is ours from now on if it was not.
    fn own(&mut self, port: Port) -> &mut Use {
        let number = port.number();
        self.owned.entry(number).or_insert_with(|| {
            self.classic += u16::from(port <= Port::LAST_CLASSIC);
            self.full_for = None;
            Use::default()
        })
    }

    fn pick_classic(
        &mut self,
        mut claim: impl FnMut(Port) -> bool,
        taken: impl Fn(Port) -> bool,
    ) -> Option<Port> {
        if let Some(at) = self.idle.iter().rposition(|port| !taken(Port::new(*port))) {
            return Some(Port::new(self.idle.swap_remove(at)));
        }
        let classic = Port::LAST_CLASSIC.number();
        if self.classic == classic {
            return None;
        }
        for _ in 0..classic {
            self.cursor = self.cursor % classic + 1;
            let port = Port::new(self.cursor);
            if !self.owns(port) && !taken(port) && claim(port) {
                self.own(port);
                return Some(port);
            }
        }
        None
    }

    fn pick_wide(
        &mut self,
        mut claim: impl FnMut(Port) -> bool,
        taken: impl Fn(Port) -> bool,
    ) -> Option<Port> {
        for _ in FIRST_WIDE..=u16::MAX {
            self.wide_cursor = self.wide_cursor.wrapping_add(1) | FIRST_WIDE;
            let port = Port::new(self.wide_cursor);
            if !self.owns(port) && !taken(port) && claim(port) {
                self.own(port);
                return Some(port);
            }
        }
        None
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
        self.owned.remove(&port.number());
        self.classic -= u16::from(port <= Port::LAST_CLASSIC);
        self.released.push(port);
    }
}
