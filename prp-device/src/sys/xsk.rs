//! AF_XDP sockets that only send, in copy mode: the kernel makes frames of memory that it shares
//! with this process, and gives them to the NIC driver past qdiscs and hooks
//! (`Documentation/networking/af_xdp.rst` of the kernel).

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use prp_node::fork::CloseOnFork;

use super::cvt;
use super::memory::SharedMemory;
use super::mmsg::PIECES;
use super::packet::{get, set};

/// Bytes of a slot, which a frame must fit: the least the kernel allows, and enough for the usual
/// MTU.
pub(crate) const SLOT: usize = 2048;

/// Slots; a power of two. Two batches: where frames cross a virtual link to a process, all of one
/// are free again when the call returns that sent it; elsewhere when a NIC driver has sent them.
const SLOTS: u32 = 64;

/// What the kernel takes at most for a frame of a slot, and what belongs to it: two pages and a
/// bit.
const TRUESIZE: u32 = 4608;

/// What became of the frames that were staged.
#[derive(Debug)]
pub(crate) struct Submitted {
    pub(crate) sent: usize,
    pub(crate) lost: usize,
    pub(crate) outcome: io::Result<()>,
}

/// One of the rings by which slots go to the kernel and come back. Both sides count what they put
/// in and take out, modulo 2^32.
#[derive(Debug)]
struct Ring {
    memory: SharedMemory,
    offset: libc::xdp_ring_offset,
}

impl Ring {
    /// The ring of entries of `entry` bytes at `place` of `fd`.
    fn map(
        fd: BorrowedFd<'_>,
        place: libc::off_t,
        offset: libc::xdp_ring_offset,
        entry: usize,
    ) -> io::Result<Self> {
        let len = offset.desc as usize + SLOTS as usize * entry;
        let memory = SharedMemory::map_at(fd, place, len)?;
        Ok(Self { memory, offset })
    }

    /// The word at `offset`.
    fn word(&self, offset: u64) -> &AtomicU32 {
        // SAFETY: the kernel has said that a counter of 32 bits is there, before the entries and so
        // within the mapping, aligned to a cache line. Both sides change it, as atomics allow.
        unsafe { self.memory.base().add(offset as usize).cast::<AtomicU32>().as_ref() }
    }

    fn producer(&self) -> &AtomicU32 {
        self.word(self.offset.producer)
    }

    fn consumer(&self) -> &AtomicU32 {
        self.word(self.offset.consumer)
    }

    /// Where the entry number `count` is.
    fn entry<T>(&self, count: u32) -> NonNull<T> {
        let at = (count % SLOTS) as usize * size_of::<T>();
        // SAFETY: the mapping has `SLOTS` entries, of the size of `T` by the kind of the ring.
        unsafe { self.memory.base().add(self.offset.desc as usize + at).cast() }
    }
}

/// A socket on the first queue of a device.
#[derive(Debug)]
pub(crate) struct Xsk {
    fd: CloseOnFork<OwnedFd>,
    /// The slots.
    frames: SharedMemory,
    /// What is to be sent.
    sending: Ring,
    /// What is sent.
    sent: Ring,
    /// Slots that the kernel has nothing to do with.
    free: Vec<u32>,
    /// Frames in `sending` that the kernel has not been told of.
    staged: u32,
}

impl Xsk {
    /// A socket on the device with number `index`, in this thread's network namespace.
    ///
    /// # Errors
    /// `ResourceBusy` if another socket has the queue; `PermissionDenied` without CAP_NET_RAW;
    /// `EAFNOSUPPORT` and the like where the kernel has no such sockets; `ENOBUFS` where it may
    /// lock no memory for this process.
    pub(crate) fn open(index: u32) -> io::Result<Self> {
        // SAFETY: plain call; the result is checked, and a fresh descriptor without another owner.
        let fd = unsafe {
            let fd = libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0);
            CloseOnFork::new(OwnedFd::from_raw_fd(cvt(fd)?))
        };
        let socket = fd.as_fd();
        let bytes = SLOT * SLOTS as usize;
        let frames = SharedMemory::anonymous(bytes)?;
        let registration = libc::xdp_umem_reg {
            addr: frames.base().as_ptr() as u64,
            len: bytes as u64,
            chunk_size: SLOT as u32,
            headroom: 0,
            flags: 0,
            tx_metadata_len: 0,
        };
        set(socket, libc::SOL_XDP, libc::XDP_UMEM_REG, &registration)?;
        // Nothing is received, but the kernel wants this ring.
        set(socket, libc::SOL_XDP, libc::XDP_UMEM_FILL_RING, &1u32)?;
        set(socket, libc::SOL_XDP, libc::XDP_UMEM_COMPLETION_RING, &SLOTS)?;
        set(socket, libc::SOL_XDP, libc::XDP_TX_RING, &SLOTS)?;
        // The kernel doubles it, so that slots run out first.
        set(socket, libc::SOL_SOCKET, libc::SO_SNDBUF, &(SLOTS * TRUESIZE / 2))?;
        let offsets = offsets(socket)?;
        let place = libc::XDP_PGOFF_TX_RING;
        let sending = Ring::map(socket, place, offsets.tx, size_of::<libc::xdp_desc>())?;
        // Not where files have 32 bits: another ring has that offset.
        let place = libc::off_t::try_from(libc::XDP_UMEM_PGOFF_COMPLETION_RING)
            .map_err(|_| io::ErrorKind::Unsupported)?;
        let sent = Ring::map(socket, place, offsets.cr, size_of::<u64>())?;
        bind(socket, index)?;
        Ok(Self { fd, frames, sending, sent, free: (0..SLOTS).rev().collect(), staged: 0 })
    }

    /// Whether a slot is free.
    pub(crate) fn has_room(&mut self) -> bool {
        if self.free.is_empty() {
            self.take_back();
        }
        !self.free.is_empty()
    }

    /// Takes a frame, given in pieces, which is to be sent with the next [`Self::submit`]. Not if
    /// no slot is free, or none is large enough.
    pub(crate) fn stage(&mut self, frame: [&[u8]; PIECES]) -> bool {
        let len = frame.iter().map(|piece| piece.len()).sum::<usize>();
        if len > SLOT {
            return false;
        }
        let Some(slot) = self.free.pop() else { return false };
        let begin = slot as usize * SLOT;
        let mut at = begin;
        for piece in frame.into_iter().filter(|piece| !piece.is_empty()) {
            // SAFETY: slots lie within `frames`, and all pieces together within one, as checked
            // above. The kernel does not read it: it has never had the slot, or has given it back.
            // Nothing makes references to this memory.
            unsafe {
                let to = self.frames.base().add(at);
                std::ptr::copy_nonoverlapping(piece.as_ptr(), to.as_ptr(), piece.len());
            }
            at += piece.len();
        }
        let next = self.sending.producer().load(Ordering::Relaxed).wrapping_add(self.staged);
        let entry = libc::xdp_desc { addr: begin as u64, len: len as u32, options: 0 };
        // SAFETY: the entry is ours: there are as many as slots, and those between the consumer's
        // count and the producer's, which the kernel may read, are of slots that were not free.
        unsafe { self.sending.entry(next).write(entry) };
        self.staged += 1;
        true
    }

    /// Sends what was staged. After an error this socket is of no use: the kernel has some of the
    /// frames, and would send them whenever it is called next.
    pub(crate) fn submit(&mut self) -> Submitted {
        let staged = std::mem::take(&mut self.staged);
        let first = self.sending.producer().load(Ordering::Relaxed);
        // Release: the kernel sees the slots and entries that were written before.
        self.sending.producer().store(first.wrapping_add(staged), Ordering::Release);
        let mut lost = 0;
        let mut outcome = Ok(());
        // It takes at least one frame a call, or says why not: 16 or 32, or what there is before
        // one that is lost. Most kernels show only at the end how many.
        for _ in 0..=staged {
            outcome = self.kick();
            match outcome.as_ref().map_err(io::Error::raw_os_error) {
                Err(Some(libc::EAGAIN)) => {}
                Err(Some(libc::EBUSY)) => lost += 1,
                _ => break,
            }
        }
        let gone = self.sending.consumer().load(Ordering::Acquire).wrapping_sub(first).min(staged);
        if outcome.is_ok() && gone < staged {
            outcome = Err(io::ErrorKind::Other.into());
        }
        // The slots that were used last are the first to be used again: they are in a cache.
        self.take_back();
        let lost = (staged - gone + lost).min(staged);
        Submitted { sent: (staged - lost) as usize, lost: lost as usize, outcome }
    }

    /// Has the kernel send what is queued.
    fn kick(&self) -> io::Result<()> {
        // SAFETY: no memory is given.
        let sent = unsafe {
            libc::syscall(
                libc::SYS_sendto,
                self.fd.as_raw_fd(),
                std::ptr::null::<u8>(),
                0,
                libc::MSG_DONTWAIT,
                std::ptr::null::<libc::sockaddr>(),
                0,
            )
        };
        cvt(sent).map(drop)
    }

    /// Takes back the slots of frames that are sent.
    fn take_back(&mut self) {
        let mut at = self.sent.consumer().load(Ordering::Relaxed);
        // Acquire: the kernel has written the entries, and read the slots, before.
        let end = self.sent.producer().load(Ordering::Acquire);
        while at != end && self.free.len() < SLOTS as usize {
            // SAFETY: the kernel has filled the entry, and leaves it alone until the count below
            // says that it was read.
            let place: u64 = unsafe { self.sent.entry(at).read() };
            // The kernel returns the place that `stage` gave it.
            self.free.push((place / SLOT as u64) as u32 % SLOTS);
            at = at.wrapping_add(1);
        }
        self.sent.consumer().store(at, Ordering::Release);
    }
}

/// Where the parts of the rings are.
fn offsets(socket: BorrowedFd<'_>) -> io::Result<libc::xdp_mmap_offsets> {
    // SAFETY: it is made of integers: all-zero bytes are valid, and so are any others.
    let (offsets, len) = unsafe {
        let offsets: libc::xdp_mmap_offsets = std::mem::zeroed();
        get(socket, libc::SOL_XDP, libc::XDP_MMAP_OFFSETS, offsets)
    }?;
    // Kernels before 5.4 answer in fewer words, which would be misread.
    if len == size_of_val(&offsets) { Ok(offsets) } else { Err(io::ErrorKind::Unsupported.into()) }
}

/// Binds `socket` to the first queue of device `index`, whose NIC driver need not know of it.
fn bind(socket: BorrowedFd<'_>, index: u32) -> io::Result<()> {
    let address = libc::sockaddr_xdp {
        sxdp_family: libc::AF_XDP as u16,
        sxdp_flags: libc::XDP_COPY,
        sxdp_ifindex: index,
        sxdp_queue_id: 0,
        sxdp_shared_umem_fd: 0,
    };
    // SAFETY: the pointer and the length describe `address`, which outlives the call; bind only
    // reads it.
    let result = unsafe {
        libc::bind(
            socket.as_raw_fd(),
            (&raw const address).cast(),
            size_of_val(&address) as libc::socklen_t,
        )
    };
    cvt(result).map(drop)
}
