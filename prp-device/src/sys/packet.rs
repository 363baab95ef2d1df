//! Options of packet sockets and devices.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::cvt;

/// From linux/if_packet.h.
const PACKET_VNET_HDR: libc::c_int = 15;

/// A capture at its limit is bound to this EtherType for a while: it gets no frames, and frames of
/// others do not pass it. No frame has it, as it is reserved (RFC 1701). The kernel takes 0 for the
/// EtherType that the socket had.
#[cfg(any(feature = "raw", feature = "fast-paths"))]
pub(crate) const NO_FRAMES: u16 = 0xffff;

/// Receives frames of `ethertype` from device `index` from now on, and sends into it.
pub(crate) fn bind(fd: BorrowedFd<'_>, index: u32, ethertype: u16) -> io::Result<()> {
    // SAFETY: all-zero bytes are a valid `sockaddr_ll`: it is made of integers only.
    let mut addr: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    addr.sll_family = libc::AF_PACKET as libc::c_ushort;
    addr.sll_protocol = ethertype.to_be();
    addr.sll_ifindex = index.cast_signed();
    // SAFETY: the pointer and the length describe `addr`, which outlives the call; bind only reads
    // it.
    let result = unsafe {
        libc::bind(
            fd.as_raw_fd(),
            std::ptr::from_ref(&addr).cast(),
            size_of_val(&addr) as libc::socklen_t,
        )
    };
    cvt(result).map(drop)
}

/// Spares us what this machine sends.
pub(crate) fn ignore_outgoing(fd: BorrowedFd<'_>) -> io::Result<()> {
    set(fd, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1i32)
}

/// Has the card of device `index` pass every frame, for as long as the socket is on it: a card that
/// sorts VLANs out drops those that no VLAN device is for, and ceases to when it passes all.
pub(crate) fn pass_all_vlans(fd: BorrowedFd<'_>, index: u32) -> io::Result<()> {
    let membership = libc::packet_mreq {
        mr_ifindex: index.cast_signed(),
        mr_type: libc::PACKET_MR_PROMISC as libc::c_ushort,
        mr_alen: 0,
        mr_address: [0; 8],
    };
    set(fd, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &membership)
}

/// Whether frames are sent with a `virtio_net_hdr` before them, and come with one. Not to be
/// changed while there is a ring.
///
/// Frames that wait to be divided (GSO) by another protocol than TCP or UDP cannot come with one: a
/// ring takes none behind such a frame. Only a process that may send any frame on a
/// virtual link makes them of PRP's EtherType.
pub(crate) fn prefix_frames(fd: BorrowedFd<'_>, on: bool) -> io::Result<()> {
    set(fd, libc::SOL_PACKET, PACKET_VNET_HDR, &i32::from(on))
}

/// Sets the receive buffer past the system's limit if we may, to the limit otherwise.
pub(crate) fn force_receive_buffer(fd: BorrowedFd<'_>, bytes: i32) -> io::Result<()> {
    set(fd, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &bytes)
        .or_else(|_| set(fd, libc::SOL_SOCKET, libc::SO_RCVBUF, &bytes))
}

/// Frames the kernel dropped since the last call, because ring or queue was full.
pub(crate) fn dropped(fd: BorrowedFd<'_>) -> io::Result<u32> {
    let stats = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
    // SAFETY: it is made of integers.
    let (stats, _) = unsafe { get(fd, libc::SOL_PACKET, libc::PACKET_STATISTICS, stats) }?;
    Ok(stats.tp_drops)
}

/// The device, by index, and the EtherType a packet socket is bound to.
///
/// # Errors
/// `InvalidInput` if it is no packet socket.
pub(crate) fn bound_to(fd: BorrowedFd<'_>) -> io::Result<(u32, u16)> {
    // SAFETY: all-zero bytes are a valid `sockaddr_ll`: it is made of integers only.
    let mut addr: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    let mut len = size_of_val(&addr) as libc::socklen_t;
    // SAFETY: the pointers describe `addr` and `len`, both live; the kernel writes at most `len`
    // bytes.
    let result = unsafe { libc::getsockname(fd.as_raw_fd(), (&raw mut addr).cast(), &raw mut len) };
    cvt(result)?;
    if addr.sll_family != libc::AF_PACKET as libc::c_ushort {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    Ok((addr.sll_ifindex.cast_unsigned(), u16::from_be(addr.sll_protocol)))
}

/// The number of the device that a packet socket is bound to; none if it never was, or the device
/// has gone, upon which the kernel writes -1 in its place.
pub(crate) fn device(fd: BorrowedFd<'_>) -> Option<u32> {
    let (index, _) = bound_to(fd).ok()?;
    (index.cast_signed() > 0).then_some(index)
}

/// Sets an option whose value is the plain old data `T`.
pub(super) fn set<T: Copy>(
    fd: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
    value: &T,
) -> io::Result<()> {
    // SAFETY: the pointer and the length describe `value`, which outlives the call; setsockopt only
    // reads it.
    let result = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            level,
            name,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    cvt(result).map(drop)
}

/// The value of an option, in place of what is in `value`, and how many bytes of it the kernel has
/// written.
///
/// # Safety
/// Whatever bytes the kernel writes over those of a `T` make a `T` again, as with integers.
pub(super) unsafe fn get<T: Copy>(
    fd: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
    mut value: T,
) -> io::Result<(T, usize)> {
    let mut len = size_of_val(&value) as libc::socklen_t;
    // SAFETY: the pointers describe `value` and `len`, both live; the kernel writes at most `len`
    // bytes, which the caller vouches for.
    let result = unsafe {
        libc::getsockopt(fd.as_raw_fd(), level, name, (&raw mut value).cast(), &raw mut len)
    };
    cvt(result)?;
    Ok((value, len as usize))
}
