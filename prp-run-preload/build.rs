//! Names the library for programs that are linked with it: `-lprp_socket` (prp.h). Under `prp run`
//! the dynamic linker takes the preloaded one for it, so that a process has one.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libprp_socket.so.0");
}
