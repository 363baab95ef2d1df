//! Variables that say how the library works: what its environment sets, and its limits.

use std::env;
use std::ffi::{c_char, c_int};

use prp_mpi::control::environment::{COLLECTIVES, EARLY_RELEASE, HANG_SECONDS, LEAKS};
use prp_mpi::exchange::{HELD, HELD_MESSAGES};

use super::{BASIC, Error, OF_NOTHING, Told, at, put_index, put_string};
use crate::object::Handle;
use crate::sys::pointer::{Address, Ptr};

/// Bytes of a text, with its end.
const TEXT: usize = 256;

/// `MPI_T_SCOPE_CONSTANT`.
const CONSTANT: c_int = 1;

const CHAR: Handle = Handle(0x243);
const UNSIGNED_LONG: Handle = Handle(0x20e);

/// What a variable has.
enum Value {
    /// The text of a variable of the environment, of the same name.
    Environment,
    Number(u64),
}

struct Variable {
    name: &'static str,
    about: &'static str,
    value: Value,
}

/// All variables.
const ALL: [Variable; 6] = [
    Variable {
        name: HANG_SECONDS,
        about: "Seconds that a rank may wait before the roll is called.",
        value: Value::Environment,
    },
    Variable {
        name: EARLY_RELEASE,
        about: "Whether receives end before their messages have come.",
        value: Value::Environment,
    },
    Variable {
        name: COLLECTIVES,
        about: "Algorithms of collective operations.",
        value: Value::Environment,
    },
    Variable {
        name: LEAKS,
        about: "Whether MPI_Finalize says which requests and communicators were not freed.",
        value: Value::Environment,
    },
    Variable {
        name: "prp_mpi_unexpected_bytes_limit",
        about: "Bytes of messages that are kept before a receive is posted for them.",
        value: Value::Number(HELD),
    },
    Variable {
        name: "prp_mpi_unexpected_messages_limit",
        about: "Messages of each rank that are kept before a receive is posted for them.",
        value: Value::Number(HELD_MESSAGES as u64),
    },
];

/// How many there are.
pub(super) const COUNT: usize = ALL.len();

pub(crate) fn t_cvar_get_num(count: Ptr<c_int>) -> Told {
    count.put(COUNT as c_int);
    Ok(())
}

pub(crate) fn t_cvar_get_index(name: Ptr<c_char>, index: Ptr<c_int>) -> Told {
    let name = name.text();
    put_index(&ALL, index, |variable| variable.name == name)
}

pub(crate) fn t_cvar_get_info(
    index: c_int,
    name: Ptr<c_char>,
    name_len: Ptr<c_int>,
    verbosity: Ptr<c_int>,
    datatype: Ptr<Handle>,
    enumeration: Ptr<Handle>,
    about: Ptr<c_char>,
    about_len: Ptr<c_int>,
    bind: Ptr<c_int>,
    scope: Ptr<c_int>,
) -> Told {
    let variable = at(&ALL, index)?;
    put_string(variable.name, name, name_len);
    put_string(variable.about, about, about_len);
    verbosity.put(BASIC);
    datatype.put(match variable.value {
        Value::Environment => CHAR,
        Value::Number(_) => UNSIGNED_LONG,
    });
    // Null pointers stand for no handle of this interface.
    enumeration.put(Handle(0));
    bind.put(OF_NOTHING);
    scope.put(CONSTANT);
    Ok(())
}

pub(crate) fn t_cvar_handle_alloc(
    index: c_int,
    _object: Address,
    handle: Ptr<Handle>,
    count: Ptr<c_int>,
) -> Told {
    count.put(match at(&ALL, index)?.value {
        Value::Environment => TEXT as c_int,
        Value::Number(_) => 1,
    });
    handle.put(Handle(Handle::FIRST + index as usize));
    Ok(())
}

/// The variable of a handle.
fn variable(handle: Handle) -> Result<&'static Variable, Error> {
    let index = handle.0.checked_sub(Handle::FIRST);
    index.and_then(|index| ALL.get(index)).ok_or(Error::Handle)
}

pub(crate) fn t_cvar_handle_free(handle: Ptr<Handle>) -> Told {
    variable(handle.get())?;
    handle.put(Handle(0));
    Ok(())
}

pub(crate) fn t_cvar_read(handle: Handle, value: Address) -> Told {
    let variable = variable(handle)?;
    match variable.value {
        Value::Environment => {
            let text = env::var_os(variable.name).unwrap_or_default();
            value.cast().put_text(&text.to_string_lossy(), TEXT);
        }
        Value::Number(number) => value.cast().put(number),
    }
    Ok(())
}

pub(crate) fn t_cvar_write(handle: Handle, _value: Address) -> Told {
    variable(handle)?;
    Err(Error::NeverSet)
}
