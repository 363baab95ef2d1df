//! What the daemon may do, once it has begun: open packet sockets, and nothing else.

use std::io;

use caps::{CapSet, Capability, CapsHashSet};
use nix::sys::prctl::set_no_new_privs;

/// Gives up every capability but CAP_NET_RAW, which devices that a later prphosts names still need, and
/// the means to get others. To be called before any thread is started.
///
/// # Errors
/// The kernel does not let us.
pub fn reduce() -> io::Result<()> {
    let keep: CapsHashSet = [Capability::CAP_NET_RAW].into_iter().collect();
    let kept = |set| -> io::Result<CapsHashSet> {
        let have = caps::read(None, set).map_err(io::Error::other)?;
        Ok(have.intersection(&keep).copied().collect())
    };
    // Effective ones must be permitted, so they go first.
    for set in [CapSet::Effective, CapSet::Permitted, CapSet::Inheritable] {
        caps::set(None, set, &kept(set)?).map_err(io::Error::other)?;
    }
    set_no_new_privs()?;
    Ok(())
}
