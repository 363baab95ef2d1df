//! Liveness blocks: the payload of CTL frames between the control ports of neighbours (SPEC
//! PRP-LIVE-1).

use super::frame::Frame;
use super::reader::Reader;
use super::transport::Flags;
use crate::liveness::LivenessState;

/// A probe (RFC 5880, 4.1).
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct LivenessBlock {
    /// The state of the sender's session.
    pub state: LivenessState,
    /// Intervals of silence after which the sender is to be taken for dead.
    pub multiplier: u8,
    /// No route of the sender to other nodes leads by the receiver: it needs no session itself.
    pub passive: bool,
    /// The sender's number for the session; not 0.
    pub mine: u32,
    /// The receiver's, as far as the sender knows; else 0.
    pub yours: u32,
    /// Microseconds between the sender's probes, at most.
    pub interval_us: u32,
    /// Microseconds between probes it can take, at least.
    pub least_us: u32,
}

impl LivenessBlock {
    /// Bytes of the block.
    pub const LEN: usize = 20;
    const KIND: u8 = 24;

    /// The block's bytes.
    pub fn emit(&self) -> [u8; Self::LEN] {
        let mut out = [0; Self::LEN];
        let flags = u8::from(self.passive);
        out[..4].copy_from_slice(&[Self::KIND, self.state.code(), self.multiplier, flags]);
        let words = [self.mine, self.yours, self.interval_us, self.least_us];
        for (to, word) in out[4..].chunks_exact_mut(4).zip(words) {
            to.copy_from_slice(&word.to_be_bytes());
        }
        out
    }

    /// Reads a block; `None` if it is too short, of another kind or in an unknown state.
    pub fn parse(payload: &[u8]) -> Option<Self> {
        let mut r = Reader::new(payload);
        if r.u8()? != Self::KIND {
            return None;
        }
        let (state, multiplier, flags) = (LivenessState::from_code(r.u8()?)?, r.u8()?, r.u8()?);
        Some(Self {
            state,
            multiplier,
            passive: flags & 1 != 0,
            mine: r.u32()?,
            yours: r.u32()?,
            interval_us: r.u32()?,
            least_us: r.u32()?,
        })
    }

    /// The block `frame` carries, if it is a genuine CTL frame with one that has crossed no router.
    pub fn of(frame: &Frame<'_>) -> Option<Self> {
        let flags = frame.flags();
        (flags.contains(Flags::CTL) && flags.hops() == 0 && frame.is_whole())
            .then(|| Self::parse(frame.payload))?
    }

    /// The number of the probe behind the block `payload`, which a probe that is signed has (SPEC
    /// PRP-LIVE-6).
    pub fn number(payload: &[u8]) -> Option<u64> {
        payload.get(Self::LEN..)?.first_chunk().map(|number| u64::from_be_bytes(*number))
    }
}
