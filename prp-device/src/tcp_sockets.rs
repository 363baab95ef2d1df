//! The sockets of TCP, as the kernel lists them (sock_diag(7)).

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsFd;

use nix::sys::socket::{SockFlag, SockProtocol};

use crate::netlink::{self, u32_at};

// From linux/sock_diag.h, linux/inet_diag.h and net/tcp_states.h.
const BY_FAMILY: u16 = 20;
const REQUEST: usize = 56;
const TCP: u8 = libc::IPPROTO_TCP as u8;
/// A bit for each state.
const LISTENING: u32 = 1 << 10;
/// ESTABLISHED, FIN_WAIT1, FIN_WAIT2, CLOSE_WAIT, LAST_ACK and CLOSING.
const CONNECTED: u32 = 1 << 1 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9 | 1 << 11;

/// Which sockets [`tcp_sockets`] lists.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum TcpState {
    /// Those that listen.
    Listening,
    /// Those of connections, also where one end or both are closed.
    Connected,
}

/// A socket of TCP that a process has open.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct TcpSocket {
    /// The number of its file, as fstat(2) has it.
    pub inode: u64,
    /// The address of its peer, of IPv4 also where the socket is of IPv6; zeros where it listens.
    pub peer: SocketAddr,
}

/// Returns the sockets of TCP of this thread's network namespace in `state` that processes have
/// open: of connections, those that have been accepted. It takes some tenths of a millisecond where
/// /proc/net/tcp takes ten, since the kernel passes over its table of connections for listeners,
/// and over each empty place of it quickly otherwise.
///
/// # Errors
/// The kernel lists no sockets (it has no `inet_diag`), gives no netlink socket, or does not
/// answer.
pub fn tcp_sockets(state: TcpState) -> io::Result<Vec<TcpSocket>> {
    let states = match state {
        TcpState::Listening => LISTENING,
        TcpState::Connected => CONNECTED,
    };
    let socket = netlink::open(SockProtocol::NetlinkSockDiag, 0, SockFlag::empty())?;
    let mut found = Vec::new();
    for family in [libc::AF_INET, libc::AF_INET6] {
        let mut request = [0; REQUEST];
        request[..2].copy_from_slice(&[family as u8, TCP]);
        request[4..8].copy_from_slice(&states.to_ne_bytes());
        netlink::ask(socket.as_fd(), BY_FAMILY, &request)?;
        netlink::answer(&socket, |kind, body| found.extend(tcp_socket(kind, body)))?;
    }
    Ok(found)
}

/// Returns the socket that a message of the kernel's is of, if a process has it.
fn tcp_socket(kind: u16, body: &[u8]) -> Option<TcpSocket> {
    // It is 0 of a connection that waits to be accepted.
    let inode = u32_at(body, 68).filter(|inode| kind == BY_FAMILY && *inode != 0)?;
    let port = u16::from_be_bytes(body.get(6..8)?.try_into().ok()?);
    let ip: [u8; 16] = body.get(24..40)?.try_into().ok()?;
    let ip = if body[0] == libc::AF_INET as u8 {
        let [a, b, c, d, ..] = ip;
        IpAddr::V4(Ipv4Addr::new(a, b, c, d))
    } else {
        Ipv6Addr::from(ip).to_canonical()
    };
    Some(TcpSocket { inode: inode.into(), peer: (ip, port).into() })
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use nix::sys::stat::fstat;

    use super::*;

    #[test]
    fn tcp_sockets__has_those_that_listen_and_those_that_are_accepted() {
        for (at, to) in [("127.0.0.1:0", "127.0.0.1"), ("[::]:0", "127.0.0.1"), ("[::1]:0", "::1")]
        {
            let listener = TcpListener::bind(at).expect("a port");
            let number = fstat(&listener).expect("a socket").st_ino;
            let of_listener = |it: &TcpSocket| it.inode == number;
            let listening = || tcp_sockets(TcpState::Listening).expect("an answer");
            assert!(listening().iter().any(of_listener), "{at}");
            let to: IpAddr = to.parse().expect("an address");
            let port = listener.local_addr().expect("bound").port();
            let client = TcpStream::connect((to, port)).expect("it listens");
            let peer = client.local_addr().expect("bound");
            let accepted = || {
                let connected = tcp_sockets(TcpState::Connected).expect("an answer");
                connected.into_iter().find(|it| it.peer == peer).map(|it| it.inode)
            };
            assert_eq!(accepted(), None, "{at}: it waits");
            let (stream, _) = listener.accept().expect("one that waits");
            assert_eq!(accepted(), Some(fstat(&stream).expect("a socket").st_ino), "{at}");
            drop(client);
            assert!(accepted().is_some(), "{at}: one end is closed");
            drop(listener);
            assert!(!listening().iter().any(of_listener), "{at}");
        }
    }

    #[test]
    fn tcp_socket__reads_nothing_that_is_not_there() {
        let mut body = [0; 72];
        body[0] = libc::AF_INET as u8;
        body[6..8].copy_from_slice(&7u16.to_be_bytes());
        body[24..28].copy_from_slice(&[127, 80, 82, 80]);
        assert_eq!(tcp_socket(BY_FAMILY, &body), None, "no process has it");
        body[68..].copy_from_slice(&9u32.to_ne_bytes());
        let wanted = TcpSocket { inode: 9, peer: ([127, 80, 82, 80], 7).into() };
        assert_eq!(tcp_socket(BY_FAMILY, &body), Some(wanted));
        assert_eq!(tcp_socket(BY_FAMILY + 1, &body), None);
        for cut in 0..body.len() {
            assert_eq!(tcp_socket(BY_FAMILY, &body[..cut]), None);
        }
    }
}
