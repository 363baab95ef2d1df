//! A device that loses and repeats frames as a test commands.

use std::fmt;
use std::io;

use prp_device::{FrameIo, Outgoing, PipeDevice, Received, Sent, WaitHandle};

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

/// One end of a pipe, with a rule for what arrives.
pub(crate) struct FaultyDevice {
    pipe: PipeDevice,
    rule: Option<Rule>,
    /// The node's number is taken for as long as its engine may hold claims in its name.
    _numbers: Numbers,
}

impl FaultyDevice {
    pub(crate) fn new(pipe: PipeDevice, rule: Option<Rule>, numbers: Numbers) -> Self {
        Self { pipe, rule, _numbers: numbers }
    }
}

impl fmt::Debug for FaultyDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FaultyDevice").field("pipe", &self.pipe).finish_non_exhaustive()
    }
}

impl FrameIo for FaultyDevice {
    fn receive(&mut self, max: usize, take: &mut dyn FnMut(&[u8])) -> io::Result<Received> {
        let Some(rule) = &mut self.rule else { return self.pipe.receive(max, take) };
        self.pipe.receive(max, &mut |frame| match rule(frame) {
            FrameAction::Pass => take(frame),
            FrameAction::Drop => {}
            FrameAction::Duplicate => {
                take(frame);
                take(frame);
            }
        })
    }

    fn send(&mut self, frames: Outgoing<'_, '_>) -> Sent {
        self.pipe.send(frames)
    }

    fn wait(&self) -> WaitHandle<'_> {
        self.pipe.wait()
    }

    fn mtu(&self) -> u32 {
        self.pipe.mtu()
    }
}
