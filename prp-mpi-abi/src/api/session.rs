//! Sessions: the world by another door, with the two process sets that there always are.

use std::ffi::{c_char, c_int};

use super::environment::{begin, is_in_world, process};
use super::error::{Class, Failure, Outcome, current_call, fail, handle_by};
use crate::object::{Handle, INFOS, Info, SESSIONS};
use crate::sys::pointer::Ptr;

/// The key of the info of a session that asks for a level of threads, and says what there is.
const THREAD_LEVEL: &str = "thread_level";

/// The levels that a program may ask for.
const LEVELS: [&str; 4] =
    ["MPI_THREAD_SINGLE", "MPI_THREAD_FUNNELED", "MPI_THREAD_SERIALIZED", PROVIDED];

/// What each session gets.
const PROVIDED: &str = "MPI_THREAD_MULTIPLE";

pub(crate) fn session_init(info: Handle, handler: Handle, session: Ptr<Handle>) -> Outcome {
    let failure = |class, text: String| Failure {
        handler: Some(handler),
        ..Failure::new(class, Handle::SELF, text)
    };
    if info != Handle::INFO_NULL {
        let asked = INFOS.with(info, |all| value_of(all, THREAD_LEVEL));
        let asked = asked.ok_or_else(|| failure(Class::Info, "no such info".to_owned()))?;
        if let Some(level) = asked.filter(|level| !LEVELS.contains(&level.as_str())) {
            let text = format!("'{level}' is no level of threads: {}", LEVELS.join(", "));
            return Err(failure(Class::InfoValue, text));
        }
    }
    begin()?;
    process()?.share();
    session.put(SESSIONS.add(handler));
    Ok(())
}

pub(crate) fn session_finalize(session: Ptr<Handle>) -> Outcome {
    if SESSIONS.take(session.get()).is_none() {
        return fail(Class::Session, "no such session");
    }
    session.put(Handle(0x120));
    if SESSIONS.len() == 0 && !is_in_world() {
        process()?.leave();
    }
    Ok(())
}

pub(crate) fn session_get_num_psets(session: Handle, _info: Handle, count: Ptr<c_int>) -> Outcome {
    handler_of(session)?;
    count.put(PROCESS_SETS.len() as c_int);
    Ok(())
}

fn value_of(info: &Info, key: &str) -> Option<String> {
    info.iter().find(|(k, _)| k == key).map(|(_, value)| value.clone())
}

/// The process sets that there always are.
pub(crate) const PROCESS_SETS: [&str; 2] = ["mpi://WORLD", "mpi://SELF"];

/// The world ranks of a process set, whose name is a URI: upper and lower case are the same.
pub(crate) fn ranks_of_set(session: Handle, name: Ptr<c_char>) -> Result<Vec<usize>, Failure> {
    let handler = handler_of(session)?;
    let process = process()?;
    let name = name.text();
    match PROCESS_SETS.iter().position(|set| set.eq_ignore_ascii_case(&name)) {
        Some(0) => Ok((0..process.size()).collect()),
        Some(_) => Ok(vec![process.rank()]),
        None => Err(no_such_set(session, handler)),
    }
}

pub(crate) fn session_get_nth_pset(
    session: Handle,
    _info: Handle,
    n: c_int,
    length: Ptr<c_int>,
    name: Ptr<c_char>,
) -> Outcome {
    let handler = handler_of(session)?;
    let Some(set) = usize::try_from(n).ok().and_then(|n| PROCESS_SETS.get(n)) else {
        return Err(no_such_set(session, handler));
    };
    let room = length.get();
    length.put(set.len() as c_int + 1);
    if room > 0 {
        name.put_text(set, room as usize);
    }
    Ok(())
}

pub(crate) fn session_get_info(session: Handle, info: Ptr<Handle>) -> Outcome {
    handler_of(session)?;
    info.put(INFOS.add(vec![(THREAD_LEVEL.to_owned(), PROVIDED.to_owned())]));
    Ok(())
}

/// How many ranks a process set has.
pub(crate) fn session_get_pset_info(
    session: Handle,
    name: Ptr<c_char>,
    info: Ptr<Handle>,
) -> Outcome {
    let size = ranks_of_set(session, name)?.len();
    info.put(INFOS.add(vec![("mpi_size".to_owned(), size.to_string())]));
    Ok(())
}

/// A failure of a session, which goes to its own error handler.
fn no_such_set(session: Handle, handler: Handle) -> Failure {
    let failure = Failure::new(Class::Arg, session, "no such process set");
    Failure { handler: Some(handler), ..failure }
}

/// The error handler of a session.
pub(crate) fn handler_of(session: Handle) -> Result<Handle, Failure> {
    let failure = || Failure::new(Class::Session, Handle::SELF, "no such session");
    SESSIONS.at(session).ok_or_else(failure)
}

pub(crate) fn session_set_errhandler(session: Handle, handler: Handle) -> Outcome {
    handler_of(session)?;
    SESSIONS.with(session, |kept| *kept = handler);
    Ok(())
}

pub(crate) fn session_get_errhandler(session: Handle, handler: Ptr<Handle>) -> Outcome {
    handler.put(handler_of(session)?);
    Ok(())
}

pub(crate) fn session_call_errhandler(session: Handle, code: c_int) -> Outcome {
    let handler = handler_of(session)?;
    let failure = Failure::with_code(code, session, "called by the program");
    handle_by(handler, current_call(), &failure);
    Ok(())
}

/// What is known of the machine: nothing that a program could not ask the system.
pub(crate) fn get_hw_resource_info(info: Ptr<Handle>) -> Outcome {
    info.put(INFOS.add(Info::new()));
    Ok(())
}
