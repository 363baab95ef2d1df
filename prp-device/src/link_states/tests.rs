use super::*;

const AF_BRIDGE: u8 = 7;

/// As the kernel speaks of device 2 if it is called `eth2`.
fn message(kind: u16, name: &str, flags: u32, rest: usize) -> Vec<u8> {
    let index = u32::from(name.bytes().last().unwrap_or_default() - b'0');
    numbered(kind, name, index, flags, rest)
}

fn numbered(kind: u16, name: &str, index: u32, flags: u32, rest: usize) -> Vec<u8> {
    of_family(0, kind, name, index, flags, rest)
}

fn of_family(family: u8, kind: u16, name: &str, index: u32, flags: u32, rest: usize) -> Vec<u8> {
    let mut fixed = [0; LINK_INFO];
    fixed[0] = family;
    fixed[4..8].copy_from_slice(&index.to_ne_bytes());
    fixed[8..12].copy_from_slice(&flags.to_ne_bytes());
    netlink::message(kind, &fixed, &[(9, &vec![7; rest]), (IF_NAME, name.as_bytes())])
}

#[test]
fn note__takes_the_state_of_every_device_of_a_packet() {
    let mut devices = HashMap::new();
    let packet = [
        message(NEW_LINK, "eth2", USABLE, 5),
        message(NEW_LINK, "eth3", UP, 0),
        message(3, "eth0", 0, 0),
        message(NEW_LINK, "eth4", RUNNING | LOWER_UP, 1),
        message(NEW_LINK, "eth5", UP | LOWER_UP, 0),
        message(NEW_LINK, "eth6", UP | RUNNING, 0),
    ];
    note(&mut devices, &packet.concat());
    let mut known: Vec<_> =
        devices.iter().map(|(index, link)| (*index, link.name.as_str(), link.state.up)).collect();
    known.sort_unstable();
    let expected = [
        (2, "eth2", true),
        (3, "eth3", false),
        (4, "eth4", false),
        (5, "eth5", false),
        (6, "eth6", false),
    ];
    assert_eq!(known, expected);
    note(&mut devices, &message(DEL_LINK, "eth2", USABLE, 0));
    assert!(!devices.contains_key(&2));
    // Expect: it is known again when it has been made again.
    note(&mut devices, &message(NEW_LINK, "eth2", USABLE, 0));
    assert!(devices[&2].state.up);
}

#[test]
fn note__keeps_devices_apart_whichever_has_a_name() {
    let mut devices = HashMap::new();
    let mut receive = |kind, name, index| {
        note(&mut devices, &numbered(kind, name, index, USABLE, 0));
        let mut known: Vec<_> =
            devices.iter().map(|(index, link)| (*index, link.name.clone())).collect();
        known.sort();
        known
    };
    let known = |all: &[(u32, &str)]| {
        all.iter().map(|(index, name)| (*index, (*name).to_owned())).collect::<Vec<_>>()
    };
    receive(NEW_LINK, "eth0", 2);
    assert_eq!(receive(NEW_LINK, "old", 2), known(&[(2, "old")]));
    assert_eq!(receive(NEW_LINK, "eth0", 3), known(&[(2, "old"), (3, "eth0")]));
    // Expect: the end of the one that was called so before is not the end of this one.
    assert_eq!(receive(DEL_LINK, "eth0", 2), known(&[(3, "eth0")]));
    assert_eq!(receive(DEL_LINK, "eth0", 3), known(&[]));
}

#[test]
fn note__a_port_that_a_bridge_frees_is_still_there() {
    let mut devices = HashMap::new();
    note(&mut devices, &message(NEW_LINK, "eth2", USABLE, 0));
    note(&mut devices, &of_family(AF_BRIDGE, DEL_LINK, "eth2", 2, USABLE, 0));
    note(&mut devices, &of_family(AF_BRIDGE, NEW_LINK, "eth2", 2, 0, 0));
    assert!(devices[&2].state.up);
}

#[test]
fn note__survives_what_no_kernel_says() {
    for cut in 0..80 {
        let mut packet = message(NEW_LINK, "eth2", UP, 16);
        packet.truncate(cut);
        note(&mut HashMap::new(), &packet);
    }
    note(&mut HashMap::new(), &[0; 100]);
    note(&mut HashMap::new(), &[0xff; 100]);
}

#[test]
fn watch__knows_the_devices_of_this_machine() {
    let link_states = LinkStates::watch().expect("a netlink socket");
    let lo = link_states.called("lo").expect("every machine has it");
    assert!(lo.mtu >= 1500 && lo.mac == MacAddr::ZERO, "{lo:?}");
    assert_eq!((link_states.state(lo.index), link_states.name(lo.index)), (Some(lo), Some("lo")));
    assert_eq!(link_states.called("no such"), None);
    assert_eq!(link_states.state(0), None);
}
