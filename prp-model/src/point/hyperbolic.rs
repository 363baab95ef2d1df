//! The hyperbolic model: two parameters, exact for small and for large messages.

use crate::unit::{Bytes, Seconds, SecondsPerByte};

/// `T(x) = a^2 / (a + b x) + b x`.
///
/// Source: Stoica, Sultan and Keyes, A Simple Hyperbolic Model, equation 3. The tangent at 0 is
/// horizontal with the intercept `a`, the asymptote has the slope `b`. It stands for the packetised
/// model ([`Packet`](super::Packet)), and is the only form here whose blocks can be put together
/// ([`graph`](crate::graph)). In between it lies up to 25 % below `a + b x`.
///
/// ```
/// use prp_model::point::Hyperbolic;
/// use prp_model::unit::{Bytes, Seconds, SecondsPerByte};
///
/// // Figure 5: T(x; 2, 2).
/// let curve = Hyperbolic { fixed: Seconds::new(2.0), byte: SecondsPerByte::new(2.0) };
/// assert_eq!(curve.time(Bytes::new(0.0)), Seconds::new(2.0));
/// assert_eq!(curve.time(Bytes::new(1.0)), Seconds::new(3.0));
/// let large = curve.time(Bytes::new(1e6)).number() / 1e6;
/// assert!((large - 2.0).abs() < 1e-9);
/// ```
#[derive(Copy, Clone, Debug, Default, PartialEq)]
pub struct Hyperbolic {
    /// The time of a small message: a.
    pub fixed: Seconds,
    /// What a byte of a large message costs: b.
    pub byte: SecondsPerByte,
}

impl Hyperbolic {
    /// How long a message of `size` takes.
    #[must_use]
    pub fn time(&self, size: Bytes) -> Seconds {
        Seconds::new(hyperbola(self.fixed.number(), self.byte.number() * size.number()))
    }
}

/// `a^2 / (a + z) + z`, and 0 where both are.
pub(crate) fn hyperbola(a: f64, z: f64) -> f64 {
    if a == 0.0 { z } else { a * (a / (a + z)) + z }
}
