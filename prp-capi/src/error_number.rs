//! Numbers of errno for the errors of PRP.

use std::error::Error;
use std::ffi::c_int;
use std::fmt;
use std::io;

/// A number of errno with a text that says more.
#[derive(Debug)]
struct NumberedError {
    number: c_int,
    text: String,
}

impl fmt::Display for NumberedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Error for NumberedError {}

/// The error `number`, said as `text`.
pub(crate) fn explained(number: c_int, text: impl Into<String>) -> io::Error {
    let kind = io::Error::from_raw_os_error(number).kind();
    io::Error::new(kind, NumberedError { number, text: text.into() })
}

/// A parameter that makes no sense.
pub(crate) fn invalid(text: impl Into<String>) -> io::Error {
    explained(libc::EINVAL, text)
}

/// The number of `error`.
pub(crate) fn of(error: &io::Error) -> c_int {
    let numbered = error.get_ref().and_then(|inner| inner.downcast_ref::<NumberedError>());
    numbered.map_or_else(|| prp_sock::error_number(error), |numbered| numbered.number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of__its_own_number_or_that_of_prp_sock() {
        assert_eq!(of(&explained(libc::EMSGSIZE, "too long")), libc::EMSGSIZE);
        assert_eq!(of(&io::ErrorKind::TimedOut.into()), libc::ETIMEDOUT);
    }
}
