//! Which part of a file a rank sees.

use std::ffi::c_char;
use std::sync::Arc;

use prp_mpi::datatype::Datatype;

use super::mode::Mode;
use super::representation::{in_file, representation_of};
use super::{agree, check_no_split, file_of};
use crate::api::collective::allgather_words;
use crate::api::error::{Class, Failure, Outcome};
use crate::api::message::type_of;
use crate::object::{Handle, OpenFile, Representation, TYPES, Typed, View};
use crate::sys::pointer::{Counts, Ptr};

/// `MPI_DISPLACEMENT_CURRENT`: where the shared pointer is.
const CURRENT: i64 = -1;

/// A datatype as it lies in a file.
fn checked_in_file(
    file: &OpenFile,
    handle: Handle,
    of: &Arc<Datatype>,
    representation: &Representation,
) -> Result<Arc<Datatype>, Failure> {
    in_file(of, representation).ok_or_else(|| {
        let name = representation.name();
        let text = format!("{name} has other sizes for some of the numbers of this datatype");
        file.failure(handle, Class::UnsupportedDatarep, text)
    })
}

/// A view, checked by itself.
fn made(
    file: &OpenFile,
    fh: Handle,
    start: i64,
    (etype, filetype): (Handle, Handle),
    datarep: &str,
) -> Result<View, Failure> {
    let failure = |class, text: String| file.failure(fh, class, text);
    let representation = representation_of(datarep).ok_or_else(|| {
        failure(Class::UnsupportedDatarep, format!("no representation '{datarep}'"))
    })?;
    let start = u64::try_from(start)
        .map_err(|_| failure(Class::Arg, format!("a view that begins at byte {start}")))?;
    let known = |handle| type_of(handle, fh).map_err(|failure| file.own(fh, failure));
    let (unit, whole) = (known(etype)?, known(filetype)?);
    let tile = checked_in_file(file, fh, &whole, &representation)?;
    let bytes = checked_in_file(file, fh, &unit, &representation)?.size();
    if bytes == 0 || !tile.size().is_multiple_of(bytes) {
        let text = "a view of no whole number of its units".to_owned();
        return Err(failure(Class::Arg, text));
    }
    if tile.true_bounds().0 < 0 || tile.extent() < 0 {
        let text = "a view with bytes before its beginning".to_owned();
        return Err(failure(Class::Arg, text));
    }
    Ok(View {
        start,
        etype: (etype, unit),
        filetype: (filetype, whole),
        representation,
        unit: bytes as u64,
        tile,
    })
}

pub(crate) fn file_set_view(
    fh: Handle,
    start: i64,
    etype: Handle,
    filetype: Handle,
    datarep: Ptr<c_char>,
    info: Handle,
) -> Outcome {
    let file = file_of(fh)?;
    check_no_split(&file, fh)?;
    let own = |failure| file.own(fh, failure);
    let is_sequential = Mode::of(&file).is_sequential();
    let start = match start {
        CURRENT if is_sequential => {
            let at = file.shared_position()?;
            let view = file.view.lock().clone();
            view.place_of(at).map_or(i64::MAX, u64::cast_signed)
        }
        start => start,
    };
    let made = made(&file, fh, start, (etype, filetype), &datarep.text());
    let view = agree(&file.comm, fh, made).map_err(own)?;
    let units = allgather_words(&file.comm, fh, &[view.unit]).map_err(own)?;
    if units.iter().any(|unit| *unit != view.unit) {
        let text = "the units of the view differ in their bytes from those of another rank";
        return Err(file.failure(fh, Class::NotSame, text));
    }
    file.take_hints(info);
    *file.view.lock() = Arc::new(view);
    *file.position.lock() = 0;
    file.place_shared(fh, 0)
}

/// A handle of a datatype for the program: of a predefined one that itself.
fn handle_for_program((handle, datatype): &(Handle, Arc<Datatype>)) -> Handle {
    if handle.0 < Handle::FIRST {
        return *handle;
    }
    TYPES.add(Typed::new(datatype.clone()))
}

pub(crate) fn file_get_view(
    fh: Handle,
    start: Ptr<i64>,
    etype: Ptr<Handle>,
    filetype: Ptr<Handle>,
    datarep: Ptr<c_char>,
) -> Outcome {
    let view = file_of(fh)?.view.lock().clone();
    start.put(view.start.cast_signed());
    etype.put(handle_for_program(&view.etype));
    filetype.put(handle_for_program(&view.filetype));
    datarep.put_text(view.representation.name(), 128);
    Ok(())
}

pub(crate) fn file_get_type_extent(fh: Handle, datatype: Handle, extent: Counts) -> Outcome {
    let file = file_of(fh)?;
    let representation = file.view.lock().representation.clone();
    let datatype = type_of(datatype, fh).map_err(|failure| file.own(fh, failure))?;
    let there = checked_in_file(&file, fh, &datatype, &representation)?;
    extent.put(there.extent() as i64);
    Ok(())
}
