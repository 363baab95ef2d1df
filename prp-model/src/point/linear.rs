//! The linear model: a start-up time, a cost for each byte, a delay for each hop.

use crate::unit::{Bytes, BytesPerSecond, Hops, Seconds, SecondsPerByte};

/// `T(n, h) = alpha + beta n + gamma h`.
///
/// Source: Dongarra and Dunigan, Message-Passing Performance of Various Computers, "Programming
/// Model". It holds for one message at a time between two processes. `alpha` may differ a little
/// from the time of a message without bytes, and a curve with steps or a rendezvous has no one
/// `beta`.
///
/// ```
/// use prp_model::point::Linear;
/// use prp_model::unit::{Bytes, Hops, Seconds, SecondsPerByte};
///
/// // 50 us to begin with, 10 ns a byte (100 MB/s), 5 us a router.
/// let model = Linear {
///     alpha: Seconds::from_micros(50.0),
///     beta: SecondsPerByte::new(10e-9),
///     gamma: Seconds::from_micros(5.0),
/// };
/// let time = model.time(Bytes::new(1000.0), Hops::new(2.0));
/// assert!((time.micros() - 70.0).abs() < 1e-9);
/// // Half of the bandwidth is reached where the bytes take as long as the start.
/// assert!((model.half_bandwidth_size().number() - 5000.0).abs() < 1e-6);
/// assert!((model.bandwidth().number() - 100e6).abs() < 1.0);
/// ```
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Linear {
    /// Start-up time.
    pub alpha: Seconds,
    /// What a byte costs.
    pub beta: SecondsPerByte,
    /// What a router on the path adds.
    pub gamma: Seconds,
}

impl Linear {
    /// How long a message of `size` takes over `hops` routers.
    #[must_use]
    pub fn time(&self, size: Bytes, hops: Hops) -> Seconds {
        let bytes = self.beta.number() * size.number();
        Seconds::new(self.alpha.number() + bytes + self.gamma.number() * hops.number())
    }

    /// The size at which a message has half of the asymptotic bandwidth, n1/2 = alpha / beta,
    /// without routers on the path.
    #[must_use]
    pub fn half_bandwidth_size(&self) -> Bytes {
        Bytes::new(self.alpha.number() / self.beta.number())
    }

    /// The asymptotic bandwidth, 1 / beta.
    #[must_use]
    pub fn bandwidth(&self) -> BytesPerSecond {
        self.beta.bandwidth()
    }
}
