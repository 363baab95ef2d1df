//! Attributes of communicators and datatypes.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::sync::LazyLock;

use super::environment::{comm_of, process};
use super::error::{Class, Failure, LAST_USED, Outcome, fail};
use crate::object::{Handle, KEYS, Key, TYPES};
use crate::sys::callback::Callback;
use crate::sys::pointer::{Address, Ptr};

/// `MPI_KEYVAL_INVALID`.
const INVALID: c_int = 0;

/// Values of predefined attributes, which the application gets the address of.
static TAG_LIMIT: c_int = c_int::MAX;
static PROC_NULL: c_int = super::PROC_NULL;
static NOT_GLOBAL: c_int = 0;
static FIRST: c_int = 0;
static SIZE: LazyLock<c_int> = LazyLock::new(|| process().map_or(1, |p| p.size() as c_int));
static ANY: c_int = super::ANY_SOURCE;

fn predefined(key: c_int) -> Option<usize> {
    let value: *const c_int = match key {
        501 => &raw const TAG_LIMIT,
        502 => &raw const ANY,
        503 => &raw const PROC_NULL,
        504 => &raw const NOT_GLOBAL,
        505 => &raw const FIRST,
        506 => LAST_USED.as_ptr().cast_const(),
        507 => &raw const *SIZE,
        _ => return None,
    };
    Some(value as usize)
}

fn create(copy: Callback, delete: Callback, key: Ptr<c_int>, extra: Address) -> Outcome {
    let handle = KEYS.add(Key { copy, delete, extra });
    key.put(handle.0 as c_int);
    Ok(())
}

fn key_of(key: c_int) -> Result<Key, Failure> {
    let found = usize::try_from(key).ok().and_then(|k| KEYS.at(Handle(k)));
    found.ok_or_else(|| Failure::new(Class::Keyval, Handle::WORLD, "no such attribute key"))
}

pub(crate) fn comm_create_keyval(
    copy: Callback,
    delete: Callback,
    key: Ptr<c_int>,
    extra: Address,
) -> Outcome {
    create(copy, delete, key, extra)
}

pub(crate) fn type_create_keyval(
    copy: Callback,
    delete: Callback,
    key: Ptr<c_int>,
    extra: Address,
) -> Outcome {
    create(copy, delete, key, extra)
}

pub(crate) fn keyval_create(
    copy: Callback,
    delete: Callback,
    key: Ptr<c_int>,
    extra: Address,
) -> Outcome {
    create(copy, delete, key, extra)
}

/// Attributes may still have the key: it stays until the end.
pub(crate) fn comm_free_keyval(key: Ptr<c_int>) -> Outcome {
    key_of(key.get())?;
    key.put(INVALID);
    Ok(())
}

pub(crate) fn type_free_keyval(key: Ptr<c_int>) -> Outcome {
    comm_free_keyval(key)
}

pub(crate) fn keyval_free(key: Ptr<c_int>) -> Outcome {
    comm_free_keyval(key)
}

fn callback_outcome(code: c_int, of: Handle) -> Outcome {
    if code == 0 {
        return Ok(());
    }
    Err(Failure { code, comm: of, text: "a function of an attribute failed".into() })
}

/// A failure is the communicator's, or of the world.
fn delete_one(of: Handle, key: c_int, value: usize) -> Outcome {
    let found = key_of(key)?;
    if found.delete.is_null() {
        return Ok(());
    }
    callback_outcome(found.delete.delete(of, key, value, found.extra), of)
}

pub(crate) fn comm_set_attr(comm: Handle, key: c_int, value: Address) -> Outcome {
    let of = comm_of(comm)?;
    key_of(key)?;
    let old = of.attributes.lock().get(&key).copied();
    if let Some(old) = old {
        delete_one(comm, key, old)?;
    }
    of.attributes.lock().insert(key, value.address());
    Ok(())
}

pub(crate) fn comm_get_attr(comm: Handle, key: c_int, value: Address, flag: Ptr<c_int>) -> Outcome {
    let of = comm_of(comm)?;
    let found = match predefined(key) {
        Some(found) => Some(found),
        None => {
            key_of(key)?;
            of.attributes.lock().get(&key).copied()
        }
    };
    flag.put(found.is_some().into());
    if let Some(found) = found {
        value.cast::<usize>().put(found);
    }
    Ok(())
}

pub(crate) fn comm_delete_attr(comm: Handle, key: c_int) -> Outcome {
    let of = comm_of(comm)?;
    let old = of.attributes.lock().get(&key).copied();
    let Some(old) = old else { return fail(Class::Keyval, "no such attribute") };
    delete_one(comm, key, old)?;
    of.attributes.lock().remove(&key);
    Ok(())
}

pub(crate) fn attr_put(comm: Handle, key: c_int, value: Address) -> Outcome {
    comm_set_attr(comm, key, value)
}

pub(crate) fn attr_get(comm: Handle, key: c_int, value: Address, flag: Ptr<c_int>) -> Outcome {
    comm_get_attr(comm, key, value, flag)
}

pub(crate) fn attr_delete(comm: Handle, key: c_int) -> Outcome {
    comm_delete_attr(comm, key)
}

/// Copies attributes as their keys say.
/// A failure is `comm`'s.
fn copied(
    of: Handle,
    comm: Handle,
    all: BTreeMap<i32, usize>,
) -> Result<BTreeMap<i32, usize>, Failure> {
    let mut copies = BTreeMap::new();
    for (key, value) in all {
        let found = key_of(key)?;
        if found.copy.is_null() {
            continue;
        }
        if found.copy.is_dup() {
            copies.insert(key, value);
            continue;
        }
        let (code, copy) = found.copy.copy(of, key, found.extra, value);
        callback_outcome(code, comm)?;
        copies.extend(copy.map(|copy| (key, copy)));
    }
    Ok(copies)
}

/// The attributes that a duplicate of a communicator has.
pub(crate) fn copy_all(comm: Handle) -> Result<BTreeMap<i32, usize>, Failure> {
    let all = comm_of(comm)?.attributes.lock().clone();
    copied(comm, comm, all)
}

/// The attributes that a duplicate of a datatype has.
pub(crate) fn copy_all_of_type(datatype: Handle) -> Result<BTreeMap<i32, usize>, Failure> {
    let all = TYPES.with(datatype, |t| t.attributes.clone()).unwrap_or_default();
    copied(datatype, Handle::WORLD, all)
}

/// Deletes all attributes of a communicator, the latest first.
pub(crate) fn delete_all(comm: Handle) {
    let Ok(of) = comm_of(comm) else { return };
    let all = std::mem::take(&mut *of.attributes.lock());
    for (key, value) in all.into_iter().rev() {
        let _ = delete_one(comm, key, value);
    }
}

/// Deletes all attributes of a datatype.
pub(crate) fn delete_all_of_type(datatype: Handle) {
    let all = TYPES.with(datatype, |t| std::mem::take(&mut t.attributes)).unwrap_or_default();
    for (key, value) in all.into_iter().rev() {
        let _ = delete_one(datatype, key, value);
    }
}

pub(crate) fn type_set_attr(datatype: Handle, key: c_int, value: Address) -> Outcome {
    key_of(key)?;
    let set = TYPES.with(datatype, |t| t.attributes.insert(key, value.address()));
    let Some(old) = set else { return fail(Class::Type, "no datatype of the application") };
    old.map_or(Ok(()), |old| delete_one(datatype, key, old))
}

pub(crate) fn type_get_attr(
    datatype: Handle,
    key: c_int,
    value: Address,
    flag: Ptr<c_int>,
) -> Outcome {
    key_of(key)?;
    let found = TYPES.with(datatype, |t| t.attributes.get(&key).copied()).flatten();
    flag.put(found.is_some().into());
    if let Some(found) = found {
        value.cast::<usize>().put(found);
    }
    Ok(())
}

pub(crate) fn type_delete_attr(datatype: Handle, key: c_int) -> Outcome {
    let found = TYPES.with(datatype, |t| t.attributes.get(&key).copied()).flatten();
    let Some(found) = found else { return fail(Class::Keyval, "no such attribute") };
    delete_one(datatype, key, found)?;
    TYPES.with(datatype, |t| t.attributes.remove(&key));
    Ok(())
}
