//! A reading of prphosts, made into routes, and how it differs from another.

use std::io;

use prp_device::{Interface, list_interfaces, named_interfaces};
use prp_node::HostsFile;
use prp_node::hosts::node_from_environment;
use prp_proto::addr::{DeviceId, LinkAddr, MacAddr, NodeId};
use prp_proto::hosts::{UDP_DEVICE, interface_name, renamed};
use prp_proto::route::{NextHop, Route, RouteTable};

use crate::report::Hop;
use crate::settings::Settings;

/// Routes, and the names of the devices they speak of.
#[derive(Debug)]
pub struct Table {
    /// prphosts as it was read.
    pub file: HostsFile,
    /// Where frames go.
    pub routes: RouteTable,
    /// By [`DeviceId`]: interfaces, and [`UDP_DEVICE`] where the node has a UDP address.
    pub devices: Vec<Interface>,
}

/// What becomes of a node's routes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Change {
    /// The node.
    pub node: NodeId,
    /// Its next hops so far; empty if it had none.
    pub before: Vec<Hop>,
    /// Its next hops from now on.
    pub after: Vec<Hop>,
}

impl Table {
    /// Reads prphosts. Devices in `known` keep their numbers, so that routes of old and new can be
    /// compared, and frames in between go where they should.
    ///
    /// # Errors
    /// What is wrong with the file, and where; that it does not say which node this is, or has no
    /// line for it.
    pub fn load(settings: &Settings, known: &[Interface]) -> io::Result<Self> {
        let file = HostsFile::load(&settings.hosts)?;
        let local = match settings.node {
            Some(node) => node,
            None => prp_device::local_node(&file, node_from_environment()?)?,
        };
        if file.hosts().entry(local).is_none() {
            let cause = format!("node {local}, which this is, has no line");
            return Err(file.error(cause, None));
        }
        let mut devices = known.to_vec();
        let interfaces = list_interfaces()?;
        for found in named_interfaces(&interfaces, &file.hosts().devices()) {
            // A device that is called otherwise by now is no other one.
            let is_known = |d: &Interface| {
                d.name == found.name
                    || d.index == found.index
                        && renamed(&d.name, interface_name(&found.name)) == found.name
            };
            if !found.loopback && !devices.iter().any(is_known) {
                devices.push(found);
            }
        }
        let is_on_udp = !file.hosts().udp_addrs(local).is_empty();
        if is_on_udp && !devices.iter().any(|d| d.name == UDP_DEVICE) {
            let (name, mac) = (UDP_DEVICE.to_owned(), MacAddr::ZERO);
            devices.push(Interface { name, index: 0, mac, loopback: false, mtu: 0 });
        }
        let routes = RouteTable::build(file.hosts(), local, |name| {
            let now = interfaces.iter().find(|found| found.name == interface_name(name));
            let by_now = |d: &Interface| {
                now.is_some_and(|now| now.index == d.index && renamed(&d.name, &now.name) == name)
            };
            let at = devices.iter().position(|d| d.name == name);
            at.or_else(|| devices.iter().position(by_now)).map(|at| DeviceId(at as u16))
        });
        Ok(Self { file, routes, devices })
    }

    /// What differs in `other`, by rising node numbers.
    pub fn changes(&self, other: &Self) -> Vec<Change> {
        let highest = self.routes.highest().max(other.routes.highest());
        let nodes = (1..=highest).filter_map(NodeId::new);
        nodes
            .filter(|node| !self.has_route_of(other, *node))
            .map(|node| Change { node, before: self.hops(node), after: other.hops(node) })
            .collect()
    }

    /// Whether frames for `node` go where they go by `other`. An address is the same under another
    /// number.
    fn has_route_of(&self, other: &Self, node: NodeId) -> bool {
        let (old, new) = (self.routes.lookup(node), other.routes.lookup(node));
        let parts = |hop: &NextHop, table: &Self| {
            let NextHop { node, device, addr, mtu, metric } = *hop;
            (node, device, table.routes.station(addr), mtu, metric)
        };
        match (old, new) {
            (Route::Via(old), Route::Via(new)) => {
                let old = old.iter().map(|hop| parts(hop, self));
                old.eq(new.iter().map(|hop| parts(hop, other)))
            }
            (old, new) => old == new,
        }
    }

    /// The next hops to `node`, best first.
    pub fn hops(&self, node: NodeId) -> Vec<Hop> {
        self.routes.lookup(node).next_hops().iter().map(|hop| self.hop(hop)).collect()
    }

    fn hop(&self, hop: &NextHop) -> Hop {
        let device = self.devices.get(usize::from(hop.device.0)).map_or("?", |d| &d.name);
        Hop {
            node: hop.node.number(),
            mac: address_text(&self.routes, hop.addr),
            device: device.to_owned(),
            metric: hop.metric,
            mtu: hop.mtu,
        }
    }
}

/// An address of `routes` as prphosts has it.
pub fn address_text(routes: &RouteTable, addr: LinkAddr) -> String {
    routes.station(addr).map_or_else(|| addr.to_string(), |station| station.to_string())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use tempfile::NamedTempFile;

    use super::*;

    fn table(text: &str, known: &[Interface]) -> io::Result<Table> {
        let mut file = NamedTempFile::new().expect("a temporary file");
        file.write_all(text.as_bytes()).expect("room for a few bytes");
        let settings = Settings { hosts: file.path().to_owned(), ..Settings::default() };
        Table::load(&settings, known)
    }

    fn ports() -> Vec<Interface> {
        let device = |name: &str, last| Interface {
            name: name.into(),
            index: 1000,
            mac: MacAddr([2, 0, 0, 0, 1, last]),
            loopback: false,
            mtu: 1500,
        };
        vec![device("test0", 1), device("test1", 2)]
    }

    fn words(hops: &[Hop]) -> String {
        hops.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }

    const BEFORE: &str = "self 1\n1 02:00:00:00:01:01 test0\n2 02:00:00:00:00:02 test0\n\
        3 via 2\n4 via 2 metric 5\n5 02:00:00:00:00:05 test1\n";

    #[test]
    fn changes__tells_what_comes_goes_and_moves() {
        let before = table(BEFORE, &ports()).unwrap();
        let after = table(
            "self 1\n1 02:00:00:00:01:01 test0\n2 02:00:00:00:00:02 test0\n3 via 2\n\
             4 via 2 metric 5, via 5 metric 9\n5 02:00:00:00:00:05 test1\n6 via 5\n",
            &ports(),
        );
        let changes = before.changes(&after.unwrap());
        let words: Vec<_> = changes
            .iter()
            .map(|c| format!("{}: {:?} -> {:?}", c.node, words(&c.before), words(&c.after)))
            .collect();
        assert_eq!(
            words,
            [
                "4: \"2 02:00:00:00:00:02 test0 metric 5\" -> \"2 02:00:00:00:00:02 test0 metric 5, \
                 5 02:00:00:00:00:05 test1 metric 9\"",
                "6: \"\" -> \"5 02:00:00:00:00:05 test1\"",
            ]
        );
        assert!(before.changes(&table(BEFORE, &ports()).unwrap()).is_empty());
    }

    #[test]
    fn changes__an_address_with_another_number_is_the_same() {
        let file = "2 udp:10.0.0.2\n3 udp:10.0.0.3, udp:10.0.0.4 metric 1\n9 via 3\n";
        let table = |text: &str| table(&format!("self 1\n{text}1 udp:10.0.0.1\n"), &[]).unwrap();
        let before = table(file);
        assert!(before.changes(&table(&format!("7 udp:10.0.0.7\n{file}"))).iter().all(|change| {
            (change.node.number(), words(&change.after)) == (7, "7 udp:10.0.0.7:5230 udp".into())
        }));
        // Expect: what has the number of another address is another one.
        let swapped = table("2 udp:10.0.0.3\n3 udp:10.0.0.2, udp:10.0.0.4 metric 1\n9 via 3\n");
        let nodes: Vec<_> = before.changes(&swapped).iter().map(|c| c.node.number()).collect();
        assert_eq!(nodes, [2, 3, 9]);
    }

    #[test]
    fn load__without_a_line_for_the_node_fails() {
        let settings = Settings { node: NodeId::new(9), ..Settings::default() };
        let mut file = NamedTempFile::new().expect("a temporary file");
        file.write_all(BEFORE.as_bytes()).expect("room for a few bytes");
        let settings = Settings { hosts: file.path().to_owned(), ..settings };
        let message = Table::load(&settings, &ports()).unwrap_err().to_string();
        assert!(message.ends_with("node 9, which this is, has no line"), "{message}");
        let message = table("1 nonsense\n", &ports()).unwrap_err().to_string();
        assert!(message.contains(":1:3: expected"), "{message}");
    }
}
