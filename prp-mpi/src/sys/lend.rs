//! Buffers of a Rust program that requests use for a while.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::memory::Region;
use crate::api::element::Element;
use crate::datatype::{Class, Datatype};
use crate::process::Process;
use crate::process::report::Waiting;
use crate::request::{RequestId, Status};

/// The time for which requests may use buffers: [`crate::Universe::scope`] does not end before they
/// are done.
#[derive(Debug)]
pub struct Scope<'scope, 'env: 'scope> {
    process: &'scope Process,
    open: RefCell<Vec<RequestId>>,
    /// The buffers are borrowed for exactly `'env`.
    _env: PhantomData<&'env mut &'env ()>,
}

/// Runs `does`, and then waits for all requests that were begun with the scope.
pub(crate) fn scope<'env, T>(
    process: &Process,
    does: impl for<'scope> FnOnce(&'scope Scope<'scope, 'env>) -> T,
) -> T {
    let scope = Scope { process, open: RefCell::default(), _env: PhantomData };
    // The buffers go with the stack when this function ends, however it does.
    let outcome = catch_unwind(AssertUnwindSafe(|| does(&scope)));
    for request in scope.open.take() {
        process.wait(&|| waiting(), |exchange| exchange.take(request));
    }
    outcome.unwrap_or_else(|panic| resume_unwind(panic))
}

fn waiting() -> Waiting {
    Waiting::new("the end of a scope", String::new(), "requests that were begun in it".into())
}

impl<'env> Scope<'_, 'env> {
    /// The process whose requests these are.
    pub(crate) const fn process(&self) -> &Process {
        self.process
    }

    /// Begins something that reads `from`.
    pub(crate) fn lend<T: Element>(
        &self,
        from: &'env [T],
        begin: impl FnOnce(Region) -> RequestId,
    ) -> RequestId {
        self.begin(from.as_ptr().cast_mut().cast(), size_of_val(from), begin)
    }

    /// Begins something that writes `into`.
    pub(crate) fn lend_mut<T: Element>(
        &self,
        into: &'env mut [T],
        begin: impl FnOnce(Region) -> RequestId,
    ) -> RequestId {
        self.begin(into.as_mut_ptr().cast(), size_of_val(into), begin)
    }

    fn begin(
        &self,
        base: *mut u8,
        bytes: usize,
        begin: impl FnOnce(Region) -> RequestId,
    ) -> RequestId {
        // SAFETY: the buffer is borrowed for 'env, which outlives the scope, and `scope` waits for
        // the request before it ends; elements are numbers, of which any bytes are values. What is
        // only read is not received into.
        let region = unsafe { Region::foreign(base, bytes, &Datatype::bytes()) };
        let request = begin(region);
        self.open.borrow_mut().push(request);
        request
    }

    /// What became of a request, if it is done.
    pub(crate) fn test(&self, request: RequestId) -> Option<Status> {
        let status = self.process.try_now(|exchange| exchange.take(request))?;
        self.open.borrow_mut().retain(|open| *open != request);
        Some(status)
    }

    /// Waits for a request.
    pub(crate) fn wait(&self, request: RequestId, what: &dyn Fn() -> Waiting) -> Status {
        let status = self.process.wait(what, |exchange| exchange.take(request));
        self.open.borrow_mut().retain(|open| *open != request);
        status
    }
}

/// The bytes of elements.
pub(crate) fn bytes_of<T: Element>(elements: &[T]) -> &[u8] {
    // SAFETY: the bytes are those of the slice; elements are numbers without padding.
    unsafe { std::slice::from_raw_parts(elements.as_ptr().cast(), size_of_val(elements)) }
}

/// The bytes of elements, to write to.
pub(crate) fn bytes_of_mut<T: Element>(elements: &mut [T]) -> &mut [u8] {
    let bytes = size_of_val(elements);
    // SAFETY: as for `bytes_of`; any bytes are numbers.
    unsafe { std::slice::from_raw_parts_mut(elements.as_mut_ptr().cast(), bytes) }
}

macro_rules! elements {
    ($($type:ty: $class:ident,)*) => {$(
        impl Element for $type {
            const CLASS: Class = Class::$class;
            const ZERO: Self = 0 as $type;
        }
        impl crate::api::element::Sealed for $type {}
    )*};
}

elements! {
    i8: Signed, i16: Signed, i32: Signed, i64: Signed,
    u8: Unsigned, u16: Unsigned, u32: Unsigned, u64: Unsigned,
    f32: Float, f64: Float,
}
