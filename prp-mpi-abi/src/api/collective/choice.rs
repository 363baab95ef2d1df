//! Which algorithms collective operations take: by their sizes, by the environment, by the info of
//! a communicator; and what was taken, on wish.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::LazyLock;
use std::{env, process};

use parking_lot::Mutex;
use prp_mpi::collective::CALLS;
use prp_mpi::collective::Call;
use prp_mpi::collective::choice::{Algorithm, CallProperties, Choices};
use prp_mpi::control::environment::COLLECTIVES;

use crate::object::{Comm, Info};

/// Keys of info objects begin with this, and end with the name of a call.
const HINT: &str = "prp_mpi_";

/// The word of the environment that asks for a report.
const REPORT: &str = "report";

/// What the environment says: algorithms, and whether to report.
static GENERAL: LazyLock<(Choices, bool)> = LazyLock::new(|| {
    let text = env::var(COLLECTIVES).unwrap_or_default();
    let words: Vec<&str> = text.split(',').map(str::trim).collect();
    let settings: Vec<&str> = words.iter().copied().filter(|w| *w != REPORT).collect();
    let choices = Choices::parse(&settings.join(",")).unwrap_or_else(|why| {
        let _ = writeln!(io::stderr(), "{COLLECTIVES}: {why}");
        process::exit(1);
    });
    (choices, words.contains(&REPORT))
});

/// How often an algorithm was taken, and for how many bytes at most.
static TAKEN: Mutex<BTreeMap<(usize, Algorithm), (u64, usize)>> = Mutex::new(BTreeMap::new());

/// Reads the environment, before anything depends on it.
pub(crate) fn read_environment() {
    LazyLock::force(&GENERAL);
}

/// Does what the info of a communicator says. Unknown words are ignored, as in all info.
pub(crate) fn take_hints(comm: &Comm, info: &Info) {
    let mut choices = Choices::default();
    for (key, value) in info {
        if let Some(call) = key.strip_prefix(HINT) {
            let _ = choices.set(call, value);
        }
    }
    *comm.choices.lock() = choices;
}

/// The algorithm of a call.
pub(crate) fn choose(comm: &Comm, question: CallProperties) -> Algorithm {
    let (general, reports) = &*GENERAL;
    let taken = comm.choices.lock().choose(general, question);
    if *reports {
        let mut all = TAKEN.lock();
        let (times, most) = all.entry((question.call as usize, taken)).or_default();
        *times += 1;
        *most = question.bytes.max(*most);
    }
    taken
}

/// As [`choose`], for a call that combines nothing.
pub(crate) fn choose_by_size(comm: &Comm, call: Call, bytes: usize) -> Algorithm {
    choose(comm, CallProperties { call, bytes, ranks: comm.size(), commutes: true })
}

/// Says what this rank has taken, if the environment asks.
pub(crate) fn report(rank: usize) {
    for ((call, algorithm), (times, most)) in &*TAKEN.lock() {
        let (call, algorithm) = (CALLS[*call], algorithm.name());
        let _ = writeln!(
            io::stderr(),
            "rank {rank}: {call} by {algorithm} {times} times, up to {most} bytes"
        );
    }
}
