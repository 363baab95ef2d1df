//! What a rank asks the launcher for.

use std::io;
use std::sync::atomic::Ordering;

use super::report::Waiting;
use super::{Launcher, Process};
use crate::control::Topic;
use crate::control::program::{SpawnRequest, joined};

/// Bytes of the number of a question, and of an answer, in front of the rest.
pub const NUMBER: usize = 4;

/// First byte of an answer behind its number: done, or the class of an error.
const DONE: u8 = 0;

/// An answer of the launcher: `content` is that of the question.
pub fn answer(content: &[u8], said: Result<String, io::Error>) -> Vec<u8> {
    let mut bytes = content.get(..NUMBER).unwrap_or(&[0; NUMBER]).to_vec();
    match said {
        Ok(text) => {
            bytes.push(DONE);
            bytes.extend(text.into_bytes());
        }
        Err(e) => {
            let kinds = KINDS.into_iter().position(|kind| kind == e.kind());
            bytes.push(kinds.unwrap_or(KINDS.len()) as u8 + 1);
            bytes.extend(e.to_string().into_bytes());
        }
    }
    bytes
}

/// Kinds of errors that are told apart.
const KINDS: [io::ErrorKind; 2] = [io::ErrorKind::NotFound, io::ErrorKind::AlreadyExists];

fn said(answer: &[u8]) -> io::Result<String> {
    let (&class, text) = answer.split_first().ok_or(io::ErrorKind::InvalidData)?;
    let text = String::from_utf8_lossy(text).into_owned();
    match class {
        DONE => Ok(text),
        class => {
            let kind = KINDS.get(usize::from(class) - 1).copied();
            Err(io::Error::new(kind.unwrap_or(io::ErrorKind::Other), text))
        }
    }
}

impl Process {
    /// Asks the launcher, and waits for what it says.
    fn ask(&self, call: &'static str, topic: Topic, content: &[u8]) -> io::Result<String> {
        // The thread that takes the answer wakes this one.
        self.is_shared.store(true, Ordering::Relaxed);
        let number = self.asked.fetch_add(1, Ordering::Relaxed).to_le_bytes();
        self.tell(topic, [&number[..], content].concat());
        let waiting = || Waiting {
            is_for_anyone: true,
            ..Waiting::new(call, "the launcher".to_owned(), String::new())
        };
        let answer = self.wait(&waiting, |_| {
            let mut answers = self.answers.lock();
            let at = answers.iter().position(|answer| answer.starts_with(&number))?;
            Some(answers.swap_remove(at))
        });
        said(&answer[NUMBER..])
    }

    /// The launcher has answered.
    pub(super) fn note_answer(&self, answer: Vec<u8>) {
        if answer.len() >= NUMBER {
            self.answers.lock().push(answer);
            self.announce();
        }
    }

    /// Has the launcher start programs.
    ///
    /// # Errors
    /// `Unsupported` under another launcher; why they were not started.
    pub fn spawn(&self, call: &'static str, request: &SpawnRequest) -> io::Result<()> {
        if !matches!(self.launcher, Launcher::Agent(_)) {
            let text = "only prp-mpirun can start programs: start this one with it";
            return Err(io::Error::new(io::ErrorKind::Unsupported, text));
        }
        self.ask(call, Topic::Spawn, &request.to_content()).map(drop)
    }

    /// Publishes a name for a port.
    ///
    /// # Errors
    /// `AlreadyExists` if it is published; those of files.
    pub fn publish(&self, name: &str, port: &str) -> io::Result<()> {
        match self.launcher {
            Launcher::Agent(_) => {
                let content = joined(&[name, port]);
                self.ask("MPI_Publish_name", Topic::Publish, &content).map(drop)
            }
            _ => self.published.lock().publish(name, port),
        }
    }

    /// Withdraws a name that the job has published.
    ///
    /// # Errors
    /// `NotFound` if it has not.
    pub fn withdraw(&self, name: &str) -> io::Result<()> {
        match self.launcher {
            Launcher::Agent(_) => {
                self.ask("MPI_Unpublish_name", Topic::Withdraw, name.as_bytes()).map(drop)
            }
            _ => self.published.lock().withdraw(name),
        }
    }

    /// The port of a name.
    ///
    /// # Errors
    /// `NotFound` if it is not published.
    pub fn look_up(&self, name: &str) -> io::Result<String> {
        match self.launcher {
            Launcher::Agent(_) => self.ask("MPI_Lookup_name", Topic::LookUp, name.as_bytes()),
            _ => self.published.lock().look_up(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answer__is_understood() {
        let of = |said| answer(&[1, 2, 3, 4, 5], said);
        assert_eq!(said(&of(Ok("port".to_owned()))[NUMBER..]).unwrap(), "port");
        for kind in [io::ErrorKind::NotFound, io::ErrorKind::AlreadyExists, io::ErrorKind::Other] {
            let bytes = of(Err(io::Error::new(kind, "why")));
            assert!(bytes.starts_with(&[1, 2, 3, 4]));
            let error = said(&bytes[NUMBER..]).unwrap_err();
            assert_eq!((error.kind(), error.to_string()), (kind, "why".to_owned()));
        }
        assert!(said(&[]).is_err());
    }
}
