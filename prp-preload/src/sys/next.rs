//! The functions of the C library that this library replaces.

use std::ffi::CStr;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A function of the libraries that the dynamic linker searches after this one.
#[derive(Debug)]
pub(super) struct NextFunction {
    name: &'static CStr,
    address: AtomicUsize,
}

impl NextFunction {
    /// The function `name`, which the first call looks up.
    pub(super) const fn new(name: &'static CStr) -> Self {
        Self { name, address: AtomicUsize::new(0) }
    }

    /// Where it is.
    pub(super) fn address(&self) -> usize {
        let known = self.address.load(Ordering::Relaxed);
        if known != 0 {
            return known;
        }
        // SAFETY: the name is a string of C.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) } as usize;
        if found == 0 {
            // A program cannot work without `read` or `close`.
            std::process::abort();
        }
        self.address.store(found, Ordering::Relaxed);
        found
    }
}

/// A result as C returns it: -1 for an error, with its number in `errno`.
pub(super) fn as_in_c<T: From<i8>>(result: io::Result<T>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => {
            // SAFETY: the place of `errno` of this thread.
            unsafe { *libc::__errno_location() = prp_sock::error_number(&error) };
            T::from(-1)
        }
    }
}

/// Defines C functions with their replacements. A replacement returns `None` if the descriptor is
/// none of PRP's.
macro_rules! interpose {
    ($($name:ident($($argument:ident: $type:ty),*) -> $out:ty = $answer:path;)*) => {$(
        /// As the function of the C library.
        ///
        /// # Safety
        /// As for that function.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> $out {
            const NAME: &std::ffi::CStr = match std::ffi::CStr::from_bytes_with_nul(
                concat!(stringify!($name), "\0").as_bytes(),
            ) {
                Ok(name) => name,
                Err(_) => c"",
            };
            static NEXT: next::NextFunction = next::NextFunction::new(NAME);
            // SAFETY: the caller keeps what the function of the C library demands, and that
            // function has these parameters.
            unsafe {
                if let Some(result) = $answer($($argument),*) {
                    return next::as_in_c(result);
                }
                let next =
                    std::mem::transmute::<usize, unsafe extern "C" fn($($type),*) -> $out>(
                        NEXT.address(),
                    );
                next($($argument),*)
            }
        }
    )*};
}
pub(super) use interpose;
