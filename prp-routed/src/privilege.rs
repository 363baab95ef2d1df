//! What the daemon may do once its sockets are open: open more packet sockets, and nothing else.

use std::io::{self, ErrorKind};

use caps::{CapSet, Capability, CapsHashSet};
use nix::sys::prctl::{set_keepcaps, set_no_new_privs};
use nix::unistd::{Gid, Uid, User, geteuid, setgid, setgroups, setuid};

/// The user the daemon is to be.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Identity {
    name: String,
    uid: Uid,
    gid: Gid,
}

impl Identity {
    /// Finds `name`, the user that this process is to become.
    ///
    /// # Errors
    /// There is no such user; or this process may not become it.
    pub fn find(name: &str) -> io::Result<Self> {
        let user = Self::by_name(name)?;
        let own = geteuid();
        if !own.is_root() && own != user.uid {
            let what = format!(
                "user = \"{name}\": only root may become another user, and this is user {own}: start it as root, or as {}",
                user.name
            );
            return Err(io::Error::new(ErrorKind::PermissionDenied, what));
        }
        Ok(user)
    }

    /// Finds `name`: a user's name, or number.
    ///
    /// # Errors
    /// There is no such user.
    pub fn by_name(name: &str) -> io::Result<Self> {
        let found = match name.parse() {
            Ok(number) => User::from_uid(Uid::from_raw(number)),
            Err(_) => User::from_name(name),
        };
        let error = |kind, what: String| io::Error::new(kind, format!("user = \"{name}\": {what}"));
        let found = found.map_err(|e| error(ErrorKind::Other, e.to_string()))?;
        let user = found.ok_or_else(|| {
            let fix = "no such user; make it (useradd --system), or name another";
            error(ErrorKind::NotFound, fix.into())
        })?;
        Ok(Self { name: user.name, uid: user.uid, gid: user.gid })
    }

    /// Becomes this user, in no group but its own, with the capabilities there are.
    fn assume(&self) -> io::Result<()> {
        if geteuid() == self.uid {
            return Ok(());
        }
        let named = |what: &str, e: nix::Error| {
            io::Error::new(io::Error::from(e).kind(), format!("user {}: {what}: {e}", self.name))
        };
        // While they are still root's to give up: groups, then the user, which the kernel lets keep
        // what is permitted.
        setgroups(&[]).map_err(|e| named("clearing groups", e))?;
        setgid(self.gid).map_err(|e| named("changing group", e))?;
        set_keepcaps(true).map_err(|e| named("keeping capabilities", e))?;
        setuid(self.uid).map_err(|e| named("changing user", e))?;
        set_keepcaps(false).map_err(|e| named("keeping capabilities", e))?;
        Ok(())
    }
}

/// Becomes `identity`, if that is wanted, and gives up every capability but CAP_NET_RAW, which
/// devices that a later prphosts names still need, and the means to get others. To be called before
/// any thread is started.
///
/// # Errors
/// The kernel does not let us.
pub fn reduce(identity: Option<&Identity>) -> io::Result<()> {
    let keep: CapsHashSet = [Capability::CAP_NET_RAW].into_iter().collect();
    let permitted = caps::read(None, CapSet::Permitted).map_err(io::Error::other)?;
    let kept: CapsHashSet = permitted.intersection(&keep).copied().collect();
    if let Some(identity) = identity {
        identity.assume()?;
    }
    let set = |which, to: &CapsHashSet| caps::set(None, which, to).map_err(io::Error::other);
    // Effective ones must be permitted: another user has none of them in effect, and root has all.
    set(CapSet::Effective, &CapsHashSet::new())?;
    set(CapSet::Permitted, &kept)?;
    set(CapSet::Effective, &kept)?;
    // Ambient ones, which an execve would hand on, go with inheritable ones (capabilities(7)).
    set(CapSet::Inheritable, &CapsHashSet::new())?;
    set_no_new_privs()?;
    Ok(())
}

/// The user of this process, by name where there is one.
pub fn own_name() -> String {
    let own = geteuid();
    let found = User::from_uid(own).ok().flatten();
    found.map_or_else(|| own.to_string(), |user| user.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn find__by_name_and_by_number() {
        let root = Identity::find("0");
        if geteuid().is_root() {
            assert_eq!(root.expect("there is one").name, "root");
            assert_eq!(Identity::find("root").expect("there is one").uid, Uid::from_raw(0));
        } else {
            let message = root.expect_err("it is another user").to_string();
            assert!(message.contains("only root may become another user"), "{message}");
        }
        let own = geteuid().to_string();
        assert_eq!(Identity::find(&own).map(|found| found.uid).ok(), Some(geteuid()));
    }

    #[test]
    fn find__of_no_daemon_says_what_to_do() {
        let message = Identity::find("no-such-user").expect_err("nobody has that name").to_string();
        assert!(message.starts_with("user = \"no-such-user\": no such user; make it"), "{message}");
    }
}
