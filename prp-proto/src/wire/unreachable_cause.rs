//! Why a router has no route on: what it says behind a node block of kind unreachable (SPEC
//! PRP-NODE-6).

use alloc::vec::Vec;
use core::fmt;

use super::frame::Frame;
use super::node::{NodeBlock, NodeKind};
use crate::addr::NodeId;

/// Why a router has no route on. Prints as the end of a sentence about it.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum UnreachableCause {
    /// Its prphosts has none.
    #[default]
    NoRoute,
    /// The device of the route is down, or has no link.
    DeviceDown(DeviceName),
    /// The router of this node, which is next, does not answer or has stopped.
    RouterDown(NodeId),
}

/// The name of a network device: the bytes of it that can be printed, 15 at most.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct DeviceName {
    bytes: [u8; Self::MAX_LEN],
    len: usize,
}

impl UnreachableCause {
    /// Its bytes.
    pub fn emit(self) -> Vec<u8> {
        match self {
            Self::NoRoute => [0].into(),
            Self::DeviceDown(name) => [&[1], name.as_str().as_bytes()].concat(),
            Self::RouterDown(node) => [&[2][..], &node.number().to_be_bytes()].concat(),
        }
    }

    /// Reads the bytes behind a block.
    pub fn parse(bytes: &[u8]) -> Self {
        match bytes {
            [1, name @ ..] => Self::DeviceDown(DeviceName::new(name)),
            [2, high, low, ..] => {
                let node = NodeId::new(u16::from_be_bytes([*high, *low]));
                node.map_or(Self::NoRoute, Self::RouterDown)
            }
            _ => Self::NoRoute,
        }
    }

    /// What `frame` says behind `block`, its block; none if that is of another kind.
    pub fn of(frame: &Frame<'_>, block: &NodeBlock) -> Option<Self> {
        let bytes = frame.payload.get(NodeBlock::LEN..).unwrap_or_default();
        (block.kind == NodeKind::Unreachable).then(|| Self::parse(bytes))
    }
}

impl fmt::Display for UnreachableCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRoute => f.write_str("its prphosts has none"),
            Self::DeviceDown(name) => match name.as_str() {
                "" => f.write_str("its device there is down"),
                name => write!(f, "{name} is down"),
            },
            Self::RouterDown(node) => write!(f, "the router of node {node} does not answer"),
        }
    }
}

impl DeviceName {
    const MAX_LEN: usize = 15;

    /// What can be printed of `name`.
    pub fn new(name: impl AsRef<[u8]>) -> Self {
        let mut this = Self::default();
        let printable = name.as_ref().iter().filter(|byte| byte.is_ascii_graphic());
        for (to, from) in this.bytes.iter_mut().zip(printable) {
            *to = *from;
            this.len += 1;
        }
        this
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        // All of it is ASCII.
        self.bytes.get(..self.len).and_then(|name| str::from_utf8(name).ok()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    //= PRP-NODE-6, type=test
    #[test]
    fn parse__what_was_emitted_and_anything() {
        let node = NodeId::new(0x1234).unwrap();
        for unreachable_cause in [
            UnreachableCause::NoRoute,
            UnreachableCause::DeviceDown(DeviceName::new("eth1")),
            UnreachableCause::DeviceDown(DeviceName::default()),
            UnreachableCause::RouterDown(node),
        ] {
            assert_eq!(UnreachableCause::parse(&unreachable_cause.emit()), unreachable_cause);
        }
        assert_eq!(UnreachableCause::RouterDown(node).emit(), [2, 0x12, 0x34]);
        assert_eq!(UnreachableCause::DeviceDown(DeviceName::new("lo")).emit(), *b"\x01lo");
        for bytes in [&[][..], &[2], &[2, 1], &[2, 0, 0], &[3, 1, 1]] {
            assert_eq!(UnreachableCause::parse(bytes), UnreachableCause::NoRoute, "{bytes:?}");
        }
        // Expect: nothing that would move a terminal's cursor, and no more than a name has.
        let forged = UnreachableCause::parse(b"\x01\x1b[2Jbad\xff name of a device that is long");
        assert_eq!(forged.to_string(), "[2Jbadnameofade is down");
    }
}
