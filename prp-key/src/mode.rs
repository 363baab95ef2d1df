//! How much a cluster asks of its frames.

use core::fmt::{self, Display, Formatter};
use core::str::FromStr;

/// The protection of frames, in order of strength (SPEC PRP-KEY-1).
#[derive(Copy, Clone, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Mode {
    /// No key: frames are as any station can make them.
    #[default]
    Off,
    /// Frames are authenticated, and their payload can be read.
    Sign,
    /// Frames are authenticated, and their payload is encrypted.
    Seal,
}

impl Mode {
    /// Its number on the wire.
    pub(crate) const fn wire(self) -> u8 {
        match self {
            Self::Off => 0,
            Self::Sign => 1,
            Self::Seal => 2,
        }
    }

    /// The mode with the number `wire`.
    pub(crate) const fn from_wire(wire: u8) -> Option<Self> {
        match wire {
            0 => Some(Self::Off),
            1 => Some(Self::Sign),
            2 => Some(Self::Seal),
            _ => None,
        }
    }
}

impl Display for Mode {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Off => "off",
            Self::Sign => "sign",
            Self::Seal => "seal",
        })
    }
}

impl FromStr for Mode {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "off" => Ok(Self::Off),
            "sign" => Ok(Self::Sign),
            "seal" => Ok(Self::Seal),
            _ => Err("expected off, sign or seal"),
        }
    }
}
