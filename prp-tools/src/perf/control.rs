//! What client and server of a measurement tell each other, over a connection of its own: JSON
//! objects, each after its length in four bytes.
//!
//! If you change a message: raise [`VERSION`].

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read, Write};

use prp_node::printable;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::machine::Machine;
use super::transport::{Transport, WaitMode};
use super::usage::{Spent, Usage};

/// What both ends must have in common.
pub(super) const VERSION: u32 = 4;

/// The longest message: a description of a machine and a hundred counters are a few KiB.
const MAX_LEN: u32 = 64 * 1024;

/// Bounds of what a client may ask for, so that a mistake costs an answer and not the server's
/// memory.
pub(super) const MAX_STREAMS: u32 = 4096;
const MAX_SIZE: u64 = 64 << 20;

/// From client to server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Request {
    /// The first message.
    Hello {
        /// [`VERSION`].
        version: u32,
    },
    /// Do your part of this.
    Run(Job),
    /// Wait for streams of other nodes, until the next request.
    Listen,
    /// Do your part of streams between several nodes. It comes after [`Request::Listen`].
    Mesh(MeshPart),
}

/// From server to client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Reply {
    /// The answer to a hello.
    Hello {
        /// [`VERSION`].
        version: u32,
        /// Where the server runs.
        machine: Machine,
    },
    /// Connect to this port now.
    Ready {
        /// Of the transport asked for.
        port: u16,
    },
    /// It is over.
    Done(Outcome),
    /// Streams between several nodes are over, for this one.
    Mesh(MeshOutcome),
    /// It went wrong, or cannot be done.
    Failed(String),
}

/// One leg of a measurement.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Job {
    /// A number of its own: raw frames of an earlier leg must not be taken for this one's.
    pub(super) leg: u32,
    /// What to use.
    pub(super) transport: Transport,
    /// How to wait.
    pub(super) wait: WaitMode,
    /// What to do.
    pub(super) work: Work,
}

/// What to do on a leg, from the server's side.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum Work {
    /// Send back every message of one connection, and receive until the ends of others.
    Echo {
        /// Bytes in a message.
        size: u64,
        /// How many others. They are made after the first one.
        beside: u32,
    },
    /// Receive until the ends of all streams, and with `send` send meanwhile.
    Stream {
        /// Connections.
        streams: u32,
        /// How much to send on each of them.
        send: Option<Amount>,
    },
    /// Accept connections one after another, take a byte from each and give one back.
    Accept {
        /// Connections.
        count: u64,
    },
}

/// A node's part in streams that go on at the same time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MeshPart {
    /// Streams that come.
    pub(super) accept: u32,
    /// Where it sends to, on a stream each.
    pub(super) to: Vec<MeshTarget>,
    /// For how many seconds.
    pub(super) seconds: f64,
}

/// Where a stream leads.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MeshTarget {
    /// The node.
    pub(super) node: u16,
    /// Its PRP port.
    pub(super) port: u16,
}

/// What came of a node's part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct MeshOutcome {
    /// What it sent.
    pub(super) sent: Vec<SentStream>,
    /// What it counted.
    pub(super) outcome: Outcome,
}

/// What was sent on a stream, and has arrived.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct SentStream {
    /// To which node.
    pub(super) node: u16,
    /// Payload.
    pub(super) bytes: u64,
    /// Until the node had all of it.
    pub(super) seconds: f64,
}

/// How much to send.
#[derive(Copy, Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Amount {
    /// For this number of seconds.
    Seconds(f64),
    /// This number of bytes.
    Bytes(u64),
}

/// What an end has to say about a leg.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Outcome {
    /// Payload bytes received.
    pub(super) received: u64,
    /// Processor time spent, kernel included. Of an echo without connections beside: while
    /// messages were exchanged.
    pub(super) cpu: Usage,
    /// Times that a thread of the process slept until something woke it, in the same time.
    pub(super) wake_ups: u64,
    /// Frames, and with TCP segments of the network namespace.
    pub(super) frames: Frames,
    /// Segments sent again.
    pub(super) retransmitted: u64,
    /// Frames and segments lost or dropped, by reason.
    pub(super) drops: BTreeMap<String, u64>,
    /// What was in force: segment size, policy and so on.
    pub(super) settings: BTreeMap<String, String>,
}

/// Frames of both directions.
#[derive(Copy, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Frames {
    pub(super) sent: u64,
    pub(super) received: u64,
}

impl Outcome {
    /// With `spent` as what it took, if that is known better.
    pub(super) fn spending(self, spent: Option<Spent>) -> Self {
        match spent {
            Some(Spent { cpu, wake_ups }) => Self { cpu, wake_ups, ..self },
            None => self,
        }
    }
}

/// Whether `n` of something are no more than `max`.
fn fits(what: &str, n: u64, max: u64) -> Result<(), String> {
    if n <= max { Ok(()) } else { Err(format!("{what}: {n} is more than {max}")) }
}

/// Whether it can be sent for so long.
fn lasts(seconds: f64) -> Result<(), String> {
    if (0.0..=86400.0).contains(&seconds) {
        return Ok(());
    }
    Err(format!("{seconds} seconds: expected 0 to 86400"))
}

impl MeshPart {
    /// Whether it can be done at all.
    pub(super) fn check(&self) -> Result<(), String> {
        fits("streams", self.accept.into(), MAX_STREAMS.into())?;
        fits("streams", self.to.len() as u64, MAX_STREAMS.into())?;
        lasts(self.seconds)
    }
}

impl Job {
    /// Whether it can be done at all.
    pub(super) fn check(&self) -> Result<(), String> {
        match self.work {
            Work::Echo { size, beside } => fits("message size", size, MAX_SIZE)
                .and_then(|()| fits("connections beside", beside.into(), MAX_STREAMS.into())),
            Work::Stream { streams, send } => {
                fits("streams", streams.into(), MAX_STREAMS.into())?;
                match send {
                    Some(Amount::Seconds(seconds)) => lasts(seconds),
                    _ => Ok(()),
                }
            }
            Work::Accept { .. } => Ok(()),
        }
    }
}

/// Sends `message`.
///
/// # Errors
/// Those of the stream.
pub(super) fn send(mut stream: impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, message)?;
    let len = u32::try_from(bytes.len() - 4).ok().filter(|len| *len <= MAX_LEN);
    let len = len.ok_or_else(|| io::Error::new(ErrorKind::InvalidInput, "message too long"))?;
    bytes[..4].copy_from_slice(&len.to_be_bytes());
    stream.write_all(&bytes)
}

/// The next message; `None` if the other end has no more.
///
/// # Errors
/// Those of the stream; `InvalidData` for what is no message; `UnexpectedEof` for half a one.
pub(super) fn receive<T: DeserializeOwned>(mut stream: impl Read) -> io::Result<Option<T>> {
    let mut len = [0; 4];
    let mut filled = 0;
    while filled < len.len() {
        match stream.read(&mut len[filled..]) {
            Ok(0) if filled == 0 => return Ok(None),
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(n) => filled += n,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    let len = u32::from_be_bytes(len);
    if len > MAX_LEN {
        let message = format!("a message of {len} bytes: is that prp perf?");
        return Err(io::Error::new(ErrorKind::InvalidData, message));
    }
    let mut bytes = vec![0; len as usize];
    stream.read_exact(&mut bytes)?;
    let message = serde_json::from_slice(&bytes).and_then(|mut value| {
        make_printable(&mut value);
        serde_json::from_value(value)
    });
    message.map(Some).map_err(|e| {
        io::Error::new(ErrorKind::InvalidData, format!("not a message of prp perf: {e}"))
    })
}

/// Makes all texts of another machine's message printable.
fn make_printable(value: &mut Value) {
    match value {
        Value::String(text) => *text = printable(&*text),
        Value::Array(values) => values.iter_mut().for_each(make_printable),
        Value::Object(fields) => {
            let entries = std::mem::take(fields).into_iter();
            *fields = entries
                .map(|(key, mut value)| {
                    make_printable(&mut value);
                    (printable(key), value)
                })
                .collect();
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests;
