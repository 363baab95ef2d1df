//! The sockets of TCP that programs have: the kernel tells of them by netlink, or else, where it
//! has no `inet_diag`, in the tables of proc(5), which take a hundred times as long.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use prp_device::{TcpSocket, TcpState, tcp_sockets};
use prp_run::BELL;

/// The state of sockets that listen, in the tables.
const LISTENING: &str = "0A";

/// Not those in /proc/net, which a unit with ProcSubset=pid does not have.
const TABLES: [&str; 2] = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];

/// Returns the inodes of the sockets that listen.
///
/// # Errors
/// The kernel tells of none, in neither way.
pub(super) fn listening() -> io::Result<HashSet<u64>> {
    Ok(all(TcpState::Listening)?.iter().map(|socket| socket.inode).collect())
}

/// Returns the connections from the holder's address, or from the loopback address of IPv6, whose
/// other end a program has accepted: whether they are of IPv6 alone, and the port.
///
/// # Errors
/// As [`listening`].
pub(super) fn accepted() -> io::Result<HashSet<(bool, u16)>> {
    let connected = all(TcpState::Connected)?;
    let is_ours = |ip| ip == BELL || ip == Ipv6Addr::LOCALHOST;
    let ours = connected.iter().map(|socket| socket.peer).filter(|peer| is_ours(peer.ip()));
    Ok(ours.map(|peer| (peer.is_ipv6(), peer.port())).collect())
}

/// Returns the sockets in `state`.
fn all(state: TcpState) -> io::Result<Vec<TcpSocket>> {
    tcp_sockets(state).or_else(|_| in_tables(state))
}

/// Returns the sockets in `state` by the tables.
fn in_tables(state: TcpState) -> io::Result<Vec<TcpSocket>> {
    let mut found = Vec::new();
    for (at, table) in TABLES.iter().enumerate() {
        let file = match File::open(table) {
            Ok(file) => file,
            // There is no IPv6.
            Err(e) if at > 0 && e.kind() == io::ErrorKind::NotFound => continue,
            // A socket that is not in half of the tables may be in the other.
            Err(e) => return Err(e),
        };
        for line in BufReader::new(file).lines() {
            found.extend(of_line(&line?, state));
        }
    }
    Ok(found)
}

/// Returns the socket of a line, if it is in `state` and a process has it.
fn of_line(line: &str, state: TcpState) -> Option<TcpSocket> {
    let mut words = line.split_ascii_whitespace();
    let (peer, found) = (words.nth(2)?, words.next()?);
    // It is 0 for a socket that waits to be accepted.
    let inode = words.nth(5)?.parse().ok().filter(|inode| *inode != 0)?;
    let is_it = (found == LISTENING) == (state == TcpState::Listening);
    is_it.then_some(TcpSocket { inode, peer: address(peer)? })
}

/// Parses an address, in which the kernel prints each four bytes as a number of this machine.
fn address(word: &str) -> Option<SocketAddr> {
    let (ip, port) = word.split_once(':')?;
    let mut bytes = [0; 16];
    for (to, digits) in bytes.chunks_exact_mut(4).zip(ip.as_bytes().chunks(8)) {
        let number = u32::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?;
        to.copy_from_slice(&number.to_ne_bytes());
    }
    let [a, b, c, d, ..] = bytes;
    let ip = match ip.len() {
        8 => IpAddr::V4(Ipv4Addr::new(a, b, c, d)),
        _ => Ipv6Addr::from(bytes).to_canonical(),
    };
    Some((ip, u16::from_str_radix(port, 16).ok()?).into())
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use nix::sys::stat::fstat;

    use super::*;

    #[test]
    fn tables__have_what_netlink_has() {
        for (at, to) in [("127.0.0.1:0", "127.0.0.1"), ("[::]:0", "127.0.0.1"), ("[::1]:0", "::1")]
        {
            let listener = TcpListener::bind(at).expect("a port");
            let port = listener.local_addr().expect("bound").port();
            let client = TcpStream::connect((to, port)).expect("it listens");
            let peer = client.local_addr().expect("bound");
            let inode = fstat(&listener).expect("a socket").st_ino;
            for read in [tcp_sockets, in_tables] {
                let listening = || read(TcpState::Listening).expect("an answer");
                let mut found = listening().into_iter().filter(|it| it.inode == inode);
                let unspecified = found.next().expect("it listens").peer;
                assert_eq!((unspecified.port(), found.next()), (0, None), "{at}");
                let waits = read(TcpState::Connected).expect("an answer");
                assert!(waits.iter().all(|it| it.peer != peer), "{at}");
            }
            let (stream, _) = listener.accept().expect("one that waits");
            drop(listener);
            let inode_of_stream = fstat(&stream).expect("a socket").st_ino;
            let wanted = TcpSocket { inode: inode_of_stream, peer };
            for read in [tcp_sockets, in_tables] {
                assert!(read(TcpState::Connected).expect("an answer").contains(&wanted), "{at}");
                let listening = read(TcpState::Listening).expect("an answer");
                assert!(listening.iter().all(|it| it.inode != inode), "{at}");
            }
        }
    }

    #[test]
    fn of_line__reads_nothing_that_is_not_there() {
        let line = "   1: 0100007F:1B58 5052507F:0007 01 00000000:00000000 00:00000000 00000000     \
                    0        0 9 1 0000000000000000 20 4 30 10 -1";
        if cfg!(target_endian = "little") {
            let wanted = TcpSocket { inode: 9, peer: (BELL, 7).into() };
            assert_eq!(of_line(line, TcpState::Connected), Some(wanted));
        }
        assert_eq!(of_line(line, TcpState::Listening), None);
        for cut in 0..line.find(" 9 ").expect("the inode") {
            assert_eq!(of_line(&line[..cut], TcpState::Connected), None);
        }
    }
}
