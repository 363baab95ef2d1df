//! The packetised model: a fixed cost for each packet, and one for each byte.

use super::Hyperbolic;
use crate::unit::{Bytes, Seconds, SecondsPerByte};

/// `t(x) = a ceil(x / p) + m x`.
///
/// Source: Stoica, Sultan and Keyes, A Simple Hyperbolic Model, equation 1. A message without bytes
/// is a packet too: equation 1 has no value there, and the limit for small messages that follows it
/// is `a`. It holds for a sender that cuts messages into packets one after the other; it does not
/// see packets of one message overtaking each other's fixed costs on different processors.
///
/// ```
/// use prp_model::point::Packet;
/// use prp_model::unit::{Bytes, Seconds, SecondsPerByte};
///
/// // Figure 2: a = 1, m = 0.5, p = 2.
/// let model = Packet {
///     fixed: Seconds::new(1.0),
///     byte: SecondsPerByte::new(0.5),
///     packet: Bytes::new(2.0),
/// };
/// assert_eq!(model.time(Bytes::new(2.0)), Seconds::new(2.0));
/// // One byte more takes one packet more.
/// assert_eq!(model.time(Bytes::new(3.0)), Seconds::new(3.5));
/// // The hyperbola that stands for it: b = a/p + m.
/// let curve = model.hyperbolic();
/// assert_eq!((curve.fixed.number(), curve.byte.number()), (1.0, 1.0));
/// ```
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Packet {
    /// What a packet costs, whatever is in it: a.
    pub fixed: Seconds,
    /// What a byte costs: m.
    pub byte: SecondsPerByte,
    /// The largest packet: p.
    pub packet: Bytes,
}

impl Packet {
    /// How long a message of `size` takes.
    #[must_use]
    pub fn time(&self, size: Bytes) -> Seconds {
        let packets = packets(size.number(), self.packet.number());
        Seconds::new(self.fixed.number() * packets + self.byte.number() * size.number())
    }

    /// The hyperbola with the same limits, equation 3 with b = a/p + m.
    #[must_use]
    pub fn hyperbolic(&self) -> Hyperbolic {
        let byte = self.fixed.number() / self.packet.number() + self.byte.number();
        Hyperbolic { fixed: self.fixed, byte: SecondsPerByte::new(byte) }
    }
}

/// Packets of at most `packet` bytes that `bytes` take; one where there are none.
pub(crate) fn packets(bytes: f64, packet: f64) -> f64 {
    (bytes / packet).ceil().max(1.0)
}
