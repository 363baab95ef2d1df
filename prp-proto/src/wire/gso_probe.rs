//! Datagrams by which a device finds out whether GSO batches get through to a neighbour (SPEC
//! PRP-UDP-7): some that leave as a GSO batch, and as many that leave alone. The neighbour's device
//! reports which of them have come as they were sent.

use core::fmt;

/// What no packet begins with: the node number 0 twice.
const MARK: [u8; 4] = [0; 4];

/// Kinds of these datagrams, the byte behind the mark.
const PROBE: u8 = 1;
const REPORT: u8 = 2;

/// A datagram of a test, as it has come.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum GsoProbe {
    /// A probe: of a GSO batch with an index below [`Self::MAX_PROBES`], alone with that or a
    /// higher one.
    Probe {
        /// The number of the test.
        test: u32,
        /// Which of the test's probes it is.
        index: u8,
    },
    /// Which probes of a test a neighbour has got, bit I for index I.
    Report {
        /// The number of the test.
        test: u32,
        /// The bits.
        came: u16,
    },
    /// Neither of them, or not as it was sent.
    Malformed,
}

impl GsoProbe {
    /// Probes that leave as a GSO batch, and probes that leave alone, at most.
    pub const MAX_PROBES: usize = 8;
    /// Bytes of a report, and those of a probe before its pattern: mark, kind, index, a field of 16
    /// bits, and the number of the test.
    pub const LEN: usize = 12;
    /// Bytes of the shortest probe.
    pub const SHORTEST_PROBE: usize = 64;

    /// Reads what `datagram` says it is, if it belongs to a test. The pattern of a probe is not
    /// checked: [`Self::read_whole`].
    pub fn read(datagram: &[u8]) -> Option<Self> {
        let rest = datagram.strip_prefix(&MARK)?;
        let Some(&[kind, index, high, low, a, b, c, d]) = rest.first_chunk() else {
            return Some(Self::Malformed);
        };
        let test = u32::from_be_bytes([a, b, c, d]);
        Some(match (kind, [high, low]) {
            (PROBE, [0, 0]) if usize::from(index) < 2 * Self::MAX_PROBES => {
                Self::Probe { test, index }
            }
            (REPORT, came) => Self::Report { test, came: u16::from_be_bytes(came) },
            _ => Self::Malformed,
        })
    }

    /// Reads `datagram`, if it belongs to a test, and compares each byte with what was sent.
    pub fn read_whole(datagram: &[u8]) -> Option<Self> {
        let read = Self::read(datagram)?;
        let is_whole = match read {
            Self::Probe { test, index } => {
                let (len, rest) = (datagram.len(), datagram.iter().skip(Self::LEN).copied());
                len >= Self::SHORTEST_PROBE && rest.eq(pattern(test, index).take(len - Self::LEN))
            }
            Self::Report { .. } => datagram.len() == Self::LEN,
            Self::Malformed => false,
        };
        Some(if is_whole { read } else { Self::Malformed })
    }

    /// Writes probe `index` of `test` over all of `bytes`.
    ///
    /// # Panics
    /// If there is room for less than [`Self::SHORTEST_PROBE`].
    pub fn write_probe(bytes: &mut [u8], test: u32, index: u8) {
        assert!(bytes.len() >= Self::SHORTEST_PROBE, "a probe of {} bytes", bytes.len());
        let (header, rest) = bytes.split_at_mut(Self::LEN);
        header.copy_from_slice(&header_of(PROBE, index, 0, test));
        for (byte, expected) in rest.iter_mut().zip(pattern(test, index)) {
            *byte = expected;
        }
    }

    /// A report on `test`.
    pub const fn report(test: u32, came: u16) -> [u8; Self::LEN] {
        header_of(REPORT, 0, came, test)
    }
}

const fn header_of(kind: u8, index: u8, field: u16, test: u32) -> [u8; GsoProbe::LEN] {
    let ([high, low], [a, b, c, d]) = (field.to_be_bytes(), test.to_be_bytes());
    let [m, n, o, p] = MARK;
    [m, n, o, p, kind, index, high, low, a, b, c, d]
}

/// What a test has in a probe behind the header. The pattern's period is a prime, so that nothing
/// that is moved or swapped matches.
fn pattern(test: u32, index: u8) -> impl Iterator<Item = u8> {
    let first = test.wrapping_mul(31).wrapping_add(u32::from(index) * 17);
    (0..251u32).cycle().map(move |at| first.wrapping_add(at) as u8)
}

impl fmt::Display for GsoProbe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Probe { test, index } if usize::from(*index) < Self::MAX_PROBES => {
                write!(f, "GSO test {test}: probe {index}, of a GSO batch")
            }
            Self::Probe { test, index } => write!(f, "GSO test {test}: probe {index}, alone"),
            Self::Report { test, came } => {
                write!(f, "GSO test {test}: came {:08b} of a GSO batch, ", came & 0xff)?;
                write!(f, "{:08b} alone", came >> Self::MAX_PROBES)
            }
            Self::Malformed => f.write_str("GSO test: malformed"),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn read_whole__any_change_is_seen() {
        let mut bytes = vec![0; 200];
        GsoProbe::write_probe(&mut bytes, 0x0102_0304, 11);
        let whole = Some(GsoProbe::Probe { test: 0x0102_0304, index: 11 });
        assert_eq!(GsoProbe::read_whole(&bytes), whole);
        for at in 0..bytes.len() {
            for bit in 0..8 {
                bytes[at] ^= 1 << bit;
                assert_ne!(GsoProbe::read_whole(&bytes), whole, "bit {bit} of byte {at}");
                bytes[at] ^= 1 << bit;
            }
        }
        for len in 0..GsoProbe::SHORTEST_PROBE {
            assert_ne!(GsoProbe::read_whole(&bytes[..len]), whole);
        }
    }

    #[test]
    fn read_whole__reports_have_their_length() {
        let report = GsoProbe::report(7, 0x8102);
        let expected = Some(GsoProbe::Report { test: 7, came: 0x8102 });
        assert_eq!(GsoProbe::read_whole(&report), expected);
        let longer = [&report[..], &[0]].concat();
        assert_eq!(GsoProbe::read_whole(&longer), Some(GsoProbe::Malformed));
        assert_eq!(GsoProbe::read_whole(&report[..11]), Some(GsoProbe::Malformed));
    }

    #[test]
    fn read__what_it_says_it_is() {
        let mut bytes = [9; 100];
        bytes[..12].copy_from_slice(&[0, 0, 0, 0, 1, 3, 0, 0, 0, 0, 0, 5]);
        assert_eq!(GsoProbe::read(&bytes), Some(GsoProbe::Probe { test: 5, index: 3 }));
        // There are sixteen probes and two kinds.
        bytes[5] = 16;
        assert_eq!(GsoProbe::read(&bytes), Some(GsoProbe::Malformed));
        bytes[4] = 3;
        assert_eq!(GsoProbe::read(&bytes), Some(GsoProbe::Malformed));
        assert_eq!(GsoProbe::read(b"a packet"), None);
    }
}
