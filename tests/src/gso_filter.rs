//! An eBPF program that changes GSO batches, like a defective kernel or network card.

use std::fs::File;
use std::io;

use nix::sched::{CloneFlags, setns};
use prp_device::assembler::Alu::Add;
use prp_device::assembler::Reg::{R0, R1, R2, R3, R4, R5, R6, R7, R8, R10};
use prp_device::assembler::Size::{Double, Word};
use prp_device::assembler::When::{Eq, Ne};
use prp_device::assembler::{Assembler, skb};
use prp_device::{FrameHook, FrameProgram, interfaces};

use crate::topology::Node;

/// Offset behind the Ethernet, IPv4 and UDP headers that lies in the payload of a segment, and in
/// the pattern of a probe.
const FIRST: i32 = 14 + 20 + 8 + 40;

/// Linux's maximum number of datagrams in a GSO batch.
const MAX_DATAGRAMS: usize = 128;

/// On the stack.
const GARBAGE: i16 = -8;

/// Loads the program: as long as the result lives, the kernel changes four bytes of each datagram
/// of the GSO batches that `node` receives over IPv4, except the first datagram of each.
///
/// # Errors
/// `PermissionDenied` without CAP_BPF and CAP_NET_ADMIN, `InvalidInput` if the kernel is older than
/// 6.6.
///
/// # Panics
/// If the node has no device, or its namespace cannot be entered.
pub fn garble_gso(node: &Node<'_>) -> io::Result<FrameHook> {
    let path = node.field("path");
    let hook = || {
        let namespace = File::open(path).expect("the node's namespace is there");
        setns(namespace, CloneFlags::CLONE_NEWNET).expect("the namespace can be entered");
        let device = interfaces().into_iter().find(|i| !i.loopback).expect("a device");
        FrameProgram::load("garble_gso", &program())?.hook(device.index)
    };
    // A separate thread enters the namespace and ends there.
    std::thread::scope(|scope| scope.spawn(hook).join().expect("it does not panic"))
}

/// R6 is the GSO batch, R7 the size of its datagrams, R8 the offset in it.
fn program() -> Vec<u64> {
    let mut asm = Assembler::default();
    let end = asm.label();
    asm.set(R6, R1);
    asm.load(Word, R7, R6, skb::GSO_SIZE);
    asm.jump_if(Eq, R7, 0, end);
    asm.set_double(R2, 0xdead_beef);
    asm.store(Double, R10, GARBAGE, R2);
    asm.set(R8, FIRST);
    for _ in 1..MAX_DATAGRAMS {
        asm.alu(Add, R8, R7);
        asm.set(R1, R6);
        asm.set(R2, R8);
        asm.set(R3, R10);
        asm.alu(Add, R3, i32::from(GARBAGE));
        asm.set(R4, 4);
        asm.set(R5, 0);
        asm.call(skb::STORE_BYTES);
        // The end of the GSO batch.
        asm.jump_if(Ne, R0, 0, end);
    }
    asm.bind(end);
    asm.set(R0, skb::NEXT);
    asm.exit();
    asm.finish()
}
