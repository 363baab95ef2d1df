//! Quantities with their units: seconds, bytes, hops, and what one costs in the other.

use std::fmt;

/// A quantity: a number with a unit that the type names.
macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident, $unit:literal) => {
        $(#[$doc])*
        #[derive(Copy, Clone, Debug, Default, PartialEq, PartialOrd)]
        pub struct $name(f64);

        impl $name {
            /// The unit as it is written in tables and JSON.
            pub const UNIT: &'static str = $unit;

            /// `number` units.
            #[must_use]
            pub const fn new(number: f64) -> Self {
                Self(number)
            }

            /// The number, in the unit.
            #[must_use]
            pub const fn number(self) -> f64 {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&with_prefix(self.0, $unit))
            }
        }
    };
}

quantity! {
    /// A time.
    Seconds, "s"
}
quantity! {
    /// A number of bytes: the size of a message, or a size that a model derives, which may be
    /// broken.
    Bytes, "B"
}
quantity! {
    /// What a byte costs.
    SecondsPerByte, "s/B"
}
quantity! {
    /// A bandwidth.
    BytesPerSecond, "B/s"
}
quantity! {
    /// Routers between the two ends of a message.
    Hops, "hops"
}

impl Seconds {
    /// `micros` microseconds.
    #[must_use]
    pub const fn from_micros(micros: f64) -> Self {
        Self(micros * 1e-6)
    }

    /// In millionths of a second.
    #[must_use]
    pub const fn micros(self) -> f64 {
        self.0 * 1e6
    }
}

impl SecondsPerByte {
    /// The bandwidth at which a byte costs this; infinite where it costs nothing.
    #[must_use]
    pub fn bandwidth(self) -> BytesPerSecond {
        BytesPerSecond(1.0 / self.0)
    }
}

impl BytesPerSecond {
    /// `megabytes` million bytes a second.
    #[must_use]
    pub const fn from_megabytes(megabytes: f64) -> Self {
        Self(megabytes * 1e6)
    }

    /// What a byte costs at this bandwidth.
    #[must_use]
    pub fn byte_cost(self) -> SecondsPerByte {
        SecondsPerByte(1.0 / self.0)
    }
}

/// `number` with the prefix of its size before `unit`, to four digits: 0.0000741 s is `74.10 us`.
#[must_use]
pub fn with_prefix(number: f64, unit: &str) -> String {
    // Micro is `u`, so that tables keep their columns on terminals without UTF-8.
    const PREFIXES: [(f64, &str); 7] =
        [(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "u"), (1e-9, "n")];
    let size = number.abs();
    // Bytes and hops are counted: 0.001 of one says nothing to a reader.
    let counted = matches!(unit, "B" | "hops" | "");
    let fits = |(factor, _): &&(f64, &str)| size >= *factor && (!counted || *factor >= 1.0);
    let smallest = if counted { 3 } else { PREFIXES.len() - 1 };
    let (factor, prefix) = PREFIXES.iter().find(fits).unwrap_or(&PREFIXES[smallest]);
    let scaled = number / factor;
    let decimals = match scaled.abs() {
        s if s >= 100.0 => 1,
        s if s >= 10.0 => 2,
        _ => 3,
    };
    match unit {
        "" => format!("{scaled:.decimals$}{prefix}"),
        unit => format!("{scaled:.decimals$} {prefix}{unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_prefix__takes_the_prefix_of_the_size() {
        assert_eq!(with_prefix(74.1e-6, "s"), "74.10 us");
        assert_eq!(with_prefix(6.6e6, "B/s"), "6.600 MB/s");
        assert_eq!(with_prefix(0.92e-6, "s/B"), "920.0 ns/B");
        assert_eq!(with_prefix(-2.5e-10, "s/B"), "-0.250 ns/B");
        assert_eq!(with_prefix(0.5, "B"), "0.500 B");
        assert_eq!(with_prefix(0.0, "s"), "0.000 ns");
        assert_eq!(with_prefix(1.307, ""), "1.307");
    }

    #[test]
    fn bandwidth__is_the_reciprocal_of_what_a_byte_costs() {
        let bandwidth = BytesPerSecond::from_megabytes(6.6);
        assert_eq!(bandwidth.byte_cost().bandwidth(), bandwidth);
        assert_eq!(SecondsPerByte::new(0.0).bandwidth().number(), f64::INFINITY);
    }
}
