//! Standard input, output and error of ranks, which are pipes.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::process::ChildStdin;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::eventfd::EventFd;
use prp_mpi::control::{Frame, Topic};

use super::Launcher;
use crate::threads;

/// A pipe holds no more, if the user has not raised the limit.
const LARGEST_PIPE: usize = 1 << 20;

/// Feeds a rank what comes by the channel. An empty piece is the end.
///
/// # Errors
/// No thread can be made.
pub(super) fn feed(
    mut input: ChildStdin,
    rank: usize,
    launcher: &Launcher,
) -> io::Result<Sender<Vec<u8>>> {
    let launcher = launcher.clone();
    let (sender, pieces) = channel::<Vec<u8>>();
    threads::start(move || {
        for piece in pieces {
            if piece.is_empty() || input.write_all(&piece).is_err() {
                return;
            }
            launcher.send(&Frame::new(Topic::InputTaken, rank, []));
        }
    })?;
    Ok(sender)
}

/// Passes on what a rank writes. `rest` is dropped once that is all it had written when it ended:
/// its children may hold the pipe for longer.
///
/// # Errors
/// No thread can be made.
pub(super) fn pump(
    mut from: impl Read + AsFd + Send + 'static,
    topic: Topic,
    rank: usize,
    launcher: &Launcher,
    (ended, rest): (Arc<EventFd>, Sender<()>),
) -> io::Result<()> {
    let launcher = launcher.clone();
    threads::start(move || {
        let mut piece = [0; 16 << 10];
        let mut rest = Some((ended, rest));
        let mut since_end = 0;
        loop {
            let (has_more, has_ended) = wait(&from, rest.as_ref().map(|(ended, _)| &**ended));
            if has_ended && (!has_more || since_end >= LARGEST_PIPE) {
                rest = None;
            }
            if !has_more {
                continue;
            }
            match from.read(&mut piece) {
                Ok(n @ 1..) => {
                    launcher.send(&Frame::new(topic, rank, &piece[..n]));
                    since_end += if has_ended { n } else { 0 };
                }
                _ => return,
            }
        }
    })?;
    Ok(())
}

/// Waits for bytes, or the end, of a rank: which of them there are.
fn wait(from: &impl AsFd, ended: Option<&EventFd>) -> (bool, bool) {
    let mut both = vec![PollFd::new(from.as_fd(), PollFlags::POLLIN)];
    both.extend(ended.map(|ended| PollFd::new(ended.as_fd(), PollFlags::POLLIN)));
    while poll(&mut both, PollTimeout::NONE) == Err(Errno::EINTR) {}
    let is_ready = |fd: &PollFd<'_>| fd.any() != Some(false);
    (is_ready(&both[0]), both.get(1).is_some_and(is_ready))
}
