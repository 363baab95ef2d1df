//! The Ethernet II header.

use super::ETHERNET_LEN;
use super::reader::Reader;
use crate::addr::{LinkAddr, MacAddr};

/// Destination, source and type of a frame.
#[derive(Copy, Clone, Eq, PartialEq, Debug)]
pub struct EthernetHeader {
    /// Whom the frame is for.
    pub dst: MacAddr,
    /// The station that sent it over this link.
    pub src: MacAddr,
    /// What it carries.
    pub ethertype: u16,
}

impl EthernetHeader {
    /// The header of frames from `own` to `to`; none unless both are on Ethernet.
    #[inline]
    pub const fn between(own: LinkAddr, to: LinkAddr, ethertype: u16) -> Option<Self> {
        match (own.mac(), to.mac()) {
            (Some(src), Some(dst)) => Some(Self { dst, src, ethertype }),
            _ => None,
        }
    }

    pub(super) fn parse(r: &mut Reader<'_>) -> Option<Self> {
        Some(Self {
            dst: MacAddr(r.take_array()?),
            src: MacAddr(r.take_array()?),
            ethertype: r.u16()?,
        })
    }

    pub(super) fn emit(&self, out: &mut [u8; ETHERNET_LEN]) {
        out[..6].copy_from_slice(&self.dst.0);
        out[6..12].copy_from_slice(&self.src.0);
        out[12..].copy_from_slice(&self.ethertype.to_be_bytes());
    }
}

/// Returns the address of the station that sent `frame`, as a driver on Ethernet gives it to
/// [`Endpoint::handle_packet`](crate::endpoint::Endpoint::handle_packet); zeros if the frame ends
/// before it.
#[inline]
pub fn ethernet_source(frame: &[u8]) -> LinkAddr {
    let src = frame.get(6..12).and_then(<[u8]>::first_chunk);
    LinkAddr::Ethernet(src.map_or(MacAddr::ZERO, |src| MacAddr(*src)))
}
