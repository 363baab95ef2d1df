//! One connection from its beginning to its end.

use std::io::{self, ErrorKind, IsTerminal, PipeWriter};
use std::net::Shutdown;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use prp_sock::PrpStream;

use super::Side;
use super::copy::{self, CopyError};
use super::idle::IdleLimit;
use super::input::Input;
use super::output::Output;
use super::progress::{Counts, Progress};
use super::report;
use crate::print::notice;

/// How often to check whether the peer is gone while nothing is received from it, and to show
/// progress.
const TICK: Duration = Duration::from_millis(100);

/// How long a peer may take to acknowledge the end of a connection that is idle: a round trip of
/// any network, and a repeat or two.
const TICKS_TO_END: u32 = 20;

/// Copies in both directions until both have ended. The peer has everything then; or else it gets a
/// reset, so that it does not take what it has for all there was.
pub(super) fn run(stream: PrpStream, side: &mut Side<'_>, output: Output) -> Result<(), CopyError> {
    let Side { args, input, .. } = side;
    let terminals = Terminals::detect(input, &output);
    let shown = !args.quiet && args.exec.is_none() && terminals.want_progress();
    let stats = args.stats;
    let counts = Counts::default();
    let progress = if shown {
        Progress::visible(input.remaining().filter(|_| !args.recv_only), terminals.stdout)
    } else {
        Progress::hidden()
    };
    let begun = Instant::now();
    let ended = converse(&stream, side, output, &counts, &progress);
    let elapsed = begun.elapsed();
    progress.end();
    let mut report = Vec::new();
    if shown || stats {
        report.push(report::summary(&counts, elapsed));
    }
    if stats {
        report.extend(report::stats(&stream));
    }
    if ended.is_err() {
        // It cannot fail: see its documentation.
        let _ = stream.set_linger(Some(Duration::ZERO));
    }
    // Before anything is printed: a terminal may take its time.
    drop(stream);
    report.iter().for_each(notice);
    ended
}

/// Which of the three standard streams are terminals.
struct Terminals {
    stdin: bool,
    stdout: bool,
    stderr: bool,
}

impl Terminals {
    fn detect(input: &Input, output: &Output) -> Self {
        Self {
            stdin: input.is_terminal(),
            stdout: output.is_terminal(),
            stderr: io::stderr().is_terminal(),
        }
    }

    /// A user watches, and what goes on is not a talk between two people.
    fn want_progress(&self) -> bool {
        self.stderr && !(self.stdin && self.stdout)
    }
}

#[derive(Copy, Clone, Debug, Eq, PartialEq)]
enum Direction {
    Sending,
    Receiving,
}

/// What happens while a connection lasts.
#[derive(Debug)]
enum SessionEvent {
    /// A direction has ended.
    Ended(Direction, Result<(), CopyError>),
    /// The program is to end.
    Signal(Signal),
}

fn converse(
    stream: &PrpStream,
    side: &mut Side<'_>,
    output: Output,
    counts: &Counts,
    progress: &Progress,
) -> Result<(), CopyError> {
    let Side { args, signals, input, ends_with_input } = side;
    let ends_with_input = *ends_with_input;
    let (stop_reader, stop) = io::pipe().map_err(CopyError::Input)?;
    let (sender, events) = mpsc::channel();
    let mut watch = SessionState {
        stream,
        events,
        sending: !args.recv_only,
        receiving: true,
        stop: Some(stop),
        // A user who only took in a file at a terminal should not have to end their side by hand.
        ends_with_peer: args.listen && input.is_terminal(),
        error: None,
    };
    signals.set_listener({
        let sender = sender.clone();
        move |signal| drop(sender.send(SessionEvent::Signal(signal)))
    });
    thread::scope(move |scope| {
        if watch.sending {
            let sender = sender.clone();
            let send = if args.message { copy::send_lines } else { copy::send_bytes };
            let started = thread::Builder::new().spawn_scoped(scope, move || {
                let sent = send(stream, input, &stop_reader, counts);
                // The thread that receives it outlives this one.
                let _ = sender.send(SessionEvent::Ended(Direction::Sending, sent));
            });
            watch.check_started(Direction::Sending, started.map(drop));
        } else {
            watch.shut(Shutdown::Write);
        }
        let receive = if args.message { copy::receive_lines } else { copy::receive_bytes };
        let started = thread::Builder::new().spawn_scoped(scope, move || {
            let received = receive(stream, output, counts, progress);
            let _ = sender.send(SessionEvent::Ended(Direction::Receiving, received));
        });
        watch.check_started(Direction::Receiving, started.map(drop));
        let mut idle = IdleLimit::new(args.timeout, Instant::now());
        while watch.sending || (watch.receiving && !ends_with_input) {
            watch.wait();
            progress.show(counts);
            if watch.error.is_none()
                && let Some(limit) = idle.reached(counts.sent() + counts.received(), Instant::now())
            {
                watch.give_up(CopyError::Idle(limit));
            }
        }
        let ended = watch.wait_delivered();
        signals.clear_listener();
        ended
    })
}

/// Follows both directions and ends one where the other calls for it.
struct SessionState<'a> {
    stream: &'a PrpStream,
    events: Receiver<SessionEvent>,
    sending: bool,
    receiving: bool,
    /// Closing this ends the reading of standard input.
    stop: Option<PipeWriter>,
    /// When the peer has ended its direction, end ours.
    ends_with_peer: bool,
    /// What broke first; the rest follows from it.
    error: Option<CopyError>,
}

impl SessionState<'_> {
    /// Waits for events, for a tick at most, and does what they call for.
    fn wait(&mut self) {
        match self.events.recv_timeout(TICK) {
            Ok(SessionEvent::Ended(direction, ended)) => self.note(direction, ended),
            Ok(SessionEvent::Signal(signal)) => self.give_up(CopyError::Signal(signal)),
            Err(_) if self.error.is_some() && self.sending => {
                // It has not come back to its input: it waits in a write, and this ends that.
                // Sooner, the peer might have taken what was cut short for the whole.
                self.shut(Shutdown::Write);
            }
            Err(_) => self.check_for_reset(),
        }
    }

    /// A direction that has no thread has ended.
    fn check_started(&mut self, direction: Direction, started: io::Result<()>) {
        if let Err(e) = started {
            let text = format!("no thread can be had: {e} (RLIMIT_NPROC, pids.max or no memory)");
            let error = io::Error::new(ErrorKind::OutOfMemory, text);
            self.note(direction, Err(CopyError::Stream(error)));
        }
    }

    /// A direction has ended.
    fn note(&mut self, direction: Direction, ended: Result<(), CopyError>) {
        match direction {
            Direction::Sending => self.sending = false,
            Direction::Receiving => self.receiving = false,
        }
        match ended {
            Err(error) => self.give_up(error),
            Ok(()) if self.error.is_some() => {}
            Ok(()) if direction == Direction::Sending => self.shut(Shutdown::Write),
            Ok(()) if self.ends_with_peer => self.stop = None,
            Ok(()) => {}
        }
    }

    /// Waits until the peer has everything, unless something breaks first; then nothing is received
    /// any more.
    fn wait_delivered(mut self) -> Result<(), CopyError> {
        // In slices, between which a signal can be heard. It cannot fail: a tick is not nothing.
        let _ = self.stream.set_write_timeout(Some(TICK));
        if matches!(self.error, Some(CopyError::Idle(_))) {
            // Most likely the peer has it all, and says so with the end.
            self.shut(Shutdown::Write);
            if (0..TICKS_TO_END).any(|_| self.stream.wait_delivered().is_ok()) {
                self.error = None;
            }
        }
        while self.error.is_none() {
            match self.stream.wait_delivered() {
                Ok(()) => break,
                Err(e) if e.kind() == ErrorKind::WouldBlock => {}
                Err(e) => self.give_up(CopyError::Stream(e)),
            }
            match self.events.try_recv() {
                Ok(SessionEvent::Ended(direction, ended)) => self.note(direction, ended),
                Ok(SessionEvent::Signal(signal)) => self.give_up(CopyError::Signal(signal)),
                Err(_) => {}
            }
        }
        self.shut(Shutdown::Read);
        self.error.map_or(Ok(()), Err)
    }

    /// A peer that has closed both directions says so only when it gets something it will not read:
    /// not to a reader, which is told the end.
    fn check_for_reset(&mut self) {
        if !self.receiving
            && let Ok(Some(error)) = self.stream.take_error()
        {
            self.give_up(CopyError::Stream(error));
        }
    }

    /// Something broke: ends what still goes on.
    fn give_up(&mut self, error: CopyError) {
        // An error is told once: a thread that writes later hears no more than that the stream is
        // closed.
        let vague =
            |t: &CopyError| matches!(t, CopyError::Stream(e) if e.kind() == ErrorKind::BrokenPipe);
        if self.error.as_ref().is_none_or(vague) {
            self.error = Some(error);
        }
        self.stop = None;
        if self.receiving {
            self.shut(Shutdown::Read);
        }
    }

    fn shut(&self, how: Shutdown) {
        // It fails if the connection is over; a thread that reads or writes is told why.
        let _ = self.stream.shutdown(how);
    }
}

#[cfg(test)]
mod tests;
