//! Whether an engine that is let go could be made again.

use std::path::Path;

use caps::{CapSet, Capability};
use nix::unistd::Pid;
use socket2::{Domain, Protocol, Socket, Type};

use prp_device::factory;
use prp_node::{HostsFile, KeyWatch};
use prp_proto::addr::NodeId;

/// Whether this process could make an engine of `node` by the prphosts at `hosts`, as far as can be
/// told without doing so. Not one that has become another user, has given up its capabilities, or
/// has changed its root directory, since it made the one it has. An engine that such a process lets
/// go would be missed: a `connect` after an hour would fail that worked a minute ago.
/// One that `has_key` needs to read it again: without it, it could speak without protection.
pub(super) fn is_possible(hosts: &Path, node: Option<NodeId>, has_key: bool) -> bool {
    let Ok(file) = HostsFile::load(hosts) else { return false };
    let node = prp_device::local_node(&file, node);
    let key = match &node {
        Ok(node) => KeyWatch::in_force().keyring(&file, *node).map(|keys| keys.is_some()),
        Err(_) => KeyWatch::in_force().read().map(|keys| keys.is_some()),
    };
    if !key.is_ok_and(|is_there| is_there || !has_key) {
        return false;
    }
    let Ok(node) = node else { return true };
    let needs_privilege = factory::is_on_ethernet(file.hosts(), node);
    (!needs_privilege || opens_packet_sockets()) && factory::may_open_unix(file.hosts(), node)
}

/// Whether this thread may, and the program's first one as well: capabilities are each thread's
/// own.
fn opens_packet_sockets() -> bool {
    let may = |thread| caps::has_cap(thread, CapSet::Effective, Capability::CAP_NET_RAW);
    let first_may = may(Some(Pid::this().as_raw())).unwrap_or(true);
    // Protocol 0: nothing arrives.
    first_may && Socket::new(Domain::PACKET, Type::RAW, Some(Protocol::from(0))).is_ok()
}
