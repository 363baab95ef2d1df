//! Instructions that only some processors have. The only `unsafe` of this crate is in this folder,
//! each block with the reason why it is sound.
#![allow(unsafe_code, reason = "this folder is where the unsafe code lives")]

#[cfg(all(feature = "std", target_arch = "x86_64"))]
mod avx2;
#[cfg(all(feature = "std", target_arch = "x86_64"))]
mod avx512;
#[cfg(all(feature = "std", target_arch = "x86_64"))]
mod polynomial;

use crate::Front;

/// CRC-32 over `front` and `payload`; `None` if this processor lacks the instructions, or if
/// the payload is shorter than a step.
#[inline]
pub(crate) fn fold(front: Front, payload: &[u8]) -> Option<u32> {
    #[cfg(all(feature = "std", target_arch = "x86_64"))]
    {
        let [a, b, c] = front;
        if payload.len() >= avx512::MIN_PAYLOAD && avx512::is_supported() {
            // SAFETY: the processor has all the features that the function is compiled for.
            return Some(unsafe { avx512::fold(a, b, c, payload) });
        }
        if payload.len() >= avx2::MIN_PAYLOAD && avx2::is_supported() {
            // SAFETY: the processor has all the features that the function is compiled for.
            return Some(unsafe { avx2::fold(a, b, c, payload) });
        }
    }
    let _ = (front, payload);
    None
}
