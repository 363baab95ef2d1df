//! `prp cat -e`: a connection as the standard input and output of a command.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::thread;

use prp_sock::{PrpStream, reset_all};

use super::copy::CopyError;
use super::input::Input;
use super::output::Output;
use super::{CatArgs, Side, session};
use crate::exit::Failure;
use crate::print::notice;
use crate::semaphore::Semaphore;
use crate::signals::{Signals, die_of};
use crate::sys::inherited;

/// Commands that run at a time, as many as ncat allows; later clients wait for one to end.
const MAX_COMMANDS: usize = 100;

/// Why a connection with a command has failed.
#[derive(Debug)]
pub(super) enum CommandError {
    /// The command could not be started.
    Start(io::Error),
    /// Its pipes, or the connection.
    Session(CopyError),
}

impl CommandError {
    /// As the end of the program, or of one connection with `peer`.
    pub(super) fn failure(self, peer: &str) -> Failure {
        match self {
            Self::Start(e) => Failure::local("/bin/sh", &e),
            Self::Session(CopyError::Input(e)) => Failure::local("the command's output", &e),
            Self::Session(CopyError::Output(e)) => Failure::local("the command's input", &e),
            Self::Session(CopyError::Stream(e)) => Failure::network(peer, &e),
            Self::Session(CopyError::Idle(limit)) => super::idle(peer, limit),
            Self::Session(CopyError::Signal(signal)) => die_of(signal),
        }
    }
}

/// Runs `command` with `stream`, and waits until both are through.
pub(super) fn run(
    stream: PrpStream,
    args: &CatArgs,
    signals: Signals,
    command: &str,
) -> Result<(), CommandError> {
    let mut child = start(&stream, command).map_err(CommandError::Start)?;
    let ended = converse(stream, args, signals, &mut child);
    // It has lost its standard input and output by now.
    let _ = child.wait();
    ended
}

fn converse(
    stream: PrpStream,
    args: &CatArgs,
    signals: Signals,
    child: &mut Child,
) -> Result<(), CommandError> {
    let file = |fd: Option<OwnedFd>| fd.map(File::from).ok_or_else(|| io::Error::other("no pipe"));
    let (input, output) = (child.stdout.take(), child.stdin.take());
    let input = file(input.map(OwnedFd::from)).and_then(Input::new).map_err(CommandError::Start)?;
    let output = file(output.map(OwnedFd::from)).map_err(CommandError::Start)?;
    let mut side = Side { args, signals, input, ends_with_input: true };
    session::run(stream, &mut side, Output::of_command(output)).map_err(CommandError::Session)
}

fn start(stream: &PrpStream, command: &str) -> io::Result<Child> {
    let peer = stream.peer_addr()?.to_string();
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", command]).env("PRP_PEER", peer);
    inherited::hand_down(&mut shell);
    shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()
}

/// Serves every connection that `accept` gives with a `command` of its own, until it fails.
pub(super) fn serve(
    args: &CatArgs,
    signals: &Signals,
    command: &str,
    accept: impl Fn() -> Result<(PrpStream, String), Failure>,
) -> Result<(), Failure> {
    // No report here follows a single connection: all peers are told.
    signals.set_listener(|signal| {
        reset_all();
        die_of(signal);
    });
    let permits = Semaphore::new(MAX_COMMANDS);
    let one = |stream: PrpStream, peer: &str| {
        if let Err(broken) = run(stream, args, Signals::default(), command) {
            // The next peer may fare better.
            broken.failure(peer).print();
        }
    };
    let one = &one;
    thread::scope(|scope| {
        loop {
            let (stream, peer) = accept()?;
            let permit = permits.take();
            let name = peer.clone();
            let work = move || {
                one(stream, &name);
                drop(permit);
            };
            if let Err(e) = thread::Builder::new().spawn_scoped(scope, work) {
                notice(format_args!("{peer}: a thread: {e}"));
            }
        }
    })
}
