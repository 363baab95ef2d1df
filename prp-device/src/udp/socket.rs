//! UDP sockets of a node: where they are, what fits them, what they have to say.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

use pnet::datalink;
use socket2::{Domain, Protocol, Socket, Type};

use crate::sys::{datagram, packet};

/// Bytes of a datagram's payload that every path takes (SPEC PRP-UDP-4).
const FLOOR: u32 = 1200;

/// Bytes of the headers before the payload, without options.
const IPV4_HEADERS: u32 = 28;
const IPV6_HEADERS: u32 = 48;

/// Errors taken at a time: a flood of them holds nobody up.
const MAX_ERRORS: u64 = 64;

/// A socket on the first free one of the `ports - 1` ports that follow `own`.
pub(super) fn bind_in_range(own: SocketAddr, ports: u16) -> io::Result<Socket> {
    let mut refused = io::ErrorKind::AddrInUse.into();
    for port in (own.port()..own.port().saturating_add(ports)).skip(1) {
        let address = SocketAddr::new(own.ip(), port);
        match bind(address) {
            Ok(socket) => return Ok(socket),
            Err(e) if e.kind() == io::ErrorKind::AddrInUse => refused = e,
            Err(e) => return Err(explain(&e, address)),
        }
    }
    let last = own.port().saturating_add(ports - 1);
    let text = format!("udp:{own}: all ports up to {last} are in use: {refused}");
    Err(io::Error::new(refused.kind(), text))
}

/// A socket on `address`.
pub(super) fn bind(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP))?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.set_nonblocking(true)?;
    datagram::set_up(socket.as_fd(), address.ip())?;
    socket.bind(&address.into())?;
    Ok(socket)
}

/// Names the address, and what to mend.
fn explain(error: &io::Error, address: SocketAddr) -> io::Error {
    let mend = if error.kind() == io::ErrorKind::AddrNotAvailable {
        "; this machine has no such address: give it to a device, or correct prphosts"
    } else {
        ""
    };
    io::Error::new(error.kind(), format!("udp:{address}: {error}{mend}"))
}

/// Bytes of payload that the device with the address `ip` takes in a datagram.
pub(super) fn largest_payload(fd: BorrowedFd<'_>, ip: IpAddr) -> u32 {
    let headers = if ip.is_ipv4() { IPV4_HEADERS } else { IPV6_HEADERS };
    let found = datalink::interfaces();
    // The loopback device has all addresses of its network.
    let has = |i: &&datalink::NetworkInterface| {
        i.ips.iter().any(|own| own.ip() == ip || (i.is_loopback() && own.contains(ip)))
    };
    let mtu = found.iter().find(has).and_then(|i| packet::mtu(fd, &i.name).ok());
    let payload = mtu.unwrap_or(FLOOR + headers).saturating_sub(headers);
    payload.clamp(FLOOR, datagram::MAX_BYTES as u32)
}

/// Takes the errors that the kernel keeps for a socket; how many there were.
pub(super) fn take_errors(fd: BorrowedFd<'_>) -> u64 {
    let mut taken = 0;
    while taken < MAX_ERRORS && datagram::take_error(fd) {
        taken += 1;
    }
    taken
}
