//! PRP's own model: a smallest frame makes two straight pieces of the line.

use crate::unit::{Bytes, BytesPerSecond, Seconds, SecondsPerByte};

/// `T(N) = a + max(N, N_min) / B_N + N / B_CPU`, equations 1 and 2 of the paper in one.
///
/// The network sends a frame of the smallest size for any message up to `N_min`, the processor
/// touches the bytes there are: up to `N_min` it is `L + N/B0`, from there on `L' + N/B1`, with
/// `L = a + N_min/B_N`, `B0 = B_CPU`, `L' = a` and `1/B1 = 1/B_N + 1/B_CPU`. The pieces meet at
/// `N_min`.
///
/// Source: Marenzoni et al., An Operating System Support to Low-Overhead Communications in NOW
/// Clusters, section 4. It holds for a message in one frame, up to `N_max` of 1,484 bytes there;
/// beyond that the bandwidth is an effective one.
///
/// ```
/// use prp_model::point::TwoPiece;
/// use prp_model::unit::{Bytes, BytesPerSecond, Seconds};
///
/// // Table 1: 74 us and 6.6 MB/s. The network is Fast Ethernet with 12.5 MB/s, frames carry 34 bytes
/// // or more.
/// let network = BytesPerSecond::from_megabytes(12.5).byte_cost();
/// let both = BytesPerSecond::from_megabytes(6.6).byte_cost();
/// let n_min = Bytes::new(34.0);
/// let constant = Seconds::new(74e-6 - n_min.number() * network.number());
/// let processor = prp_model::unit::SecondsPerByte::new(both.number() - network.number());
/// let prp = TwoPiece { constant, network, processor, n_min };
/// assert!((prp.latency().micros() - 74.0).abs() < 1e-9);
/// assert!((prp.bandwidth().number() - 6.6e6).abs() < 1e-3);
/// assert!((prp.time(Bytes::new(0.0)).micros() - 74.0).abs() < 1e-9);
/// // From the smallest frame on a byte costs the network too.
/// assert!((prp.time(Bytes::new(1484.0)).micros() - 296.13).abs() < 0.01);
/// ```
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct TwoPiece {
    /// The constant overhead, a = L'.
    pub constant: Seconds,
    /// What a byte costs the network, 1/B_N.
    pub network: SecondsPerByte,
    /// What a byte costs the processors, 1/B_CPU = 1/B0.
    pub processor: SecondsPerByte,
    /// The size that fills the smallest frame.
    pub n_min: Bytes,
}

impl TwoPiece {
    /// How long a message of `size` takes.
    #[must_use]
    pub fn time(&self, size: Bytes) -> Seconds {
        let padded = size.number().max(self.n_min.number());
        let network = self.network.number() * padded;
        Seconds::new(self.constant.number() + network + self.processor.number() * size.number())
    }

    /// L: the time of a message without bytes.
    #[must_use]
    pub fn latency(&self) -> Seconds {
        self.time(Bytes::new(0.0))
    }

    /// B0: the bandwidth below the smallest frame.
    #[must_use]
    pub fn small_bandwidth(&self) -> BytesPerSecond {
        self.processor.bandwidth()
    }

    /// B1: the bandwidth above the smallest frame.
    #[must_use]
    pub fn bandwidth(&self) -> BytesPerSecond {
        SecondsPerByte::new(self.network.number() + self.processor.number()).bandwidth()
    }
}
