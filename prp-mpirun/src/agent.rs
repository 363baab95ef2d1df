//! The agent of a node: starts its ranks, and passes on what they and the launcher say to each
//! other.

mod libraries;
mod limit;
mod pipes;
mod ranks;

use std::ffi::{OsStr, OsString};
use std::io::{self, stdin, stdout};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use prp_mpi::control::{Frame, Topic};

use crate::signals;
pub(crate) use limit::Limit;
use ranks::Ranks;

/// What the agent of a node is to start. Words are bytes: names of files need not be text.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct LaunchRequest {
    /// Number of this node.
    pub(crate) node: usize,
    /// Number of the node of each rank, separated by commas.
    pub(crate) nodes: String,
    /// Folder to work in.
    pub(crate) folder: PathBuf,
    /// Variables to set.
    pub(crate) variables: Vec<(OsString, OsString)>,
    /// The program and its arguments.
    pub(crate) program: Vec<OsString>,
}

impl LaunchRequest {
    /// As the content of a frame.
    pub(crate) fn to_content(&self) -> Vec<u8> {
        let (node, count) = (self.node.to_string(), self.variables.len().to_string());
        let mut words = vec![node.as_bytes(), self.nodes.as_bytes()];
        words.extend([self.folder.as_os_str().as_bytes(), count.as_bytes()]);
        for (name, value) in &self.variables {
            words.extend([name.as_bytes(), value.as_bytes()]);
        }
        words.extend(self.program.iter().map(|word| word.as_bytes()));
        words.join(&0)
    }

    /// Out of the content of a frame.
    pub(crate) fn from_content(content: &[u8]) -> Option<Self> {
        let mut words = content.split(|&b| b == 0);
        let word = |bytes: &[u8]| OsStr::from_bytes(bytes).to_owned();
        let node = str::from_utf8(words.next()?).ok()?.parse().ok()?;
        let nodes = str::from_utf8(words.next()?).ok()?.to_owned();
        let folder = word(words.next()?).into();
        let count: usize = str::from_utf8(words.next()?).ok()?.parse().ok()?;
        let variables: Option<Vec<_>> =
            (0..count).map(|_| Some((word(words.next()?), word(words.next()?)))).collect();
        Some(Self {
            node,
            nodes,
            folder,
            variables: variables?,
            program: words.map(word).collect(),
        })
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
    // A terminal sends its signals to agents, too, which have to live until their ranks have ended.
    signals::all().thread_block()?;
    let launcher = Launcher::default();
    launcher.send(&Frame::new(Topic::Ready, 0, []));
    let mut ranks: Option<Ranks> = None;
    // A stream that ends within a frame is at its end, too: the ranks are ended.
    while let Ok(Some(frame)) = Frame::read(&mut stdin()) {
        match (frame.topic, &ranks) {
            (Topic::Start, None) => {
                let order = LaunchRequest::from_content(&frame.content)
                    .ok_or(io::ErrorKind::InvalidData)?;
                ranks = Some(Ranks::start(&order, &launcher)?);
            }
            (Topic::Cards, Some(ranks)) => ranks.send_all(&frame),
            (Topic::RollCall, Some(ranks)) => {
                ranks.send_all(&frame);
                ranks.name_stopped(&launcher);
            }
            (Topic::Signal, Some(ranks)) => ranks.signal(frame.rank),
            (Topic::Input, Some(ranks)) => ranks.feed(frame),
            _ => {}
        }
    }
    if let Some(ranks) = ranks {
        ranks.end();
    }
    Ok(0)
}
