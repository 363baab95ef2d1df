//! The beginning and the end of MPI, and calls that need neither.

use std::ffi::{c_char, c_int};
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use prp_mpi::process::Process;
use prp_node::limits;

use super::error::{Class, Failure, Outcome, fail};
use crate::object::{COMMS, Comm, Handle, REQUESTS, SESSIONS};
use crate::sys::pointer::{Address, Ptr};

/// What there is between the beginning and the end.
#[derive(Debug)]
struct Universe {
    process: Arc<Process>,
    world: Arc<Comm>,
    own: Arc<Comm>,
}

static UNIVERSE: OnceLock<Universe> = OnceLock::new();
static IS_INITIALIZED: AtomicBool = AtomicBool::new(false);
static IS_FINALIZED: AtomicBool = AtomicBool::new(false);
static MAIN: OnceLock<std::thread::ThreadId> = OnceLock::new();

/// Levels of threads, each with all that the one before allows.
const LEVELS: [c_int; 4] = [0, 1024, 2048, MULTIPLE];
const MULTIPLE: c_int = 4096;

/// The level that the program has asked for.
static LEVEL: AtomicI32 = AtomicI32::new(LEVELS[0]);

/// This process as a rank.
pub(crate) fn process() -> Result<&'static Arc<Process>, Failure> {
    let universe = UNIVERSE.get().map(|u| &u.process);
    universe.ok_or_else(|| Failure::new(Class::Other, Handle::SELF, "MPI_Init was not called"))
}

/// The communicator of a handle.
pub(crate) fn comm(handle: Handle) -> Option<Arc<Comm>> {
    match handle {
        Handle::WORLD => UNIVERSE.get().map(|u| u.world.clone()),
        Handle::SELF => UNIVERSE.get().map(|u| u.own.clone()),
        other => COMMS.at(other),
    }
}

/// The communicator of a handle, or the error that there is none.
pub(crate) fn comm_of(handle: Handle) -> Result<Arc<Comm>, Failure> {
    process()?;
    comm(handle).ok_or_else(|| Failure::new(Class::Comm, Handle::SELF, "no such communicator"))
}

/// Whether the program is between `MPI_Init` and `MPI_Finalize`.
pub(crate) fn is_in_world() -> bool {
    IS_INITIALIZED.load(Ordering::SeqCst) && !IS_FINALIZED.load(Ordering::SeqCst)
}

/// Whether the program has called `MPI_Finalize`, and has no session.
pub(crate) fn is_over() -> bool {
    IS_FINALIZED.load(Ordering::Relaxed) && SESSIONS.len() == 0
}

/// Has an abort for want of memory say so. Where that fails the message is Rust's alone.
fn explain_aborts() {
    let _ = limits::explain_aborts("prp-mpi");
}

/// Wires this process up, once. One that has ended its last session is in the job again.
pub(crate) fn begin() -> Outcome {
    if let Some(universe) = UNIVERSE.get() {
        universe.process.come_back();
        return Ok(());
    }
    explain_aborts();
    let process = Process::start().unwrap_or_else(|e| {
        let limit = limits::behind(&e).map(|limit| format!(": {limit}")).unwrap_or_default();
        let _ = writeln!(io::stderr(), "MPI_Init: {e}{limit}");
        std::process::exit(1);
    });
    super::collective::choice::read_environment();
    let world = Comm::new(1, (0..process.size()).collect(), process.rank(), "MPI_COMM_WORLD");
    let own = Comm::new(2, [process.rank()].into(), 0, "MPI_COMM_SELF");
    for comm in [&world, &own] {
        for context in [comm.messages(), comm.collectives()] {
            process.name(context, &comm.name.lock());
        }
    }
    super::early::read_environment(&process);
    let _ = UNIVERSE.set(Universe { process, world: Arc::new(world), own: Arc::new(own) });
    Ok(())
}

pub(crate) fn init(_arguments: Ptr<c_int>, _words: Ptr<Ptr<Ptr<c_char>>>) -> Outcome {
    start(0)
}

pub(crate) fn init_thread(
    _arguments: Ptr<c_int>,
    _words: Ptr<Ptr<Ptr<c_char>>>,
    required: c_int,
    provided: Ptr<c_int>,
) -> Outcome {
    start(required)?;
    query_thread(provided)
}

fn start(level: c_int) -> Outcome {
    if IS_INITIALIZED.swap(true, Ordering::SeqCst) {
        return fail(Class::Other, "called twice");
    }
    explain_aborts();
    let _ = MAIN.set(std::thread::current().id());
    begin()?;
    let level = LEVELS.into_iter().find(|l| *l >= level).unwrap_or(MULTIPLE);
    LEVEL.store(level, Ordering::Relaxed);
    // At all other levels one thread calls at a time, so it may keep the exchange while it waits.
    if level == MULTIPLE {
        process()?.share();
    }
    super::dynamic::meet_parent()
}

pub(crate) fn finalize() -> Outcome {
    let process = process()?;
    super::attribute::delete_all(Handle::SELF)?;
    if std::env::var_os(prp_mpi::control::environment::LEAKS).is_some() {
        let (requests, comms) = (REQUESTS.len(), COMMS.len());
        if requests + comms > 0 {
            let _ = writeln!(
                io::stderr(),
                "rank {}: {requests} requests and {comms} communicators were not freed",
                process.rank()
            );
        }
    }
    IS_FINALIZED.store(true, Ordering::SeqCst);
    super::early::report(process);
    super::collective::choice::report(process.rank());
    process.finalize().map_err(|e| Failure::new(Class::Other, Handle::SELF, e.to_string()))
}

pub(crate) fn initialized(flag: Ptr<c_int>) -> Outcome {
    flag.put(IS_INITIALIZED.load(Ordering::SeqCst).into());
    Ok(())
}

pub(crate) fn finalized(flag: Ptr<c_int>) -> Outcome {
    flag.put(IS_FINALIZED.load(Ordering::SeqCst).into());
    Ok(())
}

pub(crate) fn query_thread(provided: Ptr<c_int>) -> Outcome {
    provided.put(LEVEL.load(Ordering::Relaxed));
    Ok(())
}

pub(crate) fn is_thread_main(flag: Ptr<c_int>) -> Outcome {
    flag.put((MAIN.get() == Some(&std::thread::current().id())).into());
    Ok(())
}

pub(crate) fn abort(_comm: Handle, code: c_int) -> Outcome {
    process()?.abort(code, &format!("MPI_Abort with status {code}"))
}

pub(crate) fn get_version(version: Ptr<c_int>, subversion: Ptr<c_int>) -> Outcome {
    version.put(5);
    subversion.put(0);
    Ok(())
}

pub(crate) fn abi_get_version(major: Ptr<c_int>, minor: Ptr<c_int>) -> Outcome {
    major.put(1);
    minor.put(0);
    Ok(())
}

pub(crate) fn get_library_version(text: Ptr<c_char>, length: Ptr<c_int>) -> Outcome {
    let version = concat!("prp-mpi ", env!("CARGO_PKG_VERSION"));
    length.put(text.put_text(version, 8192));
    Ok(())
}

pub(crate) fn get_processor_name(text: Ptr<c_char>, length: Ptr<c_int>) -> Outcome {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let node = process().map(|p| p.nodes()[p.rank()]).unwrap_or_default();
    let name = format!("{}/{node}", name.trim());
    length.put(text.put_text(&name, 256));
    Ok(())
}

/// Seconds since this process first asked.
pub(crate) fn wtime() -> f64 {
    static BEGUN: OnceLock<Instant> = OnceLock::new();
    BEGUN.get_or_init(Instant::now).elapsed().as_secs_f64()
}

pub(crate) fn wtick() -> f64 {
    1e-9
}

pub(crate) fn pcontrol(_level: c_int) -> Outcome {
    Ok(())
}

pub(crate) fn get_address(location: Address, address: Ptr<isize>) -> Outcome {
    address.put(location.address().cast_signed());
    Ok(())
}

pub(crate) fn aint_add(base: isize, displacement: isize) -> isize {
    base.wrapping_add(displacement)
}

pub(crate) fn aint_diff(a: isize, b: isize) -> isize {
    a.wrapping_sub(b)
}
