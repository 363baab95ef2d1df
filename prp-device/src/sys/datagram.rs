//! GSO batches: many of one size by one system call (`UDP_SEGMENT`, `UDP_GRO`).
//!
//! Sending uses the bare system call, as in [`super::mmsg`].

use std::io;
use std::marker::PhantomData;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd};

use prp_proto::device::PacketRun;
use socket2::SockAddr;

use super::cvt;
use super::mmsg::{PIECES, is_of_call};
use super::packet::{get, set};

/// From linux/socket.h: a call that sends nothing, and finds out about the path alone.
const MSG_PROBE: libc::c_int = 0x10;

/// Most bytes of a datagram, and of a GSO batch.
pub(crate) const MAX_BYTES: usize = 65_507;

/// Bytes for what the kernel says of a datagram: three numbers with their headers take 72.
const CONTROL: usize = 128;

/// The ancillary data of a GSO batch that is sent: the size of its datagrams.
#[repr(C, align(8))]
#[derive(Copy, Clone, Debug)]
struct SegmentSize {
    header: libc::cmsghdr,
    size: u16,
}

/// A datagram that is ready to be sent.
#[derive(Copy, Clone, Debug)]
struct Entry<A> {
    to: A,
    len: usize,
    /// Where its pieces begin.
    at: usize,
}

/// Scatter lists for datagrams, kept between calls so that sending allocates nothing.
#[derive(Debug)]
pub(crate) struct SendList<A> {
    pieces: Vec<libc::iovec>,
    /// Those of one call, joined where they lie one behind the other.
    joined: Vec<libc::iovec>,
    entries: Vec<Entry<A>>,
}

// SAFETY: the raw pointers inside are only used within `Loaded`, for whose lifetime what they point
// to is borrowed.
unsafe impl<A: Send> Send for SendList<A> {}

impl<A> Default for SendList<A> {
    fn default() -> Self {
        Self { pieces: Vec::new(), joined: Vec::new(), entries: Vec::new() }
    }
}

impl<A: Copy> SendList<A> {
    /// All of `datagrams`, each given in pieces for a recipient, ready to be sent.
    pub(crate) fn load<'s, 'a>(
        &'s mut self,
        datagrams: impl Iterator<Item = (A, [&'a [u8]; PIECES])>,
    ) -> Loaded<'s, 'a, A> {
        self.pieces.clear();
        self.entries.clear();
        for (to, pieces) in datagrams {
            let at = self.pieces.len();
            let mut len = 0;
            for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
                let iov_base = piece.as_ptr().cast_mut().cast();
                self.pieces.push(libc::iovec { iov_base, iov_len: piece.len() });
                len += piece.len();
            }
            self.entries.push(Entry { to, len, at });
        }
        Loaded { list: self, datagrams: PhantomData }
    }
}

impl<A> SendList<A> {
    /// Joins the pieces of `range`. The kernel's walk through a list of them takes longer than
    /// this.
    fn join(&mut self, range: Range<usize>) {
        self.joined.clear();
        for piece in &self.pieces[range] {
            match self.joined.last_mut() {
                Some(last) if last.iov_base.addr() + last.iov_len == piece.iov_base.addr() => {
                    last.iov_len += piece.iov_len;
                }
                _ => self.joined.push(*piece),
            }
        }
    }
}

/// Datagrams that are ready to be sent, and borrowed until they are.
#[derive(Debug)]
pub(crate) struct Loaded<'s, 'a, A> {
    list: &'s mut SendList<A>,
    datagrams: PhantomData<&'a [u8]>,
}

impl<A: Copy> Loaded<'_, '_, A> {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.list.entries.len()
    }

    /// The recipient of datagram `index`, and its bytes.
    pub(crate) fn datagram(&self, index: usize) -> (A, usize) {
        let entry = &self.list.entries[index];
        (entry.to, entry.len)
    }

    /// Sends the datagrams of `range` to `to`, or to the peer of a connected socket, by one call,
    /// without blocking: one alone, or a GSO batch of datagrams that all have the size of the first
    /// but the last, which may be shorter.
    ///
    /// # Errors
    /// What happened to them: none has left.
    pub(crate) fn send(
        &mut self,
        fd: BorrowedFd<'_>,
        to: Option<&SockAddr>,
        range: Range<usize>,
    ) -> io::Result<()> {
        let first = &self.list.entries[range.start];
        let end = self.list.entries.get(range.end).map_or(self.list.pieces.len(), |e| e.at);
        // SAFETY: all-zero bytes are valid for both: integers.
        let mut segment: SegmentSize = unsafe { std::mem::zeroed() };
        // SAFETY: all-zero bytes are a valid `msghdr`: integers and null pointers.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        if let Some(to) = to {
            message.msg_name = to.as_ptr().cast_mut().cast();
            message.msg_namelen = to.len();
        }
        let segment_size = first.len as u16;
        self.list.join(first.at..end);
        message.msg_iov = self.list.joined.as_mut_ptr();
        message.msg_iovlen = self.list.joined.len() as _;
        if range.len() > 1 {
            // SAFETY: it computes, and reads no memory.
            segment.header.cmsg_len = unsafe { libc::CMSG_LEN(size_of::<u16>() as u32) } as _;
            segment.header.cmsg_level = libc::SOL_UDP;
            segment.header.cmsg_type = libc::UDP_SEGMENT;
            segment.size = segment_size;
            message.msg_control = (&raw mut segment).cast();
            message.msg_controllen = size_of::<SegmentSize>() as _;
        }
        // SAFETY: the message points at the address, at pieces of the list this borrows, each of
        // slices that are borrowed as long, and at `segment`; all outlive the call, which only
        // reads them.
        let sent = unsafe {
            libc::syscall(libc::SYS_sendmsg, fd.as_raw_fd(), &raw const message, libc::MSG_DONTWAIT)
        };
        cvt(sent).map(drop)
    }
}

/// Sends one datagram to `to`, or to the peer of a connected socket, without blocking: for one this
/// takes less than a message with a list of pieces, which the kernel would have to copy first.
///
/// # Errors
/// What happened to it: it has not left.
pub(crate) fn send_one(fd: BorrowedFd<'_>, to: Option<&SockAddr>, bytes: &[u8]) -> io::Result<()> {
    let (name, len) = to.map_or((std::ptr::null(), 0), |to| (to.as_ptr(), to.len()));
    // SAFETY: the bytes and the address are readable and outlive the call, which writes nothing.
    let sent = unsafe {
        libc::syscall(
            libc::SYS_sendto,
            fd.as_raw_fd(),
            bytes.as_ptr(),
            bytes.len(),
            libc::MSG_DONTWAIT,
            name,
            len,
        )
    };
    cvt(sent).map(drop)
}

/// Asks the kernel whether a route leads to `to` from where the socket is, and sends nothing. What
/// the network has said of datagrams that were sent before does not come in between.
///
/// # Errors
/// The kernel's answer, if none does.
pub(crate) fn ask_route(fd: BorrowedFd<'_>, to: &SockAddr) -> io::Result<()> {
    let flags = MSG_PROBE | libc::MSG_CONFIRM | libc::MSG_DONTWAIT;
    // SAFETY: no bytes are read; the address is readable and outlives the call, which writes
    // nothing.
    let asked = unsafe {
        libc::syscall(
            libc::SYS_sendto,
            fd.as_raw_fd(),
            std::ptr::null::<u8>(),
            0,
            flags,
            to.as_ptr(),
            to.len(),
        )
    };
    cvt(asked).map(drop)
}

/// What came by one system call from one sender: a datagram, or a GSO batch of them.
#[derive(Copy, Clone, Debug)]
pub(crate) struct GsoBatch<'a> {
    /// Its sender.
    pub(crate) from: SocketAddr,
    /// All its bytes.
    pub(crate) bytes: &'a [u8],
    /// Bytes of each datagram in it but the last, which may be shorter.
    pub(crate) segment: usize,
    /// It did not fit its buffer.
    pub(crate) is_truncated: bool,
    /// How many datagrams have found no room at the socket, if the kernel says so; it begins again
    /// at zero behind 2^32.
    pub(crate) overflow: Option<u32>,
}

impl<'a> GsoBatch<'a> {
    /// Its datagrams, in order.
    pub(crate) fn datagrams(&self) -> impl Iterator<Item = &'a [u8]> {
        self.bytes.chunks(self.segment.max(1))
    }

    /// Those of its datagrams whose numbers are in `range`.
    pub(crate) fn run(&self, range: Range<usize>) -> PacketRun<'a> {
        let segment = self.segment.max(1);
        let at = |number: usize| (number * segment).min(self.bytes.len());
        PacketRun::new(&self.bytes[at(range.start)..at(range.end)], segment, segment)
    }
}

/// A place for one GSO batch.
#[derive(Debug)]
#[repr(C, align(8))]
struct Control([u8; CONTROL]);

/// Buffers for GSO batches.
#[derive(Debug)]
pub(crate) struct RecvList {
    buffer: Vec<u8>,
    names: Vec<libc::sockaddr_storage>,
    controls: Vec<Control>,
    headers: Vec<libc::mmsghdr>,
    pieces: Vec<libc::iovec>,
    /// GSO batches of the last call.
    received: usize,
    /// The kernel, or a filter of system calls, refuses the call for several at a time.
    one_by_one: bool,
}

// SAFETY: the raw pointers inside point at memory of the vectors beside them, and are only used
// within calls that borrow all of them.
unsafe impl Send for RecvList {}

impl RecvList {
    /// GSO batches received per call: more leave the second-level cache before they are read.
    pub(crate) const MAX: usize = 4;

    /// Bytes of the buffer of a GSO batch: one that is smaller cuts GSO batches off without a word.
    const GSO_BATCH: usize = 1 << 16;

    /// Buffers for some GSO batches.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub(crate) fn new() -> io::Result<Self> {
        let mut buffer = Vec::new();
        buffer.try_reserve_exact(Self::MAX * Self::GSO_BATCH)?;
        buffer.resize(Self::MAX * Self::GSO_BATCH, 0);
        // SAFETY: all-zero bytes are valid for all of them: integers and null pointers.
        let (name, header, piece) =
            unsafe { (std::mem::zeroed(), std::mem::zeroed(), std::mem::zeroed()) };
        Ok(Self {
            buffer,
            names: vec![name; Self::MAX],
            controls: (0..Self::MAX).map(|_| Control([0; CONTROL])).collect(),
            headers: vec![header; Self::MAX],
            pieces: vec![piece; Self::MAX],
            received: 0,
            one_by_one: false,
        })
    }

    /// Receives what is there without blocking, up to `max` GSO batches, or as many as there are
    /// buffers for; how many there were.
    ///
    /// # Errors
    /// What the kernel says, which may be of something that was sent before.
    pub(crate) fn receive(&mut self, fd: BorrowedFd<'_>, max: usize) -> io::Result<usize> {
        self.received = 0;
        let count = if self.one_by_one { 1 } else { max.clamp(1, Self::MAX) };
        for (i, chunk) in self.buffer.chunks_exact_mut(Self::GSO_BATCH).take(count).enumerate() {
            self.pieces[i] =
                libc::iovec { iov_base: chunk.as_mut_ptr().cast(), iov_len: chunk.len() };
            let message = &mut self.headers[i].msg_hdr;
            message.msg_name = (&raw mut self.names[i]).cast();
            message.msg_namelen = size_of::<libc::sockaddr_storage>() as libc::socklen_t;
            message.msg_iov = &raw mut self.pieces[i];
            message.msg_iovlen = 1;
            message.msg_control = self.controls[i].0.as_mut_ptr().cast();
            message.msg_controllen = CONTROL as _;
        }
        // For one alone `recvmsg` takes less: the kernel copies less of the header in and out.
        // SAFETY: the first `count` headers each point at a name, a piece and ancillary data of
        // their own, each piece at a chunk of `buffer` of its own; all outlive the call, and
        // nothing else uses them meanwhile.
        let received = unsafe {
            if count == 1 {
                let header = &raw mut self.headers[0].msg_hdr;
                libc::syscall(libc::SYS_recvmsg, fd.as_raw_fd(), header, libc::MSG_DONTWAIT)
            } else {
                libc::syscall(
                    libc::SYS_recvmmsg,
                    fd.as_raw_fd(),
                    self.headers.as_mut_ptr(),
                    count as libc::c_uint,
                    libc::MSG_DONTWAIT,
                    std::ptr::null_mut::<libc::timespec>(),
                )
            }
        };
        match cvt(received) {
            Ok(bytes) if count == 1 => {
                self.headers[0].msg_len = bytes as libc::c_uint;
                self.received = 1;
            }
            Ok(n) => self.received = n as usize,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            Err(e) if count > 1 && is_of_call(&e) => {
                self.one_by_one = true;
                return self.receive(fd, 1);
            }
            Err(e) => return Err(e),
        }
        Ok(self.received)
    }

    /// GSO batch `index` of the last [`Self::receive`]; none if it came from no IP address.
    pub(crate) fn gso_batch(&self, index: usize) -> Option<GsoBatch<'_>> {
        let header = &self.headers[..self.received][index];
        let len = (header.msg_len as usize).min(Self::GSO_BATCH);
        let is_truncated = header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0;
        let (mut segment, mut overflow) = (len, None);
        // SAFETY: the kernel has filled in the header and the ancillary data it points at, which
        // the vectors still hold; `CMSG_NXTHDR` stays within `msg_controllen`.
        unsafe {
            let mut at = libc::CMSG_FIRSTHDR(&raw const header.msg_hdr);
            while let Some(message) = at.as_ref() {
                let data = libc::CMSG_DATA(at);
                match (message.cmsg_level, message.cmsg_type) {
                    (libc::SOL_UDP, libc::UDP_GRO) => {
                        let size = data.cast::<libc::c_int>().read_unaligned();
                        segment = usize::try_from(size).unwrap_or(len);
                    }
                    (libc::SOL_SOCKET, libc::SO_RXQ_OVFL) => {
                        overflow = Some(data.cast::<u32>().read_unaligned());
                    }
                    _ => {}
                }
                at = libc::CMSG_NXTHDR(&raw const header.msg_hdr, at);
            }
        }
        let from = address(&self.names[index])?;
        let bytes = &self.buffer[index * Self::GSO_BATCH..][..len];
        Some(GsoBatch { from, bytes, segment, is_truncated, overflow })
    }
}

/// The address that the kernel wrote.
fn address(name: &libc::sockaddr_storage) -> Option<SocketAddr> {
    match libc::c_int::from(name.ss_family) {
        libc::AF_INET => {
            // SAFETY: the family says that the bytes are a `sockaddr_in`, which is smaller, and
            // aligned less strictly.
            let name = unsafe { &*std::ptr::from_ref(name).cast::<libc::sockaddr_in>() };
            let ip = Ipv4Addr::from(u32::from_be(name.sin_addr.s_addr));
            Some(SocketAddr::new(IpAddr::V4(ip), u16::from_be(name.sin_port)))
        }
        libc::AF_INET6 => {
            // SAFETY: as above, of a `sockaddr_in6`.
            let name = unsafe { &*std::ptr::from_ref(name).cast::<libc::sockaddr_in6>() };
            let ip = Ipv6Addr::from(name.sin6_addr.s6_addr);
            Some(SocketAddr::new(IpAddr::V6(ip), u16::from_be(name.sin6_port)))
        }
        _ => None,
    }
}

/// Has a socket of the family of `ip` receive GSO batches, tell of datagrams it had no room for and
/// of errors on the path, and send datagrams that no router divides, whatever the kernel believes
/// of the path.
///
/// # Errors
/// The kernel refuses one of these. GSO batches are received from Linux 5.0 on; without them it
/// goes on.
pub(crate) fn set_up(fd: BorrowedFd<'_>, ip: IpAddr) -> io::Result<()> {
    let on: libc::c_int = 1;
    let _ = set(fd, libc::SOL_UDP, libc::UDP_GRO, &on);
    set(fd, libc::SOL_SOCKET, libc::SO_RXQ_OVFL, &on)?;
    match ip {
        IpAddr::V4(_) => {
            set(fd, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, &libc::IP_PMTUDISC_PROBE)?;
            set(fd, libc::IPPROTO_IP, libc::IP_RECVERR, &on)
        }
        IpAddr::V6(_) => {
            set(fd, libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, &libc::IPV6_PMTUDISC_PROBE)?;
            set(fd, libc::IPPROTO_IPV6, libc::IPV6_DONTFRAG, &on)?;
            set(fd, libc::IPPROTO_IPV6, libc::IPV6_RECVERR, &on)
        }
    }
}

/// Sets the buffer for what is sent past the system's limit if we may, to the limit otherwise.
pub(crate) fn force_send_buffer(fd: BorrowedFd<'_>, bytes: i32) -> io::Result<()> {
    set(fd, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &bytes)
        .or_else(|_| set(fd, libc::SOL_SOCKET, libc::SO_SNDBUF, &bytes))
}

/// Bytes of memory that what waits at the socket takes.
///
/// # Errors
/// The kernel does not say.
pub(crate) fn queued_bytes(fd: BorrowedFd<'_>) -> io::Result<usize> {
    // The first of the numbers that `SO_MEMINFO` gives (`SK_MEMINFO_RMEM_ALLOC`).
    // SAFETY: it is an integer.
    let (bytes, _) = unsafe { get(fd, libc::SOL_SOCKET, libc::SO_MEMINFO, 0u32) }?;
    Ok(bytes as usize)
}

/// Takes an error that the kernel kept for the socket; whether there was one.
pub(crate) fn take_error(fd: BorrowedFd<'_>) -> bool {
    let mut control = Control([0; CONTROL]);
    let mut byte = 0u8;
    let mut piece = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    // SAFETY: all-zero bytes are a valid `msghdr`: integers and null pointers.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut piece;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = CONTROL as _;
    let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
    // SAFETY: the message points at the piece and the ancillary data above, which outlive the call.
    cvt(unsafe { libc::recvmsg(fd.as_raw_fd(), &raw mut message, flags) }).is_ok()
}

#[cfg(test)]
mod tests;
