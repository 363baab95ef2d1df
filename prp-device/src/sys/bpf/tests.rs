use std::io::ErrorKind;
use std::sync::atomic::Ordering;

use super::*;

/// `struct bpf_insn` with these fields, on a little-endian machine.
fn op(code: u8, registers: u8, offset: i16, immediate: i32) -> u64 {
    let [o0, o1] = offset.to_ne_bytes();
    let [i0, i1, i2, i3] = immediate.to_ne_bytes();
    u64::from_ne_bytes([code, registers, o0, o1, i0, i1, i2, i3])
}

/// What is missing to make programs, if something is: only root has it.
fn denied<T>(result: io::Result<T>) -> Option<T> {
    match result {
        Err(e) if e.kind() == ErrorKind::PermissionDenied && !nix::unistd::geteuid().is_root() => {
            println!("SKIP: needs CAP_BPF and CAP_NET_ADMIN");
            None
        }
        other => Some(other.expect("bpf(2) works for root")),
    }
}

#[cfg(target_endian = "little")]
#[test]
fn load__reports_what_the_verifier_wrote() {
    // r0 is never set.
    let wrong = [op(0x95, 0, 0, 0)];
    match FrameProgram::load("wrong", &wrong) {
        Err(e) if e.kind() == ErrorKind::PermissionDenied && !nix::unistd::geteuid().is_root() => {
            println!("SKIP: needs CAP_BPF and CAP_NET_ADMIN");
        }
        Err(e) => assert!(e.to_string().contains("R0 !read_ok"), "{e}"),
        Ok(_) => panic!("a program that returns nothing in particular"),
    }
}

#[cfg(target_endian = "little")]
#[test]
fn words__are_what_the_program_sees_and_writes() {
    let Some(words) = denied(SharedWords::new("test", 100)) else { return };
    words.words()[99].store(40, Ordering::Relaxed);
    // r1 = address of the word at 99 * 8; r0 = 2; *r1 += r0; r0 = *r1; exit
    let program = [
        op(0x18, 0x21, 0, words.number()),
        op(0, 0, 0, 99 * 8),
        op(0xb7, 0, 0, 2),
        op(0xdb, 0x01, 0, 0),
        op(0x79, 0x10, 0, 0),
        op(0x95, 0, 0, 0),
    ];
    let Some(program) = denied(FrameProgram::load("test", &program)) else { return };
    let frame = [7; 60];
    assert_eq!(program.try_out(&frame).expect("it runs"), (42, frame.to_vec()));
    assert_eq!(words.words()[99].load(Ordering::Relaxed), 42);
}
