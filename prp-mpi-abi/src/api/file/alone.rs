//! What one rank reads and writes by itself.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::Ordering;

use prp_mpi::sys::memory::Region;
use prp_node::limits::without_size_signal;

use crate::object::{OpenFile, Piece, View};

/// Bytes that are read or written at a time.
const CHUNK: usize = 1 << 20;

/// Pieces that are so much further apart than they are long are read one by one.
pub(super) const SPARSE: u64 = 4;

/// Writes all of a region to the view from a byte on, or reads as much of it as there is of the
/// file: how many bytes.
pub(super) fn transfer(
    file: &OpenFile,
    view: &View,
    is_write: bool,
    offset: u64,
    region: &mut Region,
) -> io::Result<usize> {
    locked(file, is_write, || match is_write {
        true => without_size_signal(|| write(&file.file, view, offset, region)),
        false => read(&file.file, view, offset, region),
    })
}

/// Does something with the file locked, if what others do must not come between.
fn locked<T>(
    file: &OpenFile,
    is_write: bool,
    does: impl FnOnce() -> io::Result<T>,
) -> io::Result<T> {
    if !file.is_atomic.load(Ordering::Relaxed) {
        return does();
    }
    let _one_thread = file.locking.lock();
    let lock = || if is_write { file.file.lock() } else { file.file.lock_shared() };
    while let Err(error) = lock() {
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    let done = does();
    file.file.unlock()?;
    done
}

/// The pieces of a part of a view, which is known to be there.
fn pieces(view: &View, offset: u64, len: usize) -> Vec<Piece> {
    view.pieces(offset, len).unwrap_or_default()
}

fn write(file: &File, view: &View, offset: u64, region: &Region) -> io::Result<usize> {
    let mut packed = Vec::new();
    for first in (0..region.len()).step_by(CHUNK) {
        let len = CHUNK.min(region.len() - first);
        let mut bytes = match region.bytes() {
            Some(bytes) => &bytes[first..first + len],
            None => {
                packed.resize(len, 0);
                region.read(first, &mut packed);
                &packed[..]
            }
        };
        for (at, len) in pieces(view, offset + first as u64, len) {
            let (now, later) = bytes.split_at(len);
            file.write_all_at(now, at)?;
            bytes = later;
        }
    }
    Ok(region.len())
}

/// Reads as much as there is of the file; how many bytes.
fn read(file: &File, view: &View, offset: u64, region: &mut Region) -> io::Result<usize> {
    let mut packed = Vec::new();
    for first in (0..region.len()).step_by(CHUNK) {
        let len = CHUNK.min(region.len() - first);
        let pieces = pieces(view, offset + first as u64, len);
        let done = match region.bytes_mut(first) {
            Some(bytes) => read_pieces(file, &pieces, &mut bytes[..len])?,
            None => {
                packed.resize(len, 0);
                let done = read_pieces(file, &pieces, &mut packed)?;
                region.write(first, &packed[..done]);
                done
            }
        };
        if done < len {
            return Ok(first + done);
        }
    }
    Ok(region.len())
}

/// Reads pieces one after the other, or all that lies between them at once.
fn read_pieces(file: &File, pieces: &[Piece], into: &mut [u8]) -> io::Result<usize> {
    let low = pieces.iter().map(|(at, _)| *at).min().unwrap_or(0);
    let high = pieces.iter().map(|(at, len)| at + *len as u64).max().unwrap_or(0);
    let all = if pieces.len() > 1 && high - low <= SPARSE * into.len() as u64 {
        let mut all = vec![0; (high - low) as usize];
        let len = read_at(file, low, &mut all)?;
        all.truncate(len);
        Some(all)
    } else {
        None
    };
    let mut done = 0;
    for &(at, len) in pieces {
        let into = &mut into[done..done + len];
        let there = match &all {
            Some(all) => {
                let from = all.get((at - low) as usize..).unwrap_or_default();
                let there = from.len().min(len);
                into[..there].copy_from_slice(&from[..there]);
                there
            }
            None => read_at(file, at, into)?,
        };
        done += there;
        if there < len {
            break;
        }
    }
    Ok(done)
}

/// Reads until the buffer is full or the file ends.
pub(super) fn read_at(file: &File, at: u64, mut into: &mut [u8]) -> io::Result<usize> {
    let whole = into.len();
    while !into.is_empty() {
        let at = at + (whole - into.len()) as u64;
        match file.read_at(into, at) {
            Ok(0) => break,
            Ok(len) => into = &mut into[len..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(whole - into.len())
}
