use super::*;
use crate::device::filter::{JA, JGE};

/// Runs a program as the kernel would, on what follows the Ethernet header of a frame for `port`.
fn run(program: &[Instruction], port: u16) -> u32 {
    let mut data = [0u8; 16];
    data[6..8].copy_from_slice(&port.to_be_bytes());
    let (mut at, mut a) = (0usize, 0u32);
    loop {
        let raw = program[at];
        at += 1;
        let k = raw.k as usize;
        match raw.code {
            LDH_ABS => a = u32::from(u16::from_be_bytes([data[k], data[k + 1]])),
            JA => at += k,
            JGE => at += usize::from(if a >= raw.k { raw.jt } else { raw.jf }),
            RET => return raw.k,
            other => panic!("instruction {other:#x}"),
        }
    }
}

#[test]
fn program__sends_each_port_to_its_place() {
    let place = |port: u16| match port {
        80 => Some(3),
        0x200..=0x21f => Some(1),
        0x220..=0x2ff => Some(9),
        1000..=1002 => Some(7),
        u16::MAX => Some(2),
        _ => None,
    };
    let program = PortMap::new(place).program();
    for port in 0..=u16::MAX {
        if let Some(place) = place(port) {
            assert_eq!(run(&program, port), u32::from(place), "{port}");
        }
    }
}

#[test]
fn program__of_nobody_is_one_the_kernel_takes() {
    let program = PortMap::new(|_| None).program();
    assert_eq!(run(&program, 80), 0);
    assert_eq!(program.last().map(|i| i.code), Some(RET));
}

#[test]
fn program__stays_within_the_kernels_limit() {
    let most = PortMap::new(|p| (p < MAX_STRETCHES as u16).then_some(p));
    assert!(most.program().len() <= 4096, "{}", most.program().len());
    assert!((0..MAX_STRETCHES as u16).all(|p| run(&most.program(), p) == u32::from(p)));
}
