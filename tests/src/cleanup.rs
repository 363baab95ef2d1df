//! Removes topologies that a hanging test or a killed run has left.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, OnceLock};

use crate::topology::topo_path;

/// The instances of this process that are up.
static UP: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The name of the topology `number` of process `pid`.
pub(crate) fn instance_name(pid: u32, number: u32) -> String {
    format!("t{:x}-{pid}-{number}", pid_namespace())
}

/// The process that made `instance`, if it is in the process namespace of this one.
fn maker(instance: &str) -> Option<u32> {
    let (namespace, rest) = instance.strip_prefix('t')?.split_once('-')?;
    let (pid, number) = rest.split_once('-')?;
    number.parse::<u32>().ok()?;
    let is_ours = u64::from_str_radix(namespace, 16).ok()? == pid_namespace();
    pid.parse().ok().filter(|_| is_ours)
}

/// The last digits of the inode of this process's PID namespace. Tests in different containers may
/// share the folders of topologies, and then one number stands for different processes.
fn pid_namespace() -> u64 {
    static NUMBER: OnceLock<u64> = OnceLock::new();
    let number = || std::fs::metadata("/proc/self/ns/pid").map_or(0, |it| it.ino());
    // Names must be short, and there are few namespaces.
    *NUMBER.get_or_init(|| number() & 0xffff)
}

pub(crate) fn note_up(instance: &str) {
    up().push(instance.to_owned());
}

/// Takes `instance` down.
pub(crate) fn take_down(instance: &str) {
    up().retain(|other| other != instance);
    let mut command = Command::new(topo_path());
    command.args(["-i", instance, "down"]).stdout(Stdio::null());
    if !command.status().is_ok_and(|status| status.success()) {
        eprintln!("{command:?} failed");
    }
}

/// Takes down the topologies of this process's tests that have not ended.
pub(crate) fn take_down_own() {
    let left = up().clone();
    left.iter().for_each(|instance| take_down(instance));
}

/// Takes down the topologies of earlier runs that were killed.
pub(crate) fn take_down_leftovers() {
    let uid = nix::unistd::geteuid();
    for base in [PathBuf::from("/run/prp-topo"), format!("/tmp/prp-topo-{uid}").into()] {
        let Ok(entries) = std::fs::read_dir(&base) else { continue };
        for entry in entries.flatten().filter(|e| e.path().is_dir()) {
            let name = entry.file_name();
            let Some(instance) = name.to_str() else { continue };
            if maker(instance).is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
                take_down(instance);
            }
        }
    }
}

fn up() -> std::sync::MutexGuard<'static, Vec<String>> {
    UP.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maker__knows_its_own_names_and_no_others() {
        let own = instance_name(4321, 7);
        assert_eq!(maker(&own), Some(4321));
        let foreign = format!("t{:x}-4321-7", pid_namespace() + 1);
        for other in ["prp", "t12", "t-1", "t1-x", "t1-2", "test-1", "x12-1", "t1-2-x", &foreign] {
            assert_eq!(maker(other), None, "{other}");
        }
    }
}
