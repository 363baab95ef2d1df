//! Many frames per system call.
//!
//! What sends does so by the bare system call: C libraries make a point at which threads may be
//! cancelled of it, which costs time, and a thread that ended there would leave the engine locked.

use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::cvt;

/// Most frames per call.
pub(crate) const MAX_BATCH: usize = 64;

/// A frame up to this size that leaves alone is put together for `send`: copying so little costs
/// less than the kernel's walk through the lists of `sendmmsg`.
const SMALL: usize = 512;

/// Pieces of a frame at most.
pub(crate) const PIECES: usize = 4;

/// Those of the system's at most: what goes before a frame, a tag in it, and its first piece in
/// two.
const VECTORS: usize = PIECES + 3;

/// Bytes of a frame before its tag: its addresses.
const BEFORE_TAG: usize = 12;

/// `struct virtio_net_hdr`: what a socket with `PACKET_VNET_HDR` wants before a frame. All zeros
/// leave everything to the kernel.
#[repr(C)]
#[derive(Copy, Clone, Debug, Default)]
struct Prefix {
    flags: u8,
    gso_type: u8,
    /// Bytes from the frame's beginning that the kernel is to keep in one piece.
    hdr_len: u16,
    gso_size: u16,
    csum_start: u16,
    csum_offset: u16,
}

/// Bytes of a [`Prefix`].
const PREFIX: usize = size_of::<Prefix>();

/// Scatter lists for `sendmmsg`, kept between calls so that sending allocates nothing.
#[derive(Debug)]
pub(crate) struct SendVec {
    pieces: Box<[libc::iovec; MAX_BATCH * VECTORS]>,
    /// Nothing but which pieces a frame has is ever written here.
    headers: Box<[libc::mmsghdr; MAX_BATCH]>,
    /// What goes before each frame, if anything does.
    prefixes: Option<Box<[Prefix; MAX_BATCH]>>,
    /// What goes behind the addresses of each frame, if anything does.
    tag: Option<Box<[u8; 4]>>,
    /// A small frame, put together.
    small: Vec<u8>,
    /// The kernel, or a filter of system calls, refuses the call for several at a time.
    one_by_one: bool,
}

// SAFETY: the raw pointers inside are only used within `Batch`, for whose lifetime what they point
// to is borrowed, or belongs to the vector, which is.
unsafe impl Send for SendVec {}

impl Default for SendVec {
    fn default() -> Self {
        // SAFETY: all-zero bytes are valid for both: integers and null pointers.
        let (pieces, headers) =
            unsafe { (Box::new(std::mem::zeroed()), Box::new(std::mem::zeroed())) };
        Self { pieces, headers, prefixes: None, tag: None, small: Vec::new(), one_by_one: false }
    }
}

impl SendVec {
    /// For a socket with `PACKET_VNET_HDR`: the kernel keeps each frame, of 65,535 bytes at most,
    /// in one piece.
    pub(crate) fn in_one_piece() -> Self {
        Self { prefixes: Some(Box::new([Prefix::default(); MAX_BATCH])), ..Self::default() }
    }

    /// Puts `tag` behind the addresses of each frame from now on. They are within its first piece.
    pub(crate) fn insert_tag(&mut self, tag: Option<[u8; 4]>) {
        self.tag = tag.map(Box::new);
    }

    /// The first of `frames`, each given in pieces, ready to be sent.
    pub(crate) fn load<'s, 'a>(
        &'s mut self,
        frames: impl Iterator<Item = [&'a [u8]; PIECES]>,
    ) -> Batch<'s, 'a> {
        let (mut count, mut used) = (0, 0);
        for (header, frame) in self.headers.iter_mut().zip(frames) {
            let begin = used;
            if let Some(prefixes) = &mut self.prefixes {
                let prefix = &mut prefixes[count];
                let tag = self.tag.as_ref().map_or(0, |tag| tag.len());
                let len = frame.iter().map(|piece| piece.len()).sum::<usize>() + tag;
                prefix.hdr_len = len as u16;
                self.pieces[used].iov_base = std::ptr::from_mut(prefix).cast();
                self.pieces[used].iov_len = PREFIX;
                used += 1;
            }
            let mut put = |piece: &[u8]| {
                if !piece.is_empty() {
                    self.pieces[used].iov_base = piece.as_ptr().cast_mut().cast();
                    self.pieces[used].iov_len = piece.len();
                    used += 1;
                }
            };
            let [first, rest @ ..] = &frame;
            match (&self.tag, first.split_at_checked(BEFORE_TAG)) {
                (Some(tag), Some((addresses, behind))) => {
                    [addresses, &tag[..], behind].into_iter().for_each(&mut put);
                }
                _ => put(first),
            }
            rest.iter().for_each(|piece| put(piece));
            header.msg_hdr.msg_iov = &raw mut self.pieces[begin];
            header.msg_hdr.msg_iovlen = (used - begin) as _;
            count += 1;
        }
        let one_by_one = &mut self.one_by_one;
        Batch { headers: &mut self.headers[..count], one_by_one, frames: PhantomData }
    }

    /// Sends one frame, given in pieces, without blocking.
    ///
    /// # Errors
    /// What happened to it.
    pub(crate) fn send_one(
        &mut self,
        fd: BorrowedFd<'_>,
        frame: [&[u8]; PIECES],
    ) -> io::Result<()> {
        if frame.iter().map(|piece| piece.len()).sum::<usize>() > SMALL {
            return self.load(std::iter::once(frame)).send(fd, 0).map(drop);
        }
        self.small.clear();
        if self.prefixes.is_some() {
            self.small.resize(PREFIX, 0);
        }
        let used = frame.iter().filter(|piece| !piece.is_empty());
        used.for_each(|piece| self.small.extend_from_slice(piece));
        if let Some(tag) = &self.tag {
            let at =
                self.small.len().min(BEFORE_TAG + self.prefixes.as_ref().map_or(0, |_| PREFIX));
            drop(self.small.splice(at..at, **tag));
        }
        // SAFETY: the bytes are readable and outlive the call, which writes nothing.
        let sent = unsafe {
            libc::syscall(
                libc::SYS_sendto,
                fd.as_raw_fd(),
                self.small.as_ptr(),
                self.small.len(),
                libc::MSG_DONTWAIT,
                std::ptr::null::<libc::sockaddr>(),
                0,
            )
        };
        // Packets leave whole or not at all.
        cvt(sent).map(drop)
    }
}

/// Whether `error` may be about the call as such, which a sandbox or an old kernel refuses.
pub(super) fn is_of_call(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOSYS))
}

/// Makes the call that sends several frames, for none.
///
/// # Errors
/// The call as such is refused.
fn send_none(fd: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: no header is read.
    let sent = unsafe {
        libc::syscall(
            libc::SYS_sendmmsg,
            fd.as_raw_fd(),
            std::ptr::null_mut::<libc::mmsghdr>(),
            0,
            0,
        )
    };
    cvt(sent).map(drop)
}

/// Frames that are ready to be sent, and borrowed until they are.
#[derive(Debug)]
pub(crate) struct Batch<'s, 'a> {
    headers: &'s mut [libc::mmsghdr],
    one_by_one: &'s mut bool,
    frames: PhantomData<&'a [u8]>,
}

impl Batch<'_, '_> {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.headers.len()
    }

    /// Sends them from frame `first` on, without blocking; how many the kernel took.
    ///
    /// # Errors
    /// What happened to the first of them, if that one was not taken.
    pub(crate) fn send(&mut self, fd: BorrowedFd<'_>, first: usize) -> io::Result<usize> {
        if *self.one_by_one {
            return self.send_first(fd, first);
        }
        match self.send_all(fd, first) {
            // A filter of packets gives the same error as a sandbox that does not know the call.
            Err(e) if is_of_call(&e) && send_none(fd).is_err() => {
                *self.one_by_one = true;
                self.send_first(fd, first)
            }
            sent => sent,
        }
    }

    /// Sends frame `first` alone.
    #[cold]
    fn send_first(&mut self, fd: BorrowedFd<'_>, first: usize) -> io::Result<usize> {
        let header = &raw const self.headers[first].msg_hdr;
        // SAFETY: the header points at pieces of the vector this borrows, which nothing else
        // touches meanwhile, and every piece at a slice that is borrowed as long. The kernel reads
        // them, and writes nothing.
        let sent =
            unsafe { libc::syscall(libc::SYS_sendmsg, fd.as_raw_fd(), header, libc::MSG_DONTWAIT) };
        // Packets leave whole or not at all.
        cvt(sent).map(|_| 1)
    }

    /// Sends them from frame `first` on, by one call.
    fn send_all(&mut self, fd: BorrowedFd<'_>, first: usize) -> io::Result<usize> {
        let headers = &mut self.headers[first..];
        // SAFETY: every header points at pieces of the vector this borrows, which nothing else
        // touches meanwhile, and every piece at a slice that is borrowed as long. The kernel reads
        // them, and writes only the lengths inside `headers`, whose number is given.
        let sent = unsafe {
            libc::syscall(
                libc::SYS_sendmmsg,
                fd.as_raw_fd(),
                headers.as_mut_ptr(),
                headers.len() as libc::c_uint,
                libc::MSG_DONTWAIT,
            )
        };
        cvt(sent).map(|n| n as usize)
    }
}

/// Buffers for `recvmmsg`.
#[derive(Debug)]
pub(crate) struct RecvVec {
    buffer: Vec<u8>,
    frame: usize,
    lens: Vec<usize>,
    /// The kernel, or a filter of system calls, refuses the call for several at a time.
    one_by_one: bool,
}

impl RecvVec {
    /// Room for `frames` frames of `frame` bytes.
    ///
    /// # Errors
    /// `OutOfMemory`: with large frames it is a megabyte, and the caller can say so to the
    /// application.
    pub(crate) fn new(frame: usize, frames: usize) -> io::Result<Self> {
        let frames = frames.min(MAX_BATCH);
        let mut buffer = Vec::new();
        buffer.try_reserve_exact(frame * frames)?;
        buffer.resize(frame * frames, 0);
        Ok(Self { buffer, frame, lens: Vec::with_capacity(frames), one_by_one: false })
    }

    /// Receives what is there without blocking, up to `max` frames; how many there were.
    pub(crate) fn receive(&mut self, fd: BorrowedFd<'_>, max: usize) -> io::Result<usize> {
        self.lens.clear();
        // SAFETY: all-zero bytes are valid for both: integers and null pointers.
        let (mut pieces, mut headers): ([libc::iovec; MAX_BATCH], [libc::mmsghdr; MAX_BATCH]) =
            unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
        if self.one_by_one {
            return self.receive_one(fd, max);
        }
        let count = max.min(self.buffer.len() / self.frame);
        for (i, chunk) in self.buffer.chunks_exact_mut(self.frame).take(count).enumerate() {
            pieces[i] = libc::iovec { iov_base: chunk.as_mut_ptr().cast(), iov_len: chunk.len() };
            headers[i].msg_hdr.msg_iov = &raw mut pieces[i];
            headers[i].msg_hdr.msg_iovlen = 1;
        }
        // SAFETY: the first `count` headers each point at one piece, each piece at a chunk of
        // `buffer` of its own; all outlive the call, and nothing else uses them meanwhile.
        let received = unsafe {
            libc::recvmmsg(
                fd.as_raw_fd(),
                headers.as_mut_ptr(),
                count as libc::c_uint,
                libc::MSG_DONTWAIT as _,
                std::ptr::null_mut(),
            )
        };
        let received = match cvt(received) {
            Ok(n) => n as usize,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => 0,
            Err(e) if is_of_call(&e) => {
                self.one_by_one = true;
                return self.receive_one(fd, max);
            }
            Err(e) => return Err(e),
        };
        self.lens.extend(headers[..received].iter().map(|h| h.msg_len as usize));
        Ok(received)
    }

    /// As [`Self::receive`], one frame at most.
    #[cold]
    fn receive_one(&mut self, fd: BorrowedFd<'_>, max: usize) -> io::Result<usize> {
        let Some(chunk) = self.buffer.get_mut(..self.frame).filter(|_| max > 0) else {
            return Ok(0);
        };
        // SAFETY: `chunk` is as long as is said, outlives the call, and nothing else uses it
        // meanwhile.
        let received = unsafe {
            libc::recv(fd.as_raw_fd(), chunk.as_mut_ptr().cast(), chunk.len(), libc::MSG_DONTWAIT)
        };
        match cvt(received) {
            Ok(len) => self.lens.push(len as usize),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => {}
            Err(e) => return Err(e),
        }
        Ok(self.lens.len())
    }

    /// Frame `index` of the last [`Self::receive`].
    pub(crate) fn frame(&self, index: usize) -> &[u8] {
        let len = self.lens.get(index).copied().unwrap_or(0).min(self.frame);
        &self.buffer[index * self.frame..][..len]
    }
}

#[cfg(test)]
mod tests;
