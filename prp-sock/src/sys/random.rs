//! Random bytes.

use std::io;

/// Bytes that no other process can guess. Not of a file, which an empty root does not have.
pub(crate) fn random_bytes() -> io::Result<[u8; 32]> {
    let mut bytes = [0; 32];
    // SAFETY: the pointer and the length describe `bytes`, which outlives the call.
    let got = super::cvt(unsafe { libc::getrandom(bytes.as_mut_ptr().cast(), bytes.len(), 0) })?;
    // So few come whole, or the wait for them is interrupted before the kernel has any.
    if got.cast_unsigned() == bytes.len() {
        Ok(bytes)
    } else {
        Err(io::ErrorKind::Interrupted.into())
    }
}
