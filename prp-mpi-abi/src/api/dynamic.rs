//! Jobs that meet at a port, and become the two groups of an intercommunicator.

mod name;
mod spawn;

use std::ffi::{c_char, c_int};
use std::io;
use std::sync::Arc;

use parking_lot::Mutex;
use prp_mpi::process::report::Waiting;
use prp_mpi::process::{Contact, Process};
use prp_mpi::sys::descriptors::inherited;

pub(crate) use self::name::*;
pub(crate) use self::spawn::*;
use super::collective::{allgather_texts, bcast_text, intra};
use super::communicator::join;
use super::environment::{comm_of, process};
use super::error::{Class, Failure, Outcome, current_call, fail};
use crate::object::{COMMS, Comm, Handle};
use crate::sys::pointer::Ptr;

/// `MPI_MAX_PORT_NAME`.
const MAX_PORT_NAME: usize = 1024;

/// The communicator with those that have spawned this job.
static PARENT: Mutex<Handle> = Mutex::new(Handle::COMM_NULL);

/// What a root has found out, for the ranks of its group.
struct Meeting {
    context: u64,
    /// The ranks of the other group.
    others: Vec<Contact>,
}

/// Why a root has not met another group.
struct Refusal {
    /// The processes that it was to start.
    wanted: usize,
    why: io::Error,
}

impl From<io::Error> for Refusal {
    fn from(why: io::Error) -> Self {
        Self { wanted: 0, why }
    }
}

/// A port of a process: `1 CONTACT`.
struct Port {
    number: u64,
    of: Contact,
}

impl Port {
    fn parse(text: &str) -> io::Result<Self> {
        let wrong = || io::Error::new(io::ErrorKind::InvalidData, "this is no port's name");
        let (number, of) = text.split_once(' ').ok_or_else(wrong)?;
        Ok(Self { number: number.parse().map_err(|_| wrong())?, of: of.parse()? })
    }
}

/// The contacts of a group as lines, and again.
fn lines(group: &[Contact]) -> String {
    group.iter().map(|contact| format!("{contact}\n")).collect()
}

fn contacts_in<'a>(lines: impl Iterator<Item = &'a str>) -> io::Result<Vec<Contact>> {
    lines.map(str::parse).collect()
}

fn failure(class: Class, handle: Handle, error: &io::Error) -> Failure {
    Failure::new(class, handle, error.to_string())
}

/// The contacts of all ranks of a communicator.
pub(crate) fn gather_contacts(comm: &Comm, handle: Handle) -> Result<Vec<Contact>, Failure> {
    let own = process()?.listen_for_jobs().map_err(|e| failure(Class::Other, handle, &e))?;
    let all = allgather_texts([comm, comm], handle, &own.to_string())?;
    contacts_in(all.iter().map(String::as_str)).map_err(|e| failure(Class::Other, handle, &e))
}

/// Waits for a message, from wherever it may come.
fn wait_for_message(process: &Process, port: u64, detail: &str) -> String {
    let waiting = || Waiting {
        is_for_anyone: true,
        ..Waiting::new(current_call(), "a port".to_owned(), detail.to_owned())
    };
    process.wait(&waiting, |_| process.take_message(port))
}

/// Waits for a group that connects to a port of this process, and tells it of the own group.
fn accept_at(process: &Process, port: u64, own: &[Contact]) -> io::Result<Meeting> {
    loop {
        let message = wait_for_message(process, port, "for a group that connects");
        let mut parts = message.lines();
        let Some(to) = parts.next().and_then(|text| Port::parse(text).ok()) else { continue };
        let Ok(others) = contacts_in(parts) else { continue };
        let context = process.fresh_context();
        let answer = format!("{context}\n{}", lines(own));
        // Who does not wait any more is of no concern.
        if process.send_to_port(&to.of, to.number, &answer).is_ok() {
            return Ok(Meeting { context, others });
        }
    }
}

/// Tells a group at a port of the own group, and waits until it accepts that.
fn connect_to(process: &Arc<Process>, port: &Port, own: &[Contact]) -> io::Result<Meeting> {
    let here = process.listen_for_jobs()?;
    let number = process.open_port()?;
    let message = format!("{number} {here}\n{}", lines(own));
    let sent = process.send_to_port(&port.of, port.number, &message);
    let answer = sent.map(|()| wait_for_message(process, number, "for a group that accepts"));
    process.close_port(number);
    let answer = answer?;
    let mut parts = answer.lines();
    let context = parts.next().and_then(|text| text.parse().ok());
    let closed = || io::Error::new(io::ErrorKind::NotFound, "the port was closed");
    Ok(Meeting { context: context.ok_or_else(closed)?, others: contacts_in(parts)? })
}

/// Which of two groups a group is: this one begins the connections of its ranks with others.
#[derive(Copy, Clone, Eq, PartialEq)]
enum Side {
    Accepts,
    Connects,
}

/// Links this rank with all ranks of the other group, which does the same; what they are called
/// here.
pub(crate) fn link(others: &[Contact], connects: bool) -> io::Result<Vec<usize>> {
    let process = process().map_err(|e| io::Error::other(e.text))?;
    if connects {
        process.link_with(others)?;
    }
    let waiting = || Waiting {
        is_for_anyone: true,
        ..Waiting::new(current_call(), "a port".to_owned(), "for links".to_owned())
    };
    Ok(process.wait(&waiting, |_| process.linked(others)))
}

/// Joins the ranks of `comm` with those of a group that its root meets. `refused` is told if the
/// root has not met it, and what it has wanted then.
fn join_at(
    handle: Handle,
    root: c_int,
    side: Side,
    class: Class,
    meet: impl FnOnce(&Arc<Process>, &[Contact]) -> Result<Meeting, Refusal>,
    refused: impl FnOnce(usize),
) -> Result<Handle, Failure> {
    let comm = intra(handle)?;
    let root = root_of(&comm, handle, root)?;
    let own = gather_contacts(&comm, handle)?;
    let mut text = String::new();
    if comm.rank == root {
        text = match meet(process()?, &own) {
            Ok(Meeting { context, others }) => format!("{context}\n{}", lines(&others)),
            Err(Refusal { wanted, why }) => format!("refused\n{wanted} {why}"),
        };
    }
    let text = bcast_text(&comm, handle, root, &text)?;
    let (context, rest) = text.split_once('\n').unwrap_or_default();
    let Ok(context) = context.parse() else {
        let (wanted, why) = rest.split_once(' ').unwrap_or_default();
        refused(wanted.parse().unwrap_or(0));
        return Err(Failure::new(class, handle, why));
    };
    let others = contacts_in(rest.lines()).and_then(|all| link(&all, side == Side::Connects));
    let others = others.map_err(|e| failure(class, handle, &e))?;
    join(&comm, &comm.group, &others, side == Side::Connects, context)
}

fn root_of(comm: &Comm, handle: Handle, root: c_int) -> Result<usize, Failure> {
    let found = usize::try_from(root).ok().filter(|&root| root < comm.size());
    found.ok_or_else(|| Failure::new(Class::Root, handle, format!("no rank {root}")))
}

pub(crate) fn open_port(_info: Handle, name: Ptr<c_char>) -> Outcome {
    let process = process()?;
    let here = process.listen_for_jobs();
    let port = here.and_then(|here| Ok(format!("{} {here}", process.open_port()?)));
    let port = port.map_err(|e| failure(Class::Other, Handle::SELF, &e))?;
    name.put_text(&port, MAX_PORT_NAME);
    Ok(())
}

pub(crate) fn close_port(name: Ptr<c_char>) -> Outcome {
    let process = process()?;
    let port = Port::parse(&name.text()).map_err(|e| failure(Class::Port, Handle::SELF, &e))?;
    let is_ours = process.has_port(&port.of, port.number);
    let Some(messages) = is_ours.then(|| process.close_port(port.number)).flatten() else {
        return fail(Class::Port, "this process has no such port open");
    };
    for message in messages {
        if let Some(Ok(to)) = message.lines().next().map(Port::parse) {
            let _ = process.send_to_port(&to.of, to.number, "closed");
        }
    }
    Ok(())
}

pub(crate) fn comm_accept(
    name: Ptr<c_char>,
    _info: Handle,
    root: c_int,
    comm: Handle,
    new: Ptr<Handle>,
) -> Outcome {
    let accept = |process: &Arc<Process>, own: &[Contact]| {
        let port = Port::parse(&name.text())?;
        if !process.has_port(&port.of, port.number) {
            return Err(io::Error::other("this process has no such port open").into());
        }
        Ok(accept_at(process, port.number, own)?)
    };
    new.put(join_at(comm, root, Side::Accepts, Class::Port, accept, |_| ())?);
    Ok(())
}

pub(crate) fn comm_connect(
    name: Ptr<c_char>,
    _info: Handle,
    root: c_int,
    comm: Handle,
    new: Ptr<Handle>,
) -> Outcome {
    let connect = |process: &Arc<Process>, own: &[Contact]| {
        Ok(connect_to(process, &Port::parse(&name.text())?, own)?)
    };
    new.put(join_at(comm, root, Side::Connects, Class::Port, connect, |_| ())?);
    Ok(())
}

/// The process at the other end of a socket calls this, too. The one whose identity comes first
/// accepts, and says the context.
pub(crate) fn comm_join(fd: c_int, new: Ptr<Handle>) -> Outcome {
    let process = process()?;
    let of = |e: io::Error| failure(Class::Other, Handle::SELF, &e);
    let own = process.listen_for_jobs().map_err(of)?;
    let context = process.fresh_context();
    let exchanged = inherited(fd).and_then(|mut stream| {
        exchange_lines(&mut stream, &format!("{context} {own}")).and_then(|text| Port::parse(&text))
    });
    // Each says a context in the place of a port's number.
    let Port { number, of: other } = exchanged.map_err(of)?;
    if other == own {
        return fail(Class::Arg, "both ends of the socket are this process's");
    }
    let accepts = own.identity() < other.identity();
    let context = if accepts { context } else { number };
    let others = link(&[other], !accepts).map_err(of)?;
    let comm = comm_of(Handle::SELF)?;
    new.put(join(&comm, &comm.group, &others, !accepts, context)?);
    Ok(())
}

fn exchange_lines(stream: &mut (impl io::Read + io::Write), own: &str) -> io::Result<String> {
    stream.write_all(&(own.len() as u32).to_le_bytes())?;
    stream.write_all(own.as_bytes())?;
    let mut len = [0; 4];
    stream.read_exact(&mut len)?;
    let len = u32::from_le_bytes(len) as usize;
    if len > MAX_PORT_NAME {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut text = vec![0; len];
    stream.read_exact(&mut text)?;
    String::from_utf8(text).map_err(|_| io::ErrorKind::InvalidData.into())
}

pub(crate) fn comm_get_parent(parent: Ptr<Handle>) -> Outcome {
    parent.put(*PARENT.lock());
    Ok(())
}

/// Meets those that have spawned this job, if any have.
pub(crate) fn meet_parent() -> Outcome {
    let Ok(port) = std::env::var(prp_mpi::control::environment::PARENT) else { return Ok(()) };
    let connect = |process: &Arc<Process>, own: &[Contact]| {
        Ok(connect_to(process, &Port::parse(&port)?, own)?)
    };
    let made = join_at(Handle::WORLD, 0, Side::Connects, Class::Spawn, connect, |_| ())?;
    if let Some(comm) = COMMS.at(made) {
        super::communicator::rename(&comm, "MPI_COMM_PARENT")?;
    }
    *PARENT.lock() = made;
    Ok(())
}

/// A communicator is freed.
pub(crate) fn note_freed(handle: Handle) {
    let mut parent = PARENT.lock();
    if *parent == handle {
        *parent = Handle::COMM_NULL;
    }
}

/// The processes of other jobs that a communicator has, which it holds as long as it is there.
pub(crate) fn hold_foreign(comm: &mut Comm) -> Outcome {
    let process: &Arc<Process> = process()?;
    let remote = comm.remote.iter().flat_map(|remote| remote.group.iter());
    comm.foreign = process.foreign(comm.group.iter().chain(remote));
    process.hold(&comm.foreign);
    Ok(())
}
