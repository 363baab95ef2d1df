//! The process that has the connections of a run, and passes their bytes on.

mod askers;
mod binding;
mod connect;
mod listening;
mod pair;
mod ports;
mod processes;
mod pump;
mod sockets;
mod supervisor;

use std::collections::HashMap;
use std::io::{self, IoSlice, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::PathBuf;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{SigSet, Signal};
use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};
use parking_lot::Mutex;
use prp_node::descriptors;
use prp_run::{Answer, Request, RequestKind, Settings};
use prp_sock::{Builder, HostsFile, NodeId, error_number};

use crate::sys::detach::close_errors;
use crate::sys::pair::waiting;
use crate::sys::priority::run_in_slices;
use askers::{Asker, Askers};
pub(super) use pair::check_buffers;
use ports::Ports;
use processes::Processes;
use pump::Pumps;
use supervisor::Supervisor;

/// Bytes of the stack of a thread: enough for the engine of PRP.
const STACK: usize = 512 << 10;

/// How long the holder may take to begin.
const BEGINNING: Duration = Duration::from_secs(5);

/// Time for which a thread has a processor that others want. The least that the kernel allows: a
/// message takes a few microseconds here, and its program waits for it. Row: sockperf of `bench
/// --programs`, beside other work.
const SLICE: Duration = Duration::from_micros(100);

/// Reasons of failed connections that are kept: programs ask at once, or never.
const MOST_REASONS: usize = 4096;

/// The holder.
pub(super) struct Holder {
    settings: Settings,
    hosts: PathBuf,
    builder: Builder,
    ports: Ports,
    processes: Processes,
    pumps: Pumps,
    supervisor: Supervisor,
    /// Why nonblocking connections have failed, by their numbers.
    reasons: Mutex<HashMap<u64, i32>>,
    next_number: AtomicU64,
}

impl Holder {
    /// Returns the holder of a run, which appends what it counts to the file `report`.
    ///
    /// # Errors
    /// There are no descriptors.
    pub(super) fn new(
        settings: Settings,
        hosts: PathBuf,
        report: Option<PathBuf>,
    ) -> io::Result<Self> {
        let builder = Builder::new().hosts(&hosts);
        Ok(Self {
            settings,
            hosts,
            builder,
            ports: Ports::default(),
            processes: Processes::new(report)?,
            pumps: Pumps::default(),
            supervisor: Supervisor::default(),
            reasons: Mutex::default(),
            next_number: AtomicU64::new(1),
        })
    }

    /// Follows signals, processes and sockets from now on, each on a thread.
    ///
    /// # Errors
    /// There is no room for the threads.
    pub(super) fn begin(self: Arc<Self>) -> io::Result<Arc<Self>> {
        descriptors::raise_limit();
        // It serves without it, too.
        let _ = run_in_slices(SLICE);
        let ends: SigSet = [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP].into_iter().collect();
        // For all threads: what ends a whole service must leave the program its connections until
        // it has ended.
        let _ = ends.thread_block();
        let ending = self.clone();
        spawn(move || {
            if ends.wait().is_ok() {
                ending.processes.end_soon();
            }
        })?;
        // The parent becomes the program.
        let watching = self.clone();
        spawn(move || processes::watch(&watching))?;
        Ok(self)
    }

    /// Serves requests until all processes of the run have ended, and ends this process.
    pub(super) fn serve(self: Arc<Self>, socket: &UnixListener) -> ! {
        let _ = close_errors();
        let mut askers = Askers::new(socket);
        loop {
            let next = askers.next(self.settings.user, &self.processes);
            let Some(asker) = next else { continue };
            let holder = self.clone();
            // Without a thread nobody is answered, which the library takes for a failure.
            let _ = spawn(move || holder.answer(asker));
        }
    }

    /// Answers one request.
    fn answer(self: &Arc<Self>, mut asker: Asker) {
        let Some((request, file)) = asker.request(&self.settings) else { return };
        let Asker { socket: asking, pid, .. } = asker;
        // Who is to be supervised becomes another program, and is known by what it calls then.
        if !matches!(request.kind, RequestKind::Bye | RequestKind::Supervise) {
            self.processes.note(pid, request.kind == RequestKind::Hello);
        }
        let answer = match request.kind {
            RequestKind::Connect | RequestKind::ConnectNonblocking => {
                return self.connect(asking, &request, pid);
            }
            RequestKind::Accept => return self.claim(&asking, &request, pid),
            RequestKind::Hello => Answer::default(),
            RequestKind::Listen => self.listen(&request),
            RequestKind::Bind => self.bind(&request),
            RequestKind::Resolve => self.resolve(&request),
            RequestKind::Reason => Answer::failed(self.take_reason(request.number).unwrap_or(0)),
            RequestKind::Tcp => {
                self.processes.count_tcp(pid, request.number != 0);
                Answer::default()
            }
            RequestKind::ResetOnClose => {
                self.processes.reset_on_close(request.number, request.port != 0);
                Answer::default()
            }
            RequestKind::Closed => {
                self.check_sockets();
                Answer::default()
            }
            RequestKind::AcceptAgain => self.ring_again(&request),
            RequestKind::Supervise => self.begin_supervision(file),
            RequestKind::Bye => {
                self.processes.end(pid);
                Answer::default()
            }
        };
        let _ = reply(&asking, &answer, None);
    }

    /// Supervises the process that has sent the descriptor on which the kernel shows its calls.
    fn begin_supervision(self: &Arc<Self>, listener: Option<OwnedFd>) -> Answer {
        let begun = listener
            .ok_or_else(|| io::ErrorKind::InvalidInput.into())
            .and_then(|listener| self.supervise(listener));
        match begun {
            Ok(()) => Answer { ip: process::id().to_ne_bytes(), ..Answer::default() },
            Err(e) => Answer::failed(error_number(&e)),
        }
    }

    /// Finds the node that a program names.
    fn resolve(&self, request: &Request) -> Answer {
        let (bytes, len) = &request.name;
        let name = std::str::from_utf8(&bytes[..usize::from(*len)]).ok();
        let file = HostsFile::cached(&self.hosts);
        // A number is an address of IPv4 for programs, in an old form (inet(3)).
        let name = name.filter(|name| !name.bytes().all(|byte| byte.is_ascii_digit()));
        let node = name.zip(file.ok()).and_then(|(name, file)| {
            let hosts = file.hosts();
            hosts.resolve(name).filter(|node| hosts.entry(*node).is_some())
        });
        match node {
            Some(node) => Answer { node: node.number(), ..Answer::default() },
            None => Answer::failed(nix::libc::ENOENT),
        }
    }

    /// Returns the IPv4 address by which TCP reaches `node`, or zeros.
    fn tcp_address(&self, node: NodeId) -> [u8; 4] {
        let file = HostsFile::cached(&self.hosts).ok();
        let addrs = file.map(|file| file.hosts().udp_addrs(node)).unwrap_or_default();
        let ip4 = |(addr, _): &(std::net::SocketAddr, _)| match addr {
            std::net::SocketAddr::V4(addr) => Some(addr.ip().octets()),
            std::net::SocketAddr::V6(_) => None,
        };
        addrs.iter().find_map(ip4).unwrap_or_default()
    }

    /// Returns a number for a connection.
    fn number(&self) -> u64 {
        self.next_number.fetch_add(1, Ordering::Relaxed)
    }

    /// Takes why the connection `number` has failed, if it has.
    fn take_reason(&self, number: u64) -> Option<i32> {
        self.reasons.lock().remove(&number)
    }

    /// Keeps why the connection `number` has failed.
    fn keep_reason(&self, number: u64, errno: i32) {
        let mut reasons = self.reasons.lock();
        if reasons.len() >= MOST_REASONS {
            reasons.clear();
        }
        reasons.insert(number, errno);
    }
}

/// Waits until the holder of a run has begun.
///
/// # Errors
/// It has ended, or does not answer.
pub(super) fn check_start(settings: &Settings) -> io::Result<()> {
    let ask = || {
        let name = SocketAddr::from_abstract_name(settings.socket_name())?;
        let mut asking = UnixStream::connect_addr(&name)?;
        asking.set_read_timeout(Some(BEGINNING))?;
        // To the end of a process that it does not know it does nothing.
        asking.write_all(&Request::new(RequestKind::Bye, settings.token).to_bytes())?;
        asking.read_exact(&mut [0; Answer::SIZE])
    };
    ask().map_err(|e: io::Error| io::Error::new(e.kind(), unstarted(&e)))
}

/// Returns why the holder has not begun.
pub(super) fn unstarted(error: &io::Error) -> String {
    let limits = "RLIMIT_NPROC, pids.max, RLIMIT_AS, RLIMIT_NOFILE";
    format!("no threads, memory or descriptors for the holder ({limits}): {error}")
}

/// Answers, with a descriptor if there is one for the program.
fn reply(asking: &UnixStream, answer: &Answer, end: Option<&OwnedFd>) -> io::Result<()> {
    let bytes = answer.to_bytes();
    let fds = end.map(|end| [end.as_raw_fd()]);
    let rights = fds.as_ref().map(|fds| ControlMessage::ScmRights(fds));
    let sent = sendmsg::<()>(
        asking.as_raw_fd(),
        &[IoSlice::new(&bytes)],
        rights.as_slice(),
        MsgFlags::MSG_NOSIGNAL,
        None,
    )?;
    if sent == bytes.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
}

/// Runs `work` on a thread.
fn spawn(work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().stack_size(STACK).spawn(work).map(drop)
}

/// Returns how many bytes of the program wait in the holder's end of a pair.
fn unsent(held: &UnixStream) -> u64 {
    // One stays there.
    waiting(held).saturating_sub(1) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_start__fails_where_the_holder_has_ended_at_once() {
        let session = process::id();
        let text = format!("1,{session:016x},{:032x},0,1,198.18.0.0/16,0,both,0,0,1", 7);
        let settings: Settings = text.parse().expect("settings");
        let name = SocketAddr::from_abstract_name(settings.socket_name()).expect("a name");
        let socket = UnixListener::bind_addr(&name).expect("a free name");
        let answering = thread::spawn(move || {
            let (mut asking, _) = socket.accept().expect("it asks");
            let mut bytes = [0; Request::SIZE];
            asking.read_exact(&mut bytes).expect("a request");
            reply(&asking, &Answer::default(), None).expect("it waits");
            // The next one gets no answer.
            let _ = socket.accept().expect("it asks");
            Request::parse(&bytes).expect("a request").kind
        });
        check_start(&settings).expect("an answer");
        // Expect: the same while it ends, and once it has ended.
        for _ in 0..2 {
            let error = check_start(&settings).expect_err("none").to_string();
            assert!(error.contains("RLIMIT_NPROC"), "{error}");
        }
        assert_eq!(answering.join().expect("no panic"), RequestKind::Bye);
    }
}
