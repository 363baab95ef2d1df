//! What the kernel says of the devices that prphosts names: beside what keeps them from use, which
//! `prp hosts check` finds, what makes them slow or lossy.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use prp_device::{
    CardSettings, ChainHook, DeviceChain, DeviceState, IpAddress, device_chains, device_states,
    devices_with_filters, ip_addresses,
};
use prp_node::printable;
use prp_proto::hosts::interface_name;
use prp_sock::{HostsFile, Resolver};

use super::finding::{Finding, Kind};
use super::{hardware, queues};

/// Queueing disciplines that neither shape nor delay.
const USUAL: [&str; 7] = ["noqueue", "mq", "fq", "fq_codel", "pfifo_fast", "pfifo", "noop"];

/// Bytes of the largest datagram that every path has to carry (SPEC PRP-SIZE-3), and of the headers
/// of IP and UDP.
const DATAGRAM: u32 = 1200;
const IPV4_HEADERS: u32 = 20 + 8;
const IPV6_HEADERS: u32 = 40 + 8;

/// How often each processor has served each interrupt.
const INTERRUPTS: &str = "/proc/interrupts";

/// Handlers of packet sockets, in the kernel's list of what takes frames of a type.
const SOCKETS: [&str; 4] = ["packet_rcv", "tpacket_rcv", "packet_rcv_fanout", "packet_rcv_spkt"];

/// What is to be said of them.
pub(super) fn findings(file: &HostsFile, latency: bool) -> Vec<Finding> {
    let states = device_states().unwrap_or_default();
    let counters = fs::read_to_string("/proc/thread-self/net/dev").unwrap_or_default();
    let types = fs::read_to_string("/proc/thread-self/net/ptype").unwrap_or_default();
    let local = Resolver::by(file.clone()).and_then(|resolver| resolver.local_node()).ok();
    let own_mtu = local.and_then(|node| file.hosts().entry(node)?.mtu());
    // Only with CAP_NET_ADMIN.
    let chains = device_chains().unwrap_or_default();
    let filtered = devices_with_filters().unwrap_or_default();
    let named = |state: &&DeviceState| {
        file.hosts().devices().any(|name| interface_name(name) == state.name)
    };
    let mut found = Vec::new();
    let devices: Vec<_> = states.iter().filter(named).filter(|state| !state.loopback).collect();
    for &state in &devices {
        found.extend(of_mtu(state, own_mtu));
        found.extend(of_queue(state));
        found.extend(of_kind(state));
        found.extend(of_counters(&counters, &state.name));
        found.extend(of_filters(state, &filtered));
        found.extend(chains.iter().filter_map(|chain| of_chain(chain, &state.name)));
    }
    let own = local.map_or_else(Vec::new, |node| file.hosts().udp_addrs(node));
    let addresses = ip_addresses().unwrap_or_default();
    found.extend(own.iter().filter_map(|(own, _)| of_datagrams(*own, &addresses, &states)));
    let settings = |name: &str| CardSettings::of(name).unwrap_or_default();
    let sysfs = Path::new(hardware::SYSFS);
    let interrupts = fs::read_to_string(INTERRUPTS).unwrap_or_default();
    let ethertype = file.hosts().ethertype();
    let queues = |folder: &Path, name: &str| queues::finding(folder, name, &interrupts, ethertype);
    found.extend(hardware::findings(sysfs, &devices, settings, queues, latency));
    found.extend(of_ethertype(&types, ethertype));
    found
}

fn of_mtu(state: &DeviceState, own: Option<u32>) -> Option<Finding> {
    let DeviceState { name, mtu, .. } = state;
    let own = own.filter(|own| own > mtu)?;
    let cause = format!("prphosts says mtu={own} of this node, and {name} takes {mtu} bytes");
    Some(Finding::fault(Kind::Mtu, cause, &format!("`ip link set {name} mtu {own}`, or mtu={mtu}")))
}

/// A device with an own address of UDP, `own`, that does not take the datagrams with which
/// connections begin.
fn of_datagrams(
    own: SocketAddr,
    addresses: &[IpAddress],
    states: &[DeviceState],
) -> Option<Finding> {
    let index = addresses.iter().find(|address| address.ip == own.ip())?.index;
    let DeviceState { name, mtu, .. } = states.iter().find(|state| state.index == index)?;
    let least = DATAGRAM + if own.is_ipv4() { IPV4_HEADERS } else { IPV6_HEADERS };
    (*mtu < least).then(|| {
        let cause =
            format!("{name}, which has udp:{own}, takes {mtu} bytes, and PRP needs {least}");
        Finding::fault(Kind::Mtu, cause, &format!("`ip link set {name} mtu {least}`, or more"))
    })
}

fn of_queue(state: &DeviceState) -> Option<Finding> {
    let name = &state.name;
    let qdisc = state.qdisc.as_deref().filter(|qdisc| !USUAL.contains(qdisc))?;
    let cause = format!("{name} has the queueing discipline {qdisc}: it delays or drops frames");
    Some(Finding::warning(
        Kind::Qdisc,
        cause,
        &format!("`tc qdisc del dev {name} root`, if not meant"),
    ))
}

fn of_kind(state: &DeviceState) -> Option<Finding> {
    let name = &state.name;
    (state.kind.as_deref() == Some("vlan")).then(|| {
        let cause = format!("{name} is a VLAN: nodes outside it are not reached by it");
        Finding::note(Kind::Vlan, cause, "")
    })
}

/// By the text of /proc/net/dev: frames that came damaged, and that did not leave.
fn of_counters(text: &str, name: &str) -> Option<Finding> {
    let line = text.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(':'))?;
    let numbers: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let (received, sent) = (numbers.get(2)?, numbers.get(10)?);
    (received + sent > 0).then(|| {
        let cause = format!("{name} has had {received} errors in receiving, {sent} in sending");
        Finding::warning(Kind::DeviceErrors, cause, "a cable or a port: `ethtool -S` says which")
    })
}

/// A chain of nftables that sees the frames of the device called `name`.
fn of_chain(chain: &DeviceChain, name: &str) -> Option<Finding> {
    let which = chain.devices.iter().any(|device| device == name).then_some(match chain.hook {
        ChainHook::Ingress => "comes",
        ChainHook::Egress => "leaves",
    })?;
    let (table, drops_others) = (printable(&chain.table), chain.drops_others);
    let chain = printable(&chain.name);
    let effect =
        if drops_others { "drops what it does not accept" } else { "may drop PRP's frames" };
    let cause = format!(
        "a chain of nftables at {name}, {chain} of table {table}, sees all that {which} by it, and \
         {effect}"
    );
    let fix = format!("`nft list chain netdev {table} {chain}`: does it accept PRP's EtherType?");
    Some(Finding::warning(Kind::Filter, cause, &fix))
}

/// A device with a place for filters of tc, which is one of `filtered`.
fn of_filters(state: &DeviceState, filtered: &[u32]) -> Option<Finding> {
    let name = &state.name;
    filtered.contains(&state.index).then(|| {
        let cause = format!("{name} has a place for filters of tc, which may drop PRP's frames");
        let fix =
            format!("`tc filter show dev {name} ingress`, and `egress`: is one meant for them?");
        Finding::note(Kind::Filter, cause, &fix)
    })
}

/// By the text of /proc/net/ptype: a protocol of the kernel that takes frames of our type.
fn of_ethertype(text: &str, ethertype: u16) -> Option<Finding> {
    let ours = format!("{ethertype:04x}");
    let handler = text.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        (words.next()? == ours).then(|| words.next_back())?
    });
    let handler = handler.filter(|name| !SOCKETS.contains(name))?;
    let cause = format!("EtherType 0x{ours} is a protocol of this kernel's, too: {handler}");
    Some(Finding::warning(
        Kind::Ethertype,
        cause,
        "another `ethertype` in the prphosts of all nodes",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn eth0() -> DeviceState {
        DeviceState { name: "eth0".into(), mtu: 1500, ..DeviceState::default() }
    }

    #[test]
    fn of_kind__a_vlan_is_noted() {
        assert_eq!(of_kind(&eth0()), None);
        let vlan = DeviceState { kind: Some("vlan".into()), ..eth0() };
        assert!(of_kind(&vlan).is_some_and(|found| found.cause.contains("eth0 is a VLAN")));
    }

    #[test]
    fn of_mtu__no_more_than_the_device_takes() {
        assert_eq!(of_mtu(&eth0(), None), None);
        assert_eq!(of_mtu(&eth0(), Some(1500)), None);
        let found = of_mtu(&eth0(), Some(9000)).expect("a fault");
        assert!(found.cause.contains("mtu=9000 of this node, and eth0 takes 1500"), "{found:?}");
    }

    #[test]
    fn of_datagrams__a_device_that_takes_no_full_one_is_a_fault() {
        let found = |own: &str, mtu| {
            let own: SocketAddr = own.parse().expect("an address");
            let (ip, index) = (own.ip(), 7);
            let address =
                IpAddress { index, ip, prefix: 24, is_tentative: false, is_duplicate: false };
            of_datagrams(own, &[address], &[DeviceState { index, mtu, ..eth0() }])
        };
        assert_eq!(found("10.0.0.1:5230", 1228), None);
        let fault = found("10.0.0.1:5230", 1227).expect("a fault");
        assert!(fault.cause.contains("takes 1227 bytes, and PRP needs 1228"), "{fault:?}");
        assert_eq!(found("[fd00::1]:5230", 1248), None);
        assert!(found("[fd00::1]:5230", 1247).is_some());
    }

    #[test]
    fn of_queue__names_what_is_unusual() {
        assert_eq!(of_queue(&eth0()), None);
        for (qdisc, is_found) in [("noqueue", false), ("fq_codel", false), ("netem", true)] {
            let state = DeviceState { qdisc: Some(qdisc.into()), ..eth0() };
            assert_eq!(of_queue(&state).is_some(), is_found, "{qdisc}");
        }
    }

    #[test]
    fn of_chain__at_the_device() {
        let chain = DeviceChain {
            table: "f".into(),
            name: "c\n".into(),
            hook: ChainHook::Egress,
            devices: vec!["eth0".into()],
            drops_others: false,
        };
        let found = of_chain(&chain, "eth0").expect("it is at eth0");
        assert!(found.cause.contains("c\\n of table f, sees all that leaves by it"), "{found:?}");
        assert_eq!(of_chain(&chain, "eth1"), None);
        let found = of_chain(&DeviceChain { drops_others: true, ..chain }, "eth0");
        assert!(found.is_some_and(|found| found.cause.ends_with("drops what it does not accept")));
    }

    #[test]
    fn of_filters__of_tc() {
        let eth0 = DeviceState { index: 7, ..eth0() };
        assert_eq!(of_filters(&eth0, &[6, 8]), None);
        let found = of_filters(&eth0, &[6, 7]).expect("it has one");
        assert!(found.fix.is_some_and(|fix| fix.contains("tc filter show dev eth0 ingress")));
    }

    #[test]
    fn of_counters__reads_the_kernels_table() {
        let text = |errors| {
            format!(
                "Inter-| Receive | Transmit\n face |bytes packets errs drop\n  eth0: 1 2 {errors} 9 0 0 0 0 1 2 0 3 0 0 0 0\n"
            )
        };
        assert_eq!(of_counters(&text(0), "eth0"), None);
        assert!(of_counters(&text(7), "eth0").is_some_and(|f| f.cause.contains("7 errors in rec")));
        assert_eq!(of_counters(&text(7), "eth1"), None);
        assert_eq!(of_counters("  eth0: 1 2\n", "eth0"), None);
    }

    #[test]
    fn of_ethertype__packet_sockets_are_welcome() {
        let text = "Type Device      Function\n0800          ip_rcv\n88b5 eth0     tpacket_rcv\n";
        assert_eq!(of_ethertype(text, 0x88b5), None);
        let found = of_ethertype(text, 0x0800).expect("taken");
        assert!(found.cause.ends_with("ip_rcv"), "{found:?}");
    }
}
