//! Printing prphosts in its canonical form (SPEC PRP-HOSTS-13).

use core::fmt;
use core::net::{IpAddr, SocketAddr};

use super::{Entry, HopTarget, Hosts, interface_name};
use crate::wire;

/// The whole file: parsing it again gives an equal `Hosts`.
impl fmt::Display for Hosts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.ethertype != wire::ETHERTYPE {
            writeln!(f, "ethertype {:#06x}", self.ethertype)?;
        }
        if let Some(node) = self.self_node {
            writeln!(f, "self {node}")?;
        }
        self.entries().try_for_each(|entry| writeln!(f, "{entry}"))
    }
}

/// `udp:` and the address, with its port unless that is the usual one.
fn write_udp(f: &mut fmt::Formatter<'_>, addr: SocketAddr) -> fmt::Result {
    match addr.ip() {
        _ if addr.port() != wire::UDP_PORT => write!(f, "udp:{addr}"),
        IpAddr::V4(ip) => write!(f, "udp:{ip}"),
        IpAddr::V6(ip) => write!(f, "udp:[{ip}]"),
    }
}

/// The line.
impl fmt::Display for Entry<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.node())?;
        for (i, (hop, tag)) in self.hops().zip(self.tags()).enumerate() {
            f.write_str(if i == 0 { "  " } else { ", " })?;
            match hop.target {
                HopTarget::Direct { mac, device } => {
                    write!(f, "{mac} {}{tag}", interface_name(device))?;
                }
                HopTarget::Udp(addr) => write_udp(f, addr)?,
                HopTarget::Unix(folder) => write!(f, "unix:{folder}")?,
                HopTarget::Via(node) => write!(f, "via {node}")?,
            }
            if hop.metric != 0 {
                write!(f, " metric {}", hop.metric)?;
            }
        }
        for (i, name) in self.names().enumerate() {
            write!(f, "{}{name}", if i == 0 { "  " } else { " " })?;
        }
        self.mtu().map_or(Ok(()), |mtu| write!(f, "  mtu={mtu}"))?;
        self.keys().try_for_each(|key| write!(f, "  key={key}"))
    }
}
