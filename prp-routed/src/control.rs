//! The socket `prp routed` talks to: a question a line, an answer a line, both JSON.
//!
//! Its name is an abstract one, `prp/NODE/routed`, so it belongs to the network namespace as the node's
//! ports do, and is gone when the daemon is. Everybody may ask; only root and the daemon's own user
//! may change anything.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::Duration;

use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::PeerCredentials;
use prp_sock::NodeId;

use crate::report::{Question, Reply};

/// Those who ask at the same time. More wait in the kernel's queue.
const MAX_CLIENTS: usize = 32;

/// The longest question: all there are have less than 64 bytes.
const MAX_QUESTION: usize = 1024;

/// How long an asker waits for the daemon: it may be reading a prphosts of 65,534 lines on a slow disk.
const PATIENCE: Duration = Duration::from_secs(30);

/// The daemon's end.
#[derive(Debug)]
pub struct Control {
    listener: UnixListener,
    clients: Vec<Client>,
    next: u64,
}

/// Somebody who asks.
#[derive(Debug)]
struct Client {
    id: u64,
    stream: UnixStream,
    question: Vec<u8>,
    /// What is left to write.
    answer: Vec<u8>,
    asked: bool,
    answered: bool,
}

/// Whom to answer.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct Asker(u64);

fn name(node: NodeId) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("prp/{node}/routed"))
}

impl Control {
    /// Takes the name.
    ///
    /// # Errors
    /// `AddrInUse` if a daemon for `node` runs already.
    pub fn bind(node: NodeId) -> io::Result<Self> {
        let listener = UnixListener::bind_addr(&name(node)?).map_err(|e| {
            if e.kind() != ErrorKind::AddrInUse {
                return e;
            }
            let message = format!("a prp-routed for node {node} runs already");
            io::Error::new(ErrorKind::AddrInUse, message)
        })?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, clients: Vec::new(), next: 0 })
    }

    /// What to poll: for reading, and with `true` for writing too.
    pub fn fds(&self) -> impl Iterator<Item = (BorrowedFd<'_>, bool)> {
        let room = self.clients.len() < MAX_CLIENTS;
        let listener = room.then(|| (self.listener.as_fd(), false));
        let clients = self.clients.iter().map(|c| (c.stream.as_fd(), !c.answer.is_empty()));
        listener.into_iter().chain(clients)
    }

    /// Reads and writes what goes without waiting; the questions that have come.
    pub fn turn(&mut self) -> Vec<(Asker, Result<Question, String>)> {
        while self.clients.len() < MAX_CLIENTS {
            let Ok((stream, _)) = self.listener.accept() else { break };
            if stream.set_nonblocking(true).is_ok() {
                let (id, question, answer) = (self.next, Vec::new(), Vec::new());
                self.clients.push(Client {
                    id,
                    stream,
                    question,
                    answer,
                    asked: false,
                    answered: false,
                });
                self.next += 1;
            }
        }
        let mut asked = Vec::new();
        self.clients.retain_mut(|client| {
            let alive = client.read();
            if let Some(question) = client.take_question() {
                asked.push((Asker(client.id), question));
            }
            alive && client.write()
        });
        asked
    }

    /// Answers. Who has gone meanwhile gets nothing.
    pub fn answer(&mut self, asker: Asker, reply: &Reply) {
        let Some(client) = self.clients.iter_mut().find(|c| c.id == asker.0) else { return };
        // What is said is strings and numbers, which always have a form in JSON.
        client.answer = serde_json::to_vec(reply).unwrap_or_default();
        client.answer.push(b'\n');
        client.answered = true;
        client.write();
    }

    /// Whether `asker` may change things.
    pub fn may_change(&self, asker: Asker) -> bool {
        let Some(client) = self.clients.iter().find(|c| c.id == asker.0) else { return false };
        let own = nix::unistd::geteuid().as_raw();
        getsockopt(&client.stream, PeerCredentials).is_ok_and(|c| c.uid() == 0 || c.uid() == own)
    }
}

impl Client {
    /// Reads what is there; `false` at the end.
    fn read(&mut self) -> bool {
        let mut chunk = [0; 256];
        loop {
            match self.stream.read(&mut chunk) {
                Ok(0) => return false,
                Ok(n) if self.question.len() + n <= MAX_QUESTION => {
                    self.question.extend_from_slice(&chunk[..n]);
                }
                Ok(_) => return false,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return true,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(_) => return false,
            }
        }
    }

    /// One question a connection.
    fn take_question(&mut self) -> Option<Result<Question, String>> {
        let end = self.question.iter().position(|b| *b == b'\n')?;
        if std::mem::replace(&mut self.asked, true) {
            return None;
        }
        let line = &self.question[..end];
        Some(serde_json::from_slice(line).map_err(|e| format!("no such question: {e}")))
    }

    /// Writes what goes; `false` when all is said or nobody listens.
    fn write(&mut self) -> bool {
        while !self.answer.is_empty() {
            match self.stream.write(&self.answer) {
                Ok(n) => drop(self.answer.drain(..n)),
                Err(e) if e.kind() == ErrorKind::WouldBlock => return true,
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return false,
            }
        }
        !self.answered
    }
}

/// Asks the daemon of `node` in this network namespace.
///
/// # Errors
/// `ConnectionRefused` if none runs; what the daemon says; `TimedOut` if it says nothing for 30 s.
pub fn ask(node: NodeId, question: &Question) -> io::Result<serde_json::Value> {
    ask_within(node, question, PATIENCE)
}

/// As [`ask`], waiting for so long.
///
/// # Errors
/// As [`ask`].
pub fn ask_within(
    node: NodeId,
    question: &Question,
    patience: Duration,
) -> io::Result<serde_json::Value> {
    let mut stream = UnixStream::connect_addr(&name(node)?).map_err(|e| {
        let message = format!(
            "no prp-routed runs for node {node} here ({e}): start it first: `prp-routed`, with CAP_NET_RAW"
        );
        io::Error::new(e.kind(), message)
    })?;
    stream.set_read_timeout(Some(patience))?;
    let mut line = serde_json::to_vec(question)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    let mut said = String::new();
    BufReader::new(stream).read_line(&mut said).map_err(|e| {
        let kind = if e.kind() == ErrorKind::WouldBlock { ErrorKind::TimedOut } else { e.kind() };
        io::Error::new(kind, format!("prp-routed of node {node} does not answer: {e}"))
    })?;
    match serde_json::from_str(&said)? {
        Reply::Ok(value) => Ok(value),
        Reply::Error(why) => Err(io::Error::other(why)),
    }
}

#[cfg(test)]
mod tests;
