//! Addresses as programs write them.

use std::io;
use std::net::IpAddr;
use std::{iter, option, slice, vec};

use prp_proto::addr::{NodeId, Port, PrpAddr};
use prp_proto::hosts::is_local_name;

use prp_node::hosts::{HostsFile, node_from_environment};

/// How names become numbers: prphosts, and the node this machine is.
#[derive(Clone, Debug)]
pub struct Resolver {
    hosts: HostsFile,
    local: Option<NodeId>,
}

impl Resolver {
    /// A resolver by the prphosts in force.
    ///
    /// # Errors
    /// As [`HostsFile::load`].
    pub fn system() -> io::Result<Self> {
        Self::by(HostsFile::cached(&HostsFile::default_path())?)
    }

    /// A resolver by `hosts`, a reading of some prphosts.
    ///
    /// # Errors
    /// `InvalidInput` if `PRP_NODE` is set to something else than a node number.
    pub fn by(hosts: HostsFile) -> io::Result<Self> {
        Ok(Self::new(hosts, node_from_environment()?))
    }

    pub(crate) fn new(hosts: HostsFile, local: Option<NodeId>) -> Self {
        Self { hosts, local }
    }

    /// The node called `name`: a name or number in prphosts, `self` or `localhost`.
    ///
    /// # Errors
    /// `NotFound`, naming what was searched for and where.
    pub fn node(&self, name: &str) -> io::Result<NodeId> {
        if is_local_name(name) {
            return self.local_node();
        }
        let hosts = self.hosts.hosts();
        let found = hosts.resolve(name).filter(|node| hosts.entry(*node).is_some());
        found.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, self.unknown(name)))
    }

    /// Why `name` is no node's.
    fn unknown(&self, name: &str) -> String {
        let file = self.hosts.path().display();
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        let ip: Option<IpAddr> = bare.parse().ok();
        let is_here = ip.is_some_and(|ip| ip.is_unspecified() || ip.is_loopback());
        if is_here || matches!(name, "" | "*" | "0") {
            // What TCP programs listen at.
            return format!("{name:?}: no node; this node is \"self\", as in \"self:7000\"");
        }
        if ip.is_some() {
            return format!(
                "{name}: an IP address; PRP has the numbers and names of nodes in {file}, as in \
                 \"3:80\" or \"gamma:80\""
            );
        }
        if name.trim() != name {
            return format!("{name:?}: no node called so in {file}; leave the blank out");
        }
        if name.bytes().all(|b| b.is_ascii_digit()) {
            return format!("no node {name} in {file}");
        }
        format!("no node called {name} in {file}")
    }

    /// The node this machine is.
    ///
    /// # Errors
    /// If it cannot be told.
    pub fn local_node(&self) -> io::Result<NodeId> {
        match self.local {
            Some(node) => Ok(node),
            None => prp_device::local_node(&self.hosts, None),
        }
    }

    /// The address `text` stands for: `node:port`, with the node by number or name.
    ///
    /// # Errors
    /// `InvalidInput` if it has not this form, `NotFound` if there is no such node.
    pub fn address(&self, text: &str) -> io::Result<PrpAddr> {
        let bad = |what: &str| {
            let message = format!("{text:?}: {what}");
            io::Error::new(io::ErrorKind::InvalidInput, message)
        };
        let (node, port) = text
            .rsplit_once(':')
            .ok_or_else(|| bad("expected node:port, such as 3:80 or gamma:80"))?;
        let port: Port =
            port.parse().map_err(|_| bad("expected a port from 0 to 65535 after the colon"))?;
        Ok(PrpAddr::new(self.node(node)?, port))
    }
}

/// What can be resolved to addresses, as [`std::net::ToSocketAddrs`] for PRP.
///
/// Strings are `node:port` with the node by number or by a name in prphosts; `self` and `localhost`
/// are the local node. A bare [`Port`] is a port of the local node, for listeners.
pub trait ToPrpAddrs {
    /// The addresses.
    type Iter: Iterator<Item = PrpAddr>;

    /// Resolves by `resolver`; `None` for the prphosts in force, read only if a name needs it.
    ///
    /// # Errors
    /// What is wrong with the text, the name or prphosts.
    fn to_prp_addrs_with(&self, resolver: Option<&Resolver>) -> io::Result<Self::Iter>;

    /// Resolves by the prphosts in force.
    ///
    /// # Errors
    /// What is wrong with the text, the name or prphosts.
    fn to_prp_addrs(&self) -> io::Result<Self::Iter> {
        self.to_prp_addrs_with(None)
    }
}

fn with<T>(
    resolver: Option<&Resolver>,
    f: impl FnOnce(&Resolver) -> io::Result<T>,
) -> io::Result<T> {
    match resolver {
        Some(resolver) => f(resolver),
        None => f(&Resolver::system()?),
    }
}

impl ToPrpAddrs for PrpAddr {
    type Iter = option::IntoIter<Self>;

    fn to_prp_addrs_with(&self, _: Option<&Resolver>) -> io::Result<Self::Iter> {
        Ok(Some(*self).into_iter())
    }
}

impl ToPrpAddrs for (NodeId, Port) {
    type Iter = option::IntoIter<PrpAddr>;

    fn to_prp_addrs_with(&self, _: Option<&Resolver>) -> io::Result<Self::Iter> {
        Ok(Some(PrpAddr::new(self.0, self.1)).into_iter())
    }
}

impl ToPrpAddrs for (u16, u16) {
    type Iter = option::IntoIter<PrpAddr>;

    fn to_prp_addrs_with(&self, _: Option<&Resolver>) -> io::Result<Self::Iter> {
        let node = NodeId::new(self.0).ok_or_else(|| {
            let message = format!("{}: expected a node number from 1 to 65534", self.0);
            io::Error::new(io::ErrorKind::InvalidInput, message)
        })?;
        Ok(Some(PrpAddr::new(node, Port::new(self.1))).into_iter())
    }
}

impl ToPrpAddrs for (&str, u16) {
    type Iter = option::IntoIter<PrpAddr>;

    fn to_prp_addrs_with(&self, resolver: Option<&Resolver>) -> io::Result<Self::Iter> {
        let node = match self.0.parse() {
            Ok(node) => node,
            Err(_) => with(resolver, |r| r.node(self.0))?,
        };
        Ok(Some(PrpAddr::new(node, Port::new(self.1))).into_iter())
    }
}

impl ToPrpAddrs for (String, u16) {
    type Iter = option::IntoIter<PrpAddr>;

    fn to_prp_addrs_with(&self, resolver: Option<&Resolver>) -> io::Result<Self::Iter> {
        (&*self.0, self.1).to_prp_addrs_with(resolver)
    }
}

impl ToPrpAddrs for (NodeId, u16) {
    type Iter = option::IntoIter<PrpAddr>;

    fn to_prp_addrs_with(&self, _: Option<&Resolver>) -> io::Result<Self::Iter> {
        Ok(Some(PrpAddr::new(self.0, Port::new(self.1))).into_iter())
    }
}

impl ToPrpAddrs for Port {
    type Iter = option::IntoIter<PrpAddr>;

    fn to_prp_addrs_with(&self, resolver: Option<&Resolver>) -> io::Result<Self::Iter> {
        Ok(Some(PrpAddr::new(with(resolver, Resolver::local_node)?, *self)).into_iter())
    }
}

impl ToPrpAddrs for str {
    type Iter = vec::IntoIter<PrpAddr>;

    fn to_prp_addrs_with(&self, resolver: Option<&Resolver>) -> io::Result<Self::Iter> {
        let address = match self.parse() {
            Ok(address) => address,
            Err(_) => with(resolver, |r| r.address(self))?,
        };
        Ok(vec![address].into_iter())
    }
}

impl ToPrpAddrs for String {
    type Iter = vec::IntoIter<PrpAddr>;

    fn to_prp_addrs_with(&self, resolver: Option<&Resolver>) -> io::Result<Self::Iter> {
        (**self).to_prp_addrs_with(resolver)
    }
}

impl<'a> ToPrpAddrs for &'a [PrpAddr] {
    type Iter = iter::Cloned<slice::Iter<'a, PrpAddr>>;

    fn to_prp_addrs_with(&self, _: Option<&Resolver>) -> io::Result<Self::Iter> {
        Ok(self.iter().cloned())
    }
}

impl<T: ToPrpAddrs + ?Sized> ToPrpAddrs for &T {
    type Iter = T::Iter;

    fn to_prp_addrs_with(&self, resolver: Option<&Resolver>) -> io::Result<Self::Iter> {
        (**self).to_prp_addrs_with(resolver)
    }
}

#[cfg(test)]
mod tests;
