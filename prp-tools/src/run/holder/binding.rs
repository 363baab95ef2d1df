//! Ports for sockets of `AF_PRPF`. A port is listened at from `bind` on, so that it is this run's
//! until the socket that stands for the program's is closed, or is one of a connection.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use prp_run::{Answer, FAMILY, Request};
use prp_sock::{Port, error_number};

use super::Holder;
use super::ports::ListeningSocket;

/// How long the thread of a port whose sockets are closed may take to give it up.
const CLOSING: Duration = Duration::from_millis(100);

impl Holder {
    /// Takes the port that a program asks for, or any.
    pub(super) fn bind(self: &Arc<Self>, request: &Request) -> Answer {
        match self.take_port(request) {
            Ok(port) => Answer { port, ..Answer::default() },
            Err(e) => Answer::failed(error_number(&e)),
        }
    }

    fn take_port(self: &Arc<Self>, request: &Request) -> io::Result<u16> {
        let own = self.settings.mapping.ip6(self.settings.node);
        let socket = ListeningSocket {
            inode: request.number,
            target: SocketAddr::new(FAMILY.into(), request.local_port),
            ip: own.into(),
        };
        // A socket that was closed just now does not have its port any more.
        self.check_sockets();
        let started = Instant::now();
        loop {
            let mut is_own = false;
            let taken = self.ports.claim(|ports| {
                is_own = ports.chosen(request.port).is_some();
                if is_own {
                    return Err(io::ErrorKind::AddrInUse.into());
                }
                let listener = self.builder.bind(Port::new(request.port))?;
                let port = listener.local_addr()?.port.number();
                self.serve_port(port, listener, socket)?;
                Ok(port)
            });
            let may_pass = !is_own && started.elapsed() < CLOSING;
            match taken {
                // Others open ports meanwhile.
                Err(e) if e.kind() == io::ErrorKind::AddrInUse && may_pass => {
                    thread::sleep(CLOSING / 20);
                }
                taken => return taken,
            }
        }
    }
}
