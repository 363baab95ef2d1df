//! Receives that end before their message is there: which may, and the wait for one.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once};

use prp_mpi::control::environment::EARLY_RELEASE;
use prp_mpi::exchange::THRESHOLD;
use prp_mpi::process::Process;
use prp_mpi::request::{RequestId, Status as Ending};
use prp_mpi::sys::memory::Region;

use super::environment::process;
use super::error::Failure;
use super::message::{Part, waiting};
use crate::object::{Comm, Info};
use crate::sys::early_library;

/// Key of an info object: `true` releases the receives of a communicator early.
const HINT: &str = "prp_mpi_early_release";

/// Whether receives of any communicator may be released early. What is off costs one load of this.
static IS_ON: AtomicBool = AtomicBool::new(false);

/// Whether those of all communicators may.
static IS_EVERYWHERE: AtomicBool = AtomicBool::new(false);

/// Whether any receive may be released early.
pub(crate) fn is_on() -> bool {
    IS_ON.load(Ordering::Relaxed)
}

/// Does what the environment says.
pub(crate) fn read_environment(process: &Arc<Process>) {
    if let Some(value) = std::env::var_os(EARLY_RELEASE).filter(|value| value != "0") {
        enable(process, value != "info");
    }
}

/// Lets receives be released early. Where that is not possible the first rank says why, once, and
/// receives end as always.
pub(crate) fn enable(process: &Arc<Process>, is_everywhere: bool) {
    static REFUSED: Once = Once::new();
    let outcome =
        early_library::begin().and_then(|()| process.release_early(early_library::may_close));
    match outcome {
        Ok(()) => {
            IS_EVERYWHERE.fetch_or(is_everywhere, Ordering::Relaxed);
            IS_ON.store(true, Ordering::Relaxed);
        }
        Err(why) if process.rank() == 0 => REFUSED.call_once(|| {
            let _ = writeln!(
                io::stderr(),
                "prp-mpi: receives are not released early: {why} (prp-mpirun does that where \
                 {EARLY_RELEASE} is set and {} lies beside it; docs/mpi.md)",
                early_library::NAME
            );
        }),
        Err(_) => {}
    }
}

/// Does what the info of a communicator says.
pub(crate) fn take_hint(comm: &Comm, info: &Info) {
    let is_early = info.iter().any(|(key, value)| key == HINT && value == "true");
    if let Ok(process) = process()
        && is_early
        && !is_on()
    {
        enable(process, false);
    }
    comm.is_early.store(is_early, Ordering::Relaxed);
}

/// Whether a message of this size on this communicator is one to release early.
pub(crate) fn is_worth_it(comm: &Comm, region: &Region) -> bool {
    is_on()
        && region.len() >= THRESHOLD
        && (IS_EVERYWHERE.load(Ordering::Relaxed) || comm.is_early.load(Ordering::Relaxed))
}

/// Waits for a receive, or releases it.
pub(crate) fn wait_for(
    request: RequestId,
    part: &Part,
    is_ignored: bool,
) -> Result<Ending, Failure> {
    let detail = part.detail(true);
    let mut may_release = false;
    let ending = process()?.wait(&|| waiting(&part.of.comm, detail), |exchange| {
        if may_release && exchange.can_release(request, is_ignored) {
            exchange.release(request);
        }
        // What has come already is taken in first.
        may_release = is_on();
        exchange.take(request)
    });
    Ok(ending)
}

/// Says how receives were released, if the environment asks.
pub(crate) fn report(process: &Process) {
    if std::env::var(EARLY_RELEASE).is_ok_and(|v| v == "report") {
        let counts = process.exchange().release_counts();
        let _ = writeln!(
            io::stderr(),
            "rank {}: {} receives released before their message, {} during it",
            process.rank(),
            counts.before_header,
            counts.after_header
        );
    }
}
