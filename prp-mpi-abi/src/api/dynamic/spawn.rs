//! Programs that ranks start.

use std::ffi::{OsString, c_char, c_int};
use std::io;
use std::sync::Arc;

use prp_mpi::control::program::{Program, SpawnRequest};
use prp_mpi::process::{Contact, Process};

use super::{Refusal, Side, accept_at, join_at};
use crate::api::error::{Class, Outcome, current_call};
use crate::api::info::info_of;
use crate::object::Handle;
use crate::sys::pointer::Ptr;

/// The arguments of a program; none if there is no list.
fn arguments(list: Ptr<Ptr<c_char>>) -> Vec<OsString> {
    if list.is_null() {
        return Vec::new();
    }
    let all = (0..).map(|i| list.at(i)).take_while(|word| !word.is_null());
    all.map(|word| word.path().into_os_string()).collect()
}

fn program(
    command: Ptr<c_char>,
    words: Ptr<Ptr<c_char>>,
    ranks: c_int,
    info: Handle,
) -> io::Result<Program> {
    let ranks = usize::try_from(ranks);
    let ranks = ranks.map_err(|_| io::Error::other("a negative number of processes"))?;
    let info = info_of(info).unwrap_or_default();
    let hint = |key: &str| {
        let found = info.iter().find(|(k, _)| k == key);
        found.map(|(_, value)| value.clone()).unwrap_or_default()
    };
    let mut all = vec![command.path().into_os_string()];
    all.extend(arguments(words));
    Ok(Program { ranks, node: hint("host"), folder: hint("wdir").into(), words: all })
}

/// Starts programs that the root names, and joins `comm` with their ranks.
fn spawn(
    programs: impl FnOnce() -> io::Result<Vec<Program>>,
    root: c_int,
    comm: Handle,
    new: Ptr<Handle>,
    codes: Ptr<c_int>,
) -> Outcome {
    let start = |process: &Arc<Process>, own: &[Contact]| {
        let programs = programs()?;
        let wanted = programs.iter().map(|program| program.ranks).sum();
        let of = |why| Refusal { wanted, why };
        if wanted == 0 {
            return Err(of(io::Error::other("no processes to start")));
        }
        let port = process.open_port()?;
        let parent = format!("{port} {}", process.listen_for_jobs()?);
        let started = process.spawn(current_call(), &SpawnRequest { parent, programs });
        let met = started.and_then(|()| accept_at(process, port, own));
        process.close_port(port);
        met.map_err(of)
    };
    let put_codes = |count, code| (0..count).for_each(|i| codes.set(i, code));
    let refused = |wanted| put_codes(wanted, Class::Spawn as c_int);
    let made = join_at(comm, root, Side::Accepts, Class::Spawn, start, refused)?;
    put_codes(remote_size(made), 0);
    new.put(made);
    Ok(())
}

fn remote_size(handle: Handle) -> usize {
    let comm = crate::api::environment::comm(handle);
    comm.and_then(|comm| comm.remote.as_ref().map(|remote| remote.group.len())).unwrap_or(0)
}

pub(crate) fn comm_spawn(
    command: Ptr<c_char>,
    words: Ptr<Ptr<c_char>>,
    ranks: c_int,
    info: Handle,
    root: c_int,
    comm: Handle,
    new: Ptr<Handle>,
    codes: Ptr<c_int>,
) -> Outcome {
    let programs = || Ok(vec![program(command, words, ranks, info)?]);
    spawn(programs, root, comm, new, codes)
}

pub(crate) fn comm_spawn_multiple(
    count: c_int,
    commands: Ptr<Ptr<c_char>>,
    words: Ptr<Ptr<Ptr<c_char>>>,
    ranks: Ptr<c_int>,
    infos: Ptr<Handle>,
    root: c_int,
    comm: Handle,
    new: Ptr<Handle>,
    codes: Ptr<c_int>,
) -> Outcome {
    let programs = || {
        let all = 0..usize::try_from(count).unwrap_or(0);
        all.map(|i| {
            let words = if words.is_null() { Ptr(std::ptr::null_mut()) } else { words.at(i) };
            program(commands.at(i), words, ranks.at(i), infos.at(i))
        })
        .collect()
    };
    spawn(programs, root, comm, new, codes)
}
