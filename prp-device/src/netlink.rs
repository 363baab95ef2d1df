//! Netlink: questions to the kernel, and its answers (netlink(7), rtnetlink(7)).

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use nix::errno::Errno;
use nix::sys::socket::{
    AddressFamily, MsgFlags, NetlinkAddr, SockFlag, SockProtocol, SockType, bind, recv, send,
    setsockopt, socket, sockopt,
};
use nix::sys::time::{TimeVal, TimeValLike};

// From linux/netlink.h.
const REQUEST_DUMP: u16 = 0x301;
const REQUEST_ONE: u16 = 0x5;
const HEADER: usize = 16;
const ATTRIBUTE: usize = 4;
/// The last message of an answer.
const DONE: u16 = 3;
/// The message that there is no answer; or, without an error, that it was the whole one.
const ERROR: u16 = 2;

/// Longer than the kernel ever takes for an answer, unless something is wrong.
const PATIENCE_S: i64 = 1;

/// Devices, and what belongs to them.
pub(crate) const NETWORK: SockProtocol = SockProtocol::NetlinkRoute;

/// One message with all attributes of a device has some two KiB; the kernel packs several.
pub(crate) const BUFFER: usize = 32 * 1024;

/// A socket for questions to one part of the kernel about this thread's network namespace, which is
/// told of what `groups` stands for.
///
/// # Errors
/// The kernel gives no such socket.
pub(crate) fn open(part: SockProtocol, groups: u32, flags: SockFlag) -> io::Result<OwnedFd> {
    let flags = SockFlag::SOCK_CLOEXEC | flags;
    let socket = socket(AddressFamily::Netlink, SockType::Raw, flags, part)?;
    bind(socket.as_raw_fd(), &NetlinkAddr::new(0, groups))?;
    Ok(socket)
}

/// Asks for all there is of `kind`; `fixed` is what comes before the attributes in such messages.
///
/// # Errors
/// The question could not be sent.
pub(crate) fn ask(socket: BorrowedFd<'_>, kind: u16, fixed: &[u8]) -> io::Result<()> {
    request(socket, kind, REQUEST_DUMP, fixed)
}

/// Asks for the one thing of `kind` that `fixed` names.
///
/// # Errors
/// As [`ask`].
pub(crate) fn ask_one(socket: BorrowedFd<'_>, kind: u16, fixed: &[u8]) -> io::Result<()> {
    request(socket, kind, REQUEST_ONE, fixed)
}

fn request(socket: BorrowedFd<'_>, kind: u16, flags: u16, fixed: &[u8]) -> io::Result<()> {
    let mut request = [&[0; HEADER], fixed].concat();
    let length = request.len() as u32;
    request[..4].copy_from_slice(&length.to_ne_bytes());
    request[4..6].copy_from_slice(&kind.to_ne_bytes());
    request[6..8].copy_from_slice(&flags.to_ne_bytes());
    send(socket.as_raw_fd(), &request, MsgFlags::empty())?;
    Ok(())
}

/// The messages of a packet: their kinds, and what is after their headers.
pub(crate) fn messages(mut packet: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = (u32_at(packet, 0)? as usize).max(HEADER);
        let kind = u16_at(packet, 4)?;
        let body = packet.get(HEADER..length)?;
        packet = packet.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, body))
    })
}

/// The answer to a question: passes each message to `take`, until the last.
///
/// # Errors
/// The error that the kernel answers instead, or `WouldBlock` if it does not answer.
pub(crate) fn answer(socket: &OwnedFd, mut take: impl FnMut(u16, &[u8])) -> io::Result<()> {
    setsockopt(socket, sockopt::ReceiveTimeout, &TimeVal::seconds(PATIENCE_S))?;
    let mut buffer = vec![0; BUFFER];
    loop {
        let packet = match recv(socket.as_raw_fd(), &mut buffer, MsgFlags::empty()) {
            Ok(n) => &buffer[..n],
            Err(Errno::EINTR) => continue,
            Err(e) => return Err(e.into()),
        };
        for (kind, body) in messages(packet) {
            match kind {
                DONE => return Ok(()),
                ERROR => {
                    let code = u32_at(body, 0).unwrap_or_default().cast_signed();
                    if code == 0 {
                        return Ok(());
                    }
                    return Err(io::Error::from_raw_os_error(code.wrapping_neg()));
                }
                _ => take(kind, body),
            }
        }
    }
}

/// All attributes: their kinds and values. It ends where they make no sense.
pub(crate) fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16_at(bytes, 0)?).max(ATTRIBUTE);
        // The highest two bits say how to read it.
        let kind = u16_at(bytes, 2)? & 0x3fff;
        let value = bytes.get(ATTRIBUTE..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

/// The attribute `kind`.
pub(crate) fn attribute(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    attributes(bytes).find(|(found, _)| *found == kind).map(|(_, value)| value)
}

/// The text of the attribute `kind`, without the zero at its end.
pub(crate) fn text(attributes: &[u8], kind: u16) -> Option<&str> {
    until_zero(attribute(attributes, kind)?)
}

/// The text of an attribute's value, without the zero at its end.
pub(crate) fn until_zero(value: &[u8]) -> Option<&str> {
    str::from_utf8(value.split(|b| *b == 0).next()?).ok()
}

/// The number at `at`.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2)?.try_into().ok().map(u16::from_ne_bytes)
}

/// The number at `at`.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes)
}

/// A message as the kernel makes them.
#[cfg(test)]
pub(crate) fn message(kind: u16, fixed: &[u8], attributes: &[(u16, &[u8])]) -> Vec<u8> {
    let mut bytes = vec![0; HEADER];
    bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
    bytes.extend(fixed);
    for (kind, value) in attributes {
        bytes.extend(((ATTRIBUTE + value.len()) as u16).to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(*value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    }
    let length = bytes.len() as u32;
    bytes[..4].copy_from_slice(&length.to_ne_bytes());
    bytes
}
