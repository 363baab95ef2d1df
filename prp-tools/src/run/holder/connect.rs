//! Connections that programs ask for.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use prp_run::{Answer, PairName, Request, RequestKind};
use prp_sock::{Awaited, NodeId, Port, PrpStream, error_number, wait_any};

use super::pair::{Pair, PendingPair};
use super::pump::Passage;
use super::{Holder, reply};

/// How long a nonblocking `connect` may wait for the peer's answer: a node of the same network has
/// answered by then, so that a refusal is known while TCP can still be tried.
pub(super) const QUICK: Duration = Duration::from_millis(20);

/// How long a blocking `connect` waits for the peer's answer before TCP is tried: the request has
/// been sent several times by then.
const BEFORE_TCP: Duration = Duration::from_secs(1);

/// A connection that was asked for, with a pair for the program.
pub(super) struct Opened {
    number: u64,
    stream: PrpStream,
    pair: Offered,
}

/// A pair whose end is for the program.
enum Offered {
    Open(Pair),
    Pending(PendingPair),
}

impl Opened {
    /// Returns the holder's number for the connection.
    pub(super) const fn number(&self) -> u64 {
        self.number
    }

    /// Returns the program's end.
    pub(super) const fn end(&self) -> &OwnedFd {
        match &self.pair {
            Offered::Open(pair) => &pair.end,
            Offered::Pending(pending) => &pending.pair.end,
        }
    }

    /// Whether the peer has answered.
    pub(super) const fn is_settled(&self) -> bool {
        matches!(self.pair, Offered::Open(_))
    }
}

impl Holder {
    /// Connects, answers, and has a thread pass bytes on until the connection has ended.
    pub(super) fn connect(self: &Arc<Self>, asking: UnixStream, request: &Request, pid: i32) {
        let quick = (request.kind == RequestKind::ConnectNonblocking).then_some(QUICK);
        let opened = match self.open_connection(request, |stream| settle(stream, quick)) {
            Ok(opened) => opened,
            Err(answer) => {
                let _ = reply(&asking, &answer, None);
                return;
            }
        };
        // A program that has been interrupted waits no longer.
        if reply(&asking, &Answer::default(), Some(opened.end())).is_err() {
            return;
        }
        // The connection may last long, and descriptors are few.
        drop(asking);
        self.serve_connection(opened, pid);
    }

    /// Asks the peer for a connection, and has `wait` wait for its answer, which says whether that
    /// has come. Returns what the program is to be answered if there is no connection.
    pub(super) fn open_connection(
        &self,
        request: &Request,
        wait: impl FnOnce(&PrpStream) -> io::Result<bool>,
    ) -> Result<Opened, Answer> {
        self.try_connection(request, wait).map_err(|e| {
            let ip = NodeId::new(request.node).map_or([0; 4], |node| self.tcp_address(node));
            Answer { ip, ..Answer::failed(error_number(&e)) }
        })
    }

    fn try_connection(
        &self,
        request: &Request,
        wait: impl FnOnce(&PrpStream) -> io::Result<bool>,
    ) -> io::Result<Opened> {
        let stream = self.request(request)?;
        let is_settled = wait(&stream)?;
        let local = stream.local_addr()?;
        let number = self.number();
        let peer_ip = request.ip();
        let own_ip = self.settings.mapping.ip_like(local.node.number(), peer_ip);
        let name = PairName {
            session: self.settings.session as u32,
            number,
            local: SocketAddr::new(own_ip, local.port.number()),
            peer: SocketAddr::new(peer_ip, request.port),
        };
        let pair = if is_settled {
            Offered::Open(Pair::open(&name)?)
        } else {
            Offered::Pending(PendingPair::open(&name)?)
        };
        Ok(Opened { number, stream, pair })
    }

    /// Waits for the peer's answer if the program does not, and has a thread pass bytes on until
    /// the connection has ended.
    pub(super) fn serve_connection(self: &Arc<Self>, opened: Opened, pid: i32) {
        let Opened { number, stream, pair } = opened;
        let pair = match pair {
            Offered::Open(pair) => pair,
            Offered::Pending(pending) => {
                if let Err(e) = settle(&stream, None) {
                    // Before the program sees that there is one.
                    self.keep_reason(number, error_number(&e));
                    return self.processes.remove(number);
                }
                let Ok(pair) = pending.settle() else { return self.processes.remove(number) };
                pair
            }
        };
        let Pair { held, end } = pair;
        drop(end);
        let held = Arc::new(held);
        let connection = self.processes.add(number, Some(pid), &held);
        self.pass(Passage::new(number, stream, held, connection));
    }

    /// Asks the peer for the connection.
    fn request(&self, request: &Request) -> io::Result<PrpStream> {
        let node = NodeId::new(request.node).ok_or(io::ErrorKind::HostUnreachable)?;
        let mut builder = self.builder.clone();
        if request.local_port != 0 {
            builder = builder.local_port(Port::new(request.local_port));
        }
        let has_tcp = || {
            self.settings.mapping.is_of_tcp_too(request.ip()) || self.tcp_address(node) != [0; 4]
        };
        let is_prp_only = self.settings.is_required || request.is_prp_only;
        if request.kind == RequestKind::Connect && !is_prp_only && has_tcp() {
            builder = builder.connect_timeout(BEFORE_TCP);
        }
        builder.connect_nonblocking((node, Port::new(request.port)))
    }
}

/// Waits for the answer to a request for a connection; whether it has come within `timeout`.
pub(super) fn settle(stream: &PrpStream, timeout: Option<Duration>) -> io::Result<bool> {
    loop {
        match wait_any(&mut [Awaited::write(stream)], None, timeout) {
            Ok(0) => return Ok(false),
            Ok(_) => return stream.take_error()?.map_or(Ok(true), Err),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}
