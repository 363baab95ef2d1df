//! The operations of reductions: those of the standard, and those of the application.

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
