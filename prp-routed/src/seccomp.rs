//! System calls that a router never makes are refused from now on, should an attacker make it try.
//!
//! A list of what is denied, not of what is allowed: which calls a libc makes for the same thing
//! changes from version to version, and a router must not fail by that. None of these may be among
//! them. They answer with EPERM, as they would without the privilege.

use std::collections::BTreeMap;
use std::io;

use libc::c_long;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, apply_filter,
};

/// Other programs, and other processes' memory.
const PROGRAMS: &[c_long] = &[
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_personality,
    libc::SYS_userfaultfd,
    libc::SYS_perf_event_open,
];

/// Another view of the file system, and devices in it.
const FILES: &[c_long] = &[
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_mknodat,
    libc::SYS_open_by_handle_at,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_quotactl,
    libc::SYS_acct,
    libc::SYS_fanotify_init,
];

/// The kernel itself, its clocks, names and keys.
const KERNEL: &[c_long] = &[
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
];

/// Another identity, and other namespaces.
const IDENTITY: &[c_long] = &[
    libc::SYS_setuid,
    libc::SYS_setreuid,
    libc::SYS_setresuid,
    libc::SYS_setfsuid,
    libc::SYS_setgid,
    libc::SYS_setregid,
    libc::SYS_setresgid,
    libc::SYS_setfsgid,
    libc::SYS_setgroups,
    libc::SYS_unshare,
    libc::SYS_setns,
];

/// Flags of clone(2) that make new namespaces (`linux/sched.h`): mounts, control groups, names,
/// IPC, users, processes, network. A new one of users has all capabilities in it.
const NEW_NAMESPACES: &[u64] =
    &[0x0002_0000, 0x0200_0000, 0x0400_0000, 0x0800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000];

/// Rings by which a process makes system calls that no filter sees.
const RINGS: &[c_long] =
    &[libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register];

/// Those that not every processor has.
#[cfg(target_arch = "x86_64")]
const OTHERS: &[c_long] =
    &[libc::SYS_kexec_file_load, libc::SYS_iopl, libc::SYS_ioperm, libc::SYS_mknod];

/// Those that not every processor has.
#[cfg(not(target_arch = "x86_64"))]
const OTHERS: &[c_long] = &[libc::SYS_kexec_file_load];

/// Commands of bpf(2) that read and write the elements of maps that are there: 1 to 4, and in
/// batches 24 to 27 (`linux/bpf.h`). All others make something new, or find what others have made.
const MAP_ELEMENTS: &[u64] = &[1, 2, 3, 4, 24, 25, 26, 27];

/// On x86_64 each call has another number in the x32 convention, where the kernel has that.
#[cfg(target_arch = "x86_64")]
const X32: c_long = 0x4000_0000;

/// Refuses those calls to this thread and all that it starts. Its privileges must be reduced
/// already: the calls for that are among those refused.
///
/// # Errors
/// The kernel, or this processor, has no such filter.
pub fn confine() -> io::Result<()> {
    // clone3 has its flags in memory, which no filter can read. A libc that finds no such call uses
    // clone.
    let clone3 = with_x32(BTreeMap::from([(libc::SYS_clone3, Vec::new())]));
    install(clone3, libc::ENOSYS)?;
    install(rules().map_err(io::Error::other)?, libc::EPERM)
}

/// Calls, and when each is refused: one without rules always.
type Rules = BTreeMap<c_long, Vec<SeccompRule>>;

/// Has the kernel answer the calls of `rules` with `errno`.
fn install(rules: Rules, errno: i32) -> io::Result<()> {
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(io::Error::other)?;
    let refuse = SeccompAction::Errno(errno.cast_unsigned());
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch);
    let program = filter.and_then(BpfProgram::try_from).map_err(io::Error::other)?;
    apply_filter(&program).map_err(io::Error::other)
}

/// What is refused with EPERM.
fn rules() -> Result<Rules, seccompiler::BackendError> {
    let always = [PROGRAMS, FILES, KERNEL, IDENTITY, RINGS, OTHERS].concat();
    let mut rules: Rules = always.into_iter().map(|call| (call, Vec::new())).collect();
    let harmless = MAP_ELEMENTS.iter().map(|command| {
        SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, *command)
    });
    let other_command = SeccompRule::new(harmless.collect::<Result<_, _>>()?)?;
    rules.insert(libc::SYS_bpf, vec![other_command]);
    let with_flag = NEW_NAMESPACES.iter().map(|flag| {
        let is_set = SeccompCmpOp::MaskedEq(*flag);
        SeccompRule::new(vec![SeccompCondition::new(0, SeccompCmpArgLen::Dword, is_set, *flag)?])
    });
    rules.insert(libc::SYS_clone, with_flag.collect::<Result<_, _>>()?);
    Ok(with_x32(rules))
}

/// `rules`, and the same for the calls' other numbers where the processor has such.
fn with_x32(mut rules: Rules) -> Rules {
    #[cfg(target_arch = "x86_64")]
    rules.extend(rules.clone().into_iter().map(|(call, rule)| (call | X32, rule)));
    rules
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::thread;

    use nix::errno::Errno;
    use nix::sched::{CloneFlags, unshare};
    use nix::unistd::chroot;

    use super::*;

    /// Calls `then` in a thread of its own: a filter stays, and is a thread's.
    fn confined<T: Send + 'static>(then: impl FnOnce() -> T + Send + 'static) -> T {
        let thread = thread::spawn(|| {
            confine().expect("this kernel has filters");
            then()
        });
        thread.join().expect("it does not panic")
    }

    #[test]
    fn confine__refuses_programs_and_namespaces() {
        let run = || Command::new("/bin/true").status();
        assert!(run().expect("there is one").success(), "before");
        let refused = confined(move || (run(), unshare(CloneFlags::CLONE_NEWUTS), chroot("/")));
        let exec = refused.0.expect_err("it is refused");
        assert_eq!(exec.raw_os_error(), Some(libc::EPERM));
        assert_eq!((refused.1, refused.2), (Err(Errno::EPERM), Err(Errno::EPERM)));
    }

    /// Only a process of its own can try that calls for another identity are refused: libc makes
    /// them in all threads, and ends the process if these disagree.
    #[test]
    fn rules__have_what_a_router_never_does() {
        let rules = rules().expect("they are well formed");
        for call in [libc::SYS_setuid, libc::SYS_kexec_load, libc::SYS_finit_module] {
            assert_eq!(rules.get(&call), Some(&Vec::new()), "{call}");
        }
        assert_eq!(rules[&libc::SYS_bpf].len(), 1, "but for the elements of maps");
        // A thread has none of these flags; a namespace of users has every capability in it.
        let namespaces = CloneFlags::CLONE_NEWNS
            | CloneFlags::CLONE_NEWCGROUP
            | CloneFlags::CLONE_NEWUTS
            | CloneFlags::CLONE_NEWIPC
            | CloneFlags::CLONE_NEWUSER
            | CloneFlags::CLONE_NEWPID
            | CloneFlags::CLONE_NEWNET;
        let refused = NEW_NAMESPACES.iter().fold(0, |all, flag| all | flag);
        assert_eq!(refused, u64::from(namespaces.bits().cast_unsigned()));
        assert_eq!(rules[&libc::SYS_clone].len(), NEW_NAMESPACES.len());
        #[cfg(target_arch = "x86_64")]
        assert!(rules.contains_key(&(libc::SYS_execve | X32)));
    }

    #[test]
    fn confine__leaves_what_a_router_does() {
        let done = confined(|| {
            let pair = std::os::unix::net::UnixStream::pair()?;
            let file = std::fs::read("/proc/self/status")?;
            let thread = thread::Builder::new().spawn(move || drop(pair))?;
            thread.join().map_err(|_| io::ErrorKind::Other)?;
            std::net::TcpListener::bind("127.0.0.1:0")?;
            io::Result::Ok(file)
        });
        let status = String::from_utf8(done.expect("nothing hinders it")).expect("text");
        assert!(status.contains("Seccomp:\t"), "{status}");
    }
}
