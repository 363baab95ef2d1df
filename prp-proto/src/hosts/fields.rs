//! The fields of a line: words that are numbers, addresses, devices, names.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use core::num::NonZeroU16;

use super::error::HostsErrorKind;
use super::{MAX_NAME, MAX_UNIX_FOLDER, MIN_MTU, UDP_DEVICE, UNIX_DEVICE, is_local_name};
use crate::addr::{MacAddr, NodeId, UDP_PORTS};
use crate::key::NodeKey;
use crate::wire::UDP_PORT;

/// The longest device name of Linux: `IFNAMSIZ` without the final zero.
const MAX_DEVICE: usize = 15;

/// EtherTypes a cluster's Ethernet carries already, and whose they are.
const USED_ETHERTYPES: [(u16, &str); 10] = [
    (0x0800, "IPv4's"),
    (0x0806, "ARP's"),
    (0x8100, "that of VLAN tags"),
    (0x86dd, "IPv6's"),
    (0x8809, "that of link aggregation"),
    (0x888e, "that of port authentication"),
    (0x88a8, "that of provider VLAN tags"),
    (0x88cc, "LLDP's"),
    (0x88f7, "PTP's"),
    (0x88fb, "that of IEC 62439-3's PRP, another protocol of the same name"),
];

pub(super) fn node(word: &str) -> Result<NodeId, HostsErrorKind> {
    word.parse().map_err(|_| HostsErrorKind::NodeNumber)
}

/// One station's address; several nodes may share it (SPEC PRP-HOSTS-4).
pub(super) fn mac(word: &str) -> Result<MacAddr, HostsErrorKind> {
    let mac: MacAddr = word.parse().map_err(|_| HostsErrorKind::HopStart)?;
    match mac {
        MacAddr::ZERO => Err(HostsErrorKind::ZeroAddress),
        mac if mac.is_station() => Ok(mac),
        _ => Err(HostsErrorKind::GroupAddress),
    }
}

/// Whether a word is meant for a UDP address: it says so, or is an IP address.
pub(super) fn is_udp(word: &str) -> bool {
    word.starts_with("udp:") || word.parse::<IpAddr>().is_ok() || word.parse::<SocketAddr>().is_ok()
}

/// An IP address of one machine, with a port or without (SPEC PRP-HOSTS-15).
pub(super) fn udp(word: &str) -> Result<SocketAddr, HostsErrorKind> {
    let text = word.strip_prefix("udp:").unwrap_or(word);
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let addr = match (bare.parse::<IpAddr>(), text.parse::<SocketAddr>()) {
        (Ok(ip), _) => SocketAddr::new(ip, UDP_PORT),
        (_, Ok(addr)) => addr,
        _ => return Err(HostsErrorKind::UdpAddress),
    };
    let ip = addr.ip().to_canonical();
    let is_link_local = matches!(ip, IpAddr::V6(ip) if ip.is_unicast_link_local());
    let is_broadcast = ip == Ipv4Addr::BROADCAST;
    if is_link_local || matches!(addr, SocketAddr::V6(v6) if v6.scope_id() != 0) {
        return Err(HostsErrorKind::UdpLinkLocal);
    }
    if ip.is_unspecified() || ip.is_multicast() || is_broadcast {
        return Err(HostsErrorKind::UdpHost);
    }
    // The ports of all its processes follow the node's own.
    if addr.port() == 0 || addr.port() > u16::MAX - (UDP_PORTS - 1) {
        return Err(HostsErrorKind::UdpPort);
    }
    Ok(SocketAddr::new(ip, addr.port()))
}

/// Whether a word is meant for the folder of Unix sockets.
pub(super) fn is_unix(word: &str) -> bool {
    word.starts_with("unix:")
}

/// The folder of Unix sockets (SPEC PRP-HOSTS-18).
pub(super) fn unix(word: &str) -> Result<&str, HostsErrorKind> {
    let folder = word.strip_prefix("unix:").unwrap_or(word);
    let usable = folder.starts_with('/')
        && folder.len() <= MAX_UNIX_FOLDER
        && !folder.contains(|c: char| c.is_whitespace() || c.is_control());
    if usable { Ok(folder) } else { Err(HostsErrorKind::UnixFolder) }
}

/// Linux's own rules, and two of ours: no control characters, which would reach the terminals of
/// those who read errors and statistics, and nothing that could be the rest of a line whose device
/// was forgotten (SPEC PRP-HOSTS-5).
pub(super) fn device(word: &str) -> Result<&str, HostsErrorKind> {
    let forbidden = |c: char| c.is_whitespace() || c.is_control() || matches!(c, '/' | ':' | '=');
    let usable = (1..=MAX_DEVICE).contains(&word.len())
        && !matches!(word, "." | ".." | "," | "metric" | UDP_DEVICE | UNIX_DEVICE)
        && !word.contains(forbidden);
    if usable { Ok(word) } else { Err(HostsErrorKind::DeviceName) }
}

pub(super) fn metric(word: &str) -> Result<u16, HostsErrorKind> {
    decimal(word).ok_or(HostsErrorKind::Metric)
}

/// The value of `vlan=` (SPEC PRP-HOSTS-17). 0 is no VLAN, and 4095 is reserved (IEEE 802.1Q).
pub(super) fn vlan(word: &str) -> Result<u16, HostsErrorKind> {
    decimal(word).filter(|vlan| (1..=4094).contains(vlan)).ok_or(HostsErrorKind::Vlan)
}

/// The value of `priority=` (SPEC PRP-HOSTS-17).
pub(super) fn priority(word: &str) -> Result<u8, HostsErrorKind> {
    let value = decimal(word).filter(|value| *value <= 7).ok_or(HostsErrorKind::Priority)?;
    Ok(value as u8)
}

/// The value of the `mtu` option (SPEC PRP-HOSTS-8).
pub(super) fn mtu(word: &str) -> Result<NonZeroU16, HostsErrorKind> {
    decimal(word).filter(|&mtu| mtu >= MIN_MTU).and_then(NonZeroU16::new).ok_or(HostsErrorKind::Mtu)
}

/// The value of the `key` option (SPEC PRP-HOSTS-19).
pub(super) fn node_key(word: &str) -> Result<NodeKey, HostsErrorKind> {
    word.parse().map_err(|_| HostsErrorKind::NodeKey)
}

/// SPEC PRP-HOSTS-10.
pub(super) fn ethertype(word: &str) -> Result<u16, HostsErrorKind> {
    let digits = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X"));
    let digits = digits.filter(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_hexdigit()));
    let digits = digits.ok_or(HostsErrorKind::Ethertype)?;
    let value = u16::from_str_radix(digits, 16).map_err(|_| HostsErrorKind::EthertypeRange)?;
    if value < 0x0600 {
        return Err(HostsErrorKind::EthertypeRange);
    }
    match USED_ETHERTYPES.iter().find(|(used, _)| *used == value) {
        Some((_, whose)) => Err(HostsErrorKind::EthertypeUsed { whose }),
        None => Ok(value),
    }
}

/// SPEC PRP-HOSTS-7. The first four refusals are how a mistake elsewhere in the line shows.
pub(super) fn name(word: &str) -> Result<&str, HostsErrorKind> {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    match word {
        "," => Err(HostsErrorKind::Comma),
        "via" => Err(HostsErrorKind::MissingComma),
        "metric" => Err(HostsErrorKind::LateMetric),
        _ if word.parse::<MacAddr>().is_ok() || is_udp(word) || is_unix(word) => {
            Err(HostsErrorKind::MissingComma)
        }
        _ if !word.bytes().all(allowed) => Err(HostsErrorKind::NameCharacters),
        _ if word.bytes().all(|b| b.is_ascii_digit()) => Err(HostsErrorKind::NameNumber),
        _ if word.starts_with('-') => Err(HostsErrorKind::NameHyphen),
        _ if word.len() > MAX_NAME => Err(HostsErrorKind::NameLength),
        _ if is_local_name(word) => Err(HostsErrorKind::NameReserved),
        _ => Ok(word),
    }
}

/// Fills the place of an option that a line has once.
pub(super) fn once<T>(
    place: &mut Option<T>,
    read: Result<T, HostsErrorKind>,
) -> Result<(), HostsErrorKind> {
    if place.is_some() {
        return Err(HostsErrorKind::OptionAgain);
    }
    *place = Some(read?);
    Ok(())
}

/// Digits only: `u16::from_str` alone would take a leading plus sign.
fn decimal(word: &str) -> Option<u16> {
    if word.bytes().all(|b| b.is_ascii_digit()) { word.parse().ok() } else { None }
}
