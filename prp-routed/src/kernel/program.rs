//! The program that the kernel runs for each frame a device receives. It forwards what needs no
//! thought, and passes all else up to the packet sockets, where the router of this process decides.
//!
//! What it does is what [`prp_proto::forward`] does with the same frame; a test holds the two
//! against each other. R6 is the frame, R7 the half of the table that is in force, R8 the neighbour
//! that brought the frame and later the one that gets it, R9 the whole table. Numbers read from the
//! table are masked before they say where to read: that stays inside the table even if it is
//! written meanwhile, and the kernel's verifier wants to see it.

use prp_device::assembler::Alu::{Add, And, Lsh, Mod, Mul, Or, Rsh, Sub, Xor};
use prp_device::assembler::Reg::{R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, R10};
use prp_device::assembler::Size::{Byte, Double, Half, Word};
use prp_device::assembler::When::{Eq, Ge, Gt, Ne};
use prp_device::assembler::{Assembler, Label, Reg, skb};
use prp_proto::addr::{DeviceId, MacAddr, NodeId};
use prp_proto::forward::Flow;
use prp_proto::route::MAX_NEXT_HOPS;
use prp_proto::wire::{ETHERNET_LEN, Flags, HEADER_LEN};

use super::layout::{
    COUNTER, COUNTER_BYTES, COUNTER_SENT, COUNTERS, DEVICES, GENERATION, HALVES, Layout, NEIGHBOUR,
    NEIGHBOUR_EXIT, NEIGHBOUR_HEAD, PROBES, ROW, ROW_LIST, SPREAD, key,
};

/// A device the program runs at.
#[derive(Copy, Clone, Debug)]
pub(super) struct AttachPoint {
    /// Which of the router's devices.
    pub(super) device: DeviceId,
    /// Its hardware address.
    pub(super) mac: MacAddr,
    /// The cluster's EtherType.
    pub(super) ethertype: u16,
}

// On the stack: the frame's first 30 bytes, the generation, a word for the barrier.
const HEAD: i16 = -32;
const SEEN: i16 = -40;
const BARRIER: i16 = -48;

// In the head.
const DST_MAC: i16 = HEAD;
const SRC_MAC: i16 = HEAD + 6;
const SRC_NODE: i16 = HEAD + ETHERNET_LEN as i16;
const DST_NODE: i16 = SRC_NODE + 2;
const SRC_PORT: i16 = SRC_NODE + 4;
const DST_PORT: i16 = SRC_NODE + 6;
const LENGTH: i16 = HEAD + 24;
/// The byte of the flags whose upper half is HOPS (SPEC PRP-FLAGS-1).
const HOPS: i16 = HEAD + 28;
const HOPS_ONE: i32 = 0x10;
const HOPS_MOST: i32 = (Flags::MAX_HOPS as i32) << 4;

/// The program for `device` of node `router`, over the table of `layout` in map `table`.
pub(super) fn program(
    router: NodeId,
    device: &AttachPoint,
    layout: &Layout,
    table: i32,
) -> Vec<u64> {
    let mut asm = Assembler::default();
    let up = asm.label();
    let mut text = ProgramText { asm, layout: *layout, up };
    text.well_formed(device);
    text.half_in_force(table);
    text.neighbour(device);
    text.source();
    text.destination(router);
    text.new_head();
    text.same_generation();
    text.go(device);
    // Up: the frame is as it came. Other programs at the device, and then packet sockets, see it.
    text.asm.bind(up);
    text.asm.set(R0, skb::NEXT);
    text.asm.exit();
    text.asm.finish()
}

/// The program, as far as it is written.
struct ProgramText {
    asm: Assembler,
    layout: Layout,
    /// Where frames go that need a thought.
    up: Label,
}

impl ProgramText {
    /// Our EtherType without a tag, whole headers, our hardware address, hops left, a length that
    /// is there.
    fn well_formed(&mut self, device: &AttachPoint) {
        let (up, asm) = (self.up, &mut self.asm);
        asm.set(R6, R1);
        // First, since it is all that other protocols' frames cost.
        asm.load(Word, R1, R6, skb::PROTOCOL);
        asm.jump_if(Ne, R1, i32::from(device.ethertype.to_be()), up);
        asm.load(Word, R1, R6, skb::VLAN_PRESENT);
        asm.jump_if(Ne, R1, 0, up);
        self.both_heads();
        let asm = &mut self.asm;
        asm.call(skb::LOAD_BYTES);
        asm.jump_if(Ne, R0, 0, up);
        // Loads are at multiples of their size: a hardware address takes two.
        let [a, b, c, d, e, f] = device.mac.0;
        asm.load(Word, R1, R10, DST_MAC);
        asm.set_double(R2, u32::from_ne_bytes([a, b, c, d]).into());
        asm.jump_if(Ne, R1, R2, up);
        asm.load(Half, R1, R10, DST_MAC + 4);
        asm.jump_if(Ne, R1, i32::from(u16::from_ne_bytes([e, f])), up);
        asm.load(Byte, R1, R10, HOPS);
        asm.jump_if(Ge, R1, HOPS_MOST, up);
        asm.load(Half, R1, R10, LENGTH);
        asm.network_order(R1);
        asm.alu(Add, R1, HEADER_LEN as i32);
        asm.load(Word, R2, R6, skb::LEN);
        asm.jump_if(Gt, R1, R2, up);
    }

    /// R9 = the table, R7 = its half in force; the generation is kept.
    fn half_in_force(&mut self, table: i32) {
        let asm = &mut self.asm;
        asm.set_map_value(R9, table);
        asm.load(Double, R1, R9, GENERATION as i16);
        asm.store(Double, R10, SEEN, R1);
        asm.alu(And, R1, 1);
        asm.alu(Mul, R1, self.layout.half() as i32);
        asm.alu(Add, R1, HALVES as i32);
        asm.set(R7, R9);
        asm.alu(Add, R7, R1);
    }

    /// R8 = the number of the neighbour that brought it.
    fn neighbour(&mut self, device: &AttachPoint) {
        let (up, asm) = (self.up, &mut self.asm);
        asm.load(Half, R1, R10, SRC_MAC);
        asm.load(Word, R2, R10, SRC_MAC + 2);
        asm.alu(Lsh, R2, 16);
        asm.alu(Or, R1, R2);
        asm.set_double(R2, key(device.device, MacAddr::ZERO));
        asm.alu(Or, R1, R2);
        asm.set_double(R2, SPREAD);
        asm.alu(Mul, R2, R1);
        asm.alu(Rsh, R2, 64 - self.layout.bits.cast_signed());
        let found = asm.label();
        for probe in 0..PROBES {
            asm.set(R8, R2);
            asm.alu(Add, R8, probe as i32);
            asm.alu(And, R8, self.layout.slots() as i32 - 1);
            asm.set(R3, R8);
            asm.alu(Mul, R3, NEIGHBOUR as i32);
            asm.alu(Add, R3, R7);
            asm.load(Double, R3, R3, 0);
            asm.jump_if(Eq, R3, R1, found);
        }
        asm.jump(up);
        asm.bind(found);
        asm.alu(Add, R8, 1);
    }

    /// The neighbour is one by which the source is reached (SPEC PRP-FWD-1).
    fn source(&mut self) {
        self.row(R3, SRC_NODE);
        let (up, asm) = (self.up, &mut self.asm);
        let right = asm.label();
        for at in 0..MAX_NEXT_HOPS {
            asm.load(Half, R1, R3, (ROW_LIST + 2 * at) as i16);
            asm.jump_if(Eq, R1, R8, right);
        }
        asm.jump(up);
        asm.bind(right);
    }

    /// R8 = the neighbour who gets it (SPEC PRP-FWD-3), if that is settled and takes frames of this
    /// length.
    fn destination(&mut self, router: NodeId) {
        self.row(R3, DST_NODE);
        let (up, asm) = (self.up, &mut self.asm);
        asm.load(Double, R1, R3, 0);
        asm.set_low(R2, R1);
        asm.load(Word, R4, R6, skb::LEN);
        asm.jump_if(Gt, R4, R2, up);
        asm.alu(Rsh, R1, 32);
        asm.load(Half, R5, R3, ROW_LIST as i16);
        let (shared, onward) = (asm.label(), asm.label());
        asm.jump_if(Gt, R1, 1, shared);
        asm.jump_if(Ne, R5, R8, onward);
        asm.jump_if(Eq, R1, 0, up);
        asm.jump(onward);
        asm.bind(shared);
        self.share(router);
        let asm = &mut self.asm;
        asm.bind(onward);
        asm.alu(Sub, R5, 1);
        asm.alu(And, R5, self.layout.slots() as i32 - 1);
        asm.alu(Mul, R5, NEIGHBOUR as i32);
        asm.set(R8, R7);
        asm.alu(Add, R8, R5);
    }

    /// R5 = the one of the first R1 neighbours of row R3 that this flow takes (SPEC PRP-FWD-4), if
    /// none of them has brought it.
    fn share(&mut self, router: NodeId) {
        let (up, asm) = (self.up, &mut self.asm);
        let others = asm.label();
        for at in 0..MAX_NEXT_HOPS {
            asm.jump_if(Eq, R1, at as i32, others);
            asm.load(Half, R2, R3, (ROW_LIST + 2 * at) as i16);
            asm.jump_if(Eq, R2, R8, up);
        }
        asm.bind(others);
        // R2 = Flow::hash, step by step.
        asm.set(R2, 0);
        for field in [DST_PORT, SRC_PORT, DST_NODE, SRC_NODE] {
            asm.alu(Lsh, R2, 16);
            asm.load(Half, R4, R10, field);
            asm.network_order(R4);
            asm.alu(Or, R2, R4);
        }
        asm.set_double(R4, u64::from(router.number()).wrapping_mul(Flow::SPREAD));
        asm.alu(Xor, R2, R4);
        for (shift, factor) in [30, 27].into_iter().zip(Flow::FACTORS) {
            asm.set(R4, R2);
            asm.alu(Rsh, R4, shift);
            asm.alu(Xor, R2, R4);
            asm.set_double(R4, factor);
            asm.alu(Mul, R2, R4);
        }
        asm.set(R4, R2);
        asm.alu(Rsh, R4, 31);
        asm.alu(Xor, R2, R4);
        asm.alu(Mod, R2, R1);
        asm.alu(And, R2, MAX_NEXT_HOPS as i32 - 1);
        asm.alu(Lsh, R2, 1);
        asm.alu(Add, R3, R2);
        asm.load(Half, R5, R3, ROW_LIST as i16);
    }

    /// On the stack: new hardware addresses, one hop more (SPEC PRP-FWD-2).
    fn new_head(&mut self) {
        let asm = &mut self.asm;
        asm.load(Double, R1, R8, NEIGHBOUR_HEAD as i16);
        asm.store(Double, R10, HEAD, R1);
        asm.load(Word, R1, R8, NEIGHBOUR_HEAD as i16 + 8);
        asm.store(Word, R10, HEAD + 8, R1);
        asm.load(Byte, R1, R10, HOPS);
        asm.alu(Add, R1, HOPS_ONE);
        asm.store(Byte, R10, HOPS, R1);
        // Before the table can change: the device's number.
        asm.load(Double, R7, R8, NEIGHBOUR_EXIT as i16);
    }

    /// Nothing has been written into this half since: all that was read is of one table.
    fn same_generation(&mut self) {
        let asm = &mut self.asm;
        asm.set(R0, 0);
        asm.store(Double, R10, BARRIER, R0);
        asm.fetch_add(R10, BARRIER, R0);
        asm.load(Double, R1, R9, GENERATION as i16);
        asm.load(Double, R2, R10, SEEN);
        asm.jump_if(Ne, R1, R2, self.up);
    }

    /// Writes the new head, counts, and sends.
    fn go(&mut self, device: &AttachPoint) {
        self.both_heads();
        let (up, asm) = (self.up, &mut self.asm);
        asm.set(R5, 0);
        asm.call(skb::STORE_BYTES);
        asm.jump_if(Ne, R0, 0, up);
        let here = (COUNTERS + usize::from(device.device.0) * COUNTER) as i16;
        asm.set(R1, 1);
        asm.add_atomically(R9, here, R1);
        asm.load(Word, R2, R6, skb::LEN);
        asm.add_atomically(R9, here + COUNTER_BYTES as i16, R2);
        asm.set(R2, R7);
        asm.alu(Rsh, R2, 32);
        asm.alu(And, R2, DEVICES as i32 - 1);
        asm.alu(Mul, R2, COUNTER as i32);
        asm.alu(Add, R9, R2);
        asm.add_atomically(R9, (COUNTERS + COUNTER_SENT) as i16, R1);
        asm.set_low(R1, R7);
        asm.set(R2, 0);
        asm.call(skb::REDIRECT);
        asm.exit();
    }

    /// R1 to R4 = the frame, where its head begins, the head on the stack, the bytes of a head:
    /// what calls that copy it take.
    fn both_heads(&mut self) {
        let asm = &mut self.asm;
        asm.set(R1, R6);
        asm.set(R2, 0);
        asm.set(R3, R10);
        asm.alu(Add, R3, i32::from(HEAD));
        asm.set(R4, HEADER_LEN as i32);
    }

    /// `to` = where the row of the node at `offset` of the stack is.
    fn row(&mut self, to: Reg, offset: i16) {
        let (up, asm) = (self.up, &mut self.asm);
        asm.load(Half, to, R10, offset);
        asm.network_order(to);
        asm.jump_if(Ge, to, self.layout.rows as i32, up);
        asm.alu(Mul, to, ROW as i32);
        asm.alu(Add, to, self.layout.rows_at() as i32);
        asm.alu(Add, to, R7);
    }
}
