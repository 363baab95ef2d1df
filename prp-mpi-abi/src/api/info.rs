//! Hints.

use std::ffi::{c_char, c_int};

use super::error::{Class, Failure, Outcome, fail, length};
use crate::object::{Handle, INFOS, Info};
use crate::sys::pointer::Ptr;

/// `MPI_MAX_INFO_KEY` and `MPI_MAX_INFO_VAL`: bytes, with the end of the text.
const MAX_KEY: usize = 256;
const MAX_VALUE: usize = 1024;

/// What memory begins at a multiple of, in bytes, if its hints do not ask for more: a line of the
/// cache.
const LINE: usize = 64;

/// Keys and values of a handle.
pub(crate) fn info_of(handle: Handle) -> Option<Info> {
    match handle {
        Handle::INFO_ENV => Some(environment()),
        handle => INFOS.at(handle),
    }
}

/// Returns what memory with these hints begins at a multiple of, in bytes.
pub(crate) fn alignment_of(info: Handle) -> usize {
    let info = info_of(info).unwrap_or_default();
    let asked = info.iter().find(|(key, _)| key == "mpi_minimum_memory_alignment");
    let asked = asked.and_then(|(_, value)| value.trim().parse().ok());
    asked.filter(|bytes: &usize| bytes.is_power_of_two()).map_or(LINE, |bytes| bytes.max(LINE))
}

/// Keeps hints, in place of those with the same keys.
pub(crate) fn merge(kept: &mut Info, hints: Info) {
    for (key, value) in hints {
        kept.retain(|(k, _)| *k != key);
        kept.push((key, value));
    }
}

fn environment() -> Info {
    // A file's name need not be text, and the values of an info object are.
    let command = std::env::args_os().next().unwrap_or_default().to_string_lossy().into_owned();
    // No level of threads: the standard has the key for one that was asked for before the program
    // started, and nothing can do that.
    vec![("command".into(), command)]
}

fn known(handle: Handle) -> Result<Info, Failure> {
    info_of(handle).ok_or_else(|| Failure::new(Class::Info, Handle::SELF, "no such info object"))
}

pub(crate) fn info_create(info: Ptr<Handle>) -> Outcome {
    info.put(INFOS.add(Info::new()));
    Ok(())
}

pub(crate) fn info_create_env(
    _count: c_int,
    _words: Ptr<Ptr<c_char>>,
    info: Ptr<Handle>,
) -> Outcome {
    info.put(INFOS.add(environment()));
    Ok(())
}

pub(crate) fn info_dup(info: Handle, new: Ptr<Handle>) -> Outcome {
    new.put(INFOS.add(known(info)?));
    Ok(())
}

pub(crate) fn info_free(info: Ptr<Handle>) -> Outcome {
    if INFOS.take(info.get()).is_none() {
        return fail(Class::Info, "no such info object");
    }
    info.put(Handle::INFO_NULL);
    Ok(())
}

pub(crate) fn info_set(info: Handle, key: Ptr<c_char>, value: Ptr<c_char>) -> Outcome {
    let (key, value) = (key.text(), value.text());
    if key.is_empty() || key.len() >= MAX_KEY {
        return fail(Class::InfoKey, "an empty key, or one that is too long");
    }
    if value.len() >= MAX_VALUE {
        return fail(Class::InfoValue, "a value that is too long");
    }
    let set = INFOS.with(info, |info| {
        info.retain(|(k, _)| *k != key);
        info.push((key, value));
    });
    set.map_or_else(|| fail(Class::Info, "no such info object"), Ok)
}

pub(crate) fn info_delete(info: Handle, key: Ptr<c_char>) -> Outcome {
    let key = key.text();
    let found = INFOS.with(info, |info| {
        let before = info.len();
        info.retain(|(k, _)| *k != key);
        info.len() < before
    });
    match found {
        Some(true) => Ok(()),
        Some(false) => fail(Class::InfoNokey, "no such key"),
        None => fail(Class::Info, "no such info object"),
    }
}

fn value_of(info: Handle, key: Ptr<c_char>) -> Result<Option<String>, Failure> {
    let key = key.text();
    Ok(known(info)?.into_iter().find(|(k, _)| *k == key).map(|(_, value)| value))
}

pub(crate) fn info_get(
    info: Handle,
    key: Ptr<c_char>,
    room: c_int,
    value: Ptr<c_char>,
    flag: Ptr<c_int>,
) -> Outcome {
    let room = length(room, Class::Arg, Handle::SELF)?;
    let found = value_of(info, key)?;
    flag.put(found.is_some().into());
    if let Some(found) = found {
        value.put_text(&found, room + 1);
    }
    Ok(())
}

pub(crate) fn info_get_string(
    info: Handle,
    key: Ptr<c_char>,
    length: Ptr<c_int>,
    value: Ptr<c_char>,
    flag: Ptr<c_int>,
) -> Outcome {
    let found = value_of(info, key)?;
    flag.put(found.is_some().into());
    if let Some(found) = found {
        let room = length.get();
        length.put(found.len() as c_int + 1);
        if room > 0 {
            value.put_text(&found, room as usize);
        }
    }
    Ok(())
}

pub(crate) fn info_get_valuelen(
    info: Handle,
    key: Ptr<c_char>,
    length: Ptr<c_int>,
    flag: Ptr<c_int>,
) -> Outcome {
    let found = value_of(info, key)?;
    flag.put(found.is_some().into());
    if let Some(found) = found {
        length.put(found.len() as c_int);
    }
    Ok(())
}

pub(crate) fn info_get_nkeys(info: Handle, count: Ptr<c_int>) -> Outcome {
    count.put(known(info)?.len() as c_int);
    Ok(())
}

pub(crate) fn info_get_nthkey(info: Handle, n: c_int, key: Ptr<c_char>) -> Outcome {
    let info = known(info)?;
    match usize::try_from(n).ok().and_then(|n| info.get(n)) {
        Some((name, _)) => key.put_text(name, 256),
        None => return fail(Class::Arg, "no such key"),
    };
    Ok(())
}

/// What an application may ask about the ABI: nothing that is not in the standard.
pub(crate) fn abi_get_info(info: Ptr<Handle>) -> Outcome {
    let sizes = [("mpi_aint_size", "8"), ("mpi_count_size", "8"), ("mpi_offset_size", "8")];
    info.put(INFOS.add(sizes.map(|(k, v)| (k.to_owned(), v.to_owned())).to_vec()));
    Ok(())
}

pub(crate) fn abi_get_fortran_info(info: Ptr<Handle>) -> Outcome {
    info.put(Handle::INFO_NULL);
    Ok(())
}
