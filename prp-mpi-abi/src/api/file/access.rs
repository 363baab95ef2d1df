//! Reading and writing.

use std::sync::Arc;

use prp_mpi::datatype::Datatype;
use prp_mpi::request::Status as Ending;
use prp_mpi::sys::memory::Region;

use super::mode::Mode;
use super::pointer::refuse_sequential;
use super::representation::bytes_in_memory;
use super::{alone, file_of};
use crate::api::datatype::{from_external, to_external};
use crate::api::environment::process;
use crate::api::error::{Class, Failure, Outcome};
use crate::api::message::{put_status, region, type_of};
use crate::object::{Handle, OpenFile, OwnRepresentation, REQUESTS, Representation, Req, View};
use crate::sys::callback::{Conversion, address_of};
use crate::sys::pointer::{Address, Ptr, Status};

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
#[derive(Clone)]
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

/// What is written, or has room for what is read, as it is in the file.
pub(super) struct Prepared {
    /// Where it begins in the view, in bytes.
    pub(super) first: u64,
    pub(super) region: Region,
}

/// How many bytes were read or written.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) struct Done {
    in_memory: usize,
    pub(super) in_file: usize,
}

impl Done {
    /// What the program is told.
    pub(super) const fn ending(self) -> Ending {
        Ending { bytes: self.in_memory as u64, ..Ending::EMPTY }
    }
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

    /// Bytes of the elements in the file, and how many units of the view these are.
    pub(super) fn lengths(&self, view: &View) -> Result<(usize, u64), Failure> {
        let len = self.len(view)?;
        if !(len as u64).is_multiple_of(view.unit) {
            let text = format!("{len} bytes are no whole number of units of {}", view.unit);
            return Err(self.file.failure(self.handle, Class::Io, text));
        }
        Ok((len, len as u64 / view.unit))
    }

    /// Does it.
    pub(super) fn perform(&self) -> Result<Ending, Failure> {
        let file = &self.file;
        let view = file.view.lock().clone();
        let (len, units) = self.lengths(&view)?;
        let done = match self.place {
            Place::At(offset) => self.transfer(&view, offset.cast_unsigned(), len)?,
            Place::Own => {
                let mut position = file.position.lock();
                let done = self.transfer(&view, *position, len)?;
                *position += done.in_file as u64 / view.unit;
                done
            }
            Place::Shared => self.transfer(&view, file.take_shared(units)?, len)?,
            Place::Ordered => self.transfer(&view, file.take_in_order(self.handle, units)?, len)?,
        };
        Ok(done.ending())
    }

    /// Reads or writes from a unit of the view on.
    fn transfer(&self, view: &View, unit: u64, len: usize) -> Result<Done, Failure> {
        let Prepared { first, mut region } = self.prepare(view, unit, len)?;
        let done = alone::transfer(&self.file, view, self.is_write, first, &mut region);
        let done = done.map_err(|error| self.file.io_failure(self.handle, &error))?;
        self.conclude(view, region, done)
    }

    /// Makes ready what is written from a unit of the view on, or memory for what is read.
    pub(super) fn prepare(&self, view: &View, unit: u64, len: usize) -> Result<Prepared, Failure> {
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
        let outside = if self.is_write {
            process.settle(|| self.region.span());
            self.outside(view)?
        } else {
            process.complete(|| self.region.span());
            (!view.representation.is_as_in_memory()).then(|| Region::owned(len))
        };
        Ok(Prepared { first, region: outside.unwrap_or_else(|| self.region.clone()) })
    }

    /// Has the program have the first `done` bytes of what was [prepared](Self::prepare) and read.
    pub(super) fn conclude(
        &self,
        view: &View,
        mut region: Region,
        done: usize,
    ) -> Result<Done, Failure> {
        let in_memory = if self.is_write {
            self.region.len()
        } else if view.representation.is_as_in_memory() {
            done
        } else {
            self.take_in(view, &mut region, done)?
        };
        Ok(Done { in_memory, in_file: done })
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
}
