//! Calls that all ranks of a file make together: each rank does its own access, or the ranks [help
//! each other](super::together). If one of them fails all do.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use prp_mpi::request::Status as Ending;

use super::access::{Done, FileAccess, Place, check_no_split};
use super::together::{Extent, TwoPhase, extents_of_all};
use super::{agree, alone, file_of};
use crate::api::error::{Class, Failure, Outcome, current_call};
use crate::api::message::put_status;
use crate::object::{Handle, OpenFile, REQUESTS, Req, View};
use crate::sys::pointer::{Address, Ptr, Status};

/// A call that all ranks of a file make together. One whose arguments are wrong takes part, too, so
/// that the other ranks hear of it.
pub(crate) struct CollectiveAccess {
    file: Arc<OpenFile>,
    handle: Handle,
    is_write: bool,
    place: Place,
    access: Result<FileAccess, Failure>,
}

impl CollectiveAccess {
    pub(super) fn new(
        handle: Handle,
        is_write: bool,
        place: Place,
        buffer: (Address, i64, Handle),
    ) -> Result<Self, Failure> {
        let file = file_of(handle)?;
        let access = FileAccess::new(handle, is_write, place, buffer);
        Ok(Self { file, handle, is_write, place, access })
    }

    /// What this rank has passed, if that was right.
    fn checked(&self) -> Result<&FileAccess, Failure> {
        self.access.as_ref().map_err(Clone::clone)
    }

    /// All ranks fail if one does.
    fn agree<T>(&self, own: Result<T, Failure>) -> Result<T, Failure> {
        let agreed = agree(&self.file.comm, self.handle, own);
        agreed.map_err(|failure| self.file.own(self.handle, failure))
    }

    /// Does it.
    fn perform(&self) -> Result<Ending, Failure> {
        if self.file.comm.size() == 1 {
            return self.checked()?.perform();
        }
        let view = self.file.view.lock().clone();
        let lengths = self.checked().and_then(|access| access.lengths(&view));
        let (lengths, unit) = match self.place {
            Place::At(offset) => (lengths, offset.cast_unsigned()),
            Place::Own | Place::Shared => (lengths, *self.file.position.lock()),
            Place::Ordered => {
                let lengths = self.agree(lengths)?;
                (Ok(lengths), self.file.take_in_order(self.handle, lengths.1)?)
            }
        };
        let done = self.transfer(&view, unit, lengths)?;
        if self.place == Place::Own {
            *self.file.position.lock() += done.in_file as u64 / view.unit;
        }
        Ok(done.ending())
    }

    /// Reads or writes from a unit of the view on.
    fn transfer(
        &self,
        view: &View,
        unit: u64,
        lengths: Result<(usize, u64), Failure>,
    ) -> Result<Done, Failure> {
        let file = &*self.file;
        let prepared = self.checked().and_then(|access| {
            let (len, _) = lengths?;
            access.prepare(view, unit, len)
        });
        let own = prepared.as_ref().map(|part| Extent::of(view, part.first, part.region.len()));
        let all = extents_of_all(file, self.handle, own.map_err(Clone::clone))
            .map_err(|failure| file.own(self.handle, failure))?;
        let (access, mut part) = (self.checked()?, prepared?);
        let moved = if !file.is_atomic.load(Ordering::Relaxed) && all.are_worth_it(self.is_write) {
            TwoPhase::new(file, view, &all, (part.first, part.region.clone()))?.run(self.is_write)
        } else {
            alone::transfer(file, view, self.is_write, part.first, &mut part.region)
        };
        let moved = moved.map_err(|error| file.io_failure(self.handle, &error));
        self.agree(moved.and_then(|done| access.conclude(view, part.region, done)))
    }

    /// Does it now.
    pub(crate) fn run(&self, status: Ptr<Status>) -> Outcome {
        put_status(status, &self.perform()?);
        Ok(())
    }

    /// Does it, as what is done before the program waits for it: each rank for itself, since the
    /// call waits for no other rank.
    pub(crate) fn start(&self, request: Ptr<Handle>) -> Outcome {
        request.put(REQUESTS.add(Req::Done(self.checked()?.perform()?)));
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
