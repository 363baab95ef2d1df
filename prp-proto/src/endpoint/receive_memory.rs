//! How much memory what peers send may take in all: which connections may advertise how much (SPEC
//! PRP-WIN-6).
//!
//! What was advertised cannot be taken back, so every connection is charged with that as well as
//! with what it holds. Windows do not grow where the sum is large, and shrink as data comes in;
//! nothing that was advertised is dropped.

use super::Endpoint;
use crate::connection::{Connection, Share};

/// What the connections of an endpoint are charged with, and how much that may be.
#[derive(Copy, Clone, Debug)]
pub(super) struct ReceiveMemory {
    limit: usize,
    charged: usize,
}

impl ReceiveMemory {
    pub(super) const fn new(limit: usize) -> Self {
        Self { limit, charged: 0 }
    }

    /// What a connection may advertise.
    pub(super) const fn share(&self, accepted: bool) -> Share {
        if self.charged >= self.limit {
            Share::Least
        } else if self.charged >= self.limit / 2 || !accepted {
            Share::Small
        } else {
            Share::Full
        }
    }

    /// Charges `conn` with what it holds and has advertised, and has it advertise its share from
    /// now on; whether it may advertise less than before for the sake of the limit.
    #[inline]
    pub(super) fn charge(&mut self, conn: &mut Connection) -> bool {
        let charge = conn.receive_charge();
        if charge != conn.charged {
            self.charged = self.charged - conn.charged + charge;
            conn.charged = charge;
        }
        let share = self.share(conn.accepted);
        share != conn.share() && conn.set_share(share)
    }

    /// `conn` is gone.
    pub(super) fn discharge(&mut self, conn: &Connection) {
        self.charged -= conn.charged;
    }
}

impl Endpoint {
    /// Bytes that peers have sent and the application has not read yet, and those that they may
    /// send: at most half of [`receive_memory`](crate::config::EndpointConfig::receive_memory) and
    /// a receive buffer for full windows, as much again for small ones, and two segments a
    /// connection beyond that.
    pub const fn receive_memory(&self) -> usize {
        self.receive_memory.charged
    }
}
