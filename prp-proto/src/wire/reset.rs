//! The payload of a RST frame (SPEC PRP-RST-1).

use core::fmt;

use super::control::Control;
use super::crc::CrcKey;
use super::frame::Frame;
use super::options::Offer;
use super::reader::Reader;
use super::transport::Flags;

/// Why a connection was refused or ended by the other side. Unknown codes are kept.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Hash)]
pub enum ResetReason {
    /// No process listens on the port.
    Refused,
    /// The other end gave up the connection.
    Aborted,
    /// The other end knows no such connection.
    NoConnection,
    /// The other end saw a gap and does not recover losses.
    Gap,
    /// The two ends share no reliability policy.
    NoCommonPolicy,
    /// The other end has waited too long for us.
    TimedOut,
    /// A code this version does not know.
    Unknown(u16),
}

impl ResetReason {
    const fn code(self) -> u16 {
        match self {
            Self::Refused => 1,
            Self::Aborted => 2,
            Self::NoConnection => 3,
            Self::Gap => 4,
            Self::NoCommonPolicy => 5,
            Self::TimedOut => 6,
            Self::Unknown(code) => code,
        }
    }

    const fn from_code(code: u16) -> Self {
        match code {
            1 => Self::Refused,
            2 => Self::Aborted,
            3 => Self::NoConnection,
            4 => Self::Gap,
            5 => Self::NoCommonPolicy,
            6 => Self::TimedOut,
            other => Self::Unknown(other),
        }
    }
}

impl fmt::Display for ResetReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused => f.write_str("no process listens on the port"),
            Self::Aborted => f.write_str("the other end gave the connection up"),
            Self::NoConnection => f.write_str("the other end knows no such connection"),
            Self::Gap => f.write_str("the other end lost a segment and does not recover losses"),
            Self::NoCommonPolicy => f.write_str("no reliability policy in common"),
            Self::TimedOut => f.write_str("the other end waited too long"),
            Self::Unknown(code) => write!(f, "reset with unknown reason {code}"),
        }
    }
}

/// A RST's payload: the reason, and the connection ids that make it credible.
#[derive(Copy, Clone, Eq, PartialEq, Debug, Hash)]
pub struct ResetBlock {
    /// Why.
    pub reason: ResetReason,
    /// Id of the end that receives the RST; 0 if its sender never learnt it.
    pub receiver: u32,
    /// Id of the end that sent the RST; 0 if it has none.
    pub sender: u32,
}

impl ResetBlock {
    /// Bytes of the block.
    pub const LEN: usize = 12;

    /// What `frame` is answered where no connection has its ends, by the node's process that
    /// answers for its port: a request, a grant, or a probe, whose sender waits for an answer and
    /// has named itself (SPEC PRP-RST-2, PRP-CONN-8, PRP-CTL-3). Nothing else is, and of those no
    /// frame of a classic peer, which knows no resets.
    pub fn owed_to(frame: &Frame<'_>) -> Option<Self> {
        let flags = frame.flags();
        let (reason, receiver, sender) = if flags.contains(Flags::RST) {
            return None;
        } else if flags.intersects(Flags::CREQ | Flags::CACK) {
            let offer = Offer::parse(frame.payload).ok().filter(|_| frame.crc_ok(CrcKey::NONE))?;
            let asks = flags.contains(Flags::CREQ);
            let reason = if asks { ResetReason::Refused } else { ResetReason::NoConnection };
            (reason, offer.id, offer.echo)
        } else if flags.contains(Flags::CTL)
            && let Some(Control::Probe { to, from, .. }) = Control::parse(frame.payload)
        {
            (ResetReason::NoConnection, from, to)
        } else {
            return None;
        };
        Some(Self { reason, receiver, sender })
    }

    /// The block's bytes.
    pub fn emit(&self) -> [u8; Self::LEN] {
        let mut out = [0; Self::LEN];
        out[..2].copy_from_slice(&self.reason.code().to_be_bytes());
        out[4..8].copy_from_slice(&self.receiver.to_be_bytes());
        out[8..].copy_from_slice(&self.sender.to_be_bytes());
        out
    }

    /// Reads a block; `None` if it is too short.
    pub fn parse(payload: &[u8]) -> Option<Self> {
        let mut r = Reader::new(payload);
        let reason = ResetReason::from_code(r.u16()?);
        let _reserved = r.u16()?;
        Some(Self { reason, receiver: r.u32()?, sender: r.u32()? })
    }
}
