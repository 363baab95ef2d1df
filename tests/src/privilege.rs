//! The privileges that tests need.

use std::io;
use std::process::Command;
use std::sync::OnceLock;

use nix::unistd::geteuid;

use crate::topology::Topology;

/// The user called nobody.
pub const NOBODY: u32 = 65_534;

/// The privilege that is missing to run tests on nodes, or `None`. The first call tries it out.
///
/// # Panics
/// If nodes cannot be made although no privilege is missing. Then the scripts are broken,
/// and skipped tests would hide that.
pub fn missing() -> Option<&'static str> {
    static MISSING: OnceLock<Result<Option<String>, String>> = OnceLock::new();
    match MISSING.get_or_init(try_out) {
        Ok(missing) => missing.as_deref(),
        Err(broken) => panic!("{broken}"),
    }
}

/// The missing privilege, or the error of the scripts.
fn try_out() -> Result<Option<String>, String> {
    let topology = match Topology::try_pair([]) {
        Ok(topology) => topology,
        Err(error) if may_make_nodes() => {
            return Err(format!("this user may make nodes, and netns-scripts/topo fails: {error}"));
        }
        Err(error) => return Ok(Some(format!("root, or user namespaces ({error})"))),
    };
    // A node needs raw sockets. The file in /proc can be read only where they are allowed.
    let tried = topology.node(1).command("cat").arg("/proc/net/packet").output();
    match tried {
        Ok(output) if output.status.success() => Ok(None),
        Ok(_) => Ok(Some("packet sockets (CONFIG_PACKET)".into())),
        Err(e) => Err(format!("netns-scripts/topo: {e}")),
    }
}

/// Whether this user may make namespaces, and links between them.
fn may_make_nodes() -> bool {
    let as_root: &[_] = if geteuid().is_root() { &[] } else { &["--user", "--map-root-user"] };
    let mut unshare = Command::new("unshare");
    unshare.args(as_root).args(["--net", "--mount", "true"]);
    let mut ip = Command::new("ip");
    ip.arg("-V");
    let mut tc = Command::new("tc");
    tc.arg("-V");
    [unshare, ip, tc]
        .iter_mut()
        .all(|command| command.output().is_ok_and(|output| output.status.success()))
}

/// Whether this process is in a user namespace, where it lacks the privileges of the machine's
/// root.
pub fn in_user_namespace() -> bool {
    // All users, each mapped to itself.
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    !map.split_ascii_whitespace().eq(["0", "0", "4294967295"])
}

/// Raises the soft limit of descriptors to the hard limit; returns that limit.
///
/// # Errors
/// If the limit cannot be read or set.
pub fn raise_descriptor_limit() -> io::Result<u64> {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
    Ok(hard)
}
