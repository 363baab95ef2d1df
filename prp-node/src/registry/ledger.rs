//! The connections of a process, where they can be read when it is dead.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

use nix::fcntl::{FcntlArg, SealFlag, fcntl};
use nix::sys::memfd::{MFdFlags, memfd_create};
use prp_proto::addr::{NodeId, Port, PrpAddr};
use prp_proto::endpoint::{ConnectionChange, EstablishedId};

use crate::limits::without_size_signal;

/// Local port, peer's node and port, whether the record is in use and its connection has a key, our
/// id, the peer's.
const RECORD_LEN: usize = 16;

/// Connections of one process that are recorded: 256 KiB of records, which the router's machine
/// keeps for as long as the process lives. Peers of further ones learn of its death as without a
/// router.
pub const MAX_RECORDS: usize = 16_384;

const IN_USE: u16 = 1;
const PROTECTED: u16 = 2;

/// A file for all records, for the router to read and a process to write. Its size is sealed.
pub(super) fn make() -> io::Result<(LedgerReader, OwnedFd)> {
    let flags = MFdFlags::MFD_CLOEXEC | MFdFlags::MFD_ALLOW_SEALING;
    let file = File::from(memfd_create(c"prp-ledger", flags)?);
    file.set_len((MAX_RECORDS * RECORD_LEN) as u64)?;
    let seals = SealFlag::F_SEAL_SHRINK | SealFlag::F_SEAL_GROW | SealFlag::F_SEAL_SEAL;
    fcntl(&file, FcntlArg::F_ADD_SEALS(seals))?;
    let theirs = file.try_clone()?.into();
    Ok((LedgerReader { file }, theirs))
}

/// The process's side: it writes.
#[derive(Debug)]
pub struct Ledger {
    file: File,
}

impl Ledger {
    /// The one that a trusted router has made.
    pub(super) fn new(file: OwnedFd) -> Self {
        Self { file: file.into() }
    }

    /// Writes down what has changed. Where there is no memory for it, or `RLIMIT_FSIZE` forbids it,
    /// the peer learns of our death as without a router.
    pub fn note(&self, change: ConnectionChange) {
        let (slot, record) = match change {
            ConnectionChange::Enter(slot, established) => (slot, encode(&established)),
            ConnectionChange::Leave(slot) => (slot, [0; RECORD_LEN]),
        };
        if slot < MAX_RECORDS {
            let at = (slot * RECORD_LEN) as u64;
            let _ = without_size_signal(|| self.file.write_all_at(&record, at));
        }
    }
}

/// The router's side: it reads a file of its own making, which neither blocks nor grows.
#[derive(Debug)]
pub struct LedgerReader {
    file: File,
}

impl LedgerReader {
    /// Records read at once.
    pub const CHUNK: usize = 256;

    /// Adds the connections of some records from record `at` on to `found`; the record to go on
    /// with, if there are more.
    ///
    /// # Errors
    /// What reading memory can fail with.
    pub fn read(&self, at: usize, found: &mut Vec<EstablishedId>) -> io::Result<Option<usize>> {
        let mut records = [0; Self::CHUNK * RECORD_LEN];
        let n = self.file.read_at(&mut records, (at * RECORD_LEN) as u64)?;
        let (whole, _) = records[..n].as_chunks::<RECORD_LEN>();
        found.extend(whole.iter().filter_map(decode));
        let next = at + whole.len();
        Ok((n == records.len() && next < MAX_RECORDS).then_some(next))
    }
}

fn encode(established: &EstablishedId) -> [u8; RECORD_LEN] {
    let EstablishedId { local, remote, own_id, peer_id, is_protected } = established;
    let flags = IN_USE | if *is_protected { PROTECTED } else { 0 };
    let halves = [local.number(), remote.node.number(), remote.port.number(), flags];
    let mut record = [0; RECORD_LEN];
    for (place, half) in record[..8].as_chunks_mut::<2>().0.iter_mut().zip(halves) {
        *place = half.to_ne_bytes();
    }
    record[8..12].copy_from_slice(&own_id.to_ne_bytes());
    record[12..].copy_from_slice(&peer_id.to_ne_bytes());
    record
}

fn decode(record: &[u8; RECORD_LEN]) -> Option<EstablishedId> {
    let half = |at: usize| u16::from_ne_bytes([record[at], record[at + 1]]);
    let word = |at: usize| {
        u32::from_ne_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]])
    };
    let flags = half(6);
    if flags & IN_USE == 0 {
        return None;
    }
    Some(EstablishedId {
        local: Port::new(half(0)),
        remote: PrpAddr::new(NodeId::new(half(2))?, Port::new(half(4))),
        own_id: word(8),
        peer_id: word(12),
        is_protected: flags & PROTECTED != 0,
    })
}
