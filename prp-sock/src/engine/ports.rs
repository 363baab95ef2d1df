//! Which ports this process may use, and what decides about a conflict (SPEC PRP-PORT-1).
//!
//! Between processes the kernel arbitrates ([`PortClaims`]); within this one the endpoint knows
//! what is in use. A port is claimed before the endpoint gets it.

use std::io;

use prp_node::PortClaims;
use prp_proto::addr::{Port, PrpAddr};

use super::core::Core;
use super::{CoreGuard, Engine};
use crate::error;

/// Claims for an endpoint that picks a port by itself.
#[derive(Debug)]
pub(crate) struct PortClaimer<'a> {
    claims: &'a mut PortClaims,
    failed: Option<io::Error>,
}

impl<'a> PortClaimer<'a> {
    pub(crate) const fn new(claims: &'a mut PortClaims) -> Self {
        Self { claims, failed: None }
    }

    /// Makes `port` ours; `false` if another process has it, or no port can be claimed.
    pub(crate) fn claim(&mut self, port: Port) -> bool {
        self.claims.claim_automatic(port).unwrap_or_else(|e| {
            self.failed.get_or_insert(e);
            false
        })
    }

    /// What kept this process from claiming any port.
    pub(crate) fn failure(self) -> Option<io::Error> {
        self.failed
    }
}

impl Engine {
    /// Locks the engine, once `local` is this process's if one is given.
    ///
    /// # Errors
    /// `AddrInUse` if another process has the port; what made the devices unusable; no descriptor
    /// is left.
    pub(crate) fn lock_for(&self, local: Option<Port>) -> io::Result<CoreGuard<'_>> {
        let mut core = self.lock();
        core.check()?;
        if let Some(port) = local
            && !core.owns(port)
            && !core.node.claims.claim(port)?
        {
            return Err(error::in_use(PrpAddr::new(core.endpoint.local_node(), port)));
        }
        Ok(core)
    }
}

impl Core {
    /// Gives `port` back to the node. Frames for it are others' before others can claim it.
    pub(super) fn give_back(&mut self, port: Port) {
        if let Some(released) = self.node.claims.release(port) {
            self.own(&released.ports(), false);
        }
    }

    /// Gives `local` back if what it was claimed for has failed.
    pub(crate) fn unclaim(&mut self, local: Option<Port>) {
        if let Some(port) = local
            && !self.owns(port)
        {
            self.give_back(port);
        }
    }
}
