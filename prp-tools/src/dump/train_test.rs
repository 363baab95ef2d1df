//! Messages by which two devices find out whether trains get through (SPEC PRP-UDP-7).

use std::fmt;

/// What no packet begins with: the node number 0 twice.
const MARK: [u8; 4] = [0; 4];

/// Kinds of messages, the byte behind the mark.
const PROBE: u8 = 1;
const REPORT: u8 = 2;

/// A probe with this index or a higher one left alone.
const ALONE: u8 = 8;

/// One of these messages.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) enum TrainTest {
    /// A datagram of a test.
    Probe { test: u32, index: u8 },
    /// Which probes of a test have come, a bit each.
    Report { test: u32, came: u16 },
    /// Neither of them.
    Unknown,
}

impl TrainTest {
    /// Bytes that say which it is.
    pub(super) const LEN: usize = 12;

    /// Reads a datagram if it is one of these.
    pub(super) fn read(datagram: &[u8]) -> Option<Self> {
        let rest = datagram.strip_prefix(&MARK)?;
        let Some(&[kind, index, high, low, a, b, c, d]) = rest.first_chunk() else {
            return Some(Self::Unknown);
        };
        let test = u32::from_be_bytes([a, b, c, d]);
        Some(match kind {
            PROBE => Self::Probe { test, index },
            REPORT => Self::Report { test, came: u16::from_be_bytes([high, low]) },
            _ => Self::Unknown,
        })
    }
}

impl fmt::Display for TrainTest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Probe { test, index } if *index < ALONE => {
                write!(f, "train test {test}: probe {index}, of a train")
            }
            Self::Probe { test, index } => write!(f, "train test {test}: probe {index}, alone"),
            Self::Report { test, came } => {
                write!(f, "train test {test}: came {:08b} of a train, ", came & 0xff)?;
                write!(f, "{:08b} alone", came >> ALONE)
            }
            Self::Unknown => f.write_str("train test: malformed"),
        }
    }
}
