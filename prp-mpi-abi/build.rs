//! Makes the exported functions and the header from the lists in `abi/`.

mod generate {
    pub(crate) mod exports;
    pub(crate) mod header;
    pub(crate) mod prototype;
    pub(crate) mod rust;
}

use std::path::Path;
use std::{env, fs};

use generate::prototype::Prototype;

fn main() {
    println!("cargo:rerun-if-changed=abi");
    println!("cargo:rerun-if-changed=src/api");
    println!("cargo:rerun-if-changed=generate");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libmpi_abi.so.1");
    let functions = fs::read_to_string("abi/functions.txt").expect("abi/functions.txt");
    let constants = fs::read_to_string("abi/constants.txt").expect("abi/constants.txt");
    let prototypes: Vec<_> = functions.lines().filter_map(Prototype::parse).collect();
    let implemented = generate::exports::implemented(Path::new("src/api"));
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let write = |name: &str, text: String| {
        fs::write(Path::new(&out).join(name), text).expect("OUT_DIR can be written");
    };
    write("exports.rs", generate::exports::exports(&prototypes, &implemented));
    write("mpi.h", generate::header::header(&constants, &functions));
    write("mpi.rs", generate::rust::declarations(&constants, &prototypes));
    write("functions.txt", generate::exports::table(&prototypes, &implemented));
}
