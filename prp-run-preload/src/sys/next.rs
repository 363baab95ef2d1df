//! The functions of the C library that this library replaces.

use std::ffi::CStr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A function of the libraries that the dynamic linker searches after this one.
#[derive(Debug)]
pub(super) struct NextFunction {
    name: &'static CStr,
    address: AtomicUsize,
}

impl NextFunction {
    /// Returns the function `name`, which the first call looks up.
    pub(super) const fn new(name: &'static CStr) -> Self {
        Self { name, address: AtomicUsize::new(0) }
    }

    /// Returns where it is.
    pub(super) fn address(&self) -> usize {
        let known = self.address.load(Ordering::Relaxed);
        if known != 0 {
            return known;
        }
        // SAFETY: the name is a string of C.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) } as usize;
        if found == 0 {
            // The program calls a function that no library has.
            std::process::abort();
        }
        self.address.store(found, Ordering::Relaxed);
        found
    }
}

/// Defines functions of C: those that are exported, and in the module `real` those of the next
/// library.
macro_rules! interpose {
    ($($name:ident($($argument:ident: $type:ty),*) -> $out:ty = $answer:path;)*) => {
        $(
            /// Replaces the function of the C library.
            ///
            /// # Safety
            /// As for that function.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($argument: $type),*) -> $out {
                // SAFETY: the caller keeps what the function of the C library demands.
                unsafe { $answer($($argument),*) }
            }
        )*

        /// The functions that the program would call without this library.
        mod real {
            use super::{
                addrinfo, c_char, c_int, c_ulong, c_void, epoll_event, hostent, msghdr, next,
                size_t, sockaddr, socklen_t, ssize_t,
            };
            $(
                /// Calls the function of the next library.
                ///
                /// # Safety
                /// As for that function.
                pub(super) unsafe fn $name($($argument: $type),*) -> $out {
                    const NAME: &std::ffi::CStr = match std::ffi::CStr::from_bytes_with_nul(
                        concat!(stringify!($name), "\0").as_bytes(),
                    ) {
                        Ok(name) => name,
                        Err(_) => c"",
                    };
                    static NEXT: next::NextFunction = next::NextFunction::new(NAME);
                    // SAFETY: the caller keeps what the function demands, and that function has
                    // these parameters.
                    unsafe {
                        let next = std::mem::transmute::<
                            usize,
                            unsafe extern "C" fn($($type),*) -> $out,
                        >(NEXT.address());
                        next($($argument),*)
                    }
                }
            )*
        }
    };
}
pub(super) use interpose;
