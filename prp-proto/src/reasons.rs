//! Reasons for dropping frames, and counters of each: written down once.

/// Declares an enum of reasons with their names in statistics, and the table that counts them.
macro_rules! drop_reasons {
    (
        $(#[$reason_doc:meta])* enum $reason:ident;
        $(#[$drops_doc:meta])* struct $drops:ident;
        $($(#[$doc:meta])* $name:ident = $text:literal,)*
    ) => {
        $(#[$reason_doc])*
        #[derive(Copy, Clone, Eq, PartialEq, Debug)]
        pub enum $reason {
            $($(#[$doc])* $name,)*
        }

        impl $reason {
            /// Every reason.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Its name in statistics: stable, lower case, underscores.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }

        impl From<$crate::wire::FrameError> for $reason {
            fn from(e: $crate::wire::FrameError) -> Self {
                use $crate::wire::FrameError;
                match e {
                    FrameError::Truncated => Self::Truncated,
                    FrameError::EtherType => Self::EtherType,
                    FrameError::Node => Self::BadNode,
                    FrameError::Length => Self::BadLength,
                }
            }
        }

        impl core::fmt::Display for $reason {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.pad(self.name())
            }
        }

        $(#[$drops_doc])*
        #[derive(Copy, Clone, Eq, PartialEq, Debug)]
        pub struct $drops([u64; $reason::ALL.len()]);

        impl Default for $drops {
            fn default() -> Self {
                Self([0; $reason::ALL.len()])
            }
        }

        impl $drops {
            /// Counts one.
            pub fn count(&mut self, why: $reason) {
                self.0[why as usize] += 1;
            }

            /// All of them together.
            pub fn total(&self) -> u64 {
                self.0.iter().sum()
            }

            /// Every reason with its count.
            pub fn iter(&self) -> impl Iterator<Item = ($reason, u64)> + '_ {
                $reason::ALL.iter().map(|why| (*why, self[*why]))
            }
        }

        impl core::ops::Index<$reason> for $drops {
            type Output = u64;

            fn index(&self, why: $reason) -> &u64 {
                &self.0[why as usize]
            }
        }
    };
}

pub(crate) use drop_reasons;
