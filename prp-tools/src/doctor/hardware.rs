//! What a device's card is, and what machine it is in, as the kernel shows them in sysfs.

use std::fs;
use std::path::Path;

use prp_device::DeviceState;

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

/// What is to be said of the cards of `devices`, and of the machine if one has a card.
pub(super) fn findings(sysfs: &Path, devices: &[&DeviceState]) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut has_card = false;
    for state in devices {
        let folder = sysfs.join("class/net").join(&state.name);
        if is_card(&folder, state) {
            has_card = true;
            found.extend(of_card(&folder, &state.name));
        }
    }
    found.extend(of_cloud(&sysfs.join("class/dmi/id")).filter(|_| has_card));
    found
}

/// Whether `folder` is of this device, and the device is hardware: sysfs shows the devices of the
/// network namespace in which it was mounted.
fn is_card(folder: &Path, state: &DeviceState) -> bool {
    word(folder, "ifindex") == Some(state.index.to_string()) && folder.join("device").exists()
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
    // A device without a carrier has no speed, or -1.
    let speed = word(folder, "speed").and_then(|text| text.parse::<u32>().ok());
    if let Some(speed @ 1..USUAL_SPEED) = speed {
        let cause = format!("{name} is at {speed} Mbit/s");
        let fix = format!("if the card takes more (`ethtool {name}`): the cable, or the port");
        found.push(Finding::note(Kind::Speed, cause, &fix));
    }
    found
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

    fn kinds(files: &[(&str, &str)], index: u32) -> Vec<Kind> {
        let eth0 = DeviceState { name: "eth0".into(), index, ..DeviceState::default() };
        let found = findings(planted(files).path(), &[&eth0]);
        found.iter().map(|finding| finding.kind).collect()
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
    fn findings__of_another_namespaces_device_are_not_believed() {
        assert_eq!(kinds(&[CARD, ("class/net/eth0/duplex", "half\n")], 8), []);
    }
}
