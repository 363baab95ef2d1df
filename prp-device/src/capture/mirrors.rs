//! Memory for the processes that copy their frames for a capture.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use prp_node::mirror::{MirrorListener, has_ended, offer};
use prp_proto::hosts::Tag;

use super::CapturedFrame;
use crate::sys::mirror_ring::MirrorRing;

/// Processes that are served: as many flows hardly go on at a time. Each has some megabytes.
const MAX_PROCESSES: usize = 64;

/// A process that copies its frames.
#[derive(Debug)]
pub(super) struct MirrorSource {
    link: UnixStream,
    ring: MirrorRing,
}

impl MirrorSource {
    /// Gives the frames that left before the time `until` to `take`.
    pub(super) fn empty(&mut self, until: Duration, take: &mut dyn FnMut(&CapturedFrame<'_>)) {
        let until = u64::try_from(until.as_nanos()).unwrap_or(u64::MAX);
        self.ring.empty(until, &mut |copied| {
            take(&CapturedFrame {
                tag: Tag::default(),
                time: Duration::from_nanos(copied.time),
                device: copied.device,
                is_outgoing: true,
                bytes: copied.bytes,
                len: copied.len,
            });
        });
    }

    /// Lets the process copy as many frames more as were taken. `may` is asked for each.
    pub(super) fn give_back(&mut self, may: impl FnMut() -> bool) {
        self.ring.give_back(may);
    }

    /// Whether the process has ended.
    pub(super) fn has_ended(&self) -> bool {
        has_ended(&self.link)
    }

    /// Frames that were not copied since this was last called: all slots were full.
    pub(super) fn take_lost(&mut self) -> u64 {
        self.ring.take_lost()
    }
}

/// Gives memory to the processes that ask, in a thread of its own: they do not wait long, and the
/// thread that takes frames may get little of a processor.
#[derive(Debug)]
pub(super) struct MirrorServer {
    /// A byte comes for each new process. The thread ends when this does.
    wake: UnixStream,
    new: Receiver<MirrorSource>,
    served: Arc<AtomicUsize>,
}

impl MirrorServer {
    /// A server for processes that ask at `listener`, with room for `room` bytes of each frame, and
    /// for `frames` frames of each process at most.
    ///
    /// # Errors
    /// No descriptor or no thread left.
    pub(super) fn start(listener: MirrorListener, room: usize, frames: u64) -> io::Result<Self> {
        let (wake, end) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        end.set_nonblocking(true)?;
        let (sender, new) = mpsc::channel();
        let served = Arc::new(AtomicUsize::new(0));
        let count = served.clone();
        let thread = thread::Builder::new().name("prp-capture".into());
        let offered = move || MirrorRing::new(room, frames);
        thread.spawn(move || serve(&listener, offered, &end, &sender, &count))?;
        Ok(Self { wake, new, served })
    }

    /// The processes that have come since this was last called.
    pub(super) fn take_new(&self) -> impl Iterator<Item = MirrorSource> {
        // More bytes than there are processes.
        let _ = (&self.wake).read(&mut [0; MAX_PROCESSES]);
        self.new.try_iter()
    }

    /// One process has ended: there is room for another.
    pub(super) fn forget_one(&self) {
        self.served.fetch_sub(1, Ordering::Relaxed);
    }
}

impl AsFd for MirrorServer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }
}

/// Serves until the other end of `end` ends.
fn serve(
    listener: &MirrorListener,
    ring: impl Fn() -> io::Result<(MirrorRing, OwnedFd)>,
    mut end: &UnixStream,
    new: &Sender<MirrorSource>,
    served: &AtomicUsize,
) {
    loop {
        let mut fds = [
            PollFd::new(listener.as_fd(), PollFlags::POLLIN),
            PollFd::new(end.as_fd(), PollFlags::empty()),
        ];
        match poll(&mut fds, PollTimeout::NONE) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(_) => return,
        }
        if fds[1].any() != Some(false) {
            return;
        }
        while let Some(link) = listener.accept() {
            if served.load(Ordering::Relaxed) == MAX_PROCESSES {
                continue;
            }
            // A process that cannot be served does without AF_XDP.
            let Ok((ring, file)) = ring() else { continue };
            if offer(&link, file.as_fd()).is_ok() {
                served.fetch_add(1, Ordering::Relaxed);
                // If the capture has ended, the next check of `end` says so. If there is no room
                // for the byte, other bytes wake it.
                let _ = new.send(MirrorSource { link, ring });
                let _ = end.write(&[0]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use prp_node::mirror::MirrorLink;

    use super::*;

    /// An inode number that no packet socket has.
    fn inode(number: u64) -> u64 {
        (u64::from(std::process::id()) << 32) + number
    }

    /// No thread takes frames meanwhile.
    #[test]
    fn serve__a_process_gets_memory_at_once() {
        let inode = inode(9);
        let listener = MirrorListener::bind(inode).expect("a name");
        let server = MirrorServer::start(listener, 100, 100).expect("a thread");
        let link = MirrorLink::connect(inode).expect("it listens");
        let Ok(file) = link.receive(Duration::from_secs(10)) else {
            // It is refused without the capability to send past packet sockets.
            assert!(
                !caps::has_cap(None, caps::CapSet::Permitted, caps::Capability::CAP_NET_ADMIN)
                    .expect("capabilities")
            );
            return;
        };
        let mut fds = [PollFd::new(server.as_fd(), PollFlags::POLLIN)];
        assert_eq!(poll(&mut fds, PollTimeout::from(10_000_u16)), Ok(1), "the capture wakes up");
        let mirrors: Vec<_> = server.take_new().collect();
        assert_eq!(mirrors.len(), 1);
        let mut ring = MirrorRing::open(&file, 3).expect("memory");
        ring.put(5, [b"a frame", b"", b"", b""]);
        ring.publish();
        let mut found = Vec::new();
        for mut mirror in mirrors {
            mirror.empty(Duration::from_secs(1), &mut |frame| found.push(frame.bytes.to_vec()));
            assert!(!mirror.has_ended());
        }
        assert_eq!(found, [b"a frame"]);
    }

    #[test]
    fn serve__ends_with_its_capture() {
        let inode = inode(10);
        let listener = MirrorListener::bind(inode).expect("a name");
        drop(MirrorServer::start(listener, 100, 100).expect("a thread"));
        // The thread frees the name when it ends.
        while MirrorLink::connect(inode).is_ok() {
            thread::yield_now();
        }
    }
}
