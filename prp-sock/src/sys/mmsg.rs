//! Many frames per system call.
//!
//! What sends does so by the bare system call: C libraries make a point at which threads may be cancelled of it, which
//! costs time, and a thread that ended there would leave the engine locked.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::cvt;

/// Most frames per call.
pub(crate) const MAX_BATCH: usize = 64;

/// A frame up to this size that leaves alone is put together for `send`: copying so little costs less than the kernel's
/// way through the lists of `sendmmsg`.
const SMALL: usize = 512;

/// Scatter lists for `sendmmsg`, kept between calls so that sending allocates nothing.
#[derive(Debug, Default)]
pub(crate) struct SendVec {
    pieces: Vec<libc::iovec>,
    /// Where each frame's pieces start.
    starts: Vec<usize>,
    headers: Vec<libc::mmsghdr>,
    /// A small frame, put together.
    small: Vec<u8>,
}

// SAFETY: the raw pointers inside are only valid, and only used, during `send`; between calls the vectors
// are empty.
unsafe impl Send for SendVec {}

impl SendVec {
    /// Sends frames, each given in pieces, without blocking; how many the kernel took.
    ///
    /// # Errors
    /// What happened to the first frame, if that one was not taken.
    pub(crate) fn send<'a>(
        &mut self,
        fd: BorrowedFd<'_>,
        frames: impl Iterator<Item = [&'a [u8]; 4]>,
    ) -> io::Result<usize> {
        self.clear();
        for frame in frames.take(MAX_BATCH) {
            self.starts.push(self.pieces.len());
            let used = frame.into_iter().filter(|p| !p.is_empty());
            self.pieces.extend(
                used.map(|p| libc::iovec {
                    iov_base: p.as_ptr().cast_mut().cast(),
                    iov_len: p.len(),
                }),
            );
        }
        for (i, start) in self.starts.iter().copied().enumerate() {
            let end = self.starts.get(i + 1).copied().unwrap_or(self.pieces.len());
            // SAFETY: all-zero bytes are a valid `mmsghdr`: integers and null pointers.
            let mut header: libc::mmsghdr = unsafe { std::mem::zeroed() };
            header.msg_hdr.msg_iov = self.pieces[start..end].as_mut_ptr();
            header.msg_hdr.msg_iovlen = end - start;
            self.headers.push(header);
        }
        // SAFETY: every header points into `pieces`, which is not touched any more, and every piece at
        // a slice borrowed for `'a`, which outlives this call. The kernel reads them, and writes only
        // the lengths inside `headers`, whose number is given.
        let sent = unsafe {
            libc::syscall(
                libc::SYS_sendmmsg,
                fd.as_raw_fd(),
                self.headers.as_mut_ptr(),
                self.headers.len() as libc::c_uint,
                libc::MSG_DONTWAIT,
            )
        };
        self.clear();
        cvt(sent).map(|n| n as usize)
    }

    fn clear(&mut self) {
        self.pieces.clear();
        self.starts.clear();
        self.headers.clear();
    }

    /// Sends one frame, given in pieces, without blocking.
    ///
    /// # Errors
    /// What happened to it.
    pub(crate) fn send_one(&mut self, fd: BorrowedFd<'_>, frame: [&[u8]; 4]) -> io::Result<()> {
        if frame.iter().map(|piece| piece.len()).sum::<usize>() > SMALL {
            return self.send(fd, [frame].into_iter()).map(drop);
        }
        self.small.clear();
        let used = frame.iter().filter(|piece| !piece.is_empty());
        used.for_each(|piece| self.small.extend_from_slice(piece));
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

/// Buffers for `recvmmsg`.
#[derive(Debug)]
pub(crate) struct RecvVec {
    buffer: Vec<u8>,
    frame: usize,
    lens: Vec<usize>,
}

impl RecvVec {
    /// Room for `frames` frames of `frame` bytes.
    ///
    /// # Errors
    /// `OutOfMemory`: with large frames it is a megabyte, and whoever asks can say so to the application.
    pub(crate) fn new(frame: usize, frames: usize) -> io::Result<Self> {
        let frames = frames.min(MAX_BATCH);
        let mut buffer = Vec::new();
        buffer.try_reserve_exact(frame * frames)?;
        buffer.resize(frame * frames, 0);
        Ok(Self { buffer, frame, lens: Vec::with_capacity(frames) })
    }

    /// Receives what is there without blocking, up to `max` frames; how many there were.
    pub(crate) fn receive(&mut self, fd: BorrowedFd<'_>, max: usize) -> io::Result<usize> {
        self.lens.clear();
        // SAFETY: all-zero bytes are valid for both: integers and null pointers.
        let (mut pieces, mut headers): ([libc::iovec; MAX_BATCH], [libc::mmsghdr; MAX_BATCH]) =
            unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
        let count = max.min(self.buffer.len() / self.frame);
        for (i, chunk) in self.buffer.chunks_exact_mut(self.frame).take(count).enumerate() {
            pieces[i] = libc::iovec { iov_base: chunk.as_mut_ptr().cast(), iov_len: chunk.len() };
            headers[i].msg_hdr.msg_iov = &raw mut pieces[i];
            headers[i].msg_hdr.msg_iovlen = 1;
        }
        // SAFETY: the first `count` headers each point at one piece, each piece at a chunk of `buffer`
        // of its own; all outlive the call, and nothing else uses them meanwhile.
        let received = unsafe {
            libc::recvmmsg(
                fd.as_raw_fd(),
                headers.as_mut_ptr(),
                count as libc::c_uint,
                libc::MSG_DONTWAIT,
                std::ptr::null_mut(),
            )
        };
        let received = match cvt(received) {
            Ok(n) => n as usize,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => 0,
            Err(e) => return Err(e),
        };
        self.lens.extend(headers[..received].iter().map(|h| h.msg_len as usize));
        Ok(received)
    }

    /// Frame `index` of the last [`Self::receive`].
    pub(crate) fn frame(&self, index: usize) -> &[u8] {
        let len = self.lens.get(index).copied().unwrap_or(0).min(self.frame);
        &self.buffer[index * self.frame..][..len]
    }
}
