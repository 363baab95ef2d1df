//! Errors of files: their classes, and the error handlers that they go to.

use std::ffi::c_int;
use std::io;

use parking_lot::Mutex;

use super::file_of;
use crate::api::error::{Class, Failure, Outcome, current_call, handle_by};
use crate::object::{Handle, OpenFile};
use crate::sys::pointer::Ptr;

/// The handler of `MPI_FILE_NULL`: of what concerns no open file, and of those that are opened.
static OF_NONE: Mutex<Handle> = Mutex::new(Handle::ERRORS_RETURN);

/// The handler that files get when they are opened.
pub(super) fn first_handler() -> Handle {
    *OF_NONE.lock()
}

/// A failure as one of no open file.
pub(super) fn of_none(failure: Failure) -> Failure {
    Failure { comm: Handle::FILE_NULL, handler: Some(first_handler()), ..failure }
}

/// A failure that concerns no open file.
pub(super) fn failure_of_none(class: Class, text: impl Into<String>) -> Failure {
    of_none(Failure::new(class, Handle::FILE_NULL, text))
}

impl OpenFile {
    /// A failure of this file, whose error handler it goes to.
    pub(super) fn failure(&self, handle: Handle, class: Class, text: impl Into<String>) -> Failure {
        self.own(handle, Failure::new(class, handle, text))
    }

    /// A failure as one of this file.
    pub(super) fn own(&self, handle: Handle, failure: Failure) -> Failure {
        Failure { comm: handle, handler: Some(*self.errhandler.lock()), ..failure }
    }

    /// What the system says of this file.
    pub(super) fn io_failure(&self, handle: Handle, error: &io::Error) -> Failure {
        self.failure(handle, class_of(error), format!("{}: {error}", self.path.display()))
    }
}

/// The class of what the system says of a file.
pub(super) fn class_of(error: &io::Error) -> Class {
    match error.raw_os_error().unwrap_or(0) {
        libc::ENOENT => Class::NoSuchFile,
        libc::EACCES | libc::EPERM => Class::Access,
        libc::EEXIST => Class::FileExists,
        libc::ENOSPC => Class::NoSpace,
        libc::EDQUOT => Class::Quota,
        libc::EROFS => Class::ReadOnly,
        libc::EBUSY | libc::ETXTBSY => Class::FileInUse,
        libc::EISDIR | libc::ENOTDIR | libc::ENAMETOOLONG | libc::ELOOP => Class::BadFile,
        libc::ENOMEM => Class::NoMemory,
        _ => Class::Io,
    }
}

/// Fails if the program has passed no place for a result of a call about a file.
pub(crate) fn check_file_results(handle: Handle, results: &[(&str, bool)]) -> Outcome {
    let Some((name, _)) = results.iter().find(|(_, is_null)| *is_null) else { return Ok(()) };
    let file = file_of(handle)?;
    Err(file.failure(handle, Class::Arg, format!("no place for the result '{name}'")))
}

/// Does something with the error handler of a file, or of none.
fn with_handler<T>(handle: Handle, does: impl FnOnce(&mut Handle) -> T) -> Result<T, Failure> {
    if handle == Handle::FILE_NULL {
        return Ok(does(&mut OF_NONE.lock()));
    }
    let file = file_of(handle)?;
    let mut handler = file.errhandler.lock();
    Ok(does(&mut handler))
}

pub(crate) fn file_set_errhandler(handle: Handle, handler: Handle) -> Outcome {
    if handler == Handle::ERRHANDLER_NULL {
        let failure = Failure::new(Class::Errhandler, handle, "no error handler");
        let current = with_handler(handle, |current| *current)?;
        return Err(Failure { handler: Some(current), ..failure });
    }
    with_handler(handle, |current| *current = handler)
}

pub(crate) fn file_get_errhandler(handle: Handle, handler: Ptr<Handle>) -> Outcome {
    handler.put(with_handler(handle, |current| *current)?);
    Ok(())
}

pub(crate) fn file_call_errhandler(handle: Handle, code: c_int) -> Outcome {
    let handler = with_handler(handle, |current| *current)?;
    let failure = Failure::with_code(code, handle, "called by the program");
    handle_by(handler, current_call(), &failure);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn class_of__what_the_system_says_has_a_class_of_its_own() {
        let of = |code| class_of(&io::Error::from_raw_os_error(code)) as c_int;
        let cases = [
            (libc::ENOENT, 42),
            (libc::EACCES, 20),
            (libc::EEXIST, 28),
            (libc::ENOSPC, 41),
            (libc::EDQUOT, 44),
            (libc::EROFS, 45),
            (libc::EISDIR, 23),
            (libc::ETXTBSY, 29),
            (libc::EIO, 35),
        ];
        for (code, class) in cases {
            assert_eq!(of(code), class, "error {code} of the system");
        }
        assert_eq!(class_of(&io::ErrorKind::WriteZero.into()), Class::Io);
    }
}
