//! The check that the exported Rust functions are those of the header.

use std::fmt::Write;

use super::header::Header;

/// A constant for each function of the header. It compiles if there is a function in Rust of that
/// name with the same types.
pub(crate) fn signatures(header: &Header) -> String {
    let mut text = String::new();
    for function in &header.functions {
        let parameters: Vec<_> =
            function.parameters.iter().map(|(kind, _)| rust_type(kind)).collect();
        let result = match function.result.as_str() {
            "void" => String::new(),
            other => format!(" -> {}", rust_type(other)),
        };
        let (name, list) = (&function.name, parameters.join(", "));
        let _ = writeln!(text, "const _: unsafe extern \"C\" fn({list}){result} = {name};");
    }
    for constant in &header.constants {
        let (name, value) = (&constant.name, &constant.value);
        let _ = writeln!(text, "pub(crate) const {name}: c_int = {value};");
    }
    text
}

fn rust_type(kind: &str) -> String {
    if let Some(inner) = kind.strip_suffix('*') {
        let inner = inner.trim();
        return match inner.strip_prefix("const ") {
            Some(inner) => format!("*const {}", rust_type(inner)),
            None => format!("*mut {}", rust_type(inner)),
        };
    }
    match kind {
        "void" => "c_void",
        "char" => "c_char",
        "int" => "c_int",
        "size_t" => "usize",
        "ssize_t" => "isize",
        "int64_t" => "i64",
        "struct iovec" => "iovec",
        "prp_stream" => "StreamPtr",
        "prp_listener" => "ListenerPtr",
        "prp_options" => "OptionsPtr",
        "prp_address" => "Address",
        "prp_wait" => "WaitEntry",
        "prp_stats" => "StreamStats",
        other => panic!("prp.h: no Rust type for {other}"),
    }
    .to_owned()
}
