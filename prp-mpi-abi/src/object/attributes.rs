//! Attributes of communicators and datatypes.

use std::collections::BTreeMap;

use parking_lot::Mutex;

use super::{Handle, TYPES, datatype};

/// Keys and values, in the order in which they were set.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attributes(Vec<(i32, usize)>);

impl Attributes {
    /// The value of a key.
    pub(crate) fn get(&self, key: i32) -> Option<usize> {
        self.0.iter().find(|(k, _)| *k == key).map(|(_, value)| *value)
    }

    /// Gives a key a value; it is the last that was set then.
    pub(crate) fn set(&mut self, key: i32, value: usize) {
        self.remove(key);
        self.0.push((key, value));
    }

    pub(crate) fn remove(&mut self, key: i32) {
        self.0.retain(|(k, _)| *k != key);
    }

    /// The last that was set.
    pub(crate) fn last(&self) -> Option<(i32, usize)> {
        self.0.last().copied()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (i32, usize)> {
        self.0.iter().copied()
    }
}

/// Attributes of predefined datatypes, by handle.
static OF_PREDEFINED: Mutex<BTreeMap<usize, Attributes>> = Mutex::new(BTreeMap::new());

/// Does something with the attributes of a datatype, if there is such a datatype.
pub(crate) fn with_attributes_of_type<R>(
    handle: Handle,
    does: impl FnOnce(&mut Attributes) -> R,
) -> Option<R> {
    if handle.0 < Handle::FIRST {
        datatype(handle)?;
        return Some(does(OF_PREDEFINED.lock().entry(handle.0).or_default()));
    }
    TYPES.with(handle, |t| does(&mut t.attributes))
}
