//! The program that the kernel runs for each frame a device receives, while the tcx receive path is
//! open: it puts frames for our ports into the tcx receive path's slots while a thread polls them,
//! and leaves all others to the packet sockets.
//!
//! R6 is the frame, R9 the memory, R8 the slot, R7 its number, and then what its first word will
//! say of that.

use prp_proto::addr::NodeId;
use prp_proto::wire::{ETHERNET_LEN, HEADER_LEN};

use crate::assembler::Alu::{Add, And, Lsh, Mul, Or, Rsh};
use crate::assembler::Reg::{R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, R10};
use crate::assembler::Size::{Double, Half, Word};
use crate::assembler::When::{Eq, Ge, Gt, Ne};
use crate::assembler::{Assembler, Label, skb};
use crate::sys::shared_ring::{LINE, Layout};

/// For this machine's hardware address (`PACKET_HOST`).
const TO_US: i32 = 0;

// In a frame.
const HEADERS: i32 = HEADER_LEN as i32;
const DST_NODE: i16 = ETHERNET_LEN as i16 + 2;
const DST_PORT: i16 = ETHERNET_LEN as i16 + 6;

// On the stack: the length of the frame, how many slots were filled before its own, and the node
// and the port that it is for.
const LENGTH: i16 = -8;
const BEFORE: i16 = -16;
const DESTINATION: i16 = -24;

/// What fits two lines with a slot's first word.
const SMALL: i32 = 2 * LINE_BYTES - WORD as i32;

/// How often to try where other processors put frames into slots at the same time.
const TRIES: usize = 4;

const WORD: i16 = 8;
const ENABLED: i16 = Layout::ENABLED as i16 * WORD;
const FILLED: i16 = Layout::FILLED as i16 * WORD;
const LIMIT: i16 = Layout::LIMIT as i16 * WORD;
const CONSUMED: i16 = Layout::CONSUMED as i16 * WORD;
const PORTS: i16 = Layout::PORTS as i16 * WORD;
const SLOTS: i32 = Layout::SLOTS as i32 * WORD as i32;
const LINE_BYTES: i32 = LINE as i32 * WORD as i32;

/// The program for frames of `ethertype` to `node`, into the memory of `layout` in map `memory`.
pub(super) fn program(ethertype: u16, node: NodeId, layout: Layout, memory: i32) -> Vec<u64> {
    let mut asm = Assembler::default();
    let up = asm.label();
    let mut text = ProgramText { asm, layout, up };
    text.ours(ethertype, node, memory);
    text.port();
    text.slot();
    text.fill();
    // Up: other programs at the device, and then packet sockets, see the frame.
    text.asm.bind(up);
    text.asm.set(R0, skb::NEXT);
    text.asm.exit();
    text.asm.finish()
}

struct ProgramText {
    asm: Assembler,
    layout: Layout,
    up: Label,
}

impl ProgramText {
    /// Goes on with frames of the right kind, for this node, that fit, while a thread polls.
    fn ours(&mut self, ethertype: u16, node: NodeId, memory: i32) {
        let Self { asm, layout, up } = self;
        let up = *up;
        asm.set(R6, R1);
        asm.load(Word, R2, R6, skb::PROTOCOL);
        asm.jump_if(Ne, R2, i32::from(ethertype.to_be()), up);
        asm.load(Word, R2, R6, skb::KIND);
        asm.jump_if(Ne, R2, TO_US, up);
        asm.load(Word, R2, R6, skb::VLAN_PRESENT);
        asm.jump_if(Ne, R2, 0, up);
        asm.set_map_value(R9, memory);
        asm.load(Double, R2, R9, ENABLED);
        asm.jump_if(Eq, R2, 0, up);
        asm.load(Word, R4, R6, skb::LEN);
        asm.jump_if(Gt, R4, layout.frame() as i32, up);
        asm.set(R2, HEADERS);
        asm.jump_if(Gt, R2, R4, up);
        asm.store(Double, R10, LENGTH, R4);
        asm.load(Word, R2, R6, skb::DATA);
        asm.load(Word, R3, R6, skb::DATA_END);
        asm.set(R5, R2);
        asm.alu(Add, R5, HEADERS);
        let (pieces, known) = (asm.label(), asm.label());
        asm.jump_if(Gt, R5, R3, pieces);
        asm.load(Half, R4, R2, DST_NODE);
        asm.load(Half, R3, R2, DST_PORT);
        asm.jump(known);
        // The kernel keeps a frame of several pages in pieces, with the Ethernet header alone in
        // the first.
        asm.bind(pieces);
        asm.set(R1, R6);
        asm.set(R2, i32::from(DST_NODE));
        asm.set(R3, R10);
        asm.alu(Add, R3, i32::from(DESTINATION));
        asm.set(R4, i32::from(DST_PORT - DST_NODE) + 2);
        asm.call(skb::LOAD_BYTES);
        asm.jump_if(Ne, R0, 0, up);
        asm.load(Half, R4, R10, DESTINATION);
        asm.load(Half, R3, R10, DESTINATION + DST_PORT - DST_NODE);
        asm.bind(known);
        asm.jump_if(Ne, R4, i32::from(node.number().to_be()), up);
    }

    /// Goes on only with a frame for a port of ours: R3, as the frame has it.
    fn port(&mut self) {
        let Self { asm, up, .. } = self;
        asm.network_order(R3);
        // The word of 64 ports.
        asm.set(R2, R3);
        asm.alu(Rsh, R2, 6);
        asm.alu(And, R2, Layout::PORT_WORDS as i32 - 1);
        asm.alu(Lsh, R2, 3);
        asm.alu(Add, R2, R9);
        asm.load(Double, R2, R2, PORTS);
        asm.alu(And, R3, 63);
        asm.alu(Rsh, R2, R3);
        asm.alu(And, R2, 1);
        asm.jump_if(Eq, R2, 0, *up);
    }

    /// Finds a free slot, R8. Where there is none, or other processors take one after another, the
    /// tcx receive path is closed until the reader has caught up: frames that go to the socket
    /// while others go here would lose their order.
    fn slot(&mut self) {
        let Self { asm, layout, up } = self;
        let (full, found) = (asm.label(), asm.label());
        for _ in 0..TRIES {
            let room = asm.label();
            asm.load(Double, R7, R9, FILLED);
            asm.load(Double, R2, R9, LIMIT);
            asm.jump_if(Gt, R2, R7, room);
            asm.load(Double, R2, R9, CONSUMED);
            asm.alu(Add, R2, layout.slots as i32);
            asm.store(Double, R9, LIMIT, R2);
            asm.jump_if(Ge, R7, R2, full);
            asm.bind(room);
            asm.set(R0, R7);
            asm.set(R2, R7);
            asm.alu(Add, R2, 1);
            asm.compare_exchange(R9, FILLED, R2);
            asm.jump_if(Eq, R0, R7, found);
        }
        asm.bind(full);
        asm.set(R2, 0);
        asm.store(Double, R9, ENABLED, R2);
        asm.jump(*up);
        asm.bind(found);
        asm.store(Double, R10, BEFORE, R7);
        asm.set(R8, R7);
        self.netdev(0);
        let Self { asm, layout, .. } = self;
        // What its first word will say of the lap.
        asm.alu(Rsh, R7, layout.slots.trailing_zeros() as i32);
        asm.alu(Add, R7, 1);
        asm.alu(Lsh, R7, Layout::GENERATION as i32);
        // So it says already that the frame has gone elsewhere.
        const { assert!(Layout::VOID == 0) };
    }

    /// R8, slots that were filled before a slot, becomes the place `line` lines behind that slot's
    /// begin.
    fn netdev(&mut self, line: i32) {
        let Self { asm, layout, .. } = self;
        asm.alu(And, R8, layout.slots as i32 - 1);
        asm.alu(Mul, R8, layout.slot as i32 * i32::from(WORD));
        asm.alu(Add, R8, SLOTS + line * LINE_BYTES);
        asm.alu(Add, R8, R9);
    }

    /// After a small frame, has this processor own the second line of the next slot, which the
    /// reader has had since the last lap: the next message need not wait for that. The first line
    /// is where a thread that polls would take it back at once.
    fn fetch_next(&mut self) {
        let Self { asm, .. } = self;
        let large = asm.label();
        asm.load(Double, R2, R10, LENGTH);
        asm.jump_if(Gt, R2, SMALL, large);
        asm.load(Double, R8, R10, BEFORE);
        asm.alu(Add, R8, 1);
        self.netdev(1);
        let Self { asm, .. } = self;
        asm.set(R2, 0);
        // Changes nothing, whichever processor fills that slot meanwhile.
        asm.fetch_add(R8, 0, R2);
        asm.bind(large);
    }

    /// Copies the frame into the slot, and shows it. The thread that polls may have begun to sleep
    /// meanwhile: then the frame goes up and wakes that thread, unless it has taken the frame.
    fn fill(&mut self) {
        let Self { asm, up, .. } = self;
        let (done, spoilt) = (asm.label(), asm.label());
        asm.set(R1, R6);
        asm.set(R2, 0);
        asm.set(R3, R8);
        asm.alu(Add, R3, i32::from(WORD));
        asm.load(Double, R4, R10, LENGTH);
        asm.call(skb::LOAD_BYTES);
        asm.jump_if(Ne, R0, 0, spoilt);
        asm.load(Double, R2, R10, LENGTH);
        asm.alu(Or, R2, R7);
        asm.exchange(R8, 0, R2);
        asm.load(Double, R2, R9, ENABLED);
        asm.jump_if(Ne, R2, 0, done);
        asm.load(Double, R2, R9, CONSUMED);
        asm.load(Double, R3, R10, BEFORE);
        asm.jump_if(Gt, R2, R3, done);
        asm.load(Double, R0, R10, LENGTH);
        asm.alu(Or, R0, R7);
        asm.set(R2, R0);
        asm.compare_exchange(R8, 0, R7);
        asm.jump_if(Eq, R0, R2, *up);
        asm.bind(done);
        self.fetch_next();
        let asm = &mut self.asm;
        asm.set(R0, skb::DROP);
        asm.exit();
        asm.bind(spoilt);
        // As where there is no slot.
        asm.set(R2, 0);
        asm.store(Double, R9, ENABLED, R2);
        asm.exchange(R8, 0, R7);
    }
}
