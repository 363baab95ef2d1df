//! One device of an engine, with what it could not take yet.

use std::ops::Range;

use super::tuning::{RECEIVE_BYTES, RECEIVE_FRAMES};
use prp_device::waiting::GatherLimits;
use prp_device::{
    Received, Refusal, RefusalCounts, Sent, TxBacklog, UdpCounters, UdpDevice, Underlay,
};
use prp_proto::addr::LinkAddr;

/// Counters of a device.
#[derive(Copy, Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct DeviceCounters {
    /// Frames lost because the receiving ring was full.
    pub(crate) overruns: u64,
    /// Frames the device could not send.
    pub(crate) send_losses: u64,
    /// Frames larger than the device takes.
    pub(crate) too_big: u64,
    /// Frames that the kernel did not send, for other reasons.
    pub(crate) refused: RefusalCounts,
    /// Frames that took the AF_XDP send path.
    pub(crate) xdp_tx: u64,
    /// Frames that came in by the tcx receive path.
    pub(crate) tcx_rx: u64,
    /// Frames of other VLANs than the device's.
    pub(crate) other_vlan: u64,
    /// What a UDP socket counts besides.
    pub(crate) udp: Option<UdpCounters>,
}

/// Frames to receive under one hold of the lock from a device that takes `mtu` bytes.
fn batch_frames(mtu: u32) -> usize {
    (RECEIVE_BYTES / mtu.max(1) as usize).clamp(1, RECEIVE_FRAMES)
}

/// One device.
#[derive(Debug)]
pub(super) struct DeviceSlot {
    pub(super) io: Box<dyn Underlay>,
    counters: DeviceCounters,
    /// Frames made but not taken: a batch at most.
    stalled: TxBacklog,
    /// How many frames may gather while no thread polls.
    pub(super) gather_limits: GatherLimits,
    /// Frames received under one hold of the lock.
    pub(super) batch_frames: usize,
    /// Whether it is up and has a link, as the kernel said last; none where the kernel says
    /// nothing. `connect` asks, so it is kept here: a system call for each connection costs a fifth
    /// of those that can be made in a second.
    pub(super) usable: Option<bool>,
    /// The kernel's number of the device its socket is on; none while that is not there.
    pub(super) index: Option<u32>,
    /// What the device is called by now, if it is not what it was opened by.
    pub(super) other_name: Option<String>,
}

impl DeviceSlot {
    pub(super) fn new(mut io: Box<dyn Underlay>) -> Self {
        let counters = DeviceCounters::default();
        let capabilities = io.capabilities();
        let gather_limits = GatherLimits::new(&io.peek(), capabilities.window);
        let batch_frames = batch_frames(capabilities.mtu);
        let stalled = TxBacklog::default();
        let index = io.ethernet().and_then(|kernel| kernel.index());
        Self {
            io,
            counters,
            stalled,
            gather_limits,
            batch_frames,
            usable: None,
            index,
            other_name: None,
        }
    }

    /// Whether it holds frames it could not take.
    pub(super) fn is_stalled(&self) -> bool {
        !self.stalled.is_empty()
    }

    pub(super) fn counters(&mut self) -> DeviceCounters {
        self.counters.udp = self.io.udp().map(UdpDevice::counters);
        if let Some(kernel) = self.io.ethernet() {
            self.counters.xdp_tx += kernel.take_xdp_tx();
            self.counters.tcx_rx += kernel.take_tcx_rx();
            self.counters.other_vlan += kernel.take_other_vlan();
        }
        self.counters
    }

    /// Counts what was lost before it was received.
    #[inline]
    pub(super) fn note_received(&mut self, received: Received) {
        self.counters.overruns += u64::from(received.lost);
    }

    /// Sends the frames of `range`, whose recipients and pieces `frame` knows; keeps what the
    /// device does not take. `refused` is told of each that the kernel does not send.
    pub(super) fn send<'a>(
        &mut self,
        range: Range<usize>,
        frame: impl Fn(usize) -> (LinkAddr, [&'a [u8]; 4]) + Copy,
        mut refused: impl FnMut(usize, Refusal),
    ) {
        let mut at = range.start;
        while at < range.end && !self.is_stalled() {
            let sent = if at + 1 == range.end {
                let (to, pieces) = frame(at);
                self.io.send_one(to, pieces)
            } else {
                self.io.send(&mut (at..range.end).map(frame))
            };
            if let Some(refusal) = sent.refused {
                refused(at + sent.done, refusal);
            }
            at += sent.gone();
            self.counters.note(&sent);
            if sent.full {
                break;
            }
            if sent.gone() == 0 {
                return;
            }
        }
        for (to, pieces) in (at..range.end).map(frame) {
            self.stalled.push(to, pieces);
        }
    }

    /// Has what it could not take before go to what `renumber` says is now the address that it is
    /// for, or nowhere.
    pub(super) fn renumber(&mut self, renumber: impl Fn(LinkAddr) -> Option<LinkAddr>) {
        self.counters.send_losses += self.stalled.renumber(renumber) as u64;
    }

    /// Sends what it could not take before, as far as it does now.
    pub(super) fn unstall(&mut self) {
        let Self { stalled, io, counters, .. } = self;
        stalled.flush(io.as_mut(), usize::MAX, |sent, _| counters.note(sent));
    }
}

impl DeviceCounters {
    fn note(&mut self, sent: &Sent) {
        self.send_losses += sent.lost as u64;
        match sent.refused {
            Some(refusal) if refusal.is_too_big() => self.too_big += 1,
            Some(refusal) => {
                self.send_losses += 1;
                self.refused.note(refusal);
            }
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prp_device::LimitedDevice;
    use prp_proto::addr::MacAddr;
    use prp_proto::device::Device;

    #[test]
    fn batch_frames__have_no_more_bytes_than_25_percent_of_a_window() {
        for (mtu, frames) in [(68, 32), (1500, 32), (8972, 14), (65_535, 2), (u32::MAX, 1)] {
            assert_eq!(batch_frames(mtu), frames, "at an MTU of {mtu}");
        }
        assert_eq!(RECEIVE_BYTES, Device::WINDOW / 4);
    }

    #[test]
    fn send__tells_which_frames_the_kernel_refuses_and_sends_the_rest() {
        let device = LimitedDevice::new(10).unwrap();
        let mut slot = DeviceSlot::new(Box::new(device.clone()));
        let frames = [0, 1, LimitedDevice::TOO_BIG, 2, LimitedDevice::REFUSED, 3];
        let frames = frames.map(u16::to_be_bytes);
        let frame = |i: usize| {
            let frame: [&[u8]; 4] = [&frames[i], &[], &[], &[]];
            (MacAddr::ZERO.into(), frame)
        };
        let mut refused = Vec::new();
        slot.send(0..frames.len(), frame, |at, refusal| refused.push((at, refusal)));
        assert_eq!(refused, [(2, Refusal::TOO_BIG), (4, LimitedDevice::REFUSAL)]);
        assert_eq!(device.taken(), [0, 1, 2, 3]);
        assert!(!slot.is_stalled());
    }

    #[test]
    fn send__keeps_in_order_what_the_device_does_not_take() {
        const TOO_BIG: u16 = LimitedDevice::TOO_BIG;
        const REFUSED: u16 = LimitedDevice::REFUSED;
        let mut device = LimitedDevice::new(2).unwrap();
        let mut slot = DeviceSlot::new(Box::new(device.clone()));
        for round in 0..3 {
            let frames = [0, 1, TOO_BIG, 2, REFUSED, 3, 4].map(u16::to_be_bytes);
            let frame = |i: usize| {
                let frame: [&[u8]; 4] = [&frames[i][..1], &[], &frames[i][1..], &[]];
                (MacAddr::ZERO.into(), frame)
            };
            slot.send(0..frames.len(), frame, |at, _| panic!("{at}: there was no room to try it"));
            assert!(slot.is_stalled());
            slot.unstall();
            assert!(slot.is_stalled(), "there is still no room");
            // Expect: room for one frame at a time makes one frame at a time leave.
            for _ in 0..2 {
                device.set_room(1);
                slot.unstall();
                assert!(slot.is_stalled());
            }
            device.set_room(3);
            slot.unstall();
            assert!(!slot.is_stalled());
            assert_eq!(device.taken(), [0, 1, 2, 3, 4].repeat(round + 1));
        }
        let counters = slot.counters();
        assert_eq!((counters.too_big, counters.send_losses), (3, 3));
        assert_eq!(counters.refused.total(), 3);
        let named: Vec<_> = counters.refused.counters().filter(|(_, n)| *n > 0).collect();
        assert_eq!(named, [("refused_eperm", 3)]);
        let received = device.receive(1, &mut |_, _| ()).unwrap();
        slot.note_received(received);
        assert_eq!(slot.counters().overruns, LimitedDevice::OVERRUNS.into());
    }
}
