use super::*;

/// Where PRP's frames need a privilege, which the file of prp has or not.
fn needs(has_file_capability: bool) -> Needs {
    Needs { prp: "/usr/bin/prp".into(), has_file_capability, sends_frames: true }
}

/// What stands against PRP in a unit with these lines.
fn found(needs: &Needs, lines: &str) -> Vec<String> {
    obstacles(&Unit::with(&format!("[Service]\n{lines}\n")), needs)
}

/// Expect: the last of `lines` is named, and `fix`; with that line nothing is.
fn expect(needs: &Needs, lines: &str, fix: &str) {
    let line = lines.lines().last().expect("a line");
    let what = found(needs, lines);
    assert!(what.len() == 1, "{lines}: {what:?}");
    let place = format!("a.service:{}: {line}: ", lines.lines().count() + 1);
    assert!(what[0].starts_with(&place) && what[0].ends_with(fix), "{what:?}");
    let fix = fix.rsplit_once("add ").map_or(fix, |(_, fix)| fix).replace(" and ", "\n");
    let fix = fix.rsplit_once("set ").map_or(fix.as_str(), |(_, fix)| fix);
    assert_eq!(found(needs, &format!("{lines}\n{fix}")), [""; 0], "{lines}");
}

#[test]
fn obstacles__none_where_nothing_confines() {
    for lines in [
        "",
        "User=root",
        "User=redis\nAmbientCapabilities=cap_net_raw",
        "RestrictAddressFamilies=AF_INET AF_UNIX AF_NETLINK AF_PACKET",
        "RestrictAddressFamilies=~AF_BLUETOOTH",
        "RestrictAddressFamilies=AF_INET\nRestrictAddressFamilies=",
        "CapabilityBoundingSet=~CAP_SYS_ADMIN\nCapabilityBoundingSet=~CAP_SYS_TIME",
        "CapabilityBoundingSet=CAP_CHOWN\nCapabilityBoundingSet=CAP_NET_RAW",
        "PrivateNetwork=no\nPrivateUsers=false",
        "IPAddressDeny=any\nIPAddressAllow=localhost",
        "SystemCallFilter=~@mount\nSystemCallErrorNumber=EPERM",
        "Type=forking\nPIDFile=/run/a.pid",
        "Type=notify\nRootDirectory=/",
    ] {
        assert_eq!(found(&needs(false), lines), [""; 0], "{lines}");
    }
    // As Debian's package makes it: the file has the capability.
    assert_eq!(found(&needs(true), "User=redis\nLockPersonality=no"), [""; 0]);
}

#[test]
fn obstacles__each_with_its_line_and_its_fix() {
    let raw = "add AmbientCapabilities=CAP_NET_RAW";
    let bounds = "add CapabilityBoundingSet=CAP_NET_RAW";
    for (lines, fix) in [
        (
            "RestrictAddressFamilies=AF_UNIX\nRestrictAddressFamilies=AF_INET",
            "add RestrictAddressFamilies=AF_NETLINK AF_PACKET",
        ),
        ("RestrictAddressFamilies=~AF_PACKET", "add RestrictAddressFamilies=AF_PACKET"),
        ("CapabilityBoundingSet=CAP_CHOWN", bounds),
        ("CapabilityBoundingSet=~CAP_NET_RAW", bounds),
        ("CapabilityBoundingSet=", bounds),
        ("User=redis", raw),
        ("DynamicUser=yes", raw),
        ("PrivateUsers=yes", "set PrivateUsers=no"),
        ("PrivateNetwork=true", "set PrivateNetwork=no"),
        ("IPAddressAllow=10.0.0.0/8\nIPAddressDeny=any", "add IPAddressAllow=127.80.82.80"),
        ("SystemCallFilter=~@mount", "add SystemCallErrorNumber=EPERM"),
        (
            "SystemCallFilter=read",
            "add SystemCallFilter=@system-service and SystemCallErrorNumber=EPERM",
        ),
    ] {
        expect(&needs(false), lines, fix);
    }
    // What the file of prp has, the unit takes.
    for line in ["NoNewPrivileges=yes", "LockPersonality=yes", "RestrictNamespaces=~user"] {
        expect(&needs(true), &format!("User=redis\n{line}"), raw);
    }
    let forking = found(&needs(false), "Type=forking");
    assert!(forking.len() == 1 && forking[0].contains("PIDFile="), "{forking:?}");
    let root = found(&needs(false), "RootDirectory=/srv/jail");
    assert!(root.len() == 1 && root[0].contains("/usr/bin/prp is not there"), "{root:?}");
}

#[test]
fn obstacles__frames_alone_need_a_privilege() {
    let udp = Needs { sends_frames: false, ..needs(false) };
    for lines in [
        "User=redis",
        "CapabilityBoundingSet=",
        "PrivateUsers=yes",
        "RestrictAddressFamilies=AF_INET AF_UNIX AF_NETLINK",
    ] {
        assert_eq!(found(&udp, lines), [""; 0], "{lines}");
    }
    // The kernel starts no file with a capability that it could not have.
    let udp = Needs { has_file_capability: true, ..udp };
    expect(&udp, "CapabilityBoundingSet=", "add CapabilityBoundingSet=CAP_NET_RAW");
}

#[test]
fn remarks__of_what_differs() {
    let said = |lines: &str, has_socket| {
        remarks(&Unit::with(&format!("[Service]\n{lines}\n")), has_socket).len()
    };
    assert_eq!(said("KillMode=process", false), 0);
    assert_eq!(said("KillMode=mixed", false), 1);
    assert_eq!(said("Sockets=b.socket", false), 1);
    assert_eq!(said("", true), 1);
}
