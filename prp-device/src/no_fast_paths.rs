//! In place of the fast paths, in a build without the feature `fast-paths`: they are closed, and
//! cost nothing.

use std::io;

use prp_proto::addr::{NodeId, Port};

use crate::packet::SocketRing;
use crate::sys::mmsg::PIECES;
use crate::{Framing, Sent, Take};

/// The tcx receive path of one device, which this build has not: all frames come to the socket.
#[derive(Debug)]
pub struct TcxRx;

impl TcxRx {
    #[expect(clippy::unnecessary_wraps, reason = "the one that needs memory may have none")]
    pub(super) const fn new(_: u32, _: u32, _: &Framing, _: usize) -> io::Result<Self> {
        Ok(Self)
    }

    pub(super) const fn rebind(&self, _: u32) {}

    pub(super) const fn set_node(&self, _: NodeId) {}

    /// Does nothing.
    pub fn own(&self, _: impl IntoIterator<Item = Port>, _: bool) {}

    /// Does nothing.
    pub const fn enable(&self, _: bool) {}

    /// No frame waits here.
    pub const fn disable(&self) -> bool {
        false
    }

    /// No frame waits here.
    pub const fn has_frame(&self) -> bool {
        false
    }

    /// No frame waits here.
    pub const fn holds(&self, _: u32) -> bool {
        false
    }

    pub(super) fn receive(
        &self,
        max: usize,
        take: &mut Take<'_>,
        ring: &mut SocketRing<'_>,
    ) -> io::Result<usize> {
        ring(max, take)
    }

    pub(super) const fn take_count(&self) -> u64 {
        0
    }
}

/// The AF_XDP send path of one device, of which this build makes none.
#[derive(Debug)]
pub enum XdpTx {}

impl XdpTx {
    pub(super) const fn new(_: u32, _: u32) -> Option<Self> {
        None
    }

    pub(super) const fn rebind(&self, _: u32) {
        match *self {}
    }

    pub(super) const fn take_count(&self) -> u64 {
        match *self {}
    }

    pub(super) fn send<'a>(
        &self,
        _: &mut impl Iterator<Item = [&'a [u8]; PIECES]>,
    ) -> Option<Sent> {
        match *self {}
    }

    pub(super) const fn note(&self, _: usize) {
        match *self {}
    }
}
