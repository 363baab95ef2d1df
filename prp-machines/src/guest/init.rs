//! The first process of a machine: it makes the host's files its own, starts the agent, and waits
//! for all processes that have lost their parent.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::chroot;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use nix::kmod::{ModuleInitFlags, finit_module};
use nix::mount::{MsFlags, mount};
use nix::sys::reboot::{RebootMode, reboot};
use nix::sys::wait::wait;

use crate::failure::{Context, Outcome};
use crate::guest::SCRATCH;
use crate::initramfs::MODULE_LIST;
use crate::output;

/// Where the shared files of the host appear, read-only.
pub(super) const HOST: &str = "/host";
/// Files that the machine writes, in memory.
const WRITE: &str = "/write";
/// Both together.
pub(super) const ROOT: &str = "/root";
/// What names the program and the modules in the kernel's command line.
const PROGRAM_KEY: &str = "machines.program=";
const MODULES_KEY: &str = "machines.modules=";
/// What names the folder of the host's that is the root, where that is not the host's own.
pub(crate) const ROOT_KEY: &str = "machines.root=";

/// Runs as the first process until the agent ends, and then ends the machine.
pub(crate) fn run() -> ! {
    if let Err(reason) = prepare().and_then(|program| serve(&program)) {
        output::reason(reason);
    }
    // The console needs a moment to write what it has.
    sleep(Duration::from_millis(200));
    match reboot(RebootMode::RB_POWER_OFF) {
        Ok(never) => match never {},
        Err(reason) => panic!("the machine cannot be switched off: {reason}"),
    }
}

/// Changes the root to the host's files; returns the path of this program there.
fn prepare() -> Outcome<String> {
    for (kind, at) in [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev")] {
        mount_at(kind, at, "")?;
    }
    for path in fs::read_to_string(format!("/{MODULE_LIST}"))?.lines() {
        let file = File::open(path).context(path)?;
        finit_module(&file, c"", ModuleInitFlags::empty()).context(path)?;
    }
    mount_with(
        "9p",
        HOST,
        "trans=virtio,version=9p2000.L,msize=262144,cache=loose",
        MsFlags::MS_RDONLY,
    )?;
    mount_at("tmpfs", WRITE, "size=75%")?;
    for folder in ["upper", "work"] {
        fs::create_dir(format!("{WRITE}/{folder}"))?;
    }
    let arguments = fs::read_to_string("/proc/cmdline")?;
    let given = |key: &str| arguments.split_whitespace().find_map(|word| word.strip_prefix(key));
    let argument = |key: &str| -> Outcome<String> {
        let found = given(key).map(str::to_owned);
        found.ok_or_else(|| key.to_owned()).context("no argument of the kernel")
    };
    let (program, modules) = (argument(PROGRAM_KEY)?, argument(MODULES_KEY)?);
    let system = given(ROOT_KEY);
    let lower = format!("{HOST}{}", system.unwrap_or_default());
    let layers = format!("lowerdir={lower},upperdir={WRITE}/upper,workdir={WRITE}/work");
    mount_at("overlay", ROOT, &layers)?;
    if system.is_some() {
        match super::system::hand_over(&program, &modules)? {}
    }
    // As switch_root(8): where a process enters another mount namespace, its root becomes what is
    // mounted at the root.
    std::env::set_current_dir(ROOT)?;
    let none = None::<&str>;
    mount(Some("."), "/", none, MsFlags::MS_MOVE, none).context("the new root")?;
    chroot(".").context("chroot")?;
    std::env::set_current_dir("/")?;
    fill_root(&modules)?;
    Ok(program)
}

/// Mounts what the host's files do not have.
fn fill_root(modules: &str) -> Outcome {
    for (kind, at) in [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev")] {
        mount_at(kind, at, "")?;
    }
    for folder in ["/dev/pts", "/dev/shm", "/lib/modules"] {
        fs::create_dir_all(folder)?;
    }
    mount_at("devpts", "/dev/pts", "")?;
    mount_at("tmpfs", "/dev/shm", "")?;
    mount_at("tmpfs", "/run", "mode=755")?;
    mount_at("cgroup2", "/sys/fs/cgroup", "")?;
    mount_at("bpf", "/sys/fs/bpf", "")?;
    let none = None::<&str>;
    mount(Some(modules), "/lib/modules", none, MsFlags::MS_BIND, none).context("/lib/modules")?;
    // The host's may be of other machines.
    for file in ["/etc/resolv.conf", "/etc/prphosts"] {
        let _ = fs::remove_file(file);
    }
    fs::create_dir_all(SCRATCH)?;
    Ok(())
}

fn mount_at(kind: &str, at: &str, data: &str) -> Outcome {
    mount_with(kind, at, data, MsFlags::empty())
}

fn mount_with(kind: &str, at: &str, data: &str, flags: MsFlags) -> Outcome {
    // The name of what is mounted: that of the host's share for 9p, any other for the rest.
    let source = if kind == "9p" { "host" } else { kind };
    mount(Some(source), at, Some(kind), flags, Some(data)).context(format!("{kind} at {at}"))
}

/// Runs the agent, and takes the status of all processes that end, until it ends.
fn serve(program: &str) -> Outcome {
    // Programs that were built together with this one come first.
    let folder = Path::new(program).parent().unwrap_or_else(|| Path::new("/"));
    let own = folder.display();
    let system = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    let path = format!("{own}:{own}/examples:{system}");
    let mut agent = Command::new(program);
    agent.arg("agent").env("PATH", path).env("HOME", "/root").env("LC_ALL", "C.UTF-8");
    let agent = agent.spawn().context(program)?.id();
    loop {
        let ended = wait().map_err(io::Error::from)?;
        if ended.pid().is_some_and(|pid| pid.as_raw() as u32 == agent) {
            return Err(format!("the agent has ended: {ended:?}")).context("machine");
        }
    }
}
