//! A machine with a systemd of its own, in which the agent is a service.

use std::convert::Infallible;
use std::fs;
use std::os::unix::fs::{chroot, symlink};
use std::os::unix::process::CommandExt;
use std::process::Command;

use nix::mount::{MsFlags, mount};

use super::init::{HOST, ROOT};
use crate::failure::{Context, Failure, Outcome};

/// What the first boot of a system asks for otherwise.
const MACHINE_ID: &str = "0123456789abcdef0123456789abcdef\n";

/// Where units of the administrator are.
const UNITS: &str = "etc/systemd/system";

/// The agent's unit.
const AGENT: &str = "machines-agent.service";

/// Becomes the systemd in the root that is mounted at [`ROOT`]. The host's files are in its folder
/// `/host`, with `program`, which is the agent there, and `modules`.
///
/// # Errors
/// Something cannot be mounted, or there is no systemd.
pub(super) fn hand_over(program: &str, modules: &str) -> Outcome<Infallible> {
    let none = None::<&str>;
    for (from, to) in [(HOST.to_owned(), "host"), (format!("{HOST}{modules}"), "lib/modules")] {
        let to = format!("{ROOT}/{to}");
        fs::create_dir_all(&to).context(&to)?;
        mount(Some(from.as_str()), to.as_str(), none, MsFlags::MS_BIND, none).context(&to)?;
    }
    let wants = format!("{ROOT}/{UNITS}/multi-user.target.wants");
    fs::create_dir_all(&wants).context(&wants)?;
    fs::write(format!("{ROOT}/etc/machine-id"), MACHINE_ID)?;
    fs::write(format!("{ROOT}/{UNITS}/{AGENT}"), unit(program))?;
    symlink(format!("/{UNITS}/{AGENT}"), format!("{wants}/{AGENT}"))?;
    std::env::set_current_dir(ROOT)?;
    mount(Some("."), "/", none, MsFlags::MS_MOVE, none).context("the new root")?;
    chroot(".").context("chroot")?;
    std::env::set_current_dir("/")?;
    let reason = Command::new("/lib/systemd/systemd").env_clear().exec();
    Err(Failure::new(format!("/lib/systemd/systemd: {reason}")))
}

fn unit(program: &str) -> String {
    format!(
        "[Unit]\nDescription=Agent of the host\nAfter=basic.target\n\n[Service]\n\
         ExecStart=/host{program} agent\nRuntimeDirectory=machines\nKillMode=process\n\
         Environment=HOME=/root LC_ALL=C.UTF-8 \
         PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n"
    )
}
