//! A device that loses and repeats frames as a test commands.

use std::fmt;
use std::io;
use std::os::fd::BorrowedFd;

use prp_device::{Packets, Peek, Received, Sent, Take, Underlay};
use prp_proto::device::{Capabilities, PacketRun};

use super::Numbers;

/// What the device does with a frame.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum FrameAction {
    /// Delivers it.
    Pass,
    /// Loses it.
    Drop,
    /// Delivers it twice.
    Duplicate,
}

/// A decision about every frame that arrives.
pub type Rule = Box<dyn FnMut(&[u8]) -> FrameAction + Send>;

/// A device with a rule for what arrives.
pub(crate) struct FaultyDevice {
    inner: Box<dyn Underlay>,
    rule: Option<Rule>,
    /// The node's number is taken for as long as its engine may hold claims in its name.
    _numbers: Numbers,
}

impl FaultyDevice {
    pub(crate) fn new(
        inner: impl Underlay + 'static,
        rule: Option<Rule>,
        numbers: Numbers,
    ) -> Self {
        Self { inner: Box::new(inner), rule, _numbers: numbers }
    }
}

impl fmt::Debug for FaultyDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultyDevice").field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl Underlay for FaultyDevice {
    fn receive(&mut self, max: usize, take: &mut Take<'_>) -> io::Result<Received> {
        let Some(rule) = &mut self.rule else { return self.inner.receive(max, take) };
        self.inner.receive_packets(max, &mut |from, frame| match rule(frame) {
            FrameAction::Pass => take(from, PacketRun::single(frame)),
            FrameAction::Drop => {}
            FrameAction::Duplicate => {
                take(from, PacketRun::single(frame));
                take(from, PacketRun::single(frame));
            }
        })
    }

    fn send(&mut self, packets: &mut Packets<'_, '_>) -> Sent {
        self.inner.send(packets)
    }

    fn fd(&self, place: usize) -> Option<BorrowedFd<'_>> {
        self.inner.fd(place)
    }

    fn full(&self) -> usize {
        self.inner.full()
    }

    fn peek(&self) -> Peek {
        self.inner.peek()
    }

    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }
}
