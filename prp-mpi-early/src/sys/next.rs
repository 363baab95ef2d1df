//! The functions of the C library that this library replaces.

use std::ffi::CStr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The function of this name in the libraries that the dynamic linker searches after this one.
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
            // Nothing that a program could do without `read` or `free`.
            std::process::abort();
        }
        self.address.store(found, Ordering::Relaxed);
        found
    }
}

/// Defines functions of the C library that do something before they pass the call on. What they do
/// may replace the arguments.
macro_rules! wrap {
    ($($name:ident($($argument:ident: $type:ty),*) -> $out:ty { $($before:tt)* })*) => {$(
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
            static NEXT: $crate::sys::next::NextFunction =
                $crate::sys::next::NextFunction::new(NAME);
            $($before)*
            // SAFETY: the function of that name has these parameters, and the caller keeps what it
            // demands.
            unsafe {
                let next =
                    std::mem::transmute::<usize, unsafe extern "C" fn($($type),*) -> $out>(
                        NEXT.address(),
                    );
                next($($argument),*)
            }
        }
    )*};
}
pub(super) use wrap;
