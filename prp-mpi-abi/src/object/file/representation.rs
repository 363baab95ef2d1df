//! How numbers lie in files.

use std::sync::Arc;

use crate::sys::callback::{Callback, Conversion};
use crate::sys::pointer::Address;

/// How numbers lie in a file.
#[derive(Clone, Debug)]
pub(crate) enum Representation {
    /// As in memory.
    Native,
    /// As in memory, by its other name.
    Internal,
    /// As on any machine.
    External,
    /// As functions of the program write them.
    Own(Arc<OwnRepresentation>),
}

/// A representation that the program has registered.
#[derive(Debug)]
pub(crate) struct OwnRepresentation {
    pub(crate) name: String,
    pub(crate) read: Conversion,
    pub(crate) write: Conversion,
    pub(crate) extent: Callback,
    pub(crate) extra: Address,
}

impl Representation {
    /// Those that there always are.
    pub(crate) const PREDEFINED: [Self; 3] = [Self::Native, Self::Internal, Self::External];

    /// Whether bytes are the same in the file as in memory.
    pub(crate) const fn is_as_in_memory(&self) -> bool {
        matches!(self, Self::Native | Self::Internal)
    }

    /// Its name.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Native => "native",
            Self::Internal => "internal",
            Self::External => "external32",
            Self::Own(own) => &own.name,
        }
    }
}
