//! Makes what follows from `include/prp.h`: the check that the Rust functions have the types of the
//! header, and the files that prp-capi-install installs beside it.

mod generate {
    pub(crate) mod fortran;
    pub(crate) mod header;
    pub(crate) mod manual;
    pub(crate) mod signatures;
    pub(crate) mod symbols;
}

use std::path::Path;
use std::{env, fs};

use generate::header::Header;

fn main() {
    for input in ["include/prp.h", "generate", "examples"] {
        println!("cargo:rerun-if-changed={input}");
    }
    let read = |path: String| fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
    let header = Header::parse(&read("include/prp.h".to_owned()));
    let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let write = |name: &str, text: &str| {
        fs::write(Path::new(&out).join(name), text).expect("OUT_DIR can be written");
    };
    write("signatures.rs", &generate::signatures::signatures(&header));
    write("prp.map", &generate::symbols::version_script(&header));
    write("prp.f90", &generate::fortran::module(&header));
    let version = env::var("CARGO_PKG_VERSION").expect("cargo sets the version");
    let pages = generate::manual::pages(&header, &version, |name| read(format!("examples/{name}")));
    let list: String = pages.iter().map(|page| format!("{page:?},\n")).collect();
    write("pages.rs", &format!("&[\n{list}]"));
}
