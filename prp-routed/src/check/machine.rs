//! What this machine lacks of a prphosts that is in force on it.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::Path;

use nix::unistd::{AccessFlags, access};
use prp_device::{DeviceState, device_states, list_interfaces};
use prp_node::Explanation;
use prp_proto::addr::NodeId;
use prp_proto::hosts::{Entry, HopTarget, Hosts, interface_name};

use super::{Finding, MAX_NOTES};

/// Devices that take the frames of their ports, so that packet sockets at a port receive nothing.
const TAKE_FRAMES_OF_PORTS: [&str; 4] = ["bridge", "bond", "openvswitch", "team"];

/// This machine, in this process's network namespace.
#[derive(Debug)]
pub(super) struct Machine {
    pub(super) devices: Vec<DeviceState>,
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
    /// prphosts means another device.
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
        Ok(Self { devices: device_states()? })
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
        if !device.up {
            return Some(DeviceProblem {
                what: format!("device {name} is down"),
                fix: format!("`ip link set {name} up`"),
                severity: Severity::Unusable,
            });
        }
        (!device.link_up).then(|| DeviceProblem {
            what: format!("device {name} has no link"),
            fix: "plug the cable in, or set the other end up".into(),
            severity: Severity::Passing,
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
mod tests {
    use prp_proto::addr::MacAddr;

    use super::*;

    const TEXT: &str = "self 1\n1 02:00:00:00:00:01 eth0\n2 02:00:00:00:00:02 eth0\n";

    fn device(name: &str, index: u32) -> DeviceState {
        DeviceState {
            name: name.into(),
            index,
            mac: MacAddr([2, 0, 0, 0, 0, index as u8]),
            up: true,
            link_up: true,
            ..DeviceState::default()
        }
    }

    /// Faults, and notes.
    fn findings_of(devices: &[DeviceState], text: &str) -> (Vec<String>, Vec<String>) {
        let hosts = Hosts::parse(text.as_bytes()).expect("no mistake");
        let machine = Machine { devices: devices.to_vec() };
        let found = machine.findings(Path::new("h"), &hosts, NodeId::MIN);
        let words = |all: &[Finding]| all.iter().map(ToString::to_string).collect();
        (words(&found.faults), words(&found.notes))
    }

    fn none() -> (Vec<String>, Vec<String>) {
        (Vec::new(), Vec::new())
    }

    #[test]
    fn findings__none_on_a_machine_as_it_should_be() {
        assert_eq!(findings_of(&[device("eth0", 1), device("eth1", 2)], TEXT), none());
        // The device that a port belongs to takes the frames.
        let vrf = DeviceState { kind: Some("vrf".into()), ..device("red", 9) };
        let eth0 = DeviceState { master: Some(9), ..device("eth0", 1) };
        assert_eq!(findings_of(&[vrf, eth0], TEXT), none());
    }

    #[test]
    fn findings__the_folder_of_unix_sockets() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().display().to_string();
        let text = format!("self 1\n1 unix:{path}\n2 unix:{path}\n");
        assert_eq!(findings_of(&[], &text), none());
        drop(folder);
        let (faults, notes) = findings_of(&[], &text);
        assert_eq!((faults.len(), notes.len()), (1, 0), "{faults:?} {notes:?}");
        assert!(faults[0].starts_with(&format!("h: folder {path} of Unix sockets: No such file")));
        // The node is reached by another next hop, too; and where it has no such address, it needs
        // none.
        let text = format!("self 1\n1 udp:10.0.0.1, unix:{path}\n2 unix:{path}\n");
        let (faults, notes) = findings_of(&[], &text);
        assert_eq!((faults.len(), notes.len()), (0, 1), "{faults:?} {notes:?}");
        let text = format!("self 1\n1 udp:10.0.0.1\n2 unix:{path}\n");
        assert_eq!(findings_of(&[], &text), none());
    }

    #[test]
    fn findings__the_only_device_is_not_there_or_down() {
        let lo = DeviceState { loopback: true, ..device("lo", 9) };
        let absent = "h: this machine has no device eth0; devices here: eth1; the device in a line \
                      is this machine's, by which it reaches that node, and not the node's own; if \
                      eth0 is the node's name, a device has to be in front of it";
        assert_eq!(
            findings_of(&[lo.clone(), device("eth1", 2)], TEXT),
            (vec![absent.into()], vec![])
        );
        let (faults, _) = findings_of(&[lo], TEXT);
        assert!(faults[0].contains("there is none but the loopback device"), "{faults:?}");
        let down = DeviceState { up: false, link_up: false, ..device("eth0", 1) };
        let (faults, notes) = findings_of(std::slice::from_ref(&down), TEXT);
        assert_eq!(faults, ["h: device eth0 is down; `ip link set eth0 up`"]);
        assert!(notes.is_empty());
        // Another device may do.
        let text = &TEXT.replace("02 eth0", "02 eth1");
        let (faults, notes) = findings_of(&[down, device("eth1", 2)], text);
        assert_eq!((faults.len(), notes.len()), (0, 1), "{faults:?} {notes:?}");
        assert!(findings_of(&[device("eth1", 2)], text).0.is_empty());
    }

    /// One file for two machines, whose devices have different names.
    #[test]
    fn findings__no_device_here_leads_to_another_node() {
        let text = "self 1\n1 02:00:00:00:00:01 eth0 alpha\n2 02:00:00:00:00:02 enp3s0 beta\n";
        let (faults, notes) = findings_of(&[device("eth0", 1)], text);
        assert_eq!(
            (faults, notes),
            (
                vec![
                    "h: this machine has no device enp3s0; devices here: eth0; the device in a line is \
                     this machine's, by which it reaches that node, and not the node's own"
                        .to_owned()
                ],
                vec![]
            )
        );
        // Expect: a note where another node is reached.
        for other in ["3 02:00:00:00:00:03 eth0 gamma", "3 udp:10.0.0.3 gamma"] {
            let (faults, notes) = findings_of(&[device("eth0", 1)], &format!("{text}{other}\n"));
            assert!(faults.is_empty(), "{faults:?}");
            assert!(notes[0].ends_with("; next hops by it hold once it is there"), "{notes:?}");
        }
        // A next hop by a router leads out only where the router is reached.
        let (faults, _) = findings_of(&[device("eth0", 1)], &format!("{text}3 via 2\n"));
        assert_eq!(faults.len(), 1, "{faults:?}");
    }

    #[test]
    fn findings__an_absent_device_whose_address_another_has() {
        let text = TEXT.replace("eth0", "enp3s0");
        let (faults, _) = findings_of(&[device("eth0", 1)], &text);
        let expected = "h: this machine has no device enp3s0; write eth0, which has the address of \
                        this node's line";
        assert_eq!(faults, [expected]);
    }

    /// The second column is forgotten in a line: its name counts as its device.
    #[test]
    fn findings__a_name_in_the_place_of_the_device() {
        let text = "self 1\n1 02:00:00:00:00:01 eth0 alpha\n2 02:00:00:00:00:02 beta\n";
        let (faults, _) = findings_of(&[device("eth0", 1)], text);
        let hint = "; if beta is the node's name, a device has to be in front of it";
        assert!(faults[0].contains(hint), "{faults:?}");
    }

    #[test]
    fn findings__requests_over_udp_need_the_loopback_device() {
        let lo = |up| DeviceState { loopback: true, up, ..device("lo", 1) };
        let text = "self 1\n1 udp:10.0.0.1\n2 udp:10.0.0.2\n";
        assert_eq!(findings_of(&[lo(true)], text), none());
        assert_eq!(findings_of(&[lo(false), device("eth0", 1)], TEXT), none());
        let (faults, notes) = findings_of(&[lo(false)], text);
        assert!(faults[0].contains("lo is down") && faults[0].contains("`ip link set lo up`"));
        assert!(notes.is_empty(), "{notes:?}");
        // The other underlay does without.
        let text = TEXT.replace("01 eth0", "01 eth0, udp:10.0.0.1 metric 1");
        let (faults, notes) = findings_of(&[lo(false), device("eth0", 1)], &text);
        assert!(faults.is_empty() && notes[0].contains("lo is down"), "{faults:?} {notes:?}");
    }

    #[test]
    fn findings__without_a_link_is_a_note() {
        let dark = DeviceState { link_up: false, ..device("eth0", 1) };
        let (faults, notes) = findings_of(&[dark], TEXT);
        assert!(faults.is_empty() && notes[0].contains("eth0 has no link"), "{notes:?}");
    }

    #[test]
    fn findings__a_port_names_what_takes_its_frames() {
        for kind in TAKE_FRAMES_OF_PORTS {
            let br0 = DeviceState { kind: Some(kind.into()), ..device("br0", 9) };
            let eth0 = DeviceState { master: Some(9), ..device("eth0", 1) };
            let (faults, _) = findings_of(&[br0, eth0], TEXT);
            assert_eq!(
                faults,
                [format!(
                    "h: device eth0 is a port of the {kind} br0, which takes its frames; name br0 here, and \
                     02:00:00:00:00:09 as this node's hardware address everywhere"
                )]
            );
        }
    }

    #[test]
    fn findings__an_alternative_name_is_refused_with_the_name() {
        let eth0 = DeviceState { alternatives: vec!["lan0".into()], ..device("eth0", 1) };
        let (faults, _) = findings_of(&[eth0], &TEXT.replace("eth0", "lan0"));
        assert_eq!(faults, ["h: lan0 is an alternative name of device eth0; write eth0"]);
    }

    #[test]
    fn findings__the_own_line_has_the_address_of_another_device() {
        let (faults, _) = findings_of(&[device("eth0", 3), device("eth1", 1)], TEXT);
        assert_eq!(
            faults,
            [
                "h:2: device eth0 has the hardware address 02:00:00:00:00:03, and not 02:00:00:00:00:01, which is \
              that of eth1; write the address that eth0 has, here and in the files of others"
            ]
        );
        let (faults, _) = findings_of(&[device("eth0", 3)], TEXT);
        assert!(faults[0].contains("and not 02:00:00:00:00:01; write"), "{faults:?}");
        // Its next hops that are no better than others' are not its own (SPEC PRP-ROUTE-0).
        let text = TEXT.replace("01 eth0\n2", "01 eth0, 02:00:00:00:00:07 eth1 metric 5\n2");
        assert_eq!(findings_of(&[device("eth0", 1), device("eth1", 2)], &text), none());
    }
}
