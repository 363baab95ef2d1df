//! bpf(2), called to see whether it passes.
#![allow(unsafe_code, reason = "a system call that no crate here has")]

use std::io;

use nix::libc;

/// `BPF_PROG_GET_NEXT_ID` of linux/bpf.h.
const GET_NEXT_PROGRAM: libc::c_long = 11;

/// The number of the first BPF program of this machine.
///
/// # Errors
/// `EPERM` without the privilege, or where a filter says so; `ENOENT` if there is no program.
pub(crate) fn next_program_id() -> io::Result<u32> {
    // Where to begin, and what was found: the first words of the call's argument.
    let mut argument = [0_u32; 4];
    // SAFETY: the argument lives for as long as the call, and its size goes along.
    let done = unsafe {
        libc::syscall(
            libc::SYS_bpf,
            GET_NEXT_PROGRAM,
            argument.as_mut_ptr(),
            size_of_val(&argument),
        )
    };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(argument[1]) }
}
