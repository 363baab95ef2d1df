//! Unix datagram sockets as an underlay: packets between the processes of one machine.
//!
//! Each process has a socket in the folder that prphosts names (SPEC PRP-UNIX-2). Sender and
//! recipient are on one machine, so the sender itself finds the processes of a node: a packet whose
//! recipient it does not know goes to all of them, as a frame of Ethernet does.
//!
//! A socket for each process that is sent to has a buffer of its own: what one process does not
//! read takes no room from what goes to others.

use std::collections::HashMap;
use std::collections::hash_map::{Entry, RandomState};
use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::hash::{BuildHasher, Hasher};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use prp_node::fork::CloseOnFork;
use prp_node::reworded;
use prp_proto::addr::{LinkAddr, NodeId};
use prp_proto::device::{Capabilities, PacketRun};

use crate::sys::mmsg::{RecvVec, SendVec};
use crate::{Packets, Peek, Received, Refusal, Sent, Take, Underlay};

/// Bytes of a packet at most. The kernel's cost is one of calls, and of copies, which are cheap as
/// long as what waits fits a cache.
const MTU: usize = 16 * 1024;

/// The window of a connection. Many kernels let ten datagrams wait at a socket
/// (`net.unix.max_dgram_qlen`), and by default 208 KiB of one sending socket.
const WINDOW: usize = 8 * MTU;

/// Bytes before a packet: the sender's node and number (SPEC PRP-UNIX-1).
const SENDER: usize = 4;

/// Datagrams received by a call.
const BATCH: usize = 16;

/// How long a sender waits for a process to read: one that is stopped must not hold up others.
const PATIENCE: Duration = Duration::from_millis(20);

/// How long to wait for another process that opens or removes sockets, and how often to look.
const LOCK_PATIENCE: Duration = Duration::from_secs(5);
const LOCK_INTERVAL: Duration = Duration::from_millis(5);

/// Numbers that are tried for a socket: of 65,535 few are in use.
const TRIES: usize = 64;

/// Processes to which sockets are kept: those that have ended do not say so, and a process that
/// answers many others would in time have no descriptors left.
const MAX_PEERS: usize = 256;

/// A process's socket in the folder, and those by which it sends.
#[derive(Debug)]
pub struct UnixDevice {
    folder: PathBuf,
    sender: [u8; SENDER],
    socket: CloseOnFork<UnixDatagram>,
    /// None once the process exits.
    name: Option<SocketName>,
    queue: RecvVec,
    peers: HashMap<(NodeId, u16), PeerSocket>,
    send: SendVec,
    /// The datagram that is being sent.
    datagram: Vec<u8>,
    /// Connected to the process whose queue is full, to wait for room there.
    room: CloseOnFork<UnixDatagram>,
}

/// A socket that is connected to a process.
#[derive(Debug)]
struct PeerSocket {
    socket: CloseOnFork<UnixDatagram>,
    /// Since when it has taken nothing.
    full_since: Option<Instant>,
}

/// A socket's name, which goes with the process that has bound it, unless that is killed.
#[derive(Debug)]
struct SocketName {
    path: PathBuf,
    process: u32,
}

/// What became of a datagram.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
enum Delivery {
    Done,
    /// Its recipient may take it later.
    Full,
    /// Its recipient takes nothing.
    Lost,
    /// There is no such recipient.
    Gone,
    Refused(i32),
}

impl UnixDevice {
    /// Binds a socket for a process of `node` in `folder`, and removes those there that processes
    /// of the node have left behind which were killed.
    ///
    /// # Errors
    /// `NotFound` without the folder; `PermissionDenied` if this process may not write there.
    pub fn open(folder: &Path, node: NodeId) -> io::Result<Self> {
        let explained = |e: io::Error| {
            let fix = match e.kind() {
                ErrorKind::NotFound => "; make the folder: only those who may enter it can send",
                ErrorKind::PermissionDenied => "; this user may not make a socket there",
                _ => "",
            };
            reworded(&e, format!("unix:{}: {e}{fix}", folder.display()))
        };
        let (socket, name, process) = bind(folder, node).map_err(explained)?;
        let [a, b] = node.number().to_be_bytes();
        let [c, d] = process.to_be_bytes();
        Ok(Self {
            folder: folder.to_owned(),
            sender: [a, b, c, d],
            socket: CloseOnFork::new(socket),
            name: Some(name),
            queue: RecvVec::new(SENDER + MTU, BATCH)?,
            peers: HashMap::new(),
            send: SendVec::default(),
            datagram: Vec::with_capacity(SENDER + MTU),
            room: CloseOnFork::new(UnixDatagram::unbound()?),
        })
    }

    /// Sends the datagram to `process` of `node`.
    fn deliver(&mut self, node: NodeId, process: u16) -> Delivery {
        let Self { folder, peers, send, datagram, room, .. } = self;
        let path = || folder.join(socket_name(node, process));
        if peers.len() >= MAX_PEERS && !peers.contains_key(&(node, process)) {
            peers.clear();
        }
        let peer = match peers.entry((node, process)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => match PeerSocket::connect(&path()) {
                Ok(peer) => new.insert(peer),
                Err(e) => return Delivery::failed(&e),
            },
        };
        let mut sent = send.send_one(peer.socket.as_fd(), [datagram, &[], &[], &[]]);
        // It may be the sender's own socket that has as much waiting as it may: no descriptor would
        // show when that changes, and another socket may have as much.
        if is_full(&sent)
            && queue_has_room(room, &path())
            && let Ok(another) = PeerSocket::connect(&path())
        {
            peer.socket = another.socket;
            sent = send.send_one(peer.socket.as_fd(), [datagram, &[], &[], &[]]);
        }
        match sent {
            Ok(()) => {
                peer.full_since = None;
                Delivery::Done
            }
            Err(e) if e.kind() == ErrorKind::WouldBlock => {
                let now = Instant::now();
                let since = *peer.full_since.get_or_insert(now);
                let may_wait = now - since < PATIENCE && room.connect(path()).is_ok();
                if may_wait { Delivery::Full } else { Delivery::Lost }
            }
            Err(e) => {
                peers.remove(&(node, process));
                Delivery::failed(&e)
            }
        }
    }

    /// Sends the datagram to all processes of `node` (SPEC PRP-UNIX-4). It is lost to one that has
    /// no room.
    #[cold]
    fn deliver_to_all(&mut self, node: NodeId) -> Delivery {
        let processes = match processes(&self.folder, node) {
            Ok(processes) => processes,
            Err(e) => return Delivery::failed(&e),
        };
        self.peers.retain(|(known, process), _| *known != node || processes.contains(process));
        let deliveries = processes.into_iter().map(|process| self.deliver(node, process));
        let is_lost = |delivery| matches!(delivery, Delivery::Full | Delivery::Lost);
        let lost = deliveries.fold(false, |lost, delivery| lost | is_lost(delivery));
        if lost { Delivery::Lost } else { Delivery::Done }
    }
}

impl Underlay for UnixDevice {
    fn receive(&mut self, max: usize, take: &mut Take<'_>) -> io::Result<Received> {
        let got = self.queue.receive(self.socket.as_fd(), max)?;
        for at in 0..got {
            let Some((sender, packet)) = self.queue.frame(at).split_first_chunk() else { continue };
            let [a, b, c, d]: [u8; SENDER] = *sender;
            // No process has the number 0.
            let process = u16::from_be_bytes([c, d]);
            if let Some(node) = NodeId::new(u16::from_be_bytes([a, b])).filter(|_| process != 0) {
                take(LinkAddr::Unix { node, process }, PacketRun::single(packet));
            }
        }
        Ok(Received { frames: got as u32, lost: 0 })
    }

    fn send(&mut self, packets: &mut Packets<'_, '_>) -> Sent {
        let mut sent = Sent::default();
        for (to, packet) in packets {
            self.datagram.clear();
            self.datagram.extend(self.sender);
            packet.iter().for_each(|piece| self.datagram.extend_from_slice(piece));
            let delivery = match to {
                LinkAddr::Unix { node, process: 0 } => self.deliver_to_all(node),
                // The process has ended: the steward says so, if one is left.
                LinkAddr::Unix { node, process } => match self.deliver(node, process) {
                    Delivery::Gone => self.deliver_to_all(node),
                    delivery => delivery,
                },
                LinkAddr::Ethernet(_) | LinkAddr::Udp { .. } => Delivery::Lost,
            };
            match delivery {
                Delivery::Done | Delivery::Gone => sent.done += 1,
                Delivery::Lost => {
                    sent.done += 1;
                    sent.lost += 1;
                }
                Delivery::Full => {
                    sent.full = true;
                    break;
                }
                Delivery::Refused(errno) => {
                    sent.refused = Some(Refusal::of_frame(errno));
                    break;
                }
            }
        }
        sent
    }

    fn fd(&self, place: usize) -> Option<BorrowedFd<'_>> {
        match place {
            0 => Some(self.socket.as_fd()),
            1 => Some(self.room.as_fd()),
            _ => None,
        }
    }

    fn full(&self) -> usize {
        1
    }

    fn peek(&self) -> Peek {
        Peek::Unknown
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::datagrams(MTU as u32, 1).with_window(WINDOW)
    }

    fn leave(&mut self) {
        self.name = None;
    }
}

impl PeerSocket {
    fn connect(path: &Path) -> io::Result<Self> {
        let socket = UnixDatagram::unbound()?;
        socket.connect(path)?;
        Ok(Self { socket: CloseOnFork::new(socket), full_since: None })
    }
}

/// Whether what was sent found no room.
fn is_full(sent: &io::Result<()>) -> bool {
    sent.as_ref().is_err_and(|e| e.kind() == ErrorKind::WouldBlock)
}

/// Connects `room` to the process at `path`; whether its queue takes more.
fn queue_has_room(room: &UnixDatagram, path: &Path) -> bool {
    room.connect(path).is_ok()
        && matches!(
            poll(&mut [PollFd::new(room.as_fd(), PollFlags::POLLOUT)], PollTimeout::ZERO),
            Ok(1..)
        )
}

impl Delivery {
    fn failed(error: &io::Error) -> Self {
        match error.raw_os_error() {
            Some(
                libc::ECONNREFUSED | libc::ECONNRESET | libc::ENOENT | libc::ENOTCONN | libc::EPIPE,
            ) => Self::Gone,
            // A signal, or no room for the moment.
            Some(libc::EINTR | libc::ENOBUFS | libc::ENOMEM) => Self::Lost,
            errno => Self::Refused(errno.unwrap_or(libc::EIO)),
        }
    }
}

impl Drop for SocketName {
    fn drop(&mut self) {
        // Not that of the parent of a fork.
        if self.process == std::process::id() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The file name of the socket of `process` of `node` (SPEC PRP-UNIX-2).
fn socket_name(node: NodeId, process: u16) -> String {
    format!("{node}.{process}")
}

/// The numbers of the processes of `node` that have sockets in `folder`.
fn processes(folder: &Path, node: NodeId) -> io::Result<Vec<u16>> {
    let own = format!("{node}.");
    let entries = fs::read_dir(folder)?.filter_map(Result::ok);
    let number = |entry: fs::DirEntry| entry.file_name().to_str()?.strip_prefix(&own)?.parse().ok();
    Ok(entries.filter_map(number).filter(|number| *number != 0).collect())
}

/// A socket with a number that no process of the node has. Only one process at a time looks for
/// one: none removes the name that another has just bound.
fn bind(folder: &Path, node: NodeId) -> io::Result<(UnixDatagram, SocketName, u16)> {
    let _lock = lock(folder)?;
    for process in processes(folder, node)? {
        let path = folder.join(socket_name(node, process));
        // Connecting to a file that is no socket is refused, too.
        if fs::symlink_metadata(&path).is_ok_and(|file| file.file_type().is_socket())
            && PeerSocket::connect(&path).is_err_and(|e| e.kind() == ErrorKind::ConnectionRefused)
        {
            // Another user's stays, where the folder is sticky.
            let _ = fs::remove_file(path);
        }
    }
    for _ in 0..TRIES {
        // One that has just been freed is not used again soon: packets for its process may come.
        let process = random_number();
        let path = folder.join(socket_name(node, process));
        match UnixDatagram::bind(&path) {
            Err(e) if e.kind() == ErrorKind::AddrInUse => {}
            Err(e) => return Err(e),
            Ok(socket) => {
                let name = SocketName { path, process: std::process::id() };
                socket.set_nonblocking(true)?;
                let_all_send(&name.path)?;
                return Ok((socket, name, process));
            }
        }
    }
    Err(ErrorKind::AddrInUse.into())
}

/// Lets who may enter the folder send to the socket at `path`. Where others may write to the
/// folder, they may have put a link to another file in its place: that file is left alone.
fn let_all_send(path: &Path) -> io::Result<()> {
    let flags = libc::O_PATH | libc::O_NOFOLLOW;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.file_type().is_socket() {
        return Err(io::Error::other("another file has taken the socket's place"));
    }
    let same = format!("/proc/self/fd/{}", file.as_raw_fd());
    match fs::set_permissions(same, Permissions::from_mode(0o666)) {
        // Without /proc other users may not send.
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
        set => set,
    }
}

/// A folder that is locked.
#[derive(Debug)]
struct FolderLock(File);

impl Drop for FolderLock {
    fn drop(&mut self) {
        // To close it is not enough: a child that was forked meanwhile has it open, too.
        let _ = self.0.unlock();
    }
}

/// The folder, locked.
fn lock(folder: &Path) -> io::Result<FolderLock> {
    let (file, until) = (File::open(folder)?, Instant::now() + LOCK_PATIENCE);
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(FolderLock(file)),
            Err(TryLockError::Error(e)) => return Err(e),
            Err(TryLockError::WouldBlock) if Instant::now() < until => thread::sleep(LOCK_INTERVAL),
            Err(TryLockError::WouldBlock) => {
                let cause = "another process keeps the folder locked";
                return Err(io::Error::new(ErrorKind::TimedOut, cause));
            }
        }
    }
}

/// A number from 1 to 65,535.
fn random_number() -> u16 {
    let random = RandomState::new().build_hasher().finish();
    (random % u64::from(u16::MAX)) as u16 + 1
}

#[cfg(test)]
mod tests;
