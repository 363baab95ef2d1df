//! bpf(2): programs that the kernel runs for each frame a device receives (tcx, Linux 6.6), and
//! memory they share with this process. Making any of it takes CAP_BPF and CAP_NET_ADMIN; using it
//! afterwards takes nothing.

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::AtomicU64;

use prp_node::fork::CloseOnFork;

#[cfg(feature = "fast-paths")]
pub(crate) mod query;

use super::cvt;
use super::memory::SharedMemory;

// From linux/bpf.h: commands, kinds, flags.
const MAP_CREATE: libc::c_int = 0;
const PROG_LOAD: libc::c_int = 5;
#[cfg(any(test, feature = "testing"))]
const PROG_TEST_RUN: libc::c_int = 10;
const LINK_CREATE: libc::c_int = 28;
const MAP_TYPE_ARRAY: u32 = 2;
const MAP_MMAPABLE: u32 = 1 << 10;
const PROG_TYPE_SCHED_CLS: u32 = 3;
const TCX_INGRESS: u32 = 46;

/// What the kernel's verifier may say. The verifier's verdict comes at the end, and older kernels
/// stop where the room does.
const LOG: usize = 1 << 20;

/// Bytes of that which are reported: the verdict and the instructions before it.
const LOG_REPORTED: usize = 1500;

/// Calls bpf(2) with `attr`, the part of its union that goes with `command`.
fn bpf<T>(command: libc::c_int, attr: &mut T) -> io::Result<libc::c_int> {
    // SAFETY: `attr` is plain data of the size given, live for the call. The callers put into it
    // only addresses of memory that lives as long, with its length; the kernel reads, or writes
    // results, no further than that.
    let result =
        unsafe { libc::syscall(libc::SYS_bpf, command, std::ptr::from_mut(attr), size_of::<T>()) };
    cvt(result as libc::c_int)
}

/// As [`bpf`], for commands that make something.
fn make<T>(command: libc::c_int, attr: &mut T) -> io::Result<CloseOnFork<OwnedFd>> {
    let fd = bpf(command, attr)?;
    // SAFETY: the command has succeeded, so this is a fresh descriptor without another owner.
    Ok(CloseOnFork::new(unsafe { OwnedFd::from_raw_fd(fd) }))
}

/// `name` as bpf(2) wants it: up to 15 letters and a zero.
fn name_of(name: &str) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes.iter_mut().take(15).zip(name.bytes()).for_each(|(to, from)| *to = from);
    bytes
}

#[repr(C)]
struct MapCreate {
    map_type: u32,
    key_size: u32,
    value_size: u32,
    max_entries: u32,
    map_flags: u32,
    inner_map_fd: u32,
    numa_node: u32,
    map_name: [u8; 16],
}

#[repr(C)]
struct ProgLoad {
    prog_type: u32,
    insn_cnt: u32,
    insns: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log_buf: u64,
    kern_version: u32,
    prog_flags: u32,
    prog_name: [u8; 16],
}

#[repr(C)]
struct LinkCreate {
    prog_fd: u32,
    target_ifindex: u32,
    attach_type: u32,
    flags: u32,
    relative_fd: u32,
    reserved: u32,
    expected_revision: u64,
}

#[cfg(any(test, feature = "testing"))]
#[repr(C)]
#[derive(Default)]
struct TestRun {
    prog_fd: u32,
    retval: u32,
    data_size_in: u32,
    data_size_out: u32,
    data_in: u64,
    data_out: u64,
    repeat: u32,
    duration: u32,
    ctx_size_in: u32,
    ctx_size_out: u32,
    ctx_in: u64,
    ctx_out: u64,
}

/// Words of memory that programs in the kernel read and write as well, all zero at first. It is
/// gone with the last program that uses it.
#[derive(Debug)]
pub struct SharedWords {
    fd: CloseOnFork<OwnedFd>,
    memory: SharedMemory,
    len: usize,
}

impl SharedWords {
    /// `len` words.
    ///
    /// # Errors
    /// `PermissionDenied` without CAP_BPF, `OutOfMemory`.
    pub fn new(name: &str, len: usize) -> io::Result<Self> {
        let bytes = len * size_of::<AtomicU64>();
        let fd = make(
            MAP_CREATE,
            &mut MapCreate {
                map_type: MAP_TYPE_ARRAY,
                key_size: 4,
                value_size: u32::try_from(bytes).map_err(|_| io::ErrorKind::InvalidInput)?,
                max_entries: 1,
                map_flags: MAP_MMAPABLE,
                inner_map_fd: 0,
                numa_node: 0,
                map_name: name_of(name),
            },
        )?;
        let memory = SharedMemory::map(fd.as_fd(), bytes)?;
        Ok(Self { fd, memory, len })
    }

    /// The words.
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping has `len` words, is aligned to a page, and lives as long as `self`.
        // The kernel's programs change it from outside, as atomics allow.
        unsafe { std::slice::from_raw_parts(self.memory.base().cast().as_ptr(), self.len) }
    }

    /// The descriptor by which a program names this memory when it is loaded.
    pub fn number(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

/// A program in the kernel, for frames that devices receive.
#[derive(Debug)]
pub struct FrameProgram {
    fd: CloseOnFork<OwnedFd>,
}

impl FrameProgram {
    /// Loads a program of `instructions`, each as the kernel's `struct bpf_insn` lies in memory.
    ///
    /// # Errors
    /// `PermissionDenied` without CAP_BPF and CAP_NET_ADMIN; what the kernel does not like of the
    /// program, with the end of what its verifier said.
    pub fn load(name: &str, instructions: &[u64]) -> io::Result<Self> {
        let attempt = |log: &mut [u8]| {
            make(
                PROG_LOAD,
                &mut ProgLoad {
                    prog_type: PROG_TYPE_SCHED_CLS,
                    insn_cnt: instructions.len() as u32,
                    insns: instructions.as_ptr() as u64,
                    // None of what is called is for programs under the GPL only.
                    license: c"MIT".as_ptr() as u64,
                    log_level: u32::from(!log.is_empty()),
                    log_size: log.len() as u32,
                    log_buf: if log.is_empty() { 0 } else { log.as_mut_ptr() as u64 },
                    kern_version: 0,
                    prog_flags: 0,
                    prog_name: name_of(name),
                },
            )
        };
        // Once more with a log, which costs time, where there is something to read in it.
        match attempt(&mut []) {
            Ok(fd) => return Ok(Self { fd }),
            Err(e) if e.raw_os_error() == Some(libc::EPERM) => return Err(e),
            Err(_) => {}
        }
        let mut log = vec![0; LOG];
        let fd = attempt(&mut log).map_err(|e| {
            let end = log.iter().position(|byte| *byte == 0).unwrap_or(LOG);
            let excerpt = String::from_utf8_lossy(&log[end.saturating_sub(LOG_REPORTED)..end]);
            // Not as the kernel calls it, which is a lack of privilege.
            let kind = io::ErrorKind::InvalidData;
            io::Error::new(kind, format!("{e}; the verifier: {}", excerpt.trim()))
        })?;
        Ok(Self { fd })
    }

    /// Has the kernel run it for each frame that the device with number `index` receives, for as
    /// long as the result lives.
    ///
    /// # Errors
    /// `InvalidInput` if the kernel is older than 6.6, `PermissionDenied` without CAP_NET_ADMIN.
    pub fn hook(&self, index: u32) -> io::Result<FrameHook> {
        let mut attr = LinkCreate {
            prog_fd: self.fd.as_raw_fd().cast_unsigned(),
            target_ifindex: index,
            attach_type: TCX_INGRESS,
            flags: 0,
            relative_fd: 0,
            reserved: 0,
            expected_revision: 0,
        };
        make(LINK_CREATE, &mut attr).map(|fd| FrameHook { _fd: fd })
    }

    /// Runs it once over `frame`, which no device has received: what it returned, and the frame as
    /// it left it.
    ///
    /// # Errors
    /// `InvalidInput` for a frame without a whole Ethernet header.
    #[cfg(any(test, feature = "testing"))]
    pub fn try_out(&self, frame: &[u8]) -> io::Result<(u32, Vec<u8>)> {
        let mut out = vec![0; frame.len()];
        let mut attr = TestRun {
            prog_fd: self.fd.as_raw_fd().cast_unsigned(),
            data_size_in: frame.len() as u32,
            data_size_out: out.len() as u32,
            data_in: frame.as_ptr() as u64,
            data_out: out.as_mut_ptr() as u64,
            ..TestRun::default()
        };
        bpf(PROG_TEST_RUN, &mut attr)?;
        out.truncate(attr.data_size_out as usize);
        Ok((attr.retval, out))
    }
}

/// A program at its device. It is taken away when this is dropped, or the process ends, however it
/// ends.
#[derive(Debug)]
pub struct FrameHook {
    _fd: CloseOnFork<OwnedFd>,
}

#[cfg(test)]
mod tests;
