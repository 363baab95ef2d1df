//! Where the sockets of `prp-routed` are, and whether what answers there may be believed.
//!
//! Paths are shared by all network namespaces of a machine and nodes are not, so a socket's name
//! begins with the number of its namespace: two namespaces may both have a node 1.

use std::fmt;
use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use prp_proto::addr::NodeId;
use socket2::{Domain, SockAddr, Socket, Type};

use crate::environment;
use crate::printable::printable_path;
use crate::sys;
use crate::trust::{DAEMONS_USER, Peer, is_always_trusted, is_trusted};

/// Where it is unless `PRP_RUN_DIR` says otherwise. Only root can make it, by hand or by systemd's
/// `RuntimeDirectory=`.
pub const DEFAULT: &str = "/run/prp";

/// Those who may wait to be accepted. The daemon accepts them within milliseconds.
const BACKLOG: i32 = 128;

/// How long to wait for a place in a daemon's queue to find out whether it runs.
const PROBE: Duration = Duration::from_millis(500);

/// What `prp-routed` offers to the processes of its node.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum Service {
    /// Questions of `prp routed`, and orders of the administrator.
    Control,
    /// The registry of the node's processes.
    Registry,
}

impl Service {
    const fn name(self) -> &'static str {
        match self {
            Self::Control => "control",
            Self::Registry => "registry",
        }
    }
}

/// The directory of the daemon's sockets.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct RunDir {
    path: PathBuf,
    /// The network namespace of the thread that made this.
    namespace: u64,
}

impl RunDir {
    /// The one in force: `PRP_RUN_DIR`, or [`DEFAULT`], for the calling thread's network namespace.
    pub fn in_force() -> Self {
        Self::at(environment::variable("PRP_RUN_DIR").map_or_else(|| DEFAULT.into(), PathBuf::from))
    }

    /// The one at `path`.
    pub fn at(path: PathBuf) -> Self {
        // Without /proc there is no telling namespaces apart; then there is most likely only one.
        let namespace = std::fs::metadata("/proc/thread-self/ns/net").map_or(0, |meta| meta.ino());
        Self { path, namespace }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The socket of `service` for `node`.
    pub fn socket(&self, node: NodeId, service: Service) -> PathBuf {
        self.path.join(format!("{}.{node}.{}", self.namespace, service.name()))
    }

    /// The nodes of this network namespace that have, or have had, a daemon here.
    fn nodes(&self) -> Vec<NodeId> {
        let entries = std::fs::read_dir(&self.path).into_iter().flatten().flatten();
        let node = |name: &str| {
            let (namespace, rest) = name.split_once('.')?;
            let (node, service) = rest.split_once('.')?;
            let here = namespace.parse() == Ok(self.namespace);
            (here && service == Service::Control.name()).then(|| node.parse().ok())?
        };
        let mut nodes: Vec<NodeId> =
            entries.filter_map(|entry| node(entry.file_name().to_str()?)).collect();
        nodes.sort_unstable();
        nodes
    }

    /// The nodes of this network namespace whose daemon runs here.
    pub fn running(&self) -> Vec<NodeId> {
        let mut nodes = self.nodes();
        // A daemon that was killed leaves its sockets, at which no process listens.
        nodes.retain(|node| match self.connect(*node, Service::Control, PROBE) {
            Ok(_) => true,
            // One that is stopped does not take those that wait.
            Err(e) => e.kind() == ErrorKind::WouldBlock,
        });
        nodes
    }

    /// Checks that only root, the daemon's user or this process's own user can put sockets here.
    ///
    /// # Errors
    /// `NotFound` if there is no such directory; `PermissionDenied` with what is wrong with it.
    pub fn check(&self) -> io::Result<()> {
        let found = std::fs::symlink_metadata(&self.path)?;
        let path = printable_path(&self.path);
        let refuse = |what: &dyn fmt::Display| {
            Err(io::Error::new(ErrorKind::PermissionDenied, format!("{path}: {what}")))
        };
        if !found.is_dir() {
            return refuse(&"it is no directory");
        }
        if !is_trusted(found.uid()) {
            return refuse(&format_args!(
                "user {} owns it, who is neither root nor {DAEMONS_USER} nor this user",
                found.uid()
            ));
        }
        if found.mode() & 0o022 != 0 {
            return refuse(&"other users may write to it: chmod go-w");
        }
        Ok(())
    }

    /// Connects to `service` of `node`, if both the directory and the process that listens there
    /// are to be trusted. The stream is nonblocking. It waits `patience` for a place in the
    /// listener's queue.
    ///
    /// # Errors
    /// `NotFound` or `ConnectionRefused` if no daemon runs; `WouldBlock` if the queue stays full;
    /// `PermissionDenied` with the user that is not trusted.
    pub fn connect(
        &self,
        node: NodeId,
        service: Service,
        patience: Duration,
    ) -> io::Result<UnixStream> {
        self.check()?;
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
        // The kernel queues waiting processes in order of coming, so that each gets its share.
        socket.set_write_timeout(Some(patience))?;
        socket.connect(&SockAddr::unix(self.socket(node, service))?)?;
        socket.set_write_timeout(None)?;
        socket.set_nonblocking(true)?;
        let peer = Peer::of(&socket)?;
        let user = peer.user;
        let is_equal = || is_trusted(user) && peer.has_our_capabilities();
        if !is_always_trusted(user) && !is_equal() {
            let what = format!("{}: user {user} listens there", printable_path(&self.path));
            return Err(io::Error::new(ErrorKind::PermissionDenied, what));
        }
        Ok(UnixStream::from(std::os::fd::OwnedFd::from(socket)))
    }

    /// Makes the directory if it is not there, and checks it.
    ///
    /// # Errors
    /// This process may not make it, with the fix; or others may write to it.
    pub fn prepare(&self) -> io::Result<()> {
        let made = DirBuilder::new().mode(0o755).create(&self.path);
        match made {
            Err(e) if e.kind() != ErrorKind::AlreadyExists => {
                let fix = match e.kind() {
                    ErrorKind::ReadOnlyFilesystem => "mount a tmpfs there,",
                    ErrorKind::NotFound => "make the directory above it,",
                    _ => "start prp-routed as root or by its unit,",
                };
                let what = format!(
                    "cannot make {}: {e}: {fix} or set PRP_RUN_DIR to a directory where this user \
                     may write, for the daemon and for programs",
                    printable_path(&self.path)
                );
                Err(io::Error::new(e.kind(), what))
            }
            _ => self.check(),
        }
    }
}

/// A socket of the daemon. Its path is removed when this is dropped, where that is possible.
#[derive(Debug)]
pub struct ServiceListener {
    listener: UnixListener,
    path: PathBuf,
    /// Held locked: one daemon a node and network namespace.
    _lock: File,
    refuses_descriptors: bool,
}

impl ServiceListener {
    /// Takes the place of `service` for `node` in `dir`. Every local user may connect.
    ///
    /// # Errors
    /// `AddrInUse` if another daemon has it; the directory is not to be trusted, or full.
    pub fn bind(dir: &RunDir, node: NodeId, service: Service) -> io::Result<Self> {
        dir.check()?;
        let path = dir.socket(node, service);
        let named =
            |e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", printable_path(&path)));
        let lock = lock(&path.with_extension(format!("{}.lock", service.name()))).map_err(|e| {
            if e.kind() != ErrorKind::WouldBlock {
                return named(e);
            }
            let message = format!("a prp-routed for node {node} runs already");
            io::Error::new(ErrorKind::AddrInUse, message)
        })?;
        // What is there is left over: the daemon that made it has let go of the lock.
        match std::fs::remove_file(&path) {
            Err(e) if e.kind() != ErrorKind::NotFound => return Err(named(e)),
            _ => {}
        }
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
        let refuses_descriptors = sys::socket::refuse_descriptors(socket.as_fd()).is_ok();
        socket.bind(&SockAddr::unix(&path)?).map_err(named)?;
        std::fs::set_permissions(&path, Permissions::from_mode(0o666)).map_err(named)?;
        socket.listen(BACKLOG)?;
        socket.set_nonblocking(true)?;
        let listener = UnixListener::from(std::os::fd::OwnedFd::from(socket));
        Ok(Self { listener, path, _lock: lock, refuses_descriptors })
    }

    /// A connection that waits, nonblocking, and the user at its other end.
    ///
    /// # Errors
    /// `WouldBlock` if there is none; the process has no descriptor left.
    pub fn accept(&self) -> io::Result<(UnixStream, u32)> {
        let (stream, _) = self.listener.accept()?;
        stream.set_nonblocking(true)?;
        let user = getsockopt(&stream, PeerCredentials)?.uid();
        Ok((stream, user))
    }

    /// Whether the kernel refuses descriptors on its connections. Where it does not (before Linux
    /// 6.16), closing a connection may wait for what a stranger has attached.
    pub const fn refuses_descriptors(&self) -> bool {
        self.refuses_descriptors
    }
}

impl AsFd for ServiceListener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl Drop for ServiceListener {
    fn drop(&mut self) {
        // A daemon that has become another user may not; its successor removes it then.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Locks the file at `path`, which no other process may open, until it is dropped.
fn lock(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let file = options.custom_flags(libc::O_NOFOLLOW).open(path)?;
    file.try_lock().map_err(io::Error::from)?;
    Ok(file)
}

#[cfg(test)]
mod tests;
