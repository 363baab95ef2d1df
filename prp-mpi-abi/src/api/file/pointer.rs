//! Pointers of files: of each rank, and of all together.

use std::ffi::c_int;

use super::file_of;
use super::mode::Mode;
use crate::api::error::{Class, Failure, Outcome};
use crate::object::{Handle, OpenFile};
use crate::sys::pointer::Ptr;

const FROM_CURRENT: c_int = 401;
const FROM_END: c_int = 402;
const FROM_START: c_int = 403;

/// Fails for a file that is only read or written in order.
pub(super) fn refuse_sequential(file: &OpenFile, handle: Handle) -> Outcome {
    if Mode::of(file).is_sequential() {
        let text = "a file of MPI_MODE_SEQUENTIAL has only a shared pointer that goes forward";
        return Err(file.failure(handle, Class::Unsupported, text));
    }
    Ok(())
}

/// Where a seek goes to, in units of the view.
fn target(
    file: &OpenFile,
    handle: Handle,
    offset: i64,
    whence: c_int,
    current: impl FnOnce() -> Result<u64, Failure>,
) -> Result<u64, Failure> {
    let from = match whence {
        FROM_START => 0,
        FROM_CURRENT => current()?,
        FROM_END => {
            let view = file.view.lock().clone();
            view.units_before(file.len(handle)?)
        }
        _ => {
            return Err(file.failure(
                handle,
                Class::Arg,
                format!("no place {whence} to seek from"),
            ));
        }
    };
    from.checked_add_signed(offset).filter(|unit| i64::try_from(*unit).is_ok()).ok_or_else(|| {
        let text = format!("offset {offset} from unit {from} is not in any file");
        file.failure(handle, Class::Arg, text)
    })
}

pub(crate) fn file_seek(fh: Handle, offset: i64, whence: c_int) -> Outcome {
    let file = file_of(fh)?;
    refuse_sequential(&file, fh)?;
    let mut position = file.position.lock();
    let current = *position;
    *position = target(&file, fh, offset, whence, || Ok(current))?;
    Ok(())
}

pub(crate) fn file_get_position(fh: Handle, offset: Ptr<i64>) -> Outcome {
    let file = file_of(fh)?;
    refuse_sequential(&file, fh)?;
    offset.put(file.position.lock().cast_signed());
    Ok(())
}

pub(crate) fn file_seek_shared(fh: Handle, offset: i64, whence: c_int) -> Outcome {
    let file = file_of(fh)?;
    refuse_sequential(&file, fh)?;
    let words = [offset.cast_unsigned(), whence.cast_unsigned().into()];
    file.check_same(fh, &words, "the place to seek")?;
    let unit = target(&file, fh, offset, whence, || file.shared_position());
    // No rank moves it before all know where it was.
    file.barrier(fh)?;
    file.place_shared(fh, unit?)
}

pub(crate) fn file_get_position_shared(fh: Handle, offset: Ptr<i64>) -> Outcome {
    offset.put(file_of(fh)?.shared_position()?.cast_signed());
    Ok(())
}

pub(crate) fn file_get_byte_offset(fh: Handle, offset: i64, place: Ptr<i64>) -> Outcome {
    let file = file_of(fh)?;
    refuse_sequential(&file, fh)?;
    let view = file.view.lock().clone();
    let found = u64::try_from(offset).ok().and_then(|unit| view.place_of(unit));
    let found = found.and_then(|place| i64::try_from(place).ok());
    place.put(found.ok_or_else(|| {
        file.failure(fh, Class::Arg, format!("offset {offset} is not in any file"))
    })?);
    Ok(())
}
