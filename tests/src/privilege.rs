//! What the tests need and may not have.

use std::io;
use std::sync::OnceLock;

use crate::topology::Topology;

/// The user called nobody.
pub const NOBODY: u32 = 65_534;

/// What is missing to run tests on nodes, or `None`. Found out once, by trying.
pub fn missing() -> Option<&'static str> {
    static MISSING: OnceLock<Option<String>> = OnceLock::new();
    MISSING.get_or_init(try_out).as_deref()
}

fn try_out() -> Option<String> {
    let topology = match Topology::try_pair([]) {
        Ok(topology) => topology,
        Err(error) => return Some(format!("root, or user namespaces ({error})")),
    };
    // A node without raw sockets would be of no use; the file in /proc lists them for those who
    // may.
    let tried = topology.node(1).command("cat").arg("/proc/net/packet").output();
    match tried {
        Ok(output) if output.status.success() => None,
        Ok(_) => Some("packet sockets (CONFIG_PACKET)".into()),
        Err(e) => Some(format!("netns-scripts/topo ({e})")),
    }
}

/// Whether this process is in a user namespace: what the kernel leaves to root of the machine it
/// may not do there.
pub fn in_user_namespace() -> bool {
    // All users, of whom each is himself.
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    !map.split_ascii_whitespace().eq(["0", "0", "4294967295"])
}

/// Allows this process as many descriptors as it may have at all; how many those are.
///
/// # Errors
/// If the limit cannot be read or set.
pub fn raise_descriptor_limit() -> io::Result<u64> {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
    Ok(hard)
}
