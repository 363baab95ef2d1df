//! The exported functions. `include/prp.h` describes each; the constants and a check of the types
//! are made from it.
#![allow(
    clippy::missing_safety_doc,
    reason = "the header says what a caller owes, for all functions and at each parameter"
)]

use std::ffi::{c_char, c_int, c_void};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::sync::Arc;
use std::time::Duration;

use libc::iovec;
use prp_node::fork::PerProcess;

use super::memory::Memory;
use super::pointer::{
    ListenerPtr, OptionsPtr, StreamPtr, bytes, descriptor, entries, parts, place, put, put_part,
    put_text, room, rooms, text, value,
};
use crate::address::Address;
use crate::error_number::{explained, invalid};
use crate::handle_table::{HandleKind, HandleTable};
use crate::last_error;
use crate::listener::{LISTENERS, Listener};
use crate::settings::{Settings, SharedSettings};
use crate::stats::StreamStats;
use crate::stream::{STREAMS, Stream};
use crate::wait::{WaitEntry, wait_for_any};

mod listener;
mod stream;

use listener::*;
use stream::*;

include!(concat!(env!("OUT_DIR"), "/signatures.rs"));

/// All settings of this process that have a handle.
static SETTINGS: PerProcess<HandleTable<SharedSettings>> =
    PerProcess::new(|| HandleTable::new(HandleKind::Options));

/// What a function returns when it fails.
trait Failed {
    const FAILED: Self;
}

impl Failed for c_int {
    const FAILED: Self = -1;
}

impl Failed for isize {
    const FAILED: Self = -1;
}

impl<T> Failed for *mut T {
    const FAILED: Self = null_mut();
}

/// The result of `f`; -1 or NULL with errno and the text of the error if it fails.
fn call<T: Failed>(f: impl FnOnce() -> io::Result<T>) -> T {
    // What a panic may leave half done is the engine's, which is built for it: `PrpStream` is
    // `UnwindSafe`.
    let error = match catch_unwind(AssertUnwindSafe(f)) {
        Ok(Ok(result)) => return result,
        Ok(Err(error)) => error,
        Err(_) => explained(libc::EIO, "a fault of libprp: standard error has its place"),
    };
    let number = last_error::keep(&error);
    // SAFETY: the address is that of this thread's errno.
    unsafe { *libc::__errno_location() = number };
    T::FAILED
}

/// A number of bytes as C has it.
fn count(bytes: usize) -> isize {
    isize::try_from(bytes).unwrap_or(isize::MAX)
}

fn stream_of(handle: *const StreamPtr) -> io::Result<Arc<Stream>> {
    STREAMS.get().find(handle.addr())
}

fn listener_of(handle: *const ListenerPtr) -> io::Result<Arc<Listener>> {
    LISTENERS.get().find(handle.addr())
}

fn settings_of(handle: *const OptionsPtr) -> io::Result<Settings> {
    if handle.is_null() {
        return Ok(Settings::default());
    }
    Ok(SETTINGS.get().find(handle.addr())?.lock().clone())
}

/// A number as a pointer that nothing may be read from.
fn handle<T>(number: usize) -> *mut T {
    std::ptr::without_provenance_mut(number)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn prp_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn prp_abi_version() -> c_int {
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn prp_last_error() -> *const c_char {
    last_error::text()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn prp_last_errno() -> c_int {
    last_error::number()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn prp_free(memory: *mut c_void) {
    // SAFETY: it is null or was handed out by this library, which has it from the C library.
    unsafe { libc::free(memory) };
}

#[unsafe(no_mangle)]
unsafe extern "C" fn prp_resolve(
    name: *const c_char,
    options: *const OptionsPtr,
    address: *mut Address,
) -> c_int {
    call(|| {
        place("address", address)?;
        // SAFETY: as the header says, and the place was checked.
        unsafe { put(address, settings_of(options)?.resolve(text("text", name)?)?.into()) };
        Ok(0)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn prp_address_format(
    address: *const Address,
    place: *mut c_char,
    size: usize,
) -> c_int {
    call(|| {
        // SAFETY: as the header says.
        let text = unsafe { value("address", address) }?.text()?;
        if place.is_null() && size > 0 {
            return Err(explained(libc::EFAULT, "the text is NULL"));
        }
        // SAFETY: as the header says; it is not null unless the size is 0.
        unsafe { put_text(place, size, &text) };
        Ok(text.len() as c_int)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn prp_options_new() -> *mut OptionsPtr {
    call(|| SETTINGS.get().insert(SharedSettings::default()).map(handle))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn prp_options_set(options: *mut OptionsPtr, option: c_int, value: i64) -> c_int {
    call(|| SETTINGS.get().find(options.addr())?.lock().set(option, value).map(|()| 0))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn prp_options_set_text(
    options: *mut OptionsPtr,
    option: c_int,
    value: *const c_char,
) -> c_int {
    call(|| {
        // SAFETY: as the header says.
        let value = unsafe { text("value", value) }?;
        SETTINGS.get().find(options.addr())?.lock().set_text(option, value)?;
        Ok(0)
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn prp_options_free(options: *mut OptionsPtr) -> c_int {
    call(
        || if options.is_null() { Ok(0) } else { SETTINGS.get().remove(options.addr()).map(|_| 0) },
    )
}

#[unsafe(no_mangle)]
unsafe extern "C" fn prp_wait_any(
    waits: *mut WaitEntry,
    number: usize,
    fd: c_int,
    timeout: i64,
) -> c_int {
    call(|| {
        // SAFETY: as the header says.
        let (waits, other) = unsafe { (entries(waits, number)?, descriptor(fd)?) };
        let timeout = match timeout {
            -1 => None,
            0.. => Some(Duration::from_nanos(timeout.unsigned_abs())),
            _ => return Err(invalid(format!("a timeout of {timeout}"))),
        };
        let ready = wait_for_any(waits, other, timeout)?;
        Ok(c_int::try_from(ready).unwrap_or(c_int::MAX))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn prp_openmetrics() -> *mut c_char {
    call(|| {
        let text = prp_sock::openmetrics() + "\0";
        Ok(Memory::copy(text.as_bytes())?.into_raw().cast())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call__a_panic_becomes_an_error_of_the_caller() {
        // What was an error of the thread before is none of this call's.
        last_error::keep(&invalid("before"));
        assert_eq!(call(|| -> io::Result<c_int> { panic!("a fault that a test makes") }), -1);
        assert_eq!(io::Error::last_os_error().raw_os_error(), Some(libc::EIO));
        assert_eq!(last_error::number(), libc::EIO);
        let stream = call(|| -> io::Result<*mut StreamPtr> { panic!("another one") });
        assert!(stream.is_null());
        assert_eq!(call(|| Ok::<c_int, io::Error>(7)), 7);
    }
}
