//! Connections that programs ask for.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
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
const QUICK: Duration = Duration::from_millis(20);

/// How long a blocking `connect` waits for the peer's answer before TCP is tried: the request has
/// been sent several times by then.
const BEFORE_TCP: Duration = Duration::from_secs(1);

impl Holder {
    /// Connects, answers, and has a thread pass bytes on until the connection has ended.
    pub(super) fn connect(self: &Arc<Self>, asking: UnixStream, request: &Request, pid: i32) {
        let failed = |node, error: &io::Error| {
            let ip = NodeId::new(node).map_or([0; 4], |node| self.tcp_address(node));
            let answer = Answer { ip, ..Answer::failed(error_number(error)) };
            let _ = reply(&asking, &answer, None);
        };
        let quick = (request.kind == RequestKind::ConnectNonblocking).then_some(QUICK);
        let opened = self.request(request).and_then(|stream| Ok((settle(&stream, quick)?, stream)));
        let (is_settled, stream) = match opened {
            Ok(opened) => opened,
            Err(e) => return failed(request.node, &e),
        };
        let local = match stream.local_addr() {
            Ok(local) => local,
            Err(e) => return failed(request.node, &e),
        };
        let number = self.number();
        let peer_ip = ip(request);
        let own_ip = self.settings.mapping.ip_like(local.node.number(), peer_ip);
        let name = PairName {
            session: self.settings.session as u32,
            number,
            local: SocketAddr::new(own_ip, local.port.number()),
            peer: SocketAddr::new(peer_ip, request.port),
        };
        let pair =
            if is_settled { Pair::open(&name).map(Ok) } else { PendingPair::open(&name).map(Err) };
        let pair = match pair {
            Ok(pair) => pair,
            Err(e) => return failed(request.node, &e),
        };
        let end = match &pair {
            Ok(pair) => &pair.end,
            Err(pending) => &pending.pair.end,
        };
        // A program that has been interrupted waits no longer.
        if reply(&asking, &Answer::default(), Some(end)).is_err() {
            return;
        }
        // The connection may last long, and descriptors are few.
        drop(asking);
        let pair = match pair {
            Ok(pair) => pair,
            Err(pending) => {
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
        let has_tcp =
            || self.settings.mapping.is_of_tcp_too(ip(request)) || self.tcp_address(node) != [0; 4];
        let is_prp_only = self.settings.is_required || request.is_prp_only;
        if request.kind == RequestKind::Connect && !is_prp_only && has_tcp() {
            builder = builder.connect_timeout(BEFORE_TCP);
        }
        builder.connect_nonblocking((node, Port::new(request.port)))
    }
}

/// Waits for the answer to a request for a connection; whether it has come within `timeout`.
fn settle(stream: &PrpStream, timeout: Option<Duration>) -> io::Result<bool> {
    loop {
        match wait_any(&mut [Awaited::write(stream)], None, timeout) {
            Ok(0) => return Ok(false),
            Ok(_) => return stream.take_error()?.map_or(Ok(true), Err),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

/// Returns the IP address of a request.
pub(super) fn ip(request: &Request) -> IpAddr {
    if request.is_ip6 {
        return Ipv6Addr::from(request.ip).into();
    }
    let [a, b, c, d, ..] = request.ip;
    Ipv4Addr::new(a, b, c, d).into()
}
