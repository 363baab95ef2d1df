//! Functions of the application that this library calls.

use std::ffi::c_int;

use prp_mpi::sys::memory::Region;

use super::pointer::{Address, Ptr, Status};
use crate::object::Handle;

/// A user operation.
pub(crate) type UserFunction = extern "C" fn(Address, Address, Ptr<c_int>, Ptr<Handle>);
/// A user operation with large counts.
pub(crate) type LargeUserFunction = extern "C" fn(Address, Address, Ptr<i64>, Ptr<Handle>);
/// Copies an attribute.
pub(crate) type CommCopy = Callback;
/// Deletes an attribute.
pub(crate) type CommDelete = Callback;

/// A function of the application, whose parameters depend on what it is for.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
#[repr(transparent)]
pub(crate) struct Callback(pub(crate) usize);

type Copier = extern "C" fn(Handle, c_int, Address, Address, Ptr<usize>, Ptr<c_int>) -> c_int;
type Deleter = extern "C" fn(Handle, c_int, Address, Address) -> c_int;
type ErrorHandler = unsafe extern "C" fn(Ptr<Handle>, Ptr<c_int>, ...);
type Query = extern "C" fn(Address, Ptr<Status>) -> c_int;
type Free = extern "C" fn(Address) -> c_int;
type Cancel = extern "C" fn(Address, c_int) -> c_int;
type Extent = extern "C" fn(Handle, Ptr<isize>, Address) -> c_int;
type Converter = extern "C" fn(Address, Handle, c_int, Address, i64, Address) -> c_int;
type LargeConverter = extern "C" fn(Address, Handle, i64, Address, i64, Address) -> c_int;

macro_rules! function {
    ($callback:expr, $type:ty) => {
        // SAFETY: the application has passed a function of this type; numbers that stand for no
        // function were told apart before.
        unsafe { std::mem::transmute::<usize, $type>($callback.0) }
    };
}

impl Callback {
    /// Whether there is none: `MPI_NULL_COPY_FN`, `MPI_NULL_DELETE_FN`.
    pub(crate) const fn is_null(self) -> bool {
        self.0 == 0
    }

    /// Whether it stands for `MPI_DUP_FN`.
    pub(crate) const fn is_dup(self) -> bool {
        self.0 == 1
    }

    /// Copies an attribute: what the application says, the new value, and whether there is one.
    pub(crate) fn copy(
        self,
        of: Handle,
        key: c_int,
        extra: Address,
        value: usize,
    ) -> (c_int, Option<usize>) {
        let (mut copied, mut flag) = (0_usize, 0);
        let call = function!(self, Copier);
        let outcome = call(
            of,
            key,
            extra,
            Address::from_number(value),
            Ptr(&raw mut copied),
            Ptr(&raw mut flag),
        );
        (outcome, (flag != 0).then_some(copied))
    }

    /// Deletes an attribute.
    pub(crate) fn delete(self, of: Handle, key: c_int, value: usize, extra: Address) -> c_int {
        function!(self, Deleter)(of, key, Address::from_number(value), extra)
    }

    /// Handles an error.
    pub(crate) fn handle(self, mut of: Handle, mut code: c_int) {
        let call = function!(self, ErrorHandler);
        // SAFETY: a variadic function with the two parameters it always has.
        unsafe { call(Ptr(&raw mut of), Ptr(&raw mut code)) };
    }

    /// Asks what became of a generalized request.
    pub(crate) fn query(self, extra: Address, status: &mut Status) -> c_int {
        function!(self, Query)(extra, Ptr(&raw mut *status))
    }

    /// Frees a generalized request.
    pub(crate) fn free(self, extra: Address) -> c_int {
        function!(self, Free)(extra)
    }

    /// Cancels a generalized request.
    pub(crate) fn cancel(self, extra: Address, complete: bool) -> c_int {
        function!(self, Cancel)(extra, c_int::from(complete))
    }

    /// The bytes that an element takes in a file. `None` if the function fails.
    pub(crate) fn extent(self, of: Handle, extra: Address) -> Option<isize> {
        let mut extent = 0;
        let failed = function!(self, Extent)(of, Ptr(&raw mut extent), extra);
        (failed == 0).then_some(extent)
    }
}

/// A function that converts elements between memory and a file, with counts of either size.
#[derive(Copy, Clone, Debug)]
pub(crate) enum Conversion {
    /// With `int`.
    Int(Callback),
    /// With `MPI_Count`.
    Long(Callback),
}

impl Conversion {
    /// Whether there is none, `MPI_CONVERSION_FN_NULL`: bytes are in the file as in memory.
    pub(crate) const fn is_null(self) -> bool {
        let (Self::Int(callback) | Self::Long(callback)) = self;
        callback.is_null()
    }

    /// Converts `count` elements of `datatype` between `memory`, where they are the first, and
    /// `file`, where each takes `each` bytes: what the function returns.
    pub(crate) fn call(
        self,
        memory: Address,
        (count, datatype): (usize, Handle),
        (file, each): (Address, usize),
        extra: Address,
    ) -> c_int {
        match self {
            Self::Int(callback) => {
                const MOST: usize = c_int::MAX as usize;
                let mut parts = (0..count).step_by(MOST).map(|first| {
                    let part = (count - first).min(MOST) as c_int;
                    let file = file.offset((first * each) as isize);
                    let call = function!(callback, Converter);
                    call(memory, datatype, part, file, first as i64, extra)
                });
                parts.find(|failed| *failed != 0).unwrap_or(0)
            }
            Self::Long(callback) => {
                let call = function!(callback, LargeConverter);
                call(memory, datatype, count as i64, file, 0, extra)
            }
        }
    }
}

/// A user operation, with counts of either size.
#[derive(Copy, Clone, Debug)]
pub(crate) enum Combiner {
    /// With `int`.
    Int(Option<UserFunction>),
    /// With `MPI_Count`.
    Long(Option<LargeUserFunction>),
}

impl Combiner {
    /// Whether there is a function.
    pub(crate) const fn is_some(self) -> bool {
        match self {
            Self::Int(f) => f.is_some(),
            Self::Long(f) => f.is_some(),
        }
    }

    /// Combines `count` elements of `datatype`, which are `extent` bytes apart. A function that
    /// takes an `int` gets more than that can count in several parts.
    pub(crate) fn call(
        self,
        lower: Address,
        higher: Address,
        count: usize,
        mut datatype: Handle,
        extent: isize,
    ) {
        let handle = Ptr(&raw mut datatype);
        match self {
            Self::Int(Some(f)) => {
                const MOST: usize = c_int::MAX as usize;
                // Also a function that has nothing to do is called once.
                for first in (0..count.max(1)).step_by(MOST) {
                    let at = first as isize * extent;
                    let mut part = (count - first).min(MOST) as c_int;
                    f(lower.offset(at), higher.offset(at), Ptr(&raw mut part), handle);
                }
            }
            Self::Long(Some(f)) => {
                let mut count = count as i64;
                f(lower, higher, Ptr(&raw mut count), handle);
            }
            Self::Int(None) | Self::Long(None) => {}
        }
    }
}

/// The address of the first byte of a region in one piece.
pub(crate) fn address_of(region: &mut Region) -> Address {
    Ptr(region.bytes_mut(0).map_or(std::ptr::null_mut(), <[u8]>::as_mut_ptr))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    /// Addresses and counts of the calls.
    static CALLS: Mutex<Vec<(usize, usize, c_int)>> = Mutex::new(Vec::new());

    extern "C" fn note(lower: Address, higher: Address, count: Ptr<c_int>, _: Ptr<Handle>) {
        CALLS.lock().unwrap().push((lower.address(), higher.address(), count.get()));
    }

    #[test]
    fn call__more_elements_than_an_int_counts_come_in_parts() {
        const MOST: usize = c_int::MAX as usize;
        let call = |count| {
            let [lower, higher] = [1 << 40, 1 << 44].map(Address::from_number);
            Combiner::Int(Some(note)).call(lower, higher, count, Handle(0), 16);
            std::mem::take(&mut *CALLS.lock().unwrap())
        };
        let at = |first: usize| ((1 << 40) + 16 * first, (1 << 44) + 16 * first);
        let part = |first, count| (at(first).0, at(first).1, count);
        assert_eq!(call(0), [part(0, 0)]);
        assert_eq!(call(MOST), [part(0, c_int::MAX)]);
        assert_eq!(call(MOST + 5), [part(0, c_int::MAX), part(MOST, 5)]);
    }
}
