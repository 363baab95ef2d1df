//! Handles as numbers, and the user operations.

use std::ffi::c_int;

use super::error::{Class, Outcome, fail};
use crate::object::{Handle, OPS, Op};
use crate::sys::callback::Combiner;
use crate::sys::pointer::Ptr;

/// The operation of a handle.
pub(crate) fn op(handle: Handle) -> Option<Op> {
    if handle.0 < Handle::FIRST {
        return prp_mpi::operation::Operation::from_code(handle.0).map(Op::Predefined);
    }
    OPS.at(handle)
}

pub(crate) fn op_create(combiner: Combiner, commutes: c_int, op: Ptr<Handle>) -> Outcome {
    if !combiner.is_some() {
        return fail(Class::Arg, "no function");
    }
    op.put(OPS.add(Op::User { combiner, commutes: commutes != 0 }));
    Ok(())
}

pub(crate) fn op_free(op: Ptr<Handle>) -> Outcome {
    if OPS.take(op.get()).is_none() {
        return fail(Class::Op, "no operation of the application");
    }
    op.put(Handle::OP_NULL);
    Ok(())
}

pub(crate) fn op_commutative(handle: Handle, flag: Ptr<c_int>) -> Outcome {
    match op(handle) {
        None => return fail(Class::Op, "no such operation"),
        Some(Op::Predefined(op)) => {
            use prp_mpi::operation::Operation::{NoOp, Replace};
            flag.put((!matches!(op, NoOp | Replace)).into());
        }
        Some(Op::User { commutes, .. }) => flag.put(commutes.into()),
    }
    Ok(())
}

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
