//! One that asks, and for how long.

use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use prp_proto::time::Instant;

use crate::report::{Question, Reply};

/// The longest question: all there are have less than 64 bytes.
const MAX_QUESTION: usize = 1024;

/// How long a client may take to ask, which it does with its first system call.
const TO_ASK: Duration = Duration::from_secs(2);

/// How long it waits for an answer at most: as long as it says it would.
const TO_BE_ANSWERED: Duration = Duration::from_secs(60);

/// How long it may take to read an answer of some megabytes.
const TO_READ: Duration = Duration::from_secs(10);

/// One that asks.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) id: u64,
    pub(super) user: u32,
    /// When its time is over.
    pub(super) ends_at: Instant,
    stream: UnixStream,
    question: Vec<u8>,
    /// What is left to write.
    answer: Vec<u8>,
    asked: bool,
    answered: bool,
}

impl Client {
    pub(super) fn new(id: u64, now: Instant, stream: UnixStream, user: u32) -> Self {
        let (question, answer) = (Vec::new(), Vec::new());
        let ends_at = now + TO_ASK;
        Self { id, user, ends_at, stream, question, answer, asked: false, answered: false }
    }

    /// What to poll for reading, and with `true` for writing too.
    pub(super) fn fd(&self) -> (BorrowedFd<'_>, bool) {
        (self.stream.as_fd(), !self.answer.is_empty())
    }

    /// Reads what is there; `false` at the end, and for more than a question.
    pub(super) fn read(&mut self) -> bool {
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
    pub(super) fn take_question(&mut self, now: Instant) -> Option<Result<Question, String>> {
        let end = self.question.iter().position(|b| *b == b'\n')?;
        if std::mem::replace(&mut self.asked, true) {
            return None;
        }
        self.ends_at = now + TO_BE_ANSWERED;
        let line = &self.question[..end];
        Some(serde_json::from_slice(line).map_err(|e| format!("no such question: {e}")))
    }

    pub(super) fn answer(&mut self, now: Instant, reply: &Reply) {
        // What is said is strings and numbers, which always have a form in JSON.
        self.answer = serde_json::to_vec(reply).unwrap_or_default();
        self.answer.push(b'\n');
        self.answered = true;
        self.ends_at = now + TO_READ;
        self.write();
    }

    /// Writes what goes; `false` when all is written or the client is gone.
    pub(super) fn write(&mut self) -> bool {
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
