//! What this machine lacks of a prphosts that is in force on it.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::Path;

use nix::unistd::{AccessFlags, access};
use prp_device::{DeviceState, device_states, list_interfaces};
use prp_node::Explanation;
use prp_proto::addr::{MacAddr, NodeId};
use prp_proto::hosts::{Entry, HopTarget, Hosts, interface_name};

use super::{Finding, MAX_NOTES};

/// Devices that take the frames of their ports, so that packet sockets at a port receive nothing.
const TAKE_FRAMES_OF_PORTS: [&str; 4] = ["bridge", "bond", "openvswitch", "team"];

/// Devices that share the hardware address of another one, to which the kernel gives what is for
/// their IP addresses and nothing else.
const IP_ONLY: [&str; 2] = ["ipvlan", "ipvtap"];

/// This machine, in this process's network namespace.
#[derive(Debug)]
pub(super) struct Machine {
    pub(super) devices: Vec<DeviceState>,
    /// The kernel's table of IPv6 addresses.
    ip6_addresses: String,
}

/// What is wrong with a device that prphosts names.
#[derive(Debug)]
struct DeviceProblem {
    what: String,
    fix: String,
    severity: Severity,
}

/// How bad that is.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
enum Severity {
    /// It may change by itself.
    Passing,
    /// Nothing goes by this device, and other devices may do.
    Unusable,
    /// prphosts means another device, or another machine has this one's address.
    Mistaken,
}

/// Faults and notes, and what is as it should be.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) faults: Vec<Finding>,
    pub(super) notes: Vec<Finding>,
    /// Devices that prphosts names and this machine has, with their hardware addresses.
    pub(super) present: Vec<String>,
}

/// A prphosts, on the machine that is one of its nodes.
#[derive(Copy, Clone, Debug)]
struct Lines<'h> {
    hosts: &'h Hosts,
    own: NodeId,
    /// This machine has none of the devices that lead to other nodes.
    none_leads_out: bool,
}

impl<'h> Lines<'h> {
    /// The lines of other nodes that name devices, and those devices.
    fn of_others(self) -> impl Iterator<Item = (Entry<'h>, &'h str)> {
        let others = self.hosts.entries().filter(move |entry| entry.node() != self.own);
        others.flat_map(|entry| {
            entry.hops().filter_map(move |hop| match hop.target {
                HopTarget::Direct { device, .. } => Some((entry, device)),
                HopTarget::Udp(_) | HopTarget::Unix(_) | HopTarget::Via(_) => None,
            })
        })
    }
}

impl Findings {
    /// Where the file is only checked, and not in force here, nothing of this is wrong.
    pub(super) fn into_notes(mut self) -> Vec<Finding> {
        self.faults.append(&mut self.notes);
        self.faults
    }
}

impl Machine {
    /// This machine, as the kernel describes it.
    ///
    /// # Errors
    /// What the kernel refuses that every program with PRP needs, and the remedy.
    pub(super) fn here() -> io::Result<Self> {
        list_interfaces()?;
        UnixDatagram::unbound().map_err(|e| {
            let cause =
                format!("no Unix socket can be had, by which a process owns its ports: {e}");
            let fix = "allow AF_UNIX (RestrictAddressFamilies= of a systemd unit)";
            let fix = Some(fix.into());
            Explanation { cause, fix, ..Explanation::default() }.into_error(e.kind())
        })?;
        Self::of_devices()
    }

    /// Its devices, as the kernel describes them.
    ///
    /// # Errors
    /// As [`device_states`].
    pub(super) fn of_devices() -> io::Result<Self> {
        // Without IPv6 there is none.
        let ip6_addresses = fs::read_to_string("/proc/net/if_inet6").unwrap_or_default();
        Ok(Self { devices: device_states()?, ip6_addresses })
    }

    /// What this machine, which is node `own`, lacks of `hosts`, which is at `path`.
    pub(super) fn findings(&self, path: &Path, hosts: &Hosts, own: NodeId) -> Findings {
        let mut found = Findings::default();
        let lines = Lines { hosts, own, none_leads_out: self.lacks_all_that_lead_out(hosts, own) };
        let device_problems: Vec<_> =
            hosts.devices().map(|name| self.problem(name, lines)).collect();
        let is_lost = |problem: &Option<DeviceProblem>| {
            problem.as_ref().is_some_and(|problem| problem.severity != Severity::Passing)
        };
        let all_lost = device_problems.iter().all(is_lost);
        // VLANs of one device share what is wrong with it.
        let mut told = BTreeSet::new();
        let is_new = |problem: &DeviceProblem| told.insert(problem.what.clone());
        let device_problems = device_problems.into_iter().flatten().filter(is_new);
        for DeviceProblem { what, fix, severity } in device_problems.take(MAX_NOTES) {
            let finding = Finding { fix: Some(fix), ..Finding::new(path, what) };
            let is_fault =
                severity == Severity::Mistaken || severity == Severity::Unusable && all_lost;
            if is_fault { &mut found.faults } else { &mut found.notes }.push(finding);
        }
        if let Some(problem) = self.loopback_trouble(hosts.entry(own)) {
            let DeviceProblem { what, fix, severity } = problem;
            let finding = Finding { fix: Some(fix), ..Finding::new(path, what) };
            let is_fault = severity == Severity::Unusable;
            if is_fault { &mut found.faults } else { &mut found.notes }.push(finding);
        }
        if let Some(problem) = folder_trouble(hosts, own) {
            let DeviceProblem { what, fix, severity } = problem;
            let finding = Finding { fix: Some(fix), ..Finding::new(path, what) };
            let is_fault = severity == Severity::Unusable;
            if is_fault { &mut found.faults } else { &mut found.notes }.push(finding);
        }
        let own = hosts.entry(own).into_iter().flat_map(|entry| self.wrong_addresses(path, entry));
        found.faults.extend(own);
        let present = hosts.devices().filter_map(|name| Some((name, self.device(name)?)));
        let present = present.filter(|(_, device)| !device.loopback);
        found.present = present.map(|(name, device)| format!("{name} {}", device.mac)).collect();
        found
    }

    fn device(&self, name: &str) -> Option<&DeviceState> {
        self.devices.iter().find(|device| device.name == interface_name(name))
    }

    /// Whether no other node of `hosts` than node `own` is reached by a device of this machine, and
    /// some would be: as where the lines have the devices of the nodes themselves.
    fn lacks_all_that_lead_out(&self, hosts: &Hosts, own: NodeId) -> bool {
        let others = hosts.entries().filter(|entry| entry.node() != own);
        let mut direct = others
            .flat_map(Entry::hops)
            .filter(|hop| !matches!(hop.target, HopTarget::Via(_)))
            .peekable();
        direct.peek().is_some()
            && direct.all(|hop| {
                matches!(hop.target, HopTarget::Direct { device, .. } if self.device(device).is_none())
            })
    }

    /// What keeps frames from going by the device called `name`.
    fn problem(&self, name: &str, lines: Lines<'_>) -> Option<DeviceProblem> {
        let Some(device) = self.device(name) else { return Some(self.absence(name, lines)) };
        let name = interface_name(name);
        if device.loopback {
            return None;
        }
        let master = device.master.and_then(|index| self.devices.iter().find(|d| d.index == index));
        if let Some(master) = master
            && let Some(kind) = master.kind.as_deref()
            && TAKE_FRAMES_OF_PORTS.contains(&kind)
        {
            let (other, mac) = (&master.name, master.mac);
            return Some(DeviceProblem {
                what: format!(
                    "device {name} is a port of the {kind} {other}, which takes its frames"
                ),
                fix: format!(
                    "name {other} here, and {mac} as this node's hardware address everywhere"
                ),
                severity: Severity::Mistaken,
            });
        }
        if let Some(kind) = device.kind.as_deref().filter(|kind| IP_ONLY.contains(kind)) {
            return Some(DeviceProblem {
                what: format!("device {name} is an {kind}, which receives IP only"),
                fix: "name a macvlan or the device under it here, or UDP addresses (udp:IP)".into(),
                severity: Severity::Mistaken,
            });
        }
        if !device.up {
            return Some(DeviceProblem {
                what: format!("device {name} is down"),
                fix: format!("`ip link set {name} up`"),
                severity: Severity::Unusable,
            });
        }
        if !device.link_up {
            return Some(DeviceProblem {
                what: format!("device {name} has no link"),
                fix: "plug the cable in, or set the other end up".into(),
                severity: Severity::Passing,
            });
        }
        is_address_taken(&self.ip6_addresses, name, device.mac).then(|| DeviceProblem {
            what: format!(
                "device {name} has the hardware address {}, and so has another machine of its \
                 segment, by IPv6's duplicate address detection",
                device.mac
            ),
            fix: "give one of them another address; a cloned machine has the other's".into(),
            severity: Severity::Mistaken,
        })
    }

    /// What keeps requests over UDP from the processes of this node, whose line is `own`. In a
    /// fresh network namespace the loopback device is down.
    fn loopback_trouble(&self, own: Option<Entry<'_>>) -> Option<DeviceProblem> {
        let loopback = self.devices.iter().find(|device| device.loopback && !device.up)?;
        let own = own?;
        let by_udp = own.hops().filter(|hop| matches!(hop.target, HopTarget::Udp(_))).count();
        let name = &loopback.name;
        (by_udp > 0).then(|| DeviceProblem {
            what: format!(
                "device {name} is down, by which requests over UDP get to the processes of this node"
            ),
            fix: format!("`ip link set {name} up`"),
            severity: if by_udp == own.hops().len() { Severity::Unusable } else { Severity::Passing },
        })
    }

    /// There is no device called `name`, which is in `lines`.
    fn absence(&self, device: &str, lines: Lines<'_>) -> DeviceProblem {
        let name = interface_name(device);
        let other = self.devices.iter().find(|d| d.alternatives.iter().any(|other| other == name));
        if let Some(device) = other {
            return DeviceProblem {
                what: format!("{name} is an alternative name of device {}", device.name),
                fix: format!("write {}", device.name),
                severity: Severity::Mistaken,
            };
        }
        let what = format!("this machine has no device {name}");
        if let Some(device) = self.that_is_meant(device, lines) {
            let fix = format!("write {}, which has the address of this node's line", device.name);
            return DeviceProblem { what, fix, severity: Severity::Mistaken };
        }
        let mut fix = self.names();
        if lines.none_leads_out && lines.of_others().any(|(_, other)| other == device) {
            fix.push_str(
                "; the device in a line is this machine's, by which it reaches that node, and not \
                 the node's own",
            );
        }
        if lines.of_others().any(|(entry, other)| other == device && entry.name().is_none()) {
            let text = format!("; if {name} is the node's name, a device has to be in front of it");
            fix.push_str(&text);
        }
        if !lines.none_leads_out {
            fix.push_str("; next hops by it hold once it is there");
        }
        let severity = if lines.none_leads_out { Severity::Mistaken } else { Severity::Unusable };
        DeviceProblem { what, fix, severity }
    }

    /// The device with the address that this node's own line has for the absent device `name`.
    fn that_is_meant(&self, name: &str, lines: Lines<'_>) -> Option<&DeviceState> {
        let mut hops = lines.hosts.entry(lines.own)?.hops();
        hops.find_map(|hop| {
            let HopTarget::Direct { mac, device } = hop.target else { return None };
            self.devices.iter().find(|d| device == name && d.mac == mac && !d.loopback)
        })
    }

    /// Which devices there are, without the loopback device.
    fn names(&self) -> String {
        let names: Vec<_> =
            self.devices.iter().filter(|d| !d.loopback).map(|d| d.name.as_str()).collect();
        match names.split_at_checked(MAX_NOTES) {
            None if names.is_empty() => "there is none but the loopback device".to_owned(),
            None | Some((_, [])) => format!("devices here: {}", names.join(", ")),
            Some((some, others)) => {
                format!("devices here: {} and {} others", some.join(", "), others.len())
            }
        }
    }

    /// Where this node's own line gives a device an address that it has not: others drop what comes
    /// from it.
    fn wrong_addresses(&self, path: &Path, own: Entry<'_>) -> Vec<Finding> {
        let best = own.hops().map(|hop| hop.metric).min();
        let best_hops = own.hops().filter(|hop| Some(hop.metric) == best);
        let wrong = best_hops.filter_map(|hop| {
            let HopTarget::Direct { mac, device } = hop.target else { return None };
            let device = self.device(device).filter(|d| !d.loopback && d.mac != mac)?;
            let has_it = self.devices.iter().find(|d| d.mac == mac);
            let owner =
                has_it.map_or_else(String::new, |d| format!(", which is that of {}", d.name));
            let name = &device.name;
            let what = format!(
                "device {name} has the hardware address {}, and not {mac}{owner}",
                device.mac
            );
            let fix =
                Some(format!("write the address that {name} has, here and in the files of others"));
            Some(Finding { line: Some(own.line()), fix, ..Finding::new(path, what) })
        });
        wrong.collect()
    }
}

/// Whether the kernel has found, by its `table` of IPv6 addresses (`if_inet6`), that another
/// machine has the address that follows from the hardware address of the device called `name` (RFC
/// 4862, 5.4). The machine that comes later finds it.
fn is_address_taken(table: &str, name: &str, mac: MacAddr) -> bool {
    /// `IFA_F_DADFAILED`.
    const IS_TAKEN: u8 = 0x08;
    let MacAddr([a, b, c, d, e, f]) = mac;
    // The universal bit is the other way round (RFC 4291, appendix A).
    let own = format!("fe80000000000000{:02x}{b:02x}{c:02x}fffe{d:02x}{e:02x}{f:02x}", a ^ 0x02);
    table.lines().any(|line| {
        let words: Vec<_> = line.split_ascii_whitespace().collect();
        let [address, _, _, _, flags, device] = words[..] else { return false };
        let is_taken = u8::from_str_radix(flags, 16).is_ok_and(|flags| flags & IS_TAKEN != 0);
        address == own && device == name && is_taken
    })
}

/// What keeps processes of node `own` from making their Unix sockets.
fn folder_trouble(hosts: &Hosts, own: NodeId) -> Option<DeviceProblem> {
    let folder = hosts.unix_folder().filter(|_| hosts.is_on_unix(own))?;
    let error = match fs::metadata(folder) {
        Ok(metadata) if !metadata.is_dir() => Some("it is none".to_owned()),
        Ok(_) => {
            let may = access(folder, AccessFlags::W_OK | AccessFlags::X_OK);
            may.err().map(|e| io::Error::from(e).to_string())
        }
        Err(e) => Some(e.to_string()),
    }?;
    let is_all = hosts.entry(own)?.hops().all(|hop| matches!(hop.target, HopTarget::Unix(_)));
    Some(DeviceProblem {
        what: format!("folder {folder} of Unix sockets: {error}"),
        fix: format!(
            "`mkdir -m 1777 {folder}` for all users, or with the rights of those who may be nodes"
        ),
        severity: if is_all { Severity::Unusable } else { Severity::Passing },
    })
}

#[cfg(test)]
mod tests;
