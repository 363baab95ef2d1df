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
    let machine = Machine { devices: devices.to_vec(), ip6_addresses: String::new() };
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
    assert_eq!(findings_of(&[lo.clone(), device("eth1", 2)], TEXT), (vec![absent.into()], vec![]));
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
fn findings__another_machine_has_the_hardware_address() {
    let faults = |table: &str| {
        let hosts = Hosts::parse(TEXT.as_bytes()).expect("no mistake");
        let machine = Machine { devices: vec![device("eth0", 1)], ip6_addresses: table.into() };
        let found = machine.findings(Path::new("h"), &hosts, NodeId::MIN);
        found.faults.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let lo = "00000000000000000000000000000001 01 80 10 80       lo\n";
    let line = |host: &str, flags: &str, device: &str| {
        format!("{lo}fe80000000000000{host} 02 40 20 {flags}     {device}\n")
    };
    let own = "000000fffe000001";
    let found = faults(&line(own, "c8", "eth0"));
    assert!(found[0].contains("02:00:00:00:00:01, and so has another machine"), "{found:?}");
    for fine in [
        line(own, "80", "eth0"),
        line(own, "c8", "eth1"),
        // An address that does not follow from that of the device.
        line("123456789abcdef0", "c8", "eth0"),
    ] {
        assert_eq!(faults(&fine), [""; 0], "{fine}");
    }
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
fn findings__a_device_for_ip_only_names_what_to_take() {
    for kind in IP_ONLY {
        let iv0 = DeviceState { kind: Some(kind.into()), ..device("eth0", 1) };
        assert_eq!(
            findings_of(&[iv0], TEXT).0,
            [format!(
                "h: device eth0 is an {kind}, which receives IP only; name a macvlan or the device \
                 under it here, or UDP addresses (udp:IP)"
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
