//! The agent of a node: starts its ranks, and passes on what they and the launcher say to each
//! other.

mod ranks;

use std::io::{self, stdin, stdout};
use std::sync::Arc;

use parking_lot::Mutex;
use prp_mpi::control::{Frame, Topic};

use ranks::Ranks;

/// What the agent of a node is to start.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Order {
    /// Number of this node.
    pub(crate) node: usize,
    /// Number of the node of each rank, separated by commas.
    pub(crate) nodes: String,
    /// Folder to work in.
    pub(crate) folder: String,
    /// Variables to set.
    pub(crate) variables: Vec<(String, String)>,
    /// The program and its arguments.
    pub(crate) program: Vec<String>,
}

impl Order {
    /// As the content of a frame.
    pub(crate) fn to_content(&self) -> Vec<u8> {
        let mut words = vec![self.node.to_string(), self.nodes.clone(), self.folder.clone()];
        words.push(self.variables.len().to_string());
        words.extend(self.variables.iter().map(|(name, value)| format!("{name}={value}")));
        words.extend(self.program.iter().cloned());
        words.join("\0").into_bytes()
    }

    /// Out of the content of a frame.
    pub(crate) fn from_content(content: &[u8]) -> Option<Self> {
        let text = String::from_utf8(content.to_vec()).ok()?;
        let mut words = text.split('\0').map(str::to_owned);
        let node = words.next()?.parse().ok()?;
        let (nodes, folder) = (words.next()?, words.next()?);
        let count: usize = words.next()?.parse().ok()?;
        let variables: Option<Vec<_>> = words
            .by_ref()
            .take(count)
            .map(|v| v.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned())))
            .collect();
        Some(Self { node, nodes, folder, variables: variables?, program: words.collect() })
    }
}

/// Sends frames to the launcher.
#[derive(Clone, Debug, Default)]
pub(crate) struct Launcher(Arc<Mutex<()>>);

impl Launcher {
    pub(crate) fn send(&self, frame: &Frame) {
        let _guard = self.0.lock();
        // A launcher that is gone is noticed where it is listened to.
        let _ = frame.write(&mut stdout());
    }
}

/// Does what the launcher says until it is gone.
pub(crate) fn run() -> io::Result<u8> {
    let launcher = Launcher::default();
    launcher.send(&Frame::new(Topic::Ready, 0, []));
    let mut ranks: Option<Ranks> = None;
    while let Some(frame) = Frame::read(&mut stdin())? {
        match (frame.topic, &ranks) {
            (Topic::Start, None) => {
                let order =
                    Order::from_content(&frame.content).ok_or(io::ErrorKind::InvalidData)?;
                ranks = Some(Ranks::start(&order, &launcher)?);
            }
            (Topic::Cards | Topic::RollCall, Some(ranks)) => ranks.send_all(&frame),
            (Topic::Signal, Some(ranks)) => ranks.signal(frame.rank),
            (Topic::Input, Some(ranks)) => ranks.feed(&frame),
            _ => {}
        }
    }
    if let Some(ranks) = ranks {
        ranks.end();
    }
    Ok(0)
}
