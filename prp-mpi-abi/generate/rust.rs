//! Declarations of the functions for Rust programs, made from the same lists as the exports.

use std::fmt::Write;

use super::prototype::Prototype;

const BEGIN: &str = "// The MPI 5.0 standard ABI, for Rust: printed by prp-mpicc --rust.\n\
    #[allow(dead_code, non_camel_case_types, non_snake_case, non_upper_case_globals, unused_imports, \
    clippy::all, reason = \"names and parameters are the standard's\")]\n\
    mod mpi_abi {\n\
    use std::ffi::{c_char, c_double, c_int, c_ulong, c_void};\n\n\
    pub type MPI_Aint = isize;\npub type MPI_Offset = i64;\npub type MPI_Count = i64;\n\
    #[repr(C)]\n#[derive(Copy, Clone, Debug)]\npub struct MPI_Status {\n\
    pub MPI_SOURCE: c_int,\npub MPI_TAG: c_int,\npub MPI_ERROR: c_int,\npub MPI_internal: [c_int; 5],\n}\n\n";

/// A module with all types, constants and functions, whose names are in scope where it is included.
pub(crate) fn declarations(constants: &str, prototypes: &[Prototype]) -> String {
    let mut text = String::from(BEGIN);
    for line in constants.lines() {
        constant(&mut text, line);
    }
    text.push_str("\nunsafe extern \"C\" {\n");
    for prototype in prototypes {
        for prefix in ["", "P"] {
            let mut parameters = String::new();
            for (kind, name) in &prototype.parameters {
                let _ = write!(parameters, "{name}_: {}, ", rust_type(kind));
            }
            let (name, result) = (&prototype.name, rust_type(&prototype.result));
            let _ = writeln!(text, "pub fn {prefix}{name}({parameters}) -> {result};");
        }
    }
    text.push_str(
        "}\n}\n#[allow(unused_imports, reason = \"a program uses some\")]\nuse mpi_abi::*;\n",
    );
    text
}

/// A parameter of C in Rust. Functions of the application are addresses: some constants stand for
/// functions that there are not.
fn rust_type(kind: &str) -> String {
    if kind.contains("_function") || kind.trim_end_matches('*').ends_with("errhandler_fn") {
        return "*const c_void".into();
    }
    if let Some(inner) = kind.strip_suffix('*') {
        return format!("*mut {}", rust_type(inner));
    }
    match kind {
        "int" => "c_int",
        "char" => "c_char",
        "double" => "c_double",
        "unsigned long" => "c_ulong",
        "void" => "c_void",
        other => other,
    }
    .into()
}

fn constant(text: &mut String, line: &str) {
    let words: Vec<&str> = line.split_whitespace().collect();
    let _ = match words[..] {
        ["opaque", name] => writeln!(text, "pub type {name} = *mut c_void;"),
        ["pointer", name, kind, value] if !kind.ends_with('*') => {
            writeln!(text, "pub const {name}: {kind} = {value};")
        }
        ["handle", kind, name, value] | ["pointer", name, kind, value] => {
            let kind = rust_type(kind);
            writeln!(text, "pub const {name}: {kind} = {value}_usize as {kind};")
        }
        ["int", name, value] => writeln!(text, "pub const {name}: c_int = {value};"),
        ["enum", name] => writeln!(text, "pub type {name} = c_int;"),
        ["alias", name, of] => writeln!(text, "pub use self::{of} as {name};"),
        _ => Ok(()),
    };
}
