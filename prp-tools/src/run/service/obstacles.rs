//! What in a unit stands against PRP: where a service is confined, its holder is as well.

use std::path::{Path, PathBuf};

use super::unit::{Setting, Unit};

/// What packet sockets take.
const CAPABILITY: &str = "CAP_NET_RAW";

/// The address from which the holder wakes listeners.
const BELL: &str = "127.80.82.80";

/// Settings that have an ordinary user's service gain no privileges (systemd.exec(5),
/// `NoNewPrivileges=`), where they are on or have a value.
const NO_PRIVILEGES: [&str; 15] = [
    "NoNewPrivileges",
    "DynamicUser",
    "LockPersonality",
    "MemoryDenyWriteExecute",
    "PrivateDevices",
    "ProtectClock",
    "ProtectHostname",
    "ProtectKernelLogs",
    "ProtectKernelModules",
    "ProtectKernelTunables",
    "RestrictRealtime",
    "RestrictSUIDSGID",
    "RestrictAddressFamilies",
    "RestrictNamespaces",
    "SystemCallFilter",
];

/// What PRP is in the unit's system.
#[derive(Clone, Debug)]
pub(super) struct Needs {
    /// The prp that is to be started.
    pub(super) prp: PathBuf,
    /// Its file gives it its capability.
    pub(super) has_file_capability: bool,
    /// Some node is reached by frames of Ethernet.
    pub(super) sends_frames: bool,
}

/// Returns what stands against PRP in `unit`: the line, why, and what to do.
pub(super) fn obstacles(unit: &Unit, needs: &Needs) -> Vec<String> {
    [
        root(unit, &needs.prp),
        network(unit),
        addresses(unit),
        families(unit, needs),
        bounding_set(unit, needs),
        privilege(unit, needs),
        system_calls(unit),
        main_process(unit),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Returns what is not as without PRP, and no reason to do without.
pub(super) fn remarks(unit: &Unit, has_socket: bool) -> Vec<String> {
    let mixed = unit.last("KillMode").filter(|it| it.value == "mixed").map(|it| {
        format!(
            "{it}: when the program has ended, what it has sent and is still to be delivered is \
             lost; KillMode=control-group delivers it, if all its processes end well by SIGTERM"
        )
    });
    let socket = match unit.last("Sockets") {
        Some(it) => Some(it.to_string()),
        None => has_socket.then(|| format!("{}: its .socket", unit.name)),
    };
    let socket = socket.map(|it| format!("{it}: ports at which systemd listens serve TCP only"));
    mixed.into_iter().chain(socket).collect()
}

fn root(unit: &Unit, prp: &Path) -> Option<String> {
    let it = ["RootDirectory", "RootImage"].into_iter().find_map(|key| unit.last(key))?;
    (it.value != "/")
        .then(|| format!("{it}: {} is not there; only a unit without can go by it", prp.display()))
}

fn network(unit: &Unit) -> Option<String> {
    let it = unit.switch("PrivateNetwork")?;
    Some(format!("{it}: there is no way to other nodes; set PrivateNetwork=no"))
}

fn addresses(unit: &Unit) -> Option<String> {
    let denied = unit.list("IPAddressDeny");
    let last = denied.last()?;
    let passes = ["any", "localhost", "127.0.0.0/8", BELL];
    let allowed = unit.list("IPAddressAllow");
    let mut allowed = allowed.iter().flat_map(|it| it.value.split_whitespace());
    (!allowed.any(|word| passes.contains(&word))).then(|| {
        format!(
            "{last}: listeners are woken from an address of this machine; add IPAddressAllow={BELL}"
        )
    })
}

fn families(unit: &Unit, needs: &Needs) -> Option<String> {
    let lines = unit.list("RestrictAddressFamilies");
    let last = lines.last()?;
    let mut needed = vec!["AF_UNIX", "AF_NETLINK"];
    needed.extend(needs.sends_frames.then_some("AF_PACKET"));
    // The first line decides what holds for those that none names.
    let is_allowed = |family: &str| {
        let denies = |line: &Setting| line.value.starts_with('~');
        lines.iter().fold(denies(lines[0]), |is_allowed, line| {
            let mut words = line.value.trim_start_matches('~').split_whitespace();
            if words.any(|word| word == family) { !denies(line) } else { is_allowed }
        })
    };
    needed.retain(|family| !is_allowed(family));
    (!needed.is_empty()).then(|| {
        let needed = needed.join(" ");
        format!("{last}: PRP needs {needed} too; add RestrictAddressFamilies={needed}")
    })
}

fn bounding_set(unit: &Unit, needs: &Needs) -> Option<String> {
    if !needs.sends_frames && !needs.has_file_capability {
        return None;
    }
    let lines = unit.list("CapabilityBoundingSet");
    // Without any it is all. The first line replaces that; an empty one before it left nothing.
    let is_in = lines.iter().enumerate().fold(lines.is_empty(), |is_in, (at, line)| {
        let (names, is_inverted) = match line.value.strip_prefix('~') {
            Some(names) => (names, true),
            None => (line.value.as_str(), false),
        };
        let has = names.split_whitespace().any(|name| name.eq_ignore_ascii_case(CAPABILITY));
        match (is_inverted, has) {
            (false, true) => true,
            (true, true) => false,
            (true, false) if at == 0 => true,
            _ => is_in,
        }
    });
    let line = match lines.last() {
        Some(last) => last.to_string(),
        None => unit.emptied("CapabilityBoundingSet")?.to_string(),
    };
    (!is_in || lines.is_empty()).then(|| {
        let why = match needs.has_file_capability {
            true => format!("{} cannot be started without {CAPABILITY}", needs.prp.display()),
            false => format!("packet sockets need {CAPABILITY}"),
        };
        format!("{line}: {why}; add CapabilityBoundingSet={CAPABILITY}")
    })
}

fn privilege(unit: &Unit, needs: &Needs) -> Option<String> {
    if !needs.sends_frames {
        return None;
    }
    if let Some(it) = unit.switch("PrivateUsers") {
        return Some(format!("{it}: a {CAPABILITY} of its own is not enough; set PrivateUsers=no"));
    }
    let ambient = unit.list("AmbientCapabilities");
    let has_ambient = ambient.iter().any(|line| {
        !line.value.starts_with('~')
            && line.value.split_whitespace().any(|name| name.eq_ignore_ascii_case(CAPABILITY))
    });
    let user = unit.last("User").filter(|it| it.value != "root" && it.value != "0");
    let user = unit.switch("DynamicUser").or(user)?;
    if has_ambient {
        return None;
    }
    let fix = format!("add AmbientCapabilities={CAPABILITY}");
    if !needs.has_file_capability {
        return Some(format!("{user}: packet sockets need {CAPABILITY}; {fix}"));
    }
    let is_in_force = |it: &&Setting| !it.is_off();
    let it = NO_PRIVILEGES.into_iter().find_map(|key| unit.last(key).filter(is_in_force))?;
    Some(format!("{it}: takes {} the {CAPABILITY} of its file; {fix}", needs.prp.display()))
}

fn system_calls(unit: &Unit) -> Option<String> {
    const SET: &str = "@system-service";
    let lines = unit.list("SystemCallFilter");
    let (first, last) = (lines.first()?, lines.last()?);
    let has_set = lines.iter().any(|line| line.value.split_whitespace().any(|word| word == SET));
    let mut missing = Vec::new();
    if !first.value.starts_with('~') && !has_set {
        missing.push(format!("SystemCallFilter={SET}"));
    }
    if unit.last("SystemCallErrorNumber").is_none() {
        missing.push("SystemCallErrorNumber=EPERM".to_owned());
    }
    (!missing.is_empty()).then(|| {
        let missing = missing.join(" and ");
        format!("{last}: a refused call ends the process, and PRP tries some that it can do without; add \
             {missing}")
    })
}

fn main_process(unit: &Unit) -> Option<String> {
    let it = unit.last("Type").filter(|it| it.value == "forking")?;
    unit.last("PIDFile").is_none().then(|| {
        format!(
            "{it}: without PIDFile= systemd does not tell the program from the holder beside it; \
             add PIDFile=, or have the program stay in the foreground with Type=exec"
        )
    })
}

#[cfg(test)]
mod tests;
