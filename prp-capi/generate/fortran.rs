//! The Fortran module `prp`.

use std::fmt::Write;

use super::header::{Function, Header};

/// Interfaces of all functions, with the constants and structs.
pub(crate) fn module(header: &Header) -> String {
    let mut text = String::from(
        "! PRP for programs in Fortran, made from prp.h, which describes each function.\n\
         ! Texts end with c_null_char. Handles are type(c_ptr). Fortran has no unsigned numbers: a\n\
         ! node or port above 32767 is negative, and iand(int(node), 65535) is its number.\n\
         module prp\n  use, intrinsic :: iso_c_binding\n  implicit none\n  public\n\n",
    );
    // Fortran does not tell PRP_ABI_VERSION from prp_abi_version, which says what the library has.
    let is_function =
        |name: &str| header.functions.iter().any(|it| it.name.eq_ignore_ascii_case(name));
    for (name, value) in header.macros.iter().filter(|(name, _)| !is_function(name)) {
        let kind = match value.strip_prefix('"') {
            Some(_) => "character(len=*)",
            None => "integer(c_int)",
        };
        let _ = writeln!(text, "  {kind}, parameter :: {name} = {value}");
    }
    for constant in &header.constants {
        let _ =
            writeln!(text, "  integer(c_int), parameter :: {} = {}", constant.name, constant.value);
    }
    for of in &header.structs {
        let _ = writeln!(text, "\n  type, bind(c) :: {}_t", of.name);
        for field in &of.fields {
            let _ = writeln!(text, "    {} :: {}", kind_of(&field.kind), field.name);
        }
        let _ = writeln!(text, "  end type {}_t", of.name);
    }
    text.push_str("\n  interface\n");
    for function in &header.functions {
        interface(&mut text, function);
    }
    text.push_str("  end interface\nend module prp\n");
    text
}

fn interface(text: &mut String, function: &Function) {
    let names: Vec<_> = function.parameters.iter().map(|(_, name)| name.as_str()).collect();
    let (name, list) = (&function.name, names.join(", "));
    let is_function = function.result != "void";
    let word = if is_function { "function" } else { "subroutine" };
    let _ = writeln!(text, "    {word} {name}({list}) &");
    let result = if is_function { " result(outcome)" } else { "" };
    let _ = writeln!(text, "        bind(c, name='{name}'){result}\n      import");
    for (kind, name) in &function.parameters {
        let may_lack = function.tagged("param").any(|text| {
            text.split_once(' ')
                .is_some_and(|(of, what)| of == name && what.contains("may be NULL"))
        });
        let optional = if may_lack { ", optional" } else { "" };
        let _ = writeln!(text, "      {}{optional} :: {name}", parameter(kind));
    }
    if is_function {
        let _ = writeln!(text, "      {} :: outcome", kind_of(&function.result));
    }
    let _ = writeln!(text, "    end {word} {name}");
}

fn parameter(kind: &str) -> String {
    match kind {
        "const char *" | "char *" => {
            let intent = if kind.starts_with("const") { "in" } else { "out" };
            format!("character(kind=c_char), dimension(*), intent({intent})")
        }
        "const prp_address *" => "type(prp_address_t), intent(in)".to_owned(),
        "prp_address *" => "type(prp_address_t), intent(out)".to_owned(),
        "prp_stats *" => "type(prp_stats_t), intent(out)".to_owned(),
        "prp_wait *" => "type(prp_wait_t), dimension(*), intent(inout)".to_owned(),
        "int *" | "int64_t *" | "size_t *" => {
            format!("{}, intent(out)", kind_of(kind.trim_end_matches(" *")))
        }
        "void **" => "type(c_ptr), intent(out)".to_owned(),
        other => format!("{}, value", kind_of(other)),
    }
}

fn kind_of(kind: &str) -> &'static str {
    match kind {
        "int" => "integer(c_int)",
        "int64_t" | "uint64_t" => "integer(c_int64_t)",
        "uint16_t" => "integer(c_int16_t)",
        "size_t" | "ssize_t" => "integer(c_size_t)",
        pointer if pointer.ends_with('*') => "type(c_ptr)",
        other => panic!("prp.h: no Fortran type for {other}"),
    }
}
