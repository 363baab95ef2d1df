//! Reading and writing.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use prp_mpi::datatype::Datatype;
use prp_mpi::request::Status as Ending;
use prp_mpi::sys::memory::Region;
use prp_node::limits::without_size_signal;

use super::file_of;
use super::mode::Mode;
use super::pointer::refuse_sequential;
use super::representation::bytes_in_memory;
use crate::api::datatype::{from_external, to_external};
use crate::api::environment::process;
use crate::api::error::{Class, Failure, Outcome, current_call};
use crate::api::message::{put_status, region, type_of};
use crate::object::{
    Handle, OpenFile, OwnRepresentation, Piece, REQUESTS, Representation, Req, View,
};
use crate::sys::callback::{Conversion, address_of};
use crate::sys::pointer::{Address, Ptr, Status};

/// Bytes that are read or written at a time.
const CHUNK: usize = 1 << 20;

/// Pieces that are so much further apart than they are long are read one by one.
const SPARSE: u64 = 4;

/// Where a rank reads or writes.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) enum Place {
    /// At this unit of the view.
    At(i64),
    /// Where its own pointer is.
    Own,
    /// Where the pointer of all ranks is.
    Shared,
    /// There, in the order of ranks.
    Ordered,
}

/// A call that reads or writes, checked.
pub(crate) struct FileAccess {
    file: Arc<OpenFile>,
    handle: Handle,
    region: Region,
    datatype: Arc<Datatype>,
    /// What the program has passed.
    buffer: (Address, usize, Handle),
    is_write: bool,
    place: Place,
}

/// Fails if the file was not opened for this.
pub(super) fn check_can(file: &OpenFile, handle: Handle, is_write: bool) -> Outcome {
    let mode = Mode::of(file);
    match is_write {
        true if !mode.writes() => {
            Err(file.failure(handle, Class::ReadOnly, "the file was opened for reading alone"))
        }
        false if !mode.reads() => {
            Err(file.failure(handle, Class::Access, "the file was opened for writing alone"))
        }
        _ => Ok(()),
    }
}

/// Fails while a collective access has begun and not ended.
pub(super) fn check_no_split(file: &OpenFile, handle: Handle) -> Outcome {
    match *file.split.lock() {
        Some((call, _)) => {
            let text = format!("{call}_end is missing");
            Err(file.failure(handle, Class::Io, text))
        }
        None => Ok(()),
    }
}

impl FileAccess {
    pub(super) fn new(
        handle: Handle,
        is_write: bool,
        place: Place,
        (buffer, count, datatype): (Address, i64, Handle),
    ) -> Result<Self, Failure> {
        let file = file_of(handle)?;
        let own = |failure| file.own(handle, failure);
        check_can(&file, handle, is_write)?;
        if matches!(place, Place::At(_) | Place::Own) {
            refuse_sequential(&file, handle)?;
        }
        if let Place::At(offset @ ..0) = place {
            return Err(file.failure(handle, Class::Arg, format!("offset {offset} is negative")));
        }
        let region = region(buffer, count, datatype, handle).map_err(own)?;
        let buffer = (buffer, usize::try_from(count).unwrap_or(0), datatype);
        let datatype = type_of(datatype, handle).map_err(own)?;
        Ok(Self { file, handle, region, datatype, buffer, is_write, place })
    }

    /// Bytes of an element in the file.
    fn bytes_of_each(&self, view: &View) -> Result<usize, Failure> {
        view.representation.size_of(&self.datatype).ok_or_else(|| {
            let text = format!("{} has no size for a number", view.representation.name());
            self.file.failure(self.handle, Class::UnsupportedDatarep, text)
        })
    }

    /// Bytes of the elements in the file.
    fn len(&self, view: &View) -> Result<usize, Failure> {
        match self.datatype.size() {
            0 => Ok(0),
            size => Ok(self.region.len() / size * self.bytes_of_each(view)?),
        }
    }

    /// Does it.
    fn perform(&self) -> Result<Ending, Failure> {
        let file = &self.file;
        let view = file.view.lock().clone();
        let len = self.len(&view)?;
        if !(len as u64).is_multiple_of(view.unit) {
            let text = format!("{len} bytes are no whole number of units of {}", view.unit);
            return Err(file.failure(self.handle, Class::Io, text));
        }
        let units = len as u64 / view.unit;
        let bytes = match self.place {
            Place::At(offset) => self.transfer(&view, offset.cast_unsigned(), len)?,
            Place::Own => {
                let mut position = file.position.lock();
                let (bytes, there) = self.transfer(&view, *position, len)?;
                *position += there as u64 / view.unit;
                (bytes, there)
            }
            Place::Shared => self.transfer(&view, file.take_shared(units)?, len)?,
            Place::Ordered => self.transfer(&view, file.take_in_order(self.handle, units)?, len)?,
        };
        Ok(Ending { bytes: bytes.0 as u64, ..Ending::EMPTY })
    }

    /// Reads or writes from a unit of the view on; how many bytes in memory and in the file.
    fn transfer(&self, view: &View, unit: u64, len: usize) -> Result<(usize, usize), Failure> {
        let file = &self.file;
        // Nothing can be written to a view of no bytes. Where it is read, it ends at once.
        let has_room = len == 0 || !self.is_write || view.tile.size() > 0;
        let first = unit.checked_mul(view.unit);
        let first = first.filter(|first| has_room && view.reaches(*first, len));
        let first = first.ok_or_else(|| {
            let text = format!("{len} bytes at unit {unit} of the view are not in any file");
            file.failure(self.handle, Class::Arg, text)
        })?;
        let process = process()?;
        let failure = |error: io::Error| file.io_failure(self.handle, &error);
        let is_as_in_memory =
            matches!(view.representation, Representation::Native | Representation::Internal);
        let outside = if self.is_write {
            process.settle(|| self.region.span());
            self.outside(view)?
        } else {
            process.complete(|| self.region.span());
            (!is_as_in_memory).then(|| Region::owned(len))
        };
        let mut region = outside.unwrap_or_else(|| self.region.clone());
        let done = locked(file, self.is_write, || match self.is_write {
            true => without_size_signal(|| write(&file.file, view, first, &region)).map(|()| len),
            false => read(&file.file, view, first, &mut region),
        });
        let done = done.map_err(failure)?;
        if self.is_write {
            return Ok((self.region.len(), done));
        }
        if is_as_in_memory {
            return Ok((done, done));
        }
        Ok((self.take_in(view, &mut region, done)?, done))
    }

    /// What is written to the file, if that is not as in memory.
    fn outside(&self, view: &View) -> Result<Option<Region>, Failure> {
        let packed = match &view.representation {
            Representation::Native | Representation::Internal => return Ok(None),
            Representation::External => to_external(&self.region.to_vec(), &self.datatype),
            Representation::Own(own) => {
                let mut converted = Region::owned(self.len(view)?);
                if own.write.is_null() {
                    converted.write(0, &self.region.to_vec());
                } else {
                    let count = self.buffer.1;
                    self.convert(
                        own,
                        own.write,
                        count,
                        (&mut converted, self.bytes_of_each(view)?),
                    )?;
                }
                return Ok(Some(converted));
            }
        };
        let packed = packed.ok_or_else(|| {
            let text = "a number that external32 has no room for";
            self.file.failure(self.handle, Class::Conversion, text)
        })?;
        let mut outside = Region::owned(packed.len());
        outside.write(0, &packed);
        Ok(Some(outside))
    }

    /// Takes the first `done` bytes that were read into memory; how many bytes they are there.
    fn take_in(&self, view: &View, region: &mut Region, done: usize) -> Result<usize, Failure> {
        let Representation::Own(own) = &view.representation else {
            let native = from_external(&region.to_vec(), &self.datatype);
            let bytes = bytes_in_memory(&self.datatype, done);
            self.region.clone().write(0, &native[..bytes]);
            return Ok(bytes);
        };
        let each = self.bytes_of_each(view)?;
        let whole = done.checked_div(each).unwrap_or(0);
        let bytes = whole * self.datatype.size();
        if own.read.is_null() {
            self.region.clone().write(0, &region.to_vec()[..bytes]);
        } else {
            self.convert(own, own.read, whole, (region, each))?;
        }
        Ok(bytes)
    }

    /// Has a function of the program convert elements.
    fn convert(
        &self,
        own: &OwnRepresentation,
        by: Conversion,
        count: usize,
        (file, each): (&mut Region, usize),
    ) -> Outcome {
        let (memory, _, datatype) = self.buffer;
        match by.call(memory, (count, datatype), (address_of(file), each), own.extra) {
            0 => Ok(()),
            code => {
                let text = format!("the function of '{}' returned {code}", own.name);
                Err(self.file.failure(self.handle, Class::Conversion, text))
            }
        }
    }

    /// Does it now.
    pub(crate) fn run(&self, status: Ptr<Status>) -> Outcome {
        put_status(status, &self.perform()?);
        Ok(())
    }

    /// Does it, as what is done before the program waits for it.
    pub(crate) fn start(&self, request: Ptr<Handle>) -> Outcome {
        request.put(REQUESTS.add(Req::Done(self.perform()?)));
        Ok(())
    }

    /// Does it, as what another call ends.
    pub(crate) fn begin(&self) -> Outcome {
        check_no_split(&self.file, self.handle)?;
        let ending = self.perform()?;
        *self.file.split.lock() = Some((split_name(), ending));
        Ok(())
    }
}

/// The name of this call without the ending by which it begins or ends an access.
fn split_name() -> &'static str {
    let name = current_call();
    let name = name.strip_suffix("_c").unwrap_or(name);
    name.strip_suffix("_begin").or_else(|| name.strip_suffix("_end")).unwrap_or(name)
}

/// Ends what a call of the same name has begun.
pub(crate) fn end_split(fh: Handle, status: Ptr<Status>) -> Outcome {
    let file = file_of(fh)?;
    let name = split_name();
    match file.split.lock().take_if(|(begun, _)| *begun == name) {
        Some((_, ending)) => {
            put_status(status, &ending);
            Ok(())
        }
        None => Err(file.failure(fh, Class::Io, format!("no {name}_begin is in progress"))),
    }
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

fn write(file: &File, view: &View, offset: u64, region: &Region) -> io::Result<()> {
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
    Ok(())
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
fn read_at(file: &File, at: u64, mut into: &mut [u8]) -> io::Result<usize> {
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
