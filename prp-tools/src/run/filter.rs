//! Which calls of a program the kernel shows to the holder: a filter in its machine's words (bpf).

use nix::libc::{self, c_long, sock_filter};

/// What a kernel calls this machine, in linux/audit.h.
#[cfg(target_arch = "x86_64")]
const MACHINE: Option<u32> = Some(0xc000_003e);
#[cfg(target_arch = "aarch64")]
const MACHINE: Option<u32> = Some(0xc000_00b7);
#[cfg(target_arch = "riscv64")]
const MACHINE: Option<u32> = Some(0xc000_00f3);
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")))]
const MACHINE: Option<u32> = None;

/// Calls that are shown whatever they are for: memory, where addresses are, a filter cannot read.
const SHOWN: [c_long; 7] = [
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
];

/// Levels of options that a Unix socket does not have.
const LEVELS: [i32; 3] = [libc::IPPROTO_IP, libc::IPPROTO_TCP, libc::IPPROTO_IPV6];

/// Options of `SOL_SOCKET` that a Unix socket tells otherwise.
const TOLD: [i32; 3] = [libc::SO_ERROR, libc::SO_DOMAIN, libc::SO_PROTOCOL];

/// Options of `SOL_SOCKET` that the holder is to know of.
const SET: [i32; 2] = [libc::SO_LINGER, libc::SO_SNDBUF];

/// Where the kernel puts what a filter looks at (`struct seccomp_data`).
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;

/// The part of an argument that an `int` has. All machines of [`MACHINE`] have the least
/// significant bytes first.
const fn argument(index: u32) -> u32 {
    16 + 8 * index
}

const ALLOW: u32 = libc::SECCOMP_RET_ALLOW;
const NOTIFY: u32 = libc::SECCOMP_RET_USER_NOTIF;

/// As by a kernel that has it not, for sockets of MPTCP, of which the kernel's tables have nothing.
const REFUSE: u32 = libc::SECCOMP_RET_ERRNO | libc::EPROTONOSUPPORT as u32;

fn load(at: u32) -> sock_filter {
    word(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, at)
}

fn give(action: u32) -> sock_filter {
    word(libc::BPF_RET | libc::BPF_K, 0, action)
}

/// `then`, which gives an action, if what was loaded is `value`.
fn when(value: u32, then: &[sock_filter]) -> impl Iterator<Item = sock_filter> {
    let past = then.len() as u8;
    let test = word(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, past, value);
    std::iter::once(test).chain(then.to_vec())
}

fn word(code: u32, otherwise: u8, k: u32) -> sock_filter {
    sock_filter { code: code as u16, jt: 0, jf: otherwise, k }
}

/// Shows options of [`LEVELS`] and those of `SOL_SOCKET` in `names`.
fn options(names: &[i32]) -> Vec<sock_filter> {
    let mut of_socket = vec![load(argument(2))];
    for name in names {
        of_socket.extend(when(name.cast_unsigned(), &[give(NOTIFY)]));
    }
    of_socket.push(give(ALLOW));
    let mut all = vec![load(argument(1))];
    for level in LEVELS {
        all.extend(when(level.cast_unsigned(), &[give(NOTIFY)]));
    }
    all.extend(when(libc::SOL_SOCKET.cast_unsigned(), &of_socket));
    all.push(give(ALLOW));
    all
}

/// Returns the filter; `None` on a machine for which there is none.
pub(super) fn program() -> Option<Vec<sock_filter>> {
    let mut mptcp = vec![load(argument(2))];
    mptcp.extend(when(libc::IPPROTO_MPTCP.cast_unsigned(), &[give(REFUSE)]));
    mptcp.push(give(ALLOW));
    let mut calls = vec![load(NUMBER)];
    for number in SHOWN {
        calls.extend(when(number as u32, &[give(NOTIFY)]));
    }
    calls.extend(when(libc::SYS_getsockopt as u32, &options(&TOLD)));
    calls.extend(when(libc::SYS_setsockopt as u32, &options(&SET)));
    calls.extend(when(libc::SYS_socket as u32, &mptcp));
    calls.push(give(ALLOW));
    // Programs of 32 bits have other numbers for the same calls.
    let mut all = vec![load(ARCHITECTURE)];
    all.extend(when(MACHINE?, &calls));
    all.push(give(ALLOW));
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the filter gives for a call, as the kernel would run it.
    fn run(machine: u32, number: c_long, arguments: [i32; 3]) -> u32 {
        let program = program().expect("a filter");
        let mut data = [0; 64];
        let mut put = |at: u32, value: u32| {
            data[at as usize..at as usize + 4].copy_from_slice(&value.to_ne_bytes());
        };
        put(NUMBER, number as u32);
        put(ARCHITECTURE, machine);
        for (index, value) in (0..).zip(arguments) {
            put(argument(index), value.cast_unsigned());
        }
        let (mut at, mut loaded) = (0, 0);
        loop {
            let sock_filter { code, jt, jf, k } = program[at];
            at += 1;
            match u32::from(code) & 7 {
                libc::BPF_RET => return k,
                libc::BPF_JMP => at += usize::from(if loaded == k { jt } else { jf }),
                _ => {
                    let bytes = data[k as usize..k as usize + 4].try_into().expect("four");
                    loaded = u32::from_ne_bytes(bytes);
                }
            }
        }
    }

    fn own(number: c_long, arguments: [i32; 3]) -> u32 {
        run(MACHINE.expect("a machine of the list"), number, arguments)
    }

    #[test]
    fn program__shows_control_calls_and_no_others() {
        for number in SHOWN {
            assert_eq!(own(number, [3, 0, 0]), NOTIFY, "{number}");
        }
        for number in [libc::SYS_read, libc::SYS_sendto, libc::SYS_close, libc::SYS_epoll_ctl] {
            assert_eq!(own(number, [3, 0, 0]), ALLOW, "{number}");
        }
    }

    #[test]
    fn program__shows_options_that_a_unix_socket_has_not() {
        for (level, name, got, set) in [
            (libc::IPPROTO_TCP, libc::TCP_NODELAY, NOTIFY, NOTIFY),
            (libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, NOTIFY, NOTIFY),
            (libc::SOL_SOCKET, libc::SO_ERROR, NOTIFY, ALLOW),
            (libc::SOL_SOCKET, libc::SO_LINGER, ALLOW, NOTIFY),
            (libc::SOL_SOCKET, libc::SO_REUSEADDR, ALLOW, ALLOW),
            (libc::SOL_UDP, libc::SO_ERROR, ALLOW, ALLOW),
        ] {
            let arguments = [3, level, name];
            let found = [libc::SYS_getsockopt, libc::SYS_setsockopt].map(|it| own(it, arguments));
            assert_eq!(found, [got, set], "{level} {name}");
        }
    }

    #[test]
    fn program__refuses_mptcp_and_leaves_other_sockets() {
        let socket = |protocol| own(libc::SYS_socket, [libc::AF_INET, libc::SOCK_STREAM, protocol]);
        assert_eq!(socket(libc::IPPROTO_MPTCP), REFUSE);
        assert_eq!((socket(0), socket(libc::IPPROTO_TCP)), (ALLOW, ALLOW));
    }

    #[test]
    fn program__leaves_programs_of_other_machines() {
        // AUDIT_ARCH_I386; its `listen` is another call.
        assert_eq!(run(0x4000_0003, libc::SYS_listen, [3, 0, 0]), ALLOW);
    }
}
