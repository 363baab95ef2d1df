//! LogP and LogGP: latency, overhead, gap, and the gap of a byte.

use crate::unit::{Bytes, Seconds, SecondsPerByte};

/// LogP: messages of one small size.
///
/// Source: Culler et al. 1993, as Stoica, Sultan and Keyes use it in section 6. `L` bounds the time
/// on the path, `o` is a processor's time for sending or receiving a message, `g` the least time
/// between two messages of one processor. It says nothing of sizes: for those it needs as many
/// messages as there are units of data, or [`LogGp`].
///
/// ```
/// use prp_model::point::LogP;
/// use prp_model::unit::Seconds;
///
/// let micros = Seconds::from_micros;
/// let model = LogP { latency: micros(20.0), overhead: micros(3.0), gap: micros(5.0) };
/// assert!((model.time(1).micros() - 26.0).abs() < 1e-9);
/// // Figure 21: four messages in a row wait for three gaps.
/// assert!((model.time(4).micros() - 41.0).abs() < 1e-9);
/// ```
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct LogP {
    /// L.
    pub latency: Seconds,
    /// o.
    pub overhead: Seconds,
    /// g.
    pub gap: Seconds,
}

impl LogP {
    /// Until the last of `messages` in a row is received: `(n - 1) max(g, o) + 2o + L`. None take
    /// no time.
    #[must_use]
    pub fn time(&self, messages: u32) -> Seconds {
        let Some(others) = messages.checked_sub(1) else { return Seconds::new(0.0) };
        let between = self.gap.number().max(self.overhead.number());
        let ends = 2.0 * self.overhead.number() + self.latency.number();
        Seconds::new(f64::from(others) * between + ends)
    }

    /// What the sender's processor is busy for with `messages`: `n o`.
    #[must_use]
    pub fn sending_time(&self, messages: u32) -> Seconds {
        Seconds::new(f64::from(messages) * self.overhead.number())
    }
}

/// LogGP: LogP with a gap for each byte of a long message.
///
/// Source: Alexandrov et al. 1995. `T(n) = L + 2o + (n - 1) G`; a message without bytes takes
/// `L + 2o`.
///
/// ```
/// use prp_model::point::LogGp;
/// use prp_model::unit::{Bytes, Seconds, SecondsPerByte};
///
/// let micros = Seconds::from_micros;
/// let model = LogGp {
///     latency: micros(20.0),
///     overhead: micros(3.0),
///     gap: micros(5.0),
///     byte_gap: SecondsPerByte::new(10e-9),
/// };
/// assert!((model.time(Bytes::new(1.0), 1).micros() - 26.0).abs() < 1e-9);
/// assert!((model.time(Bytes::new(1001.0), 1).micros() - 36.0).abs() < 1e-9);
/// // A second message leaves a gap after the first one's last byte.
/// assert!((model.time(Bytes::new(1001.0), 2).micros() - 51.0).abs() < 1e-9);
/// ```
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct LogGp {
    /// L.
    pub latency: Seconds,
    /// o.
    pub overhead: Seconds,
    /// g.
    pub gap: Seconds,
    /// G.
    pub byte_gap: SecondsPerByte,
}

impl LogGp {
    /// Until the last byte of the last of `messages` of this size in a row is received:
    /// `(k - 1) max(g, o) + k (n - 1) G + 2o + L`.
    #[must_use]
    pub fn time(&self, size: Bytes, messages: u32) -> Seconds {
        let (gap, overhead) = (self.gap, self.overhead);
        let short = LogP { latency: self.latency, overhead, gap };
        let bytes = f64::from(messages) * (size.number() - 1.0).max(0.0);
        Seconds::new(short.time(messages).number() + bytes * self.byte_gap.number())
    }
}
