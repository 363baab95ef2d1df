//! `local_attacker KIND NODE SECONDS`: attacks of a process without privileges against the
//! processes of its node and their router. Ends after SECONDS, or after a fixed number of attempts.
//!
//! | kind | what it does |
//! | --- | --- |
//! | `squat` | binds the socket names of a node's servers, and answers every connection |
//! | `impersonate` | binds the paths of the router's sockets, and accepts every connection |
//! | `flood` | connects to the router's sockets and closes the connection, without a pause |
//! | `hold` | opens as many connections to the router as it can, and keeps them open |
//! | `claims` | sends descriptors whose last close may take long to the socket names of all ports |
//! | `descriptors` | attaches descriptors whose last close may take long to its messages to the router |
//! | `ledgers` | repeatedly registers, records invented connections, and ends |

use std::io::{self, IoSlice, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener, UnixStream};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::socket::{ControlMessage, MsgFlags, UnixAddr, sendmsg};
use prp_node::registry::{MAX_RECORDS, Registration};
use prp_node::{RunDir, Service};
use prp_proto::addr::{NodeId, Port, PrpAddr};
use prp_proto::endpoint::{ConnectionChange, EstablishedId};

/// Maximum number of attempts of one kind.
const ATTEMPTS: usize = 2_000_000;

/// Number of invented dead processes: more than the router accepts of one user.
const MADE_UP: usize = 600;

struct Attack {
    dir: RunDir,
    node: NodeId,
    until: Instant,
}

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().collect();
    let [_, kind, node, seconds] = &words[..] else {
        return Err(io::Error::other("usage: local_attacker KIND NODE SECONDS"));
    };
    let seconds = seconds.parse().map_err(io::Error::other)?;
    let attack = Attack {
        dir: RunDir::in_force(),
        node: node.parse().map_err(io::Error::other)?,
        until: Instant::now() + Duration::from_secs(seconds),
    };
    let count = match kind.as_str() {
        "squat" => attack.squat()?,
        "impersonate" => attack.impersonate()?,
        "flood" => attack.flood(),
        "hold" => attack.hold(),
        "claims" => attack.claims()?,
        "descriptors" => attack.descriptors()?,
        "ledgers" => attack.ledgers(),
        _ => return Err(io::Error::other("no such kind")),
    };
    println!("{count}");
    Ok(())
}

impl Attack {
    fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }

    /// Keeps the names bound; returns the number of connections and bytes that programs have sent
    /// to them.
    fn squat(&self) -> io::Result<usize> {
        let name = |end: &str| SocketAddr::from_abstract_name(format!("prp/{}/{end}", self.node));
        let mut listeners = Vec::new();
        for end in ["0", "routed", "register"] {
            let listener = UnixListener::bind_addr(&name(end)?)?;
            listener.set_nonblocking(true)?;
            listeners.push(listener);
        }
        let datagrams = UnixDatagram::bind_addr(&name("0")?)?;
        datagrams.set_nonblocking(true)?;
        begin();
        let mut trusted = 0;
        let mut links: Vec<UnixStream> = Vec::new();
        while !self.is_over() {
            for listener in &listeners {
                links.extend(listener.accept().map(|(link, _)| link));
            }
            trusted = trusted.max(links.len());
            for link in &mut links {
                link.set_nonblocking(true)?;
                let _ = link.write(&[0; 4096]);
                trusted += link.read(&mut [0; 64]).unwrap_or(0);
            }
            trusted += datagrams.recv(&mut [0; 64]).unwrap_or(0);
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(trusted)
    }

    /// Counts the connections of other processes to the false router's sockets that stay open.
    fn impersonate(&self) -> io::Result<usize> {
        let mut listeners = Vec::new();
        for service in [Service::Registry, Service::Control] {
            listeners.push(UnixListener::bind(self.dir.socket(self.node, service))?);
        }
        for listener in &listeners {
            listener.set_nonblocking(true)?;
        }
        begin();
        let mut links: Vec<UnixStream> = Vec::new();
        while !self.is_over() {
            for listener in &listeners {
                links.extend(listener.accept().map(|(link, _)| link));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let patience = Some(Duration::from_millis(500));
        links.retain_mut(|link| {
            let _ = link.set_read_timeout(patience);
            let read = link.read(&mut [0; 64]);
            // The other end is still open, whether it has sent data or not.
            read.map_or_else(|e| e.kind() == io::ErrorKind::WouldBlock, |len| len > 0)
        });
        Ok(links.len())
    }

    fn connect(&self, service: Service) -> io::Result<UnixStream> {
        UnixStream::connect(self.dir.socket(self.node, service))
    }

    fn flood(&self) -> usize {
        begin();
        let services = [Service::Registry, Service::Control];
        let attempts = services.iter().cycle().take(ATTEMPTS).take_while(|_| !self.is_over());
        attempts.filter(|service| self.connect(**service).is_ok()).count()
    }

    fn hold(&self) -> usize {
        let mut held = Vec::new();
        for service in [Service::Registry, Service::Control].into_iter().cycle().take(800) {
            held.extend(self.connect(service).ok());
        }
        begin();
        while !self.is_over() {
            std::thread::sleep(Duration::from_millis(10));
        }
        held.len()
    }

    /// A TCP socket with unsent data that lingers for an hour, whose peer does not read.
    fn lingering() -> io::Result<(TcpStream, TcpStream)> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let socket = TcpStream::connect(listener.local_addr()?)?;
        let (unread, _) = listener.accept()?;
        socket2::SockRef::from(&socket).set_linger(Some(Duration::from_secs(3600)))?;
        socket.set_nonblocking(true)?;
        while (&socket).write(&[0; 65_536]).is_ok() {}
        Ok((socket, unread))
    }

    /// Counts the messages that the kernel accepted for sockets of others. Fails if there is no
    /// such socket.
    fn claims(&self) -> io::Result<usize> {
        begin();
        let (mut taken, mut found) = (0, 0);
        while !self.is_over() && (taken == 0 || found == 0) {
            for port in 0..128 {
                let name = UnixAddr::new_abstract(format!("prp/{}/{port}", self.node).as_bytes())?;
                let socket = UnixDatagram::unbound()?;
                let (lingering, _deaf) = Self::lingering()?;
                let fds = [lingering.as_raw_fd()];
                let rights = [ControlMessage::ScmRights(&fds)];
                let (fd, data) = (socket.as_raw_fd(), [IoSlice::new(b"x")]);
                let sent = sendmsg(fd, &data, &rights, MsgFlags::MSG_NOSIGNAL, Some(&name));
                found += usize::from(sent != Err(Errno::ECONNREFUSED));
                taken += usize::from(sent.is_ok());
                socket2::SockRef::from(&lingering).set_linger(None)?;
            }
        }
        if found == 0 {
            return Err(io::Error::other("no process has a port"));
        }
        Ok(taken)
    }

    /// Counts the messages with a descriptor that the kernel accepted.
    fn descriptors(&self) -> io::Result<usize> {
        let (mut taken, mut kept) = (0, Vec::new());
        for service in [Service::Registry, Service::Control].into_iter().cycle().take(20) {
            let (socket, unread) = Self::lingering()?;
            let link = self.connect(service)?;
            let fds = [socket.as_raw_fd()];
            let rights = [ControlMessage::ScmRights(&fds)];
            let flags = MsgFlags::MSG_NOSIGNAL;
            let sent = sendmsg::<()>(link.as_raw_fd(), &[IoSlice::new(b"x")], &rights, flags, None);
            taken += usize::from(sent.is_ok());
            // If the message was accepted, it holds the last copy of the descriptor.
            kept.push((link, unread));
            if sent.is_err() {
                std::mem::forget(socket);
            }
        }
        begin();
        while !self.is_over() {
            std::thread::sleep(Duration::from_millis(10));
        }
        drop(kept);
        Ok(taken)
    }

    /// Counts the invented processes.
    fn ledgers(&self) -> usize {
        let remote = PrpAddr::new(NodeId::new(1).expect("it is one"), Port::new(80));
        let mut made = 0;
        for n in 0..MADE_UP {
            let Some(ledger) = self.registered() else { continue };
            for slot in 0..MAX_RECORDS {
                let local = Port::new(20_000 + slot as u16);
                let established = EstablishedId {
                    local,
                    remote,
                    own_id: n as u32 + 1,
                    peer_id: 7,
                    is_protected: false,
                };
                ledger.1.note(ConnectionChange::Enter(slot, established));
            }
            made += 1;
            if made == 1 {
                begin();
            }
            if self.is_over() {
                break;
            }
        }
        made
    }

    /// Registers a process, if the registry has room.
    fn registered(&self) -> Option<(Registration, prp_node::Ledger)> {
        let link = self.connect(Service::Registry).ok()?;
        link.set_nonblocking(true).ok()?;
        let mut registration = Registration::new(link);
        for _ in 0..1000 {
            match registration.receive() {
                Ok(news) => {
                    if let Some(ledger) = news.ledger {
                        return Some((registration, ledger));
                    }
                }
                Err(_) => return None,
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        None
    }
}

/// Reports that the attack has begun.
fn begin() {
    println!("begun");
}
