//! The network header: source and destination node (paper section 2.5).

use super::reader::Reader;
use crate::addr::NodeId;

/// Which node a frame is from and for, whichever station carries it over this link.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct NetworkHeader {
    /// The node that made the frame.
    pub src: NodeId,
    /// The node it is for.
    pub dst: NodeId,
}

impl NetworkHeader {
    /// `None` for a short read or a reserved node number; the caller has checked the length.
    pub(super) fn parse(r: &mut Reader<'_>) -> Option<Self> {
        Some(Self { src: NodeId::new(r.u16()?)?, dst: NodeId::new(r.u16()?)? })
    }

    /// The header as one number, whose first byte is the highest.
    #[inline]
    pub(super) fn bits(&self) -> u32 {
        u32::from(self.src.number()) << 16 | u32::from(self.dst.number())
    }
}
