//! What a server does of streams between several nodes.

use std::cell::Cell;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use prp_sock::{NodeId, Port, PrpListener, PrpStream};

use crate::perf::conn::{self, Conn, LegListener, ServerSocket};
use crate::perf::control::{MeshOutcome, MeshPart, MeshTarget, Outcome, SentStream};
use crate::perf::counters::Counters;
use crate::perf::transport::{Transport, WaitMode};
use crate::perf::{flow, parallel, serve};

/// How long it is tried to reach another server, which is as long as that waits.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long the other end may take for what is in progress: a client waits longer for its answer.
const END_TIMEOUT: Duration = Duration::from_secs(30);

/// How long it is sent without checking whether the client is still there.
const GLANCE: Duration = Duration::from_millis(200);

/// What a thread came to.
enum Done {
    Received(Vec<Conn>),
    Sent(Conn, SentStream),
}

/// What a thread does.
type Work<'a> = Box<dyn FnOnce() -> io::Result<Done> + Send + 'a>;

/// Accepts and sends at the same time, as `part` says, for the client behind `control`.
///
/// # Errors
/// A stream does not come, cannot be made, or breaks.
pub(in crate::perf) fn play(
    hosts: &Path,
    listener: PrpListener,
    control: &PrpStream,
    part: &MeshPart,
) -> io::Result<MeshOutcome> {
    let counters = Counters::read(Transport::Prp, control);
    let listener = &LegListener { socket: ServerSocket::Prp(listener), control };
    let received = &AtomicU64::new(0);
    let accept: Work<'_> = Box::new(move || {
        serve::transfer(listener, part.accept, None, received).map(Done::Received)
    });
    let send =
        |&to: &MeshTarget| -> Work<'_> { Box::new(move || send(hosts, control, to, part.seconds)) };
    let parts = std::iter::once(accept).chain(part.to.iter().map(send));
    let (mut conns, mut sent) = (Vec::new(), Vec::new());
    for done in parallel::each(parts.map(Ok))? {
        match done {
            Done::Received(all) => conns.extend(all),
            Done::Sent(conn, stream) => {
                conns.push(conn);
                sent.push(stream);
            }
        }
    }
    let outcome = counters.outcome(control, &conns);
    let received = received.load(Ordering::Relaxed);
    Ok(MeshOutcome { sent, outcome: Outcome { received, ..outcome } })
}

/// Sends for a time, or until the client has gone, and waits until the other end has everything.
fn send(hosts: &Path, control: &PrpStream, to: MeshTarget, seconds: f64) -> io::Result<Done> {
    let node = NodeId::new(to.node).ok_or(ErrorKind::InvalidInput)?;
    let builder = serve::builder(hosts, WaitMode::Adaptive).connect_timeout(CONNECT_TIMEOUT);
    let stream = builder.connect((node, Port::new(to.port)))?;
    stream.set_read_timeout(Some(END_TIMEOUT))?;
    let conn = Conn::Prp(stream);
    let begun = Instant::now();
    let checked = Cell::new(begun);
    let bytes = flow::flood(&conn, || {
        if checked.get().elapsed() >= GLANCE {
            checked.set(Instant::now());
            if conn::has_gone(control) {
                return false;
            }
        }
        begun.elapsed().as_secs_f64() < seconds
    })?;
    // It ends its direction then.
    flow::sink(&conn, &AtomicU64::new(0), &mut [0])?;
    let seconds = begun.elapsed().as_secs_f64();
    Ok(Done::Sent(conn, SentStream { node: to.node, bytes, seconds }))
}
