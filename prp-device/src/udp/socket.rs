//! UDP sockets of a node: their addresses, the sizes that fit them, and their errors.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};
use std::thread;
use std::time::{Duration, Instant};

use prp_node::reworded;
use prp_proto::addr::UDP_PORTS;
use socket2::{Domain, Protocol, Socket, Type};

use crate::ip_address::{IpAddress, ip_addresses};
use crate::sys::{datagram, packet};

/// Errors taken at a time: a flood of them must not delay the caller.
const MAX_ERRORS: u64 = 64;

/// Bytes of a socket's buffers, as the kernel counts them: sixteen GSO batches with what the kernel
/// adds, twice what is to be in flight.
const BUFFER_BYTES: i32 = 4 * 1024 * 1024;

/// How long to wait for an address that the kernel still checks, and how often to ask whether it
/// does. It takes up to two seconds, unless the administrator has it ask more often.
const CHECK_PATIENCE: Duration = Duration::from_secs(10);
const CHECK_INTERVAL: Duration = Duration::from_millis(20);

/// A socket on each of the addresses `own` that this machine has, all at the same one of the ports
/// that follow the node's own, the first that is free at all of them (SPEC PRP-UDP-2).
///
/// Waits for those that the kernel still checks for duplicates (RFC 4862, 5.4): as a machine starts
/// they are tentative for a second or two, and programs start meanwhile.
pub(super) fn bind_all(own: &[SocketAddr]) -> io::Result<Vec<(SocketAddr, Socket)>> {
    let until = Instant::now() + CHECK_PATIENCE;
    while own.iter().any(|own| address_state(own.ip()) == AddressState::Tentative)
        && Instant::now() < until
    {
        thread::sleep(CHECK_INTERVAL);
    }
    let mut refused = io::Error::from(io::ErrorKind::AddrInUse);
    for offset in 1..UDP_PORTS {
        match bind_behind(own, offset) {
            Err(e) if e.kind() == io::ErrorKind::AddrInUse => refused = e,
            bound => return bound,
        }
    }
    let last = UDP_PORTS - 1;
    let text = format!("{refused}; all ports up to {last} behind the node's own are in use");
    Err(io::Error::new(refused.kind(), text))
}

/// A socket on each of the addresses `own` that this machine has, `offset` ports behind the node's
/// own.
fn bind_behind(own: &[SocketAddr], offset: u16) -> io::Result<Vec<(SocketAddr, Socket)>> {
    let mut absent = io::Error::from(io::ErrorKind::AddrNotAvailable);
    let mut bound = Vec::new();
    for &own in own {
        let address = SocketAddr::new(own.ip(), own.port().saturating_add(offset));
        match bind(address).map_err(|e| explain(&e, address)) {
            Ok(socket) => bound.push((own, socket)),
            Err(e) if e.kind() == absent.kind() => absent = e,
            Err(e) => return Err(e),
        }
    }
    if bound.is_empty() { Err(absent) } else { Ok(bound) }
}

/// A socket on `address`.
pub(super) fn bind(address: SocketAddr) -> io::Result<Socket> {
    let socket = new(address.ip())?;
    socket.bind(&address.into())?;
    Ok(socket)
}

/// A socket for addresses of the family of `ip`, set up.
pub(super) fn new(ip: IpAddr) -> io::Result<Socket> {
    let domain = if ip.is_ipv4() { Domain::IPV4 } else { Domain::IPV6 };
    let socket = Socket::new(domain, Type::DGRAM, Some(Protocol::UDP))?;
    if ip.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.set_nonblocking(true)?;
    datagram::set_up(socket.as_fd(), ip)?;
    Ok(socket)
}

/// Gives a socket buffers for GSO batches, as far as the system lets it.
pub(super) fn enlarge_buffers(socket: &Socket) {
    let _ = packet::force_receive_buffer(socket.as_fd(), BUFFER_BYTES);
    let _ = datagram::force_send_buffer(socket.as_fd(), BUFFER_BYTES);
}

/// Whether this machine can use an address.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
enum AddressState {
    /// It can; or it has not the address, or the kernel does not say.
    Other,
    Tentative,
    Duplicate,
}

/// What the kernel says of the address `ip`. Only those of IPv6 are checked.
fn address_state(ip: IpAddr) -> AddressState {
    if ip.is_ipv4() {
        AddressState::Other
    } else {
        state_of(ip, &ip_addresses().unwrap_or_default())
    }
}

/// What `addresses`, those of all devices, say of the address `ip`.
fn state_of(ip: IpAddr, addresses: &[IpAddress]) -> AddressState {
    let (mut state, same) = (AddressState::Other, addresses.iter().filter(|it| it.ip == ip));
    for address in same {
        state = match address {
            IpAddress { is_tentative: true, .. } => AddressState::Tentative,
            IpAddress { is_duplicate: true, .. } => AddressState::Duplicate,
            _ => return AddressState::Other,
        };
    }
    state
}

/// Names the address, and the remedy.
fn explain(error: &io::Error, address: SocketAddr) -> io::Error {
    let fix = match (error.kind(), address_state(address.ip())) {
        (io::ErrorKind::AddrNotAvailable, AddressState::Tentative) => {
            "; the address is tentative: the kernel checks whether another machine has it, too, and \
             that needs an underlay"
        }
        (io::ErrorKind::AddrNotAvailable, AddressState::Duplicate) => {
            "; another machine has this address, too (duplicate address detection)"
        }
        (io::ErrorKind::AddrNotAvailable, AddressState::Other) => {
            "; this machine has no such address: give it to a device, or correct prphosts"
        }
        _ => "",
    };
    reworded(error, format!("udp:{address}: {error}{fix}"))
}

/// Sends by `send`, which is called once more if its error may be about what left before: the
/// kernel says that at the next call. So the last error is about the datagram that was to leave
/// now. How many errors of the network were taken.
#[inline]
pub(super) fn send(
    fd: BorrowedFd<'_>,
    mut send: impl FnMut() -> io::Result<()>,
) -> (io::Result<()>, u64) {
    match send() {
        Err(e) if !matches!(e.raw_os_error(), Some(libc::EAGAIN | libc::EINTR)) => {
            let taken = take_errors_after(fd, &e);
            (if taken > 0 { send() } else { Err(e) }, taken)
        }
        sent => (sent, 0),
    }
}

/// Takes the errors that the kernel keeps for a socket, whose call has just failed with `error`;
/// how many there were.
///
/// One of the network is told by the call alone where the kernel had no room to keep it, since the
/// buffer for what is received was full: a flood would do that.
pub(super) fn take_errors_after(fd: BorrowedFd<'_>, error: &io::Error) -> u64 {
    take_errors(fd).max(is_of_network(error).into())
}

/// Whether the kernel reports such an error for an ICMP message about a datagram that was sent
/// before (`icmp_err_convert` and `icmpv6_err_convert` of Linux), and once.
fn is_of_network(error: &io::Error) -> bool {
    let of_icmp = [
        libc::EACCES,
        libc::ECONNREFUSED,
        libc::EHOSTDOWN,
        libc::EHOSTUNREACH,
        libc::EMSGSIZE,
        libc::ENETUNREACH,
        libc::ENONET,
        libc::ENOPROTOOPT,
        libc::EOPNOTSUPP,
        libc::EPROTO,
    ];
    error.raw_os_error().is_some_and(|number| of_icmp.contains(&number))
}

/// Takes the errors that the kernel keeps for a socket; how many there were.
pub(super) fn take_errors(fd: BorrowedFd<'_>) -> u64 {
    let mut taken = 0;
    while taken < MAX_ERRORS && datagram::take_error(fd) {
        taken += 1;
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_of__one_that_can_be_used_is_enough() {
        let ip = "fd00::1".parse().expect("an address");
        let usable = IpAddress { ip, ..IpAddress::default() };
        let tentative = IpAddress { is_tentative: true, ..usable };
        let duplicate = IpAddress { is_duplicate: true, ..usable };
        let other = IpAddress { ip: "fd00::2".parse().expect("an address"), ..tentative };
        assert_eq!(state_of(ip, &[other]), AddressState::Other);
        assert_eq!(state_of(ip, &[other, tentative]), AddressState::Tentative);
        assert_eq!(state_of(ip, &[duplicate, other]), AddressState::Duplicate);
        // Two devices have it.
        assert_eq!(state_of(ip, &[tentative, usable]), AddressState::Other);
    }
}
