//! Types of the elements of messages.

use std::sync::Arc;

use crate::datatype::{Class, Datatype};

/// Keeps [`Element`] to the types of this crate.
pub trait Sealed {}

/// A number that messages are made of.
pub trait Element: Copy + Send + Sync + Sealed + 'static {
    /// How its bytes are read.
    const CLASS: Class;
    /// What buffers are filled with before something comes.
    const ZERO: Self;

    /// The type as a datatype.
    fn datatype() -> Arc<Datatype> {
        Arc::new(Datatype::basic(Self::CLASS, size_of::<Self>() as u8))
    }
}
