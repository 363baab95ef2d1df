//! The launcher's standard input, which goes to rank 0.

use std::io::{self, IsTerminal, stdin};
use std::os::fd::AsFd;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel};
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::read;

use super::Event;
use crate::threads;

/// Bytes read at a time.
const PIECE: usize = 16 << 10;

/// Pieces in flight to rank 0. They fill half of the pipe to the agent: the launcher never waits
/// until rank 0 reads.
const IN_FLIGHT: usize = 2;

/// When a job in the background tries again to read its terminal.
const RETRY_INTERVAL: Duration = Duration::from_millis(200);

/// Reads standard input; each piece is an event. A piece more is read for each message to the
/// channel that is returned.
///
/// # Errors
/// No thread can be made.
pub(crate) fn read_on(events: SyncSender<Event>) -> io::Result<Sender<()>> {
    let (permits, permitted) = channel();
    for _ in 0..IN_FLIGHT {
        let _ = permits.send(());
    }
    threads::start(move || read_permitted(&permitted, &events))?;
    Ok(permits)
}

fn read_permitted(permitted: &Receiver<()>, events: &SyncSender<Event>) {
    // A job in the background that reads its terminal is stopped. With this blocked it gets an
    // error instead.
    let _ = SigSet::from(Signal::SIGTTIN).thread_block();
    let mut piece = vec![0; PIECE];
    while permitted.recv().is_ok() {
        let n = next(&mut piece);
        if events.send(Event::Input(piece[..n].to_vec())).is_err() || n == 0 {
            return;
        }
    }
}

/// The next bytes; none at the end.
fn next(piece: &mut [u8]) -> usize {
    let input = stdin();
    loop {
        match read(&input, piece) {
            Ok(n) => return n,
            Err(Errno::EINTR) => {}
            // Another process may have made it non-blocking.
            Err(Errno::EAGAIN) => {
                let mut readable = [PollFd::new(input.as_fd(), PollFlags::POLLIN)];
                let _ = poll(&mut readable, PollTimeout::NONE);
            }
            Err(Errno::EIO) if input.is_terminal() => thread::sleep(RETRY_INTERVAL),
            Err(_) => return 0,
        }
    }
}
