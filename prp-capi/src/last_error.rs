//! The last error of each thread.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};
use std::io;

use crate::error_number;

thread_local! {
    static LAST: RefCell<(c_int, CString)> = RefCell::default();
}

/// Keeps `error` as the last one of this thread; its number.
pub(crate) fn keep(error: &io::Error) -> c_int {
    let number = error_number::of(error);
    let mut text = error.to_string().into_bytes();
    text.retain(|byte| *byte != 0);
    let text = CString::new(text).unwrap_or_default();
    // At the end of a thread there may be no place for it any more.
    let _ = LAST.try_with(|last| *last.borrow_mut() = (number, text));
    number
}

/// The number of the last error; 0 if there was none.
pub(crate) fn number() -> c_int {
    LAST.try_with(|last| last.borrow().0).unwrap_or(0)
}

/// Its text, which holds until the next error of this thread.
pub(crate) fn text() -> *const c_char {
    LAST.try_with(|last| last.borrow().1.as_ptr()).unwrap_or_else(|_| CStr::as_ptr(c""))
}
