//! The kernel's filter for this process: frames for this machine, its node and its ports, so that
//! frames for other processes cost nothing here. It takes 5 % of the time of each frame
//! (docs/experiments/streams.md). So without frames for others there is no filter, and the ring
//! reads from the kernel which machine a frame is for (`sys/ring`).

use libc::sock_filter as Instruction;
use prp_proto::addr::{NodeId, Port};
use prp_proto::wire::{Control, Flags};

/// Ranges a filter may have; more are merged. The kernel makes eight instructions of eight bytes of
/// each, and has the filter of before until the next one is in its place: together they take less
/// than the 20,480 bytes of net.core.optmem_max before Linux 6.8.
const MAX_RANGES: usize = 140;

/// Frames a process wants.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct PortFilter {
    node: NodeId,
    /// Also what is answered for ports that no process may own.
    steward: bool,
    /// Inclusive ranges, rising and apart.
    ranges: Vec<(u16, u16)>,
    /// None of that: everything for this machine passes.
    open: bool,
}

/// Where a program finds where the kernel says a frame goes: to this machine (`PACKET_HOST`), or
/// not.
///
/// Not, by the device's present address, are frames for other stations, for several, and those that
/// this machine sent itself. So are frames of a VLAN that no device here is for: the kernel takes
/// their tag off before a socket of one EtherType gets them, and this is all that is left of it
/// (`framing` has the sockets of VLANs).
/// Frames with a tag of VLAN 0, which is a priority and no VLAN, are for this machine (SPEC
/// PRP-FRAME-1).
const PACKET_TYPE: u32 = (libc::SKF_AD_OFF + libc::SKF_AD_PKTTYPE).cast_unsigned();

// Offsets from the start of the Ethernet header.
const DST_NODE: u32 = 16;
const DST_PORT: u32 = 20;
const FLAGS_LOW: u32 = 29;
const BLOCK_KIND: u32 = 30;

// Classic BPF, from linux/bpf_common.h.
pub(super) const LDH_ABS: u16 = 0x28;
pub(super) const LDB_ABS: u16 = 0x30;
pub(super) const JA: u16 = 0x05;
pub(super) const JEQ: u16 = 0x15;
const JGT: u16 = 0x25;
pub(super) const JGE: u16 = 0x35;
const JSET: u16 = 0x45;
pub(super) const RET: u16 = 0x06;
const ACCEPT: u32 = u32::MAX;
pub(super) const DROP: u32 = 0;

pub(super) fn op(code: u16, jt: u8, jf: u8, k: u32) -> Instruction {
    Instruction { code, jt, jf, k }
}

impl PortFilter {
    /// A filter for `ports` of `node`, and no other: a frame too many wakes a thread of a process
    /// that it is not for.
    pub fn new(node: NodeId, steward: bool, ports: impl Iterator<Item = Port>) -> Self {
        let mut ports: Vec<u16> = ports.map(Port::number).collect();
        ports.sort_unstable();
        let mut ranges: Vec<(u16, u16)> = Vec::new();
        for port in ports {
            match ranges.last_mut() {
                Some(last) if last.1.saturating_add(1) >= port => last.1 = port,
                _ => ranges.push((port, port)),
            }
        }
        while ranges.len() > MAX_RANGES {
            merge_nearest(&mut ranges);
        }
        Self { node, steward, ranges, open: false }
    }

    /// One that everything for this machine passes, for a process that has the frames to itself.
    /// What is for others it gets to see, and drops.
    pub fn open(node: NodeId, steward: bool) -> Self {
        Self { node, steward, ranges: Vec::new(), open: true }
    }

    /// Returns one that passes more, for a kernel that has no memory for this one: of half as many
    /// ranges, or in the end everything.
    #[must_use]
    pub fn widened(mut self) -> Self {
        let most = self.ranges.len() / 2;
        if most == 0 {
            return Self::open(self.node, self.steward);
        }
        while self.ranges.len() > most {
            merge_nearest(&mut self.ranges);
        }
        self
    }

    /// Whose frames it passes.
    pub const fn node(&self) -> NodeId {
        self.node
    }

    /// Whether everything for this machine passes.
    pub const fn is_open(&self) -> bool {
        self.open
    }

    /// Whether frames for `port` pass.
    pub fn passes(&self, port: Port) -> bool {
        if self.open {
            return true;
        }
        let port = port.number();
        let at = self.ranges.partition_point(|(_, last)| *last < port);
        self.ranges.get(at).is_some_and(|(first, _)| *first <= port)
    }

    /// Whether it is the steward's.
    pub const fn is_steward(&self) -> bool {
        self.steward
    }

    /// The program.
    pub fn program(&self) -> Vec<Instruction> {
        let mut program = Vec::from(for_this_machine());
        if self.open {
            program.push(op(RET, 0, 0, ACCEPT));
            return program;
        }
        program.extend([
            op(LDH_ABS, 0, 0, DST_NODE),
            op(JEQ, 1, 0, u32::from(self.node.number())),
            op(RET, 0, 0, DROP),
        ]);
        if self.steward {
            program.extend(questions());
        }
        program.push(op(LDH_ABS, 0, 0, DST_PORT));
        program.extend(search(&self.ranges));
        program
    }
}

/// Frames a router wants: those for other nodes, and of its own node's those for the control port.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct RouterFilter {
    /// The router's own node.
    pub node: NodeId,
    /// Also what is answered for ports of its node that no process may own.
    pub steward: bool,
}

impl RouterFilter {
    /// The program.
    pub fn program(&self) -> Vec<Instruction> {
        let mut program = Vec::from(for_this_machine());
        program.extend([
            op(LDH_ABS, 0, 0, DST_NODE),
            op(JEQ, 1, 0, u32::from(self.node.number())),
            op(RET, 0, 0, ACCEPT),
            op(LDH_ABS, 0, 0, DST_PORT),
            op(JEQ, 0, 1, u32::from(Port::CONTROL.number())),
            op(RET, 0, 0, ACCEPT),
        ]);
        if self.steward {
            program.extend(questions());
        }
        program.push(op(RET, 0, 0, DROP));
        program
    }
}

/// Drops what the kernel does not take for this machine's, and goes on with the rest.
fn for_this_machine() -> [Instruction; 3] {
    let host = u32::from(libc::PACKET_HOST);
    [op(LDB_ABS, 0, 0, PACKET_TYPE), op(JEQ, 1, 0, host), op(RET, 0, 0, DROP)]
}

/// Passes requests, grants and probes, whose senders wait for an answer whichever process owns
/// their port, and goes on with the rest: acknowledgements, which are as many as segments, are told
/// from probes by the first byte of their block.
fn questions() -> [Instruction; 6] {
    let handshake = (Flags::CREQ | Flags::CACK).bits();
    [
        op(LDB_ABS, 0, 0, FLAGS_LOW),
        op(JSET, 3, 0, handshake),
        op(JSET, 0, 3, Flags::CTL.bits()),
        op(LDB_ABS, 0, 0, BLOCK_KIND),
        op(JEQ, 0, 1, u32::from(Control::PROBE)),
        op(RET, 0, 0, ACCEPT),
    ]
}

/// A program that passes nothing: for a socket that is not ready yet.
pub(super) fn nothing() -> [Instruction; 1] {
    [op(RET, 0, 0, DROP)]
}

/// A program that passes every frame.
#[cfg(feature = "raw")]
pub(super) fn everything() -> Vec<Instruction> {
    vec![op(RET, 0, 0, ACCEPT)]
}

/// A binary search for the port in the accumulator.
fn search(ranges: &[(u16, u16)]) -> Vec<Instruction> {
    match ranges {
        [] => vec![op(RET, 0, 0, DROP)],
        [(lo, hi)] => vec![
            op(JGE, 0, 1, u32::from(*lo)),
            op(JGT, 0, 1, u32::from(*hi)),
            op(RET, 0, 0, DROP),
            op(RET, 0, 0, ACCEPT),
        ],
        _ => {
            let (left, right) = ranges.split_at(ranges.len() / 2);
            fork(right[0].0, search(left), search(right))
        }
    }
}

/// Goes on with `low` if the accumulator is less than `at`, else with `high`.
pub(super) fn fork(at: u16, low: Vec<Instruction>, high: Vec<Instruction>) -> Vec<Instruction> {
    // Conditional jumps reach 255 instructions; the unconditional one reaches any number.
    let mut program = vec![op(JGE, 0, 1, u32::from(at)), op(JA, 0, 0, low.len() as u32)];
    program.extend(low);
    program.extend(high);
    program
}

/// Passes the ports between the two ranges that are closest to each other as well.
fn merge_nearest(ranges: &mut Vec<(u16, u16)>) {
    let nearest = (1..ranges.len()).min_by_key(|i| ranges[*i].0 - ranges[*i - 1].1);
    if let Some(at) = nearest {
        ranges[at - 1].1 = ranges[at].1;
        ranges.remove(at);
    }
}

#[cfg(test)]
mod tests;
