//! Handles as numbers: `MPI_Comm_toint`, `MPI_Comm_fromint` and the like.

use std::ffi::c_int;

use crate::object::Handle;

/// Handles are small numbers, which fit.
fn number_of(handle: Handle) -> c_int {
    handle.0 as c_int
}

fn handle_of(number: c_int) -> Handle {
    Handle(number.cast_unsigned() as usize)
}

pub(crate) fn comm_toint(handle: Handle) -> c_int {
    number_of(handle)
}

pub(crate) fn comm_fromint(number: c_int) -> Handle {
    handle_of(number)
}

pub(crate) fn errhandler_toint(handle: Handle) -> c_int {
    number_of(handle)
}

pub(crate) fn errhandler_fromint(number: c_int) -> Handle {
    handle_of(number)
}

pub(crate) fn file_toint(handle: Handle) -> c_int {
    number_of(handle)
}

pub(crate) fn file_fromint(number: c_int) -> Handle {
    handle_of(number)
}

pub(crate) fn group_toint(handle: Handle) -> c_int {
    number_of(handle)
}

pub(crate) fn group_fromint(number: c_int) -> Handle {
    handle_of(number)
}

pub(crate) fn info_toint(handle: Handle) -> c_int {
    number_of(handle)
}

pub(crate) fn info_fromint(number: c_int) -> Handle {
    handle_of(number)
}

pub(crate) fn message_toint(handle: Handle) -> c_int {
    number_of(handle)
}

pub(crate) fn message_fromint(number: c_int) -> Handle {
    handle_of(number)
}

pub(crate) fn op_toint(handle: Handle) -> c_int {
    number_of(handle)
}

pub(crate) fn op_fromint(number: c_int) -> Handle {
    handle_of(number)
}

pub(crate) fn request_toint(handle: Handle) -> c_int {
    number_of(handle)
}

pub(crate) fn request_fromint(number: c_int) -> Handle {
    handle_of(number)
}

pub(crate) fn session_toint(handle: Handle) -> c_int {
    number_of(handle)
}

pub(crate) fn session_fromint(number: c_int) -> Handle {
    handle_of(number)
}

pub(crate) fn type_toint(handle: Handle) -> c_int {
    number_of(handle)
}

pub(crate) fn type_fromint(number: c_int) -> Handle {
    handle_of(number)
}

pub(crate) fn win_toint(handle: Handle) -> c_int {
    number_of(handle)
}

pub(crate) fn win_fromint(number: c_int) -> Handle {
    handle_of(number)
}
