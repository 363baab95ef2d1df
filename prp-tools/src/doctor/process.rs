//! What this process may do: another one of the same user, started likewise, may do as much.

use std::ffi::OsStr;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs};

use nix::errno::Errno;
use nix::sys::resource::{Resource, getrlimit};
use prp_node::limits::MORE_DESCRIPTORS;

use super::finding::{Finding, Kind};
use crate::exit::{Code, Failure};
use crate::sys::bpf;

// Bits of capability sets, from linux/capability.h.
const NET_ADMIN: u32 = 12;
const NET_RAW: u32 = 13;
const SYS_ADMIN: u32 = 21;
const BPF: u32 = 39;

/// Descriptors that a process with some hundred connections needs: one for each port and some 30
/// for the devices.
const FEW_DESCRIPTORS: u64 = 256;

/// With fewer most processes do not get as far as their first connection.
const TOO_FEW_DESCRIPTORS: u64 = 32;

/// The exit code of the process that calls bpf(2) where a filter refuses it.
const REFUSED: u8 = 1;

/// Clocks that are read without a system call.
const FAST_CLOCKS: [&str; 5] =
    ["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "xen"];

/// What this process lacks. UDP, if it carries all of this node's packets, needs no privilege.
pub(super) fn findings(is_unprivileged: bool) -> Vec<Finding> {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mut found = if is_unprivileged { Vec::new() } else { of_capabilities(&status) };
    if field(&status, "Seccomp:") == Some("2") {
        let may_bpf = has(&status, BPF) || has(&status, SYS_ADMIN);
        found.extend(of_filter(may_bpf));
    }
    if let Ok((soft, _)) = getrlimit(Resource::RLIMIT_NOFILE) {
        found.extend(of_descriptors(soft));
    }
    found.extend(of_fast_paths(env::var_os("PRP_FAST_PATHS").as_deref()));
    found.extend(of_run_dir(env::var_os("PRP_RUN_DIR").as_deref()));
    found.extend(of_clock());
    found
}

/// What is to be said of a limit of `soft` descriptors.
fn of_descriptors(soft: u64) -> Option<Finding> {
    let cause =
        format!("a process may have {soft} descriptors: each port and each device takes some");
    let fix = MORE_DESCRIPTORS;
    if soft < TOO_FEW_DESCRIPTORS {
        return Some(Finding::fault(Kind::Descriptors, cause, fix));
    }
    (soft < FEW_DESCRIPTORS).then(|| Finding::warning(Kind::Descriptors, cause, fix))
}

/// What is to be said of the value of `PRP_FAST_PATHS`.
fn of_fast_paths(value: Option<&OsStr>) -> Option<Finding> {
    let value = value?;
    if value == "off" {
        let cause = "PRP_FAST_PATHS=off: no fast path is used";
        return Some(Finding::note(Kind::FastPathsOff, cause, ""));
    }
    let cause = format!("PRP_FAST_PATHS={} has no effect", value.display());
    Some(Finding::warning(Kind::Variable, cause, "`off` is its only value"))
}

/// What is to be said of the value of `PRP_RUN_DIR`.
fn of_run_dir(value: Option<&OsStr>) -> Option<Finding> {
    let path = Path::new(value?);
    (!path.is_absolute()).then(|| {
        let cause = format!(
            "PRP_RUN_DIR={} is another folder for each directory that a process starts in",
            path.display()
        );
        Finding::warning(Kind::Variable, cause, "an absolute path, as for prp-routed")
    })
}

fn of_capabilities(status: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    if !has(status, NET_RAW) {
        found.push(Finding::fault(
            Kind::PrivilegeRaw,
            "no CAP_NET_RAW: a packet socket cannot be opened, and so nothing can be sent",
            "`sudo setcap cap_net_raw+ep PROGRAM`, or AmbientCapabilities=CAP_NET_RAW of its unit",
        ));
    }
    if !has(status, NET_ADMIN) {
        found.push(Finding::note(
            Kind::PrivilegeAdmin,
            "no CAP_NET_ADMIN: frames leave by the packet socket, on virtual links at three \
             quarters of the speed",
            "",
        ));
    } else if !has(status, BPF) && !has(status, SYS_ADMIN) {
        found.push(Finding::note(
            Kind::PrivilegeBpf,
            "no CAP_BPF: a stream beside many others of this machine has 50 % of its goodput",
            "",
        ));
    }
    found
}

/// What a filter of system calls does to bpf(2), by a process that may find its end so.
fn of_filter(may_bpf: bool) -> Option<Finding> {
    let fix = "let bpf(2) pass: `SystemCallFilter=... bpf` in the systemd unit";
    let ended = Command::new(env::current_exe().ok()?)
        .args(["doctor", "--call-bpf"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .ok()?;
    if ended.signal().is_some() {
        let cause = "a filter of system calls ends processes that call bpf(2), as a flow does";
        return Some(Finding::fault(
            Kind::Seccomp,
            cause,
            &format!("{fix}; or PRP_FAST_PATHS=off"),
        ));
    }
    let is_refused = ended.code() == Some(REFUSED.into());
    (is_refused && may_bpf).then(|| {
        let cause = "a filter of system calls refuses bpf(2): frames take no fast path";
        Finding::warning(Kind::Seccomp, cause, fix)
    })
}

/// Calls bpf(2), and does nothing else.
pub(super) fn call_bpf() -> Result<(), Failure> {
    match bpf::next_program_id() {
        Err(e) if matches!(Errno::from_raw(e.raw_os_error().unwrap_or(0)), Errno::EPERM) => {
            Err(Failure::new(Code::Failed, "bpf(2) is refused"))
        }
        // There is none: the call has passed.
        _ => Ok(()),
    }
}

fn of_clock() -> Option<Finding> {
    let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let source = fs::read_to_string(path).ok()?;
    let source = source.trim();
    (!FAST_CLOCKS.contains(&source)).then(|| {
        let cause = format!("the kernel's clock is {source}: each look at it is a system call");
        Finding::note(Kind::Clock, cause, "")
    })
}

fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

/// Whether `capability` is among the effective ones.
fn has(status: &str, capability: u32) -> bool {
    let set = field(status, "CapEff:").and_then(|set| u64::from_str_radix(set, 16).ok());
    set.is_none_or(|set| set >> capability & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::super::finding::Severity;
    use super::*;

    #[test]
    fn of_descriptors__few_are_a_warning_and_too_few_a_fault() {
        let kind = |soft| of_descriptors(soft).map(|found| found.severity);
        assert_eq!(kind(1024), None);
        assert_eq!(kind(64), Some(Severity::Warning));
        assert_eq!(kind(12), Some(Severity::Fault));
    }

    #[test]
    fn of_fast_paths__a_value_without_effect_is_a_warning() {
        let kind = |value: &str| of_fast_paths(Some(OsStr::new(value))).expect("a finding").kind;
        assert_eq!(of_fast_paths(None), None);
        assert_eq!(kind("off"), Kind::FastPathsOff);
        for value in ["OFF", "maybe", ""] {
            assert_eq!(kind(value), Kind::Variable, "{value}");
        }
    }

    #[test]
    fn of_run_dir__a_relative_path_is_a_warning() {
        let found = |value: &str| of_run_dir(Some(OsStr::new(value)));
        assert_eq!((of_run_dir(None), found("/run/prp")), (None, None));
        assert!(found("run").is_some_and(|found| found.cause.contains("PRP_RUN_DIR=run")));
    }

    #[test]
    fn of_capabilities__names_what_is_missing() {
        let kinds = |set: &str| {
            let found = of_capabilities(&format!("Name:\tprp\nCapEff:\t{set}\n"));
            found.iter().map(|finding| finding.kind).collect::<Vec<_>>()
        };
        assert_eq!(kinds("000001ffffffffff"), []);
        assert_eq!(kinds("0000000000002000"), [Kind::PrivilegeAdmin]);
        assert_eq!(kinds("0000000000003000"), [Kind::PrivilegeBpf]);
        assert_eq!(kinds("0000000000203000"), []);
        assert_eq!(kinds("0000000000000000"), [Kind::PrivilegeRaw, Kind::PrivilegeAdmin]);
    }
}
