//! What a rank says of itself: where it waits, and what does not fit.

use std::fmt::Write;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::Process;
use crate::collective::CALLS;
use crate::exchange::Mismatch;
use crate::matching::Pattern;
use crate::operation::Operation;
use crate::wire::Signature;

/// What a thread waits for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Waiting {
    /// The call, as `MPI_Recv`.
    pub call: &'static str,
    /// Name of the communicator.
    pub communicator: String,
    /// Peer, tag, bytes and the like.
    pub detail: String,
    /// World rank of the only rank that can end the wait.
    pub peer: Option<usize>,
    /// When the call was made.
    pub since: Instant,
    /// What is waited for may come from anywhere, so that this is no wait for ranks of the job.
    pub is_for_anyone: bool,
}

impl Waiting {
    /// A call made now.
    pub fn new(call: &'static str, communicator: String, detail: String) -> Self {
        let since = Instant::now();
        Self { call, communicator, detail, peer: None, since, is_for_anyone: false }
    }
}

impl Process {
    /// Where this rank is, in lines: what it does, which is the same for ranks that do the same;
    /// times and queues; the rank it waits for, if that is one; if it waits for others, a text that
    /// changes with all that happens to it; and the processor time it has used, in ticks of the
    /// kernel. A rank of whose threads one may call MPI that does not wait in it now waits for no
    /// others.
    pub(crate) fn whereabouts(&self) -> String {
        let waiting = self.waiting.lock().clone();
        let mut text = String::new();
        if waiting.is_empty() {
            text.push_str("not in an MPI call that waits");
        }
        for (i, at) in waiting.iter().enumerate() {
            let join = if i == 0 { "" } else { " and " };
            let _ = write!(text, "{join}{} on {}", at.call, at.communicator);
            if !at.detail.is_empty() {
                let _ = write!(text, ", {}", at.detail);
            }
        }
        let others = self.threads_that_may_call(waiting.len());
        if others > 0 && !waiting.is_empty() {
            text.push_str(", while other threads do not wait");
        }
        text.push('\n');
        let longest = waiting.iter().map(|w| w.since.elapsed()).max().unwrap_or(Duration::ZERO);
        let _ = write!(text, "{:.1} s", longest.as_secs_f64());
        let Some(exchange) = self.exchange_within(Duration::from_millis(200)) else {
            return text;
        };
        let posted = exchange.posted().map(|p| self.describe(&p.pattern)).take(SHOWN);
        let (posted, receives) = (posted.collect::<Vec<_>>(), exchange.posted().count());
        let came = exchange.unexpected().take(SHOWN).map(|m| {
            let name = self.name_of(m.header.context);
            let (source, tag, len) = (m.header.source, m.header.tag, m.header.len);
            format!("from {source} tag {tag} of {len} bytes on {name}")
        });
        let (came, messages) = (came.collect::<Vec<_>>(), exchange.unexpected_len());
        let (changes, is_combining) =
            (exchange.changes() + exchange.received(), exchange.is_combining());
        drop(exchange);
        let _ = write!(text, "; {}", listed("posted", &posted, receives));
        let _ = write!(text, "; {}", listed("unexpected", &came, messages));
        text.push('\n');
        if let [Waiting { peer: Some(peer), .. }] = waiting[..]
            && others == 0
            && let Some(number) = self.number_by_launcher(peer)
        {
            let _ = write!(text, "{number}");
        }
        text.push('\n');
        // A function of the program, in which a thread may be that waits, ends by itself.
        let is_for_ranks = !waiting.iter().any(|at| at.is_for_anyone);
        let is_for_ranks = is_for_ranks && !self.may_wait_for_outsiders();
        if !waiting.is_empty() && !is_combining && others == 0 && is_for_ranks {
            let _ = write!(text, "{changes}");
            for at in &waiting {
                let _ = write!(text, " {}", at.since.duration_since(self.began).as_nanos());
            }
        }
        let _ = write!(text, "\n{}", ticks_used());
        text
    }

    /// How many threads of the program do not wait where `waiting` do, and may call MPI: they
    /// sleep, or read a file, and may send then what others wait for.
    fn threads_that_may_call(&self, waiting: usize) -> usize {
        if !self.has_threads.load(Ordering::Relaxed) {
            return 0;
        }
        program_threads(thread_names()).saturating_sub(waiting)
    }

    fn describe(&self, pattern: &Pattern) -> String {
        let source = pattern.source.map_or_else(|| "any".to_owned(), |s| s.to_string());
        let tag = pattern.tag.map_or_else(|| "any".to_owned(), |t| t.to_string());
        format!("from {source} tag {tag} on {}", self.name_of(pattern.context))
    }

    /// What two ranks disagree about.
    pub(crate) fn explain(&self, mismatch: &Mismatch) -> String {
        let name = self.name_of(mismatch.context);
        let kind = if mismatch.number < 0 { "persistent operation" } else { "call" };
        format!(
            "collective calls do not match on {name} ({kind} {} on it): {} calls {}, {} calls {}",
            mismatch.number & i32::MAX,
            self.describe_process(self.rank),
            call_text(mismatch.ours),
            self.describe_process(mismatch.other),
            call_text(mismatch.theirs),
        )
    }
}

/// Names of threads of this library and of PRP, as the kernel keeps them: 15 bytes.
const LIBRARY_THREADS: [&str; 9] = [
    "prp-mpi-control",
    "prp-mpi-jobs",
    "prp-mpi-watch",
    "prp-mpi-window",
    "prp-control",
    "prp-fastpath",
    "prp-keeper",
    "prp-memory",
    "prp-node-port",
];

/// How many of these threads are the program's.
fn program_threads(names: impl Iterator<Item = String>) -> usize {
    names.filter(|name| !LIBRARY_THREADS.contains(&name.trim_end())).count()
}

/// The names of all threads of this process; none if the kernel does not say.
fn thread_names() -> impl Iterator<Item = String> {
    let all = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    all.filter_map(|thread| std::fs::read_to_string(thread.path().join("comm")).ok())
}

/// Processor time of all threads of this process so far, in ticks of the kernel; 0 if unknown.
fn ticks_used() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program, which may have any characters, ends with the last parenthesis. The
    // times in user and in kernel mode are the 12th and the 13th field behind it (proc(5)).
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum()
}

/// Of receives and messages, of which there may be any number, the first are shown.
const SHOWN: usize = 4;

/// The first of many, and how many there are.
fn listed(what: &str, first: &[String], count: usize) -> String {
    let first = first.join(", ");
    match count {
        0 => format!("nothing {what}"),
        n if n > SHOWN => format!("{n} {what}: {first}, ..."),
        n => format!("{n} {what}: {first}"),
    }
}

/// A collective call with its arguments.
pub fn call_text(signature: Signature) -> String {
    let name = CALLS.get(usize::from(signature.call)).copied().unwrap_or("an unknown call");
    let mut arguments = Vec::new();
    if signature.bytes != u64::MAX && signature.call != 0 {
        let size = u64::from(signature.element & 0xff);
        match element_name(signature.element) {
            Some(element) if size > 0 => {
                arguments.push(format!("{} x {element}", signature.bytes / size));
            }
            _ => arguments.push(format!("{} bytes", signature.bytes)),
        }
    }
    if signature.op != 0 {
        let name = Operation::from_code(usize::from(signature.op)).map(Operation::name);
        arguments.push(name.unwrap_or("user operation").to_owned());
    }
    if signature.root >= 0 {
        arguments.push(format!("root {}", signature.root));
    }
    format!("{name}({})", arguments.join(", "))
}

/// What an element's kind is called.
const fn element_name(code: u16) -> Option<&'static str> {
    Some(match (code >> 8, code & 0xff) {
        (1, _) => "MPI_CHAR",
        (2, 1) => "MPI_INT8_T",
        (2, 2) => "MPI_SHORT",
        (2, 4) => "MPI_INT",
        (2, 8) => "MPI_LONG",
        (3, 1) => "MPI_UINT8_T",
        (3, 2) => "MPI_UNSIGNED_SHORT",
        (3, 4) => "MPI_UNSIGNED",
        (3, 8) => "MPI_UNSIGNED_LONG",
        (4, 4) => "MPI_FLOAT",
        (4, 8) => "MPI_DOUBLE",
        (5, _) => "MPI_LONG_DOUBLE",
        (6, 8) => "MPI_C_COMPLEX",
        (6, 16) => "MPI_C_DOUBLE_COMPLEX",
        (8, _) => "MPI_C_BOOL",
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
