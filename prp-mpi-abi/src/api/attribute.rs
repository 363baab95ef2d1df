//! Attributes of communicators, datatypes and windows.

use std::ffi::c_int;
use std::sync::LazyLock;

use super::environment::{comm_of, process};
use super::error::{Class, Failure, LAST_USED, Outcome};
use super::window::{value_of_window, window_of};
use crate::object::{Attributes, Handle, KEYS, Key, with_attributes_of_type};
use crate::sys::callback::Callback;
use crate::sys::pointer::{Address, Ptr};

/// `MPI_KEYVAL_INVALID`.
const INVALID: c_int = 0;

/// Values of predefined attributes, which the application gets the address of.
static TAG_LIMIT: c_int = c_int::MAX;
static PROC_NULL: c_int = super::PROC_NULL;
static NOT_GLOBAL: c_int = 0;
static PROGRAM: LazyLock<c_int> = LazyLock::new(|| {
    let number = std::env::var(prp_mpi::control::environment::PROGRAM).ok();
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
});
static SIZE: LazyLock<c_int> = LazyLock::new(|| process().map_or(1, |p| p.size() as c_int));
static ANY: c_int = super::ANY_SOURCE;

/// Keys of the predefined attributes of windows.
const OF_WINDOWS: std::ops::RangeInclusive<c_int> = 601..=605;

fn predefined(key: c_int) -> Option<usize> {
    let value: *const c_int = match key {
        501 => &raw const TAG_LIMIT,
        502 => &raw const ANY,
        503 => &raw const PROC_NULL,
        504 => &raw const NOT_GLOBAL,
        505 => &raw const *PROGRAM,
        506 => LAST_USED.as_ptr().cast_const(),
        507 => &raw const *SIZE,
        _ => return None,
    };
    Some(value as usize)
}

fn create(copy: Callback, delete: Callback, key: Ptr<c_int>, extra: Address) -> Outcome {
    let handle = KEYS.add(Key { copy, delete, extra, is_freed: false });
    key.put(handle.0 as c_int);
    Ok(())
}

/// What an attribute belongs to.
#[derive(Copy, Clone)]
enum AttributeOwner {
    Comm(Handle),
    Type(Handle),
    Window(Handle),
}

impl AttributeOwner {
    const fn handle(self) -> Handle {
        match self {
            Self::Comm(handle) | Self::Type(handle) | Self::Window(handle) => handle,
        }
    }

    /// Does something with the attributes. No lock is held while the application is called.
    fn with<R>(self, does: impl FnOnce(&mut Attributes) -> R) -> Result<R, Failure> {
        match self {
            Self::Comm(handle) => Ok(does(&mut comm_of(handle)?.attributes.lock())),
            Self::Type(handle) => with_attributes_of_type(handle, does)
                .ok_or_else(|| Failure::new(Class::Type, Handle::SELF, "no such datatype")),
            Self::Window(handle) => Ok(does(&mut window_of(handle)?.attributes.lock())),
        }
    }

    /// The communicator that failures are of.
    const fn comm(self) -> Handle {
        match self {
            Self::Comm(handle) => handle,
            Self::Type(_) | Self::Window(_) => Handle::SELF,
        }
    }

    /// What a function of the application has returned: a failure is the communicator's, or that of
    /// `MPI_COMM_SELF`.
    fn outcome(self, code: c_int) -> Outcome {
        if code == 0 {
            return Ok(());
        }
        Err(Failure::with_code(code, self.comm(), "a function of an attribute failed"))
    }

    /// Checks a key that the program has passed.
    fn check(self, key: c_int) -> Outcome {
        let text = match key_of(key) {
            Ok(found) if !found.is_freed => return Ok(()),
            _ if predefined(key).is_some() || OF_WINDOWS.contains(&key) => {
                "a predefined attribute cannot be changed"
            }
            _ => "no such attribute key",
        };
        Err(Failure::new(Class::Keyval, self.comm(), text))
    }

    /// Tells the application that a value goes, which may refuse.
    fn let_go(self, key: c_int, value: usize) -> Outcome {
        let found = key_of(key)?;
        if found.delete.is_null() {
            return Ok(());
        }
        self.outcome(found.delete.delete(self.handle(), key, value, found.extra))
    }

    fn set(self, key: c_int, value: Address) -> Outcome {
        self.check(key)?;
        if let Some(old) = self.with(|all| all.get(key))? {
            self.let_go(key, old)?;
        }
        self.with(|all| all.set(key, value.address()))
    }

    fn get(self, key: c_int, value: Address, flag: Ptr<c_int>) -> Outcome {
        self.check(key)?;
        put_found(self.with(|all| all.get(key))?, value, flag);
        Ok(())
    }

    fn delete(self, key: c_int) -> Outcome {
        self.check(key)?;
        let Some(old) = self.with(|all| all.get(key))? else {
            return Err(Failure::new(Class::Keyval, self.comm(), "no such attribute"));
        };
        self.let_go(key, old)?;
        self.with(|all| all.remove(key))
    }

    /// Deletes all, the last that was set first. What is not deleted yet stays if one is refused.
    fn delete_all(self) -> Outcome {
        while let Some((key, value)) = self.with(|all| all.last())? {
            self.let_go(key, value)?;
            self.with(|all| all.remove(key))?;
        }
        Ok(())
    }

    /// Copies for a duplicate, as the keys say.
    fn copies(self) -> Result<Attributes, Failure> {
        let all = self.with(|all| all.clone())?;
        let mut copies = Attributes::default();
        for (key, value) in all.iter() {
            let found = key_of(key)?;
            if found.copy.is_null() {
                continue;
            }
            if found.copy.is_dup() {
                copies.set(key, value);
                continue;
            }
            let (code, copy) = found.copy.copy(self.handle(), key, found.extra, value);
            self.outcome(code)?;
            if let Some(copy) = copy {
                copies.set(key, copy);
            }
        }
        Ok(copies)
    }
}

fn put_found(found: Option<usize>, value: Address, flag: Ptr<c_int>) {
    flag.put(found.is_some().into());
    if let Some(found) = found {
        value.cast::<usize>().put(found);
    }
}

fn key_of(key: c_int) -> Result<Key, Failure> {
    let found = usize::try_from(key).ok().and_then(|k| KEYS.at(Handle(k)));
    found.ok_or_else(|| Failure::new(Class::Keyval, Handle::SELF, "no such attribute key"))
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

pub(crate) fn win_create_keyval(
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
    KEYS.with(Handle(key.get() as usize), |found| found.is_freed = true);
    key.put(INVALID);
    Ok(())
}

pub(crate) fn type_free_keyval(key: Ptr<c_int>) -> Outcome {
    comm_free_keyval(key)
}

pub(crate) fn win_free_keyval(key: Ptr<c_int>) -> Outcome {
    comm_free_keyval(key)
}

pub(crate) fn keyval_free(key: Ptr<c_int>) -> Outcome {
    comm_free_keyval(key)
}

pub(crate) fn comm_set_attr(comm: Handle, key: c_int, value: Address) -> Outcome {
    AttributeOwner::Comm(comm).set(key, value)
}

pub(crate) fn comm_get_attr(comm: Handle, key: c_int, value: Address, flag: Ptr<c_int>) -> Outcome {
    if let Some(found) = predefined(key) {
        comm_of(comm)?;
        put_found(Some(found), value, flag);
        return Ok(());
    }
    AttributeOwner::Comm(comm).get(key, value, flag)
}

pub(crate) fn comm_delete_attr(comm: Handle, key: c_int) -> Outcome {
    AttributeOwner::Comm(comm).delete(key)
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

/// The attributes that a duplicate of a communicator has.
pub(crate) fn copy_all(comm: Handle) -> Result<Attributes, Failure> {
    AttributeOwner::Comm(comm).copies()
}

/// The attributes that a duplicate of a datatype has.
pub(crate) fn copy_all_of_type(datatype: Handle) -> Result<Attributes, Failure> {
    AttributeOwner::Type(datatype).copies()
}

/// Deletes all attributes of a communicator.
pub(crate) fn delete_all(comm: Handle) -> Outcome {
    AttributeOwner::Comm(comm).delete_all()
}

/// Deletes all attributes of a datatype.
pub(crate) fn delete_all_of_type(datatype: Handle) -> Outcome {
    AttributeOwner::Type(datatype).delete_all()
}

/// Deletes all attributes of a window.
pub(crate) fn delete_all_of_window(win: Handle) -> Outcome {
    AttributeOwner::Window(win).delete_all()
}

pub(crate) fn win_set_attr(win: Handle, key: c_int, value: Address) -> Outcome {
    AttributeOwner::Window(win).set(key, value)
}

pub(crate) fn win_get_attr(win: Handle, key: c_int, value: Address, flag: Ptr<c_int>) -> Outcome {
    if let Some(found) = value_of_window(&*window_of(win)?, key) {
        put_found(Some(found), value, flag);
        return Ok(());
    }
    AttributeOwner::Window(win).get(key, value, flag)
}

pub(crate) fn win_delete_attr(win: Handle, key: c_int) -> Outcome {
    AttributeOwner::Window(win).delete(key)
}

pub(crate) fn type_set_attr(datatype: Handle, key: c_int, value: Address) -> Outcome {
    AttributeOwner::Type(datatype).set(key, value)
}

pub(crate) fn type_get_attr(
    datatype: Handle,
    key: c_int,
    value: Address,
    flag: Ptr<c_int>,
) -> Outcome {
    AttributeOwner::Type(datatype).get(key, value, flag)
}

pub(crate) fn type_delete_attr(datatype: Handle, key: c_int) -> Outcome {
    AttributeOwner::Type(datatype).delete(key)
}
