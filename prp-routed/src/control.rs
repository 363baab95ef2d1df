//! The socket `prp routed` talks to: a question a line, an answer a line, both JSON.
//!
//! It is in the daemon's directory ([`RunDir`]), so that no other user's process can answer in the
//! daemon's place. All users may ask; only root and the daemon's own user may change anything.

mod client;

use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant as SystemInstant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use nix::unistd::geteuid;
use prp_node::explained::Explanation;
use prp_node::process::is_stopped;
use prp_node::{RunDir, Service};
use prp_proto::addr::NodeId;
use prp_proto::time::Instant;

use crate::acceptor::ROOT;
use crate::report::{Question, Reply};
use client::Client;

/// Clients served at the same time.
const MAX_CLIENTS: usize = 32;

/// Clients of one user other than root that are served at the same time.
const MAX_OF_USER: usize = 8;
/// Clients of all users other than root together: the other places are always root's.
const MAX_OF_USERS: usize = 24;

/// How long a client waits for the daemon to read prphosts: it may have 65,534 lines, on a slow
/// disk.
const READING_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a client waits for what the daemon knows. It answers at once, but for the time in which
/// it puts a prphosts in force.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// After so long a silence a client looks at the daemon's process: one that is stopped answers
/// nobody.
const SILENCE: Duration = Duration::from_millis(500);

/// The clients of the control socket.
#[derive(Debug, Default)]
pub struct Control {
    clients: Vec<Client>,
    next: u64,
}

/// The client to answer.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct ClientId(u64);

/// A question of a client.
#[derive(Debug)]
pub struct ClientRequest {
    /// Whom to answer.
    pub client: ClientId,
    /// Whether the client may change things.
    pub may_change: bool,
    /// The question, or what is wrong with it.
    pub question: Result<Question, String>,
}

impl Control {
    /// Takes a connection of `user`, if there is a place; else it ends.
    pub fn admit(&mut self, now: Instant, stream: UnixStream, user: u32) {
        let same = self.clients.iter().filter(|client| client.user == user).count();
        let others = self.clients.iter().filter(|client| client.user != ROOT).count();
        let is_full = self.clients.len() >= MAX_CLIENTS
            || (user != ROOT && (same >= MAX_OF_USER || others >= MAX_OF_USERS));
        if !is_full {
            self.clients.push(Client::new(self.next, now, stream, user));
            self.next += 1;
        }
    }

    /// What to poll: for reading, and with `true` for writing too.
    pub fn fds(&self) -> impl Iterator<Item = (BorrowedFd<'_>, bool)> {
        self.clients.iter().map(Client::fd)
    }

    /// When a client's time is over.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.clients.iter().map(|client| client.ends_at).min()
    }

    /// Reads and writes what goes without waiting; the questions that have come.
    pub fn poll(&mut self, now: Instant) -> Vec<ClientRequest> {
        let own = geteuid().as_raw();
        let mut asked = Vec::new();
        self.clients.retain_mut(|client| {
            let alive = client.read();
            if let Some(question) = client.take_question(now) {
                let may_change = client.user == ROOT || client.user == own;
                asked.push(ClientRequest { client: ClientId(client.id), may_change, question });
            }
            alive && client.write() && client.ends_at > now
        });
        asked
    }

    /// Answers. A client that has gone meanwhile gets nothing.
    pub fn answer(&mut self, now: Instant, client: ClientId, reply: &Reply) {
        if let Some(client) = self.clients.iter_mut().find(|c| c.id == client.0) {
            client.answer(now, reply);
        }
    }
}

/// Asks the daemon of `node` in `dir`.
///
/// # Errors
/// `ConnectionRefused` or `NotFound` if none runs; `PermissionDenied` if what is there may not be
/// believed; what the daemon says; `TimedOut`, with the process, if it is stopped or says nothing
/// for 5 s, or for 30 s where it has to read prphosts. Its explanation has what to do.
pub fn ask(dir: &RunDir, node: NodeId, question: &Question) -> io::Result<serde_json::Value> {
    let patience = match question {
        Question::Reload { .. } => READING_TIMEOUT,
        Question::Status
        | Question::Routes
        | Question::Neighbours
        | Question::Counters
        | Question::Metrics => ANSWER_TIMEOUT,
    };
    ask_within(dir, node, question, patience)
}

/// As [`ask`], with the time to wait for the answer.
///
/// # Errors
/// As [`ask`].
pub fn ask_within(
    dir: &RunDir,
    node: NodeId,
    question: &Question,
    patience: Duration,
) -> io::Result<serde_json::Value> {
    let named = |e: io::Error| {
        let message = match e.kind() {
            ErrorKind::PermissionDenied => format!("prp-routed of node {node} is not asked: {e}"),
            ErrorKind::WouldBlock => {
                format!("prp-routed of node {node} takes no more questions: it is stopped or hangs")
            }
            _ => format!(
                "no prp-routed runs for node {node} here ({}: {e}): start it first: \
                 `prp-routed`, with CAP_NET_RAW",
                dir.path().display()
            ),
        };
        io::Error::new(e.kind(), message)
    };
    let mut stream = dir.connect(node, Service::Control, patience).map_err(named)?;
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(patience))?;
    let mut line = serde_json::to_vec(question)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    let pid = getsockopt(&stream, PeerCredentials)?.pid();
    wait_for_answer(&stream, node, pid, patience)?;
    let mut line = String::new();
    let read = BufReader::new(stream).read_line(&mut line).map_err(|e| match e.kind() {
        ErrorKind::WouldBlock => silent(node, pid, patience),
        kind => io::Error::new(kind, format!("prp-routed of node {node} does not answer: {e}")),
    })?;
    if read == 0 {
        let message = format!("prp-routed of node {node} has no place for another question now");
        return Err(io::Error::new(ErrorKind::ConnectionReset, message));
    }
    match serde_json::from_str(&line)? {
        Reply::Ok(value) => Ok(value),
        Reply::Error(why) => Err(io::Error::other(why)),
    }
}

/// Waits until there is something to read from the daemon of `node`, process `pid`.
fn wait_for_answer(
    stream: &UnixStream,
    node: NodeId,
    pid: i32,
    patience: Duration,
) -> io::Result<()> {
    let begun = SystemInstant::now();
    loop {
        let left = patience.saturating_sub(begun.elapsed());
        let timeout = PollTimeout::try_from(left.min(SILENCE)).unwrap_or(PollTimeout::MAX);
        match poll(&mut [PollFd::new(stream.as_fd(), PollFlags::POLLIN)], timeout) {
            Ok(0) if is_stopped(pid.cast_unsigned()) => {
                let cause = format!(
                    "prp-routed of node {node} (process {pid}) is stopped, by SIGSTOP, Ctrl-Z or a \
                     debugger"
                );
                return Err(timed_out(cause, format!("`kill -CONT {pid}`")));
            }
            Ok(0) if left.is_zero() => return Err(silent(node, pid, patience)),
            Ok(0) | Err(Errno::EINTR) => {}
            Ok(_) => return Ok(()),
            Err(e) => return Err(e.into()),
        }
    }
}

/// That the daemon of `node` runs and says nothing.
fn silent(node: NodeId, pid: i32, patience: Duration) -> io::Error {
    let seconds = patience.as_secs_f64();
    let cause =
        format!("prp-routed of node {node} (process {pid}) has said nothing for {seconds:.0} s");
    timed_out(cause, format!("`kill {pid}`, and start it again"))
}

fn timed_out(cause: String, fix: String) -> io::Error {
    let fix = Some(fix);
    Explanation { cause, fix, ..Explanation::default() }.into_error(ErrorKind::TimedOut)
}

#[cfg(test)]
mod tests;
