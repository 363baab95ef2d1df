//! The program of a row of packet sockets: which port's frames go to which place.

use libc::sock_filter as Instruction;

use super::filter::{LDH_ABS, RET, fork, op};

/// Stretches of ports a program may tell apart, for whoever makes a map to see to it: three instructions
/// each, of the 4096 the kernel allows.
pub(crate) const MAX_STRETCHES: usize = 1200;

/// Destination port, from behind the Ethernet header: what is before that the program does not see.
const DST_PORT: u32 = 6;

/// Which place in a row has which ports.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct PortMap {
    /// First port of each stretch and the place of all its ports, rising; the first one starts at 0.
    stretches: Vec<(u16, u16)>,
}

impl PortMap {
    /// The map in which `place` gives each port's place. Ports of nobody go wherever is simplest: every
    /// socket's own filter drops what is not for it.
    pub(crate) fn new(place: impl Fn(u16) -> Option<u16>) -> Self {
        let mut stretches: Vec<(u16, u16)> = Vec::new();
        for port in 0..=u16::MAX {
            let Some(place) = place(port) else { continue };
            if stretches.last().is_none_or(|(_, last)| *last != place) {
                stretches.push((port, place));
            }
        }
        match stretches.first_mut() {
            Some(first) => first.0 = 0,
            None => stretches.push((0, 0)),
        }
        Self { stretches }
    }

    /// The program.
    pub(crate) fn program(&self) -> Vec<Instruction> {
        let mut program = vec![op(LDH_ABS, 0, 0, DST_PORT)];
        program.extend(search(&self.stretches));
        program
    }
}

/// A binary search for the port in the accumulator.
fn search(stretches: &[(u16, u16)]) -> Vec<Instruction> {
    match stretches {
        [] => vec![op(RET, 0, 0, 0)],
        [(_, place)] => vec![op(RET, 0, 0, u32::from(*place))],
        _ => {
            let (left, right) = stretches.split_at(stretches.len() / 2);
            fork(right[0].0, search(left), search(right))
        }
    }
}

#[cfg(test)]
mod tests;
