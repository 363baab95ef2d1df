//! What a device's card is, and what machine it is in, as the kernel shows them in sysfs.

use std::fs;
use std::path::Path;

use prp_device::{CardSettings, DeviceState};

use super::card;
use super::finding::{Finding, Kind};

/// Where sysfs is mounted.
pub(super) const SYSFS: &str = "/sys";

/// The speed, in Mbit/s, below which a cable or a port is suspected.
const USUAL_SPEED: u32 = 1000;

/// The fix where frames of Ethernet are not passed on.
const USE_UDP: &str = "`udp:ADDRESS` in place of the device in prphosts";

/// Clouds, by a file of the firmware's table, its text, and the cloud's name. Their networks carry
/// IP only.
const CLOUDS: [(&str, &str, &str); 3] = [
    ("sys_vendor", "Amazon EC2", "Amazon EC2"),
    ("product_name", "Google Compute Engine", "Google Compute Engine"),
    ("chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77", "Microsoft Azure"),
];

/// Virtual machines whose switch drops frames from other addresses than the machine's own, by the
/// same, and the setting that lets them pass.
const GUESTS: [(&str, &str, &str, &str); 3] = [
    ("sys_vendor", "VMware, Inc.", "VMware", "allow forged transmits and promiscuous mode"),
    ("product_name", "Virtual Machine", "Hyper-V", "allow MAC address spoofing"),
    ("product_name", "VirtualBox", "VirtualBox", "allow promiscuous mode"),
];

/// Virtual devices whose frames may have another address than the card below them.
const WITH_OTHER_ADDRESSES: [&str; 3] = ["bridge", "macvlan", "openvswitch"];

/// Counters of frames for which a card or its driver had no room.
const RING_DROPS: [&str; 3] = ["rx_missed_errors", "rx_fifo_errors", "rx_over_errors"];

/// What is to be said of the cards of `devices`, and of the machine if one has a card. `settings`
/// has what the driver of a card says, and `queues` what is to be said of its queues, by its folder
/// in sysfs and its name; `latency` matters.
pub(super) fn findings(
    sysfs: &Path,
    devices: &[&DeviceState],
    settings: impl Fn(&str) -> CardSettings,
    queues: impl Fn(&Path, &str) -> Option<Finding>,
    latency: bool,
) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut has_card = false;
    for state in devices {
        let folder = sysfs.join("class/net").join(&state.name);
        if !is_of(&folder, state) {
            continue;
        }
        found.extend(of_bond(&folder.join("bonding"), &state.name));
        if folder.join("device").exists() {
            has_card = true;
            let settings = settings(&state.name);
            found.extend(of_card(&folder, &state.name));
            found.extend(of_ring(&folder.join("statistics"), &state.name, &settings));
            found.extend(card::findings(&state.name, &settings, latency));
            found.extend(queues(&folder, &state.name));
        }
    }
    let firmware = sysfs.join("class/dmi/id");
    found.extend(of_cloud(&firmware).filter(|_| has_card));
    found.extend(devices.iter().find_map(|state| of_guest(&firmware, state)));
    found
}

/// Whether `folder` is of this device: sysfs shows the devices of the network namespace in which it
/// was mounted.
fn is_of(folder: &Path, state: &DeviceState) -> bool {
    word(folder, "ifindex") == Some(state.index.to_string())
}

fn of_card(folder: &Path, name: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    if ["phy80211", "wireless"].iter().any(|entry| folder.join(entry).exists()) {
        let cause = format!("{name} is wireless: many access points pass IP only");
        found.push(Finding::warning(Kind::Wireless, cause, USE_UDP));
    }
    if word(folder, "duplex").as_deref() == Some("half") {
        let cause = format!("{name} is at half duplex: frames that meet are lost");
        let fix = format!("`ethtool {name}`: autonegotiation at both ends, or neither");
        found.push(Finding::warning(Kind::HalfDuplex, cause, &fix));
    }
    // A device without a link has no speed, or -1.
    let speed = word(folder, "speed").and_then(|text| text.parse::<u32>().ok());
    if let Some(speed @ 1..USUAL_SPEED) = speed {
        let cause = format!("{name} is at {speed} Mbit/s");
        let fix = format!("if the card takes more (`ethtool {name}`): the cable, or the port");
        found.push(Finding::note(Kind::Speed, cause, &fix));
    }
    found
}

/// Frames that came and found no room.
fn of_ring(statistics: &Path, name: &str, settings: &CardSettings) -> Option<Finding> {
    let count = |file: &&str| word(statistics, file)?.parse::<u64>().ok();
    // A driver may count one frame by several of them.
    let lost = RING_DROPS.iter().filter_map(count).max().filter(|lost| *lost > 0)?;
    let cause = format!("{name} has lost {lost} received frames for want of room in its ring");
    let fix = match settings.rx_ring {
        Some((now, most)) if now < most => format!("`ethtool -G {name} rx {most}`; it has {now}"),
        _ => format!("`ethtool -S {name}` says which queue; `ethtool -g {name}` its size"),
    };
    Some(Finding::warning(Kind::RingDrops, cause, &fix))
}

/// A bond, by how it spreads frames.
fn of_bond(bonding: &Path, name: &str) -> Option<Finding> {
    let mode = word(bonding, "mode")?;
    let mode = mode.split_whitespace().next()?;
    match mode {
        "balance-rr" => {
            let cause = format!(
                "{name} is a bond in mode {mode}, which sends the frames of one stream by all of its \
                 ports in turn: they overtake each other"
            );
            let fix = "mode active-backup or 802.3ad, or a next hop for each port in prphosts";
            Some(Finding::warning(Kind::Bond, cause, fix))
        }
        "802.3ad" | "balance-xor" => {
            let cause = format!(
                "{name} is a bond in mode {mode}: all frames to a node go by one of its ports, as \
                 they are not of IP"
            );
            let fix = "`udp:ADDRESS` in prphosts, with xmit_hash_policy layer3+4; or a next hop \
                       for each port";
            Some(Finding::note(Kind::Bond, cause, fix))
        }
        _ => None,
    }
}

/// A virtual machine whose switch may drop what `state` sends.
fn of_guest(firmware: &Path, state: &DeviceState) -> Option<Finding> {
    let kind = state.kind.as_deref().filter(|kind| WITH_OTHER_ADDRESSES.contains(kind))?;
    let is_here = |(file, text, ..): &&(&str, &str, &str, &str)| {
        word(firmware, file).as_deref() == Some(text)
    };
    let (_, _, whose, setting) = GUESTS.iter().find(is_here)?;
    let name = &state.name;
    let cause = format!(
        "{name} is a {kind} in a virtual machine of {whose}, which drops frames from an address that \
         is not the machine's own"
    );
    let fix = format!("{setting} for this machine's port, or name the machine's card in prphosts");
    Some(Finding::note(Kind::Hypervisor, cause, &fix))
}

fn of_cloud(table: &Path) -> Option<Finding> {
    let is_there =
        |(file, text, _): &&(&str, &str, &str)| word(table, file).as_deref() == Some(text);
    let (_, _, cloud) = CLOUDS.iter().find(is_there)?;
    let cause = format!("this machine is in {cloud}, whose network carries IP only");
    Some(Finding::warning(Kind::Cloud, cause, USE_UDP))
}

/// The text of a file of sysfs; the kernel refuses some for devices that are down.
fn word(folder: &Path, file: &str) -> Option<String> {
    fs::read_to_string(folder.join(file)).ok().map(|text| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Severity;

    /// A tree like sysfs with a device `eth0` of number 7, and these files.
    fn planted(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let card = ("class/net/eth0/ifindex", "7\n");
        for (name, text) in files.iter().chain([&card]) {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    /// What is found of a device `eth0` with these files.
    fn found(files: &[(&str, &str)], state: DeviceState, settings: CardSettings) -> Vec<Finding> {
        let eth0 = DeviceState { name: "eth0".into(), ..state };
        findings(planted(files).path(), &[&eth0], |_| settings, |_, _| None, false)
    }

    fn kinds(files: &[(&str, &str)], index: u32) -> Vec<Kind> {
        let eth0 = DeviceState { index, ..DeviceState::default() };
        let found = found(files, eth0, CardSettings::default());
        found.iter().map(|finding| finding.kind).collect()
    }

    fn of_kind(kind: &str) -> DeviceState {
        DeviceState { index: 7, kind: Some(kind.into()), ..DeviceState::default() }
    }

    const CARD: (&str, &str) = ("class/net/eth0/device/vendor", "0x8086\n");

    #[test]
    fn findings__what_makes_a_card_slow_or_unfit() {
        let speed = |text| [CARD, ("class/net/eth0/speed", text)];
        assert_eq!(kinds(&[CARD], 7), []);
        assert_eq!(kinds(&speed("100\n"), 7), [Kind::Speed]);
        assert_eq!(kinds(&speed("1000\n"), 7), []);
        assert_eq!(kinds(&speed("-1\n"), 7), []);
        let duplex = |text| [CARD, ("class/net/eth0/duplex", text)];
        assert_eq!(kinds(&duplex("half\n"), 7), [Kind::HalfDuplex]);
        assert_eq!(kinds(&duplex("full\n"), 7), []);
        assert_eq!(kinds(&[CARD, ("class/net/eth0/phy80211/name", "phy0\n")], 7), [Kind::Wireless]);
    }

    #[test]
    fn findings__a_cloud_matters_to_cards_only() {
        let ec2 = ("class/dmi/id/sys_vendor", "Amazon EC2\n");
        assert_eq!(kinds(&[CARD, ec2], 7), [Kind::Cloud]);
        assert_eq!(kinds(&[ec2], 7), []);
        let azure = ("class/dmi/id/chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77\n");
        assert_eq!(kinds(&[CARD, azure], 7), [Kind::Cloud]);
        assert_eq!(kinds(&[CARD, ("class/dmi/id/sys_vendor", "QEMU\n")], 7), []);
    }

    #[test]
    fn findings__frames_that_found_no_room() {
        let missed = |count| [CARD, ("class/net/eth0/statistics/rx_missed_errors", count)];
        assert_eq!(kinds(&missed("0\n"), 7), []);
        assert_eq!(kinds(&missed("9\n"), 7), [Kind::RingDrops]);
        let settings = CardSettings { rx_ring: Some((256, 4096)), ..CardSettings::default() };
        let eth0 = DeviceState { index: 7, ..DeviceState::default() };
        let found = found(&missed("9\n"), eth0, settings);
        assert!(found[0].cause.contains("lost 9 received frames"), "{}", found[0]);
        let fix = found[0].fix.as_deref().expect("a fix");
        assert_eq!(fix, "`ethtool -G eth0 rx 4096`; it has 256");
    }

    #[test]
    fn findings__a_bond_by_its_mode() {
        let mode = |mode| {
            let files = [("class/net/eth0/bonding/mode", mode)];
            let found = found(&files, of_kind("bond"), CardSettings::default());
            found.into_iter().map(|found| (found.kind, found.severity)).collect::<Vec<_>>()
        };
        assert_eq!(mode("active-backup 1\n"), []);
        assert_eq!(mode("balance-rr 0\n"), [(Kind::Bond, Severity::Warning)]);
        assert_eq!(mode("802.3ad 4\n"), [(Kind::Bond, Severity::Note)]);
        assert_eq!(mode("balance-xor 2\n"), [(Kind::Bond, Severity::Note)]);
    }

    #[test]
    fn findings__a_virtual_switch_that_knows_the_machines_address_only() {
        let vmware = ("class/dmi/id/sys_vendor", "VMware, Inc.\n");
        assert_eq!(kinds(&[CARD, vmware], 7), [], "its own card");
        let found = |files: &[_], kind| found(files, of_kind(kind), CardSettings::default());
        let bridge = found(&[vmware], "bridge");
        assert_eq!(bridge[0].kind, Kind::Hypervisor);
        assert!(bridge[0].fix.as_deref().is_some_and(|fix| fix.contains("forged transmits")));
        assert_eq!(found(&[vmware], "veth"), []);
        assert_eq!(found(&[("class/dmi/id/sys_vendor", "QEMU\n")], "bridge"), []);
    }

    #[test]
    fn findings__of_another_namespaces_device_are_not_believed() {
        assert_eq!(kinds(&[CARD, ("class/net/eth0/duplex", "half\n")], 8), []);
    }
}
