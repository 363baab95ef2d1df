//! The host's end of the connection to the agent in a machine.

use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::failure::{Context, Failure, Outcome};
use crate::protocol::{Answer, Request, RunId};

/// How a run has ended.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    /// The exit status, or what [`Answer::Ended`] has in its place.
    pub(crate) status: i32,
    /// The end of its output.
    pub(crate) output: String,
}

/// A connection to an agent.
#[derive(Debug)]
pub(super) struct AgentLink {
    stream: UnixStream,
    partial: Vec<u8>,
    ended: HashMap<RunId, Ended>,
    is_ready: bool,
}

impl AgentLink {
    /// Connects to the socket at `path`, which QEMU joins to the machine's device.
    pub(super) fn connect(path: &Path) -> Outcome<Self> {
        let stream = UnixStream::connect(path).context(path.display())?;
        Ok(Self { stream, partial: Vec::new(), ended: HashMap::new(), is_ready: false })
    }

    /// Sends a request.
    pub(super) fn send(&mut self, request: &Request) -> Outcome {
        let line = serde_json::to_string(request)? + "\n";
        self.stream.write_all(line.as_bytes()).context("the machine has ended")
    }

    /// Whether the agent has answered that it is ready, within `limit`.
    pub(super) fn wait_ready(&mut self, limit: Duration) -> Outcome<bool> {
        let end = Instant::now() + limit;
        while !self.is_ready {
            if !self.receive(end)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// How the run `id` has ended, if it has within `limit`.
    pub(super) fn wait(&mut self, id: RunId, limit: Duration) -> Outcome<Option<Ended>> {
        let end = Instant::now() + limit;
        loop {
            if let Some(ended) = self.ended.remove(&id) {
                return Ok(Some(ended));
            }
            if !self.receive(end)? {
                return Ok(None);
            }
        }
    }

    /// Receives until there is another answer, or until `end`; returns whether there is.
    fn receive(&mut self, end: Instant) -> Outcome<bool> {
        loop {
            if let Some(at) = self.partial.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.partial.drain(..=at).collect();
                match serde_json::from_slice(&line).context("the agent")? {
                    Answer::Ready => self.is_ready = true,
                    Answer::Ended { id, status, output } => {
                        self.ended.insert(id, Ended { status, output });
                    }
                }
                return Ok(true);
            }
            // Zero would be no limit at all.
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(false);
            }
            self.stream.set_read_timeout(Some(left))?;
            let mut buf = [0; 4096];
            match self.stream.read(&mut buf) {
                Ok(0) => return Err(Failure::new("the machine has ended")),
                Ok(n) => self.partial.extend_from_slice(&buf[..n]),
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(e) => return Err(e).context("the machine has ended"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn wait__answers_in_any_order_and_in_pieces() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("agent");
        let listener = UnixListener::bind(&path).unwrap();
        let mut link = AgentLink::connect(&path).unwrap();
        let (mut agent, _) = listener.accept().unwrap();
        let answer = |id| {
            let answer = Answer::Ended { id, status: id as i32, output: "said".to_owned() };
            serde_json::to_string(&answer).unwrap() + "\n"
        };
        let text = serde_json::to_string(&Answer::Ready).unwrap() + "\n" + &answer(2) + &answer(1);
        let (first, second) = text.as_bytes().split_at(text.len() / 2);
        agent.write_all(first).unwrap();
        let patience = Duration::from_secs(60);
        assert!(link.wait_ready(patience).unwrap());
        agent.write_all(second).unwrap();
        assert_eq!(link.wait(1, patience).unwrap().unwrap().status, 1);
        assert_eq!(link.wait(2, patience).unwrap().unwrap().output, "said");
        assert!(link.wait(3, Duration::from_millis(1)).unwrap().is_none());
        drop(agent);
        link.wait(3, patience).unwrap_err();
    }
}
