use prp_proto::addr::{NodeId, Port};

use super::*;

/// Runs a program as the kernel would, on a frame for this machine with these fields.
fn passes(program: &[Instruction], node: u16, port: u16, flags: u8) -> bool {
    passes_as(libc::PACKET_HOST, program, node, port, [flags, 0])
}

/// Runs a program on a frame for this machine that is a control block of this kind.
fn passes_block(program: &[Instruction], node: u16, port: u16, kind: u8) -> bool {
    let flags = (Flags::CTL | Flags::ACK).bits() as u8;
    passes_as(libc::PACKET_HOST, program, node, port, [flags, kind])
}

/// Runs a program on a frame that the kernel takes for this type of packet.
fn passes_as(
    kind: u8,
    program: &[Instruction],
    node: u16,
    port: u16,
    flags_and_block: [u8; 2],
) -> bool {
    let mut frame = [0u8; 60];
    frame[16..18].copy_from_slice(&node.to_be_bytes());
    frame[20..22].copy_from_slice(&port.to_be_bytes());
    frame[29..31].copy_from_slice(&flags_and_block);
    let (mut at, mut a) = (0usize, 0u32);
    loop {
        let raw = program[at];
        at += 1;
        let k = raw.k;
        let taken = match raw.code {
            LDH_ABS => {
                let i = k as usize;
                a = u32::from(u16::from_be_bytes([frame[i], frame[i + 1]]));
                continue;
            }
            LDB_ABS if k == PACKET_TYPE => {
                a = u32::from(kind);
                continue;
            }
            LDB_ABS => {
                a = u32::from(frame[k as usize]);
                continue;
            }
            JA => {
                at += k as usize;
                continue;
            }
            RET => return k != DROP,
            JEQ => a == k,
            JGT => a > k,
            JGE => a >= k,
            JSET => a & k != 0,
            other => panic!("instruction {other:#x}"),
        };
        at += usize::from(if taken { raw.jt } else { raw.jf });
    }
}

const CREQ: u8 = Flags::CREQ.bits() as u8;
const CACK: u8 = Flags::CACK.bits() as u8;

fn node(n: u16) -> NodeId {
    NodeId::new(n).unwrap()
}

fn filter(steward: bool, ports: impl IntoIterator<Item = u16>) -> PortFilter {
    PortFilter::new(node(7), steward, ports.into_iter().map(Port::new))
}

#[test]
fn program__passes_our_node_and_our_ports_alone() {
    let ours = [80, 81, 81, 500, 0, 65534, 65535];
    let f = filter(false, ours);
    let program = f.program();
    for port in 0..=u16::MAX {
        let is_ours = ours.contains(&port);
        assert_eq!(passes(&program, 7, port, 0), is_ours, "{port}");
        assert_eq!(f.passes(Port::new(port)), is_ours, "{port}");
    }
    assert!(!passes(&program, 8, 80, 0));
    assert!(!passes(&program, 7, 9, CREQ));
}

#[test]
fn program__without_ports_passes_nothing() {
    let program = filter(false, []).program();
    assert!((0..=u16::MAX).all(|port| !passes(&program, 7, port, 0)));
}

#[test]
fn program__of_the_steward_passes_what_is_answered_for_any_port() {
    for (program, own) in [
        (filter(true, [80]).program(), 80),
        (RouterFilter { node: node(7), steward: true }.program(), 0),
    ] {
        assert!(passes(&program, 7, 9, CREQ));
        assert!(passes(&program, 7, 9, CACK | 0x10));
        assert!(passes_block(&program, 7, 9, Control::PROBE));
        // Data, resets, acknowledgements, size probes.
        assert!([0, 0x10, 0x14, 0x90, 0x40].iter().all(|flags| !passes(&program, 7, 9, *flags)));
        assert!([0, 1, 3, 4, 16, 24].iter().all(|kind| !passes_block(&program, 7, 9, *kind)));
        assert!((0..5).all(|kind| passes_block(&program, 7, own, kind)));
    }
    let program = filter(true, [80]).program();
    assert!(!passes(&program, 8, 9, CREQ) && !passes_block(&program, 8, 9, Control::PROBE));
    let program = filter(false, [80]).program();
    assert!(!passes(&program, 7, 9, CACK) && !passes_block(&program, 7, 9, Control::PROBE));
}

/// However scattered the ports are, the kernel has memory for the program beside the one of before,
/// and it passes them all.
#[test]
fn program__stays_within_the_kernels_limit() {
    /// net.core.optmem_max before Linux 6.8.
    const MEMORY: usize = 20_480;
    /// What the kernel adds: its own head, and what it makes of a read of the frame.
    const HEAD: usize = 512;
    let ports: Vec<u16> = (0..2000).map(|i| i * 32 + 5).collect();
    let f = filter(true, ports.clone());
    let program = f.program();
    // What the kernel makes of each: a verdict is a value and an exit, the type of the packet takes
    // a mask and a shift.
    let made = |instruction: &Instruction| match instruction.code {
        RET => 2,
        LDB_ABS if instruction.k == PACKET_TYPE => 3,
        _ => 1,
    };
    let bytes = HEAD + 8 * program.iter().map(made).sum::<usize>();
    assert!(2 * bytes < MEMORY, "{bytes}");
    assert!(ports.iter().all(|p| passes(&program, 7, *p, 0)));
}

#[test]
fn widened__passes_all_that_passed_and_in_the_end_everything() {
    let ports = [80, 81, 500, 600, 9000];
    let mut f = filter(true, ports);
    for ranges in [4, 2, 1] {
        assert_eq!(f.ranges.len(), ranges);
        assert!(ports.iter().all(|port| f.passes(Port::new(*port))));
        assert!(!f.is_open() && f.is_steward() && !f.passes(Port::new(9001)));
        f = f.widened();
    }
    assert!(f.is_open() && f.is_steward());
    assert!(filter(false, []).widened().is_open());
}

#[test]
fn program__of_a_router_passes_other_nodes_and_the_control_port() {
    for steward in [false, true] {
        let program = RouterFilter { node: node(7), steward }.program();
        for port in [0, 1, 80, 65535] {
            assert!(passes(&program, 8, port, 0));
            assert!(passes(&program, 8, port, CREQ));
            assert_eq!(passes(&program, 7, port, 0), port == 0, "{port}");
            assert_eq!(passes(&program, 7, port, CREQ), port == 0 || steward, "{port}");
        }
    }
}

#[test]
fn open__everything_passes() {
    let filter = PortFilter::open(node(7), true);
    assert!(filter.is_open() && filter.is_steward());
    assert!([1, 80, u16::MAX].iter().all(|port| filter.passes(Port::new(*port))));
    assert!(!PortFilter::new(node(7), true, [Port::new(80)].into_iter()).is_open());
    assert!((0..=u16::MAX).all(|port| passes(&filter.program(), port, port, 0)));
}

/// For other stations, or of another VLAN.
#[test]
fn program__passes_only_what_is_for_this_machine() {
    let router = |steward| RouterFilter { node: node(7), steward }.program();
    let programs = [
        filter(false, [80]).program(),
        filter(true, [80]).program(),
        PortFilter::open(node(7), true).program(),
        router(false),
        router(true),
    ];
    let others = [
        libc::PACKET_BROADCAST,
        libc::PACKET_MULTICAST,
        libc::PACKET_OTHERHOST,
        libc::PACKET_OUTGOING,
    ];
    for program in &programs {
        for (to, port) in [(7, 80), (8, 80), (7, 0)] {
            for kind in others {
                assert!(!passes_as(kind, program, to, port, [CREQ, 0]), "{kind}");
            }
        }
        assert!([(7, 80), (8, 80)].iter().any(|(to, port)| passes(program, *to, *port, CREQ)));
    }
}
