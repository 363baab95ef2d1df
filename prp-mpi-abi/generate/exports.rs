//! The exported functions: those that are implemented call Rust, the others say their names.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;

use super::prototype::Prototype;

/// Names of the functions of `src/api`.
pub(crate) fn implemented(folder: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(folder).expect("src/api").flatten() {
        if entry.path().is_dir() {
            names.extend(implemented(&entry.path()));
        }
        let text = fs::read_to_string(entry.path()).unwrap_or_default();
        let lines = text.lines().filter_map(|l| l.strip_prefix("pub(crate) fn "));
        names.extend(lines.filter_map(|l| l.split(['(', '<']).next()).map(str::to_owned));
    }
    names
}

/// Which Rust function does it, and the prototype that it shares it with: that of the other size of
/// counts.
fn target<'a>(
    of: &Prototype,
    all: &'a BTreeMap<&str, &'a Prototype>,
) -> (String, Option<&'a Prototype>) {
    let other = match of.name.strip_suffix("_c") {
        Some(base) => all.get(base),
        None => all.get(format!("{}_c", of.name).as_str()),
    };
    let other = other.copied().filter(|o| o.parameters.len() == of.parameters.len());
    let name = of.rust_name();
    match (other, name.strip_suffix("_c")) {
        (Some(_), Some(base)) => (base.to_owned(), other),
        _ => (name, other),
    }
}

/// The Rust function behind a C function.
struct Binding {
    function: String,
    /// Parameters that are for the call behind it, and that call.
    left_out: &'static [&'static str],
    then: &'static str,
}

/// By a function of its name; a collective call by a plan, which is run, begun or kept; one that
/// reads or writes a file by an access, which is run, started, or begun and ended.
fn binding(target: &str, implemented: &BTreeSet<String>) -> Option<Binding> {
    if implemented.contains(target) {
        return Some(Binding { function: target.to_owned(), left_out: &[], then: "" });
    }
    let plan = |base: &str, left_out, then| {
        let function = format!("plan_{base}");
        implemented.contains(&function).then_some(Binding { function, left_out, then })
    };
    let now = plan(target, &[][..], "?.run()");
    let begun = target.strip_prefix('i').and_then(|b| plan(b, &["request"], "?.begin(_request)"));
    let kept = target
        .strip_suffix("_init")
        .and_then(|b| plan(b, &["info", "request"], ".map(|plan| plan.keep(_request))"));
    now.or(begun).or(kept).or_else(|| file_binding(target, implemented))
}

fn file_binding(target: &str, implemented: &BTreeSet<String>) -> Option<Binding> {
    let access = |base: &str, left_out: &'static [&'static str], then: &'static str| {
        let function = format!("access_{base}");
        implemented.contains(&function).then_some(Binding { function, left_out, then })
    };
    if let Some(started) = target.strip_prefix("file_i") {
        return access(&format!("file_{started}"), &["request"], "?.start(_request)");
    }
    if let Some(begun) = target.strip_suffix("_begin") {
        return access(begun, &[], "?.begin()");
    }
    if let Some(ended) = target.strip_suffix("_end") {
        let ends = |_| Binding { function: "end_split".to_owned(), left_out: &["buf"], then: "" };
        return access(ended, &[], "").map(ends);
    }
    access(target, &["status"], "?.run(_status)")
}

/// The type of a parameter in Rust, and how it is handed on.
fn parameter(kind: &str, other: Option<&str>, name: &str) -> (String, String) {
    let differs = other.is_some_and(|o| o != kind);
    let plain = format!("_{name}");
    match (kind, differs) {
        ("int", true) => ("c_int".into(), format!("i64::from({plain})")),
        ("MPI_Aint", true) => ("isize".into(), format!("{plain} as i64")),
        ("MPI_Count", true) => ("i64".into(), plain),
        ("int*", true) => ("Ptr<c_int>".into(), format!("Counts::Int({plain})")),
        ("MPI_Aint*" | "MPI_Count*", true) => ("Ptr<i64>".into(), format!("Counts::Long({plain})")),
        ("MPI_User_function*", _) => {
            ("Option<UserFunction>".into(), format!("Combiner::Int({plain})"))
        }
        ("MPI_User_function_c*", _) => {
            ("Option<LargeUserFunction>".into(), format!("Combiner::Long({plain})"))
        }
        ("MPI_Datarep_conversion_function*", _) => {
            ("Callback".into(), format!("Conversion::Int({plain})"))
        }
        ("MPI_Datarep_conversion_function_c*", _) => {
            ("Callback".into(), format!("Conversion::Long({plain})"))
        }
        _ => (rust_type(kind), plain),
    }
}

fn rust_type(kind: &str) -> String {
    if let Some(inner) = kind.strip_suffix('*') {
        return match inner {
            "void" => "Address".into(),
            "MPI_Copy_function" => "CommCopy".into(),
            "MPI_Delete_function" => "CommDelete".into(),
            function if function.starts_with("MPI_") && function.contains("_function") => {
                "Callback".into()
            }
            function if function.ends_with("errhandler_fn") => "Callback".into(),
            inner => format!("Ptr<{}>", rust_type(inner)),
        };
    }
    match kind {
        "int" | "MPI_T_cb_safety" | "MPI_T_source_order" => "c_int",
        "char" => "c_char",
        "double" => "f64",
        "MPI_Aint" => "isize",
        "MPI_Count" | "MPI_Offset" => "i64",
        "unsigned long" => "u64",
        "MPI_Status" => "Status",
        _ => "Handle",
    }
    .into()
}

/// All exported functions, as Rust.
pub(crate) fn exports(prototypes: &[Prototype], implemented: &BTreeSet<String>) -> String {
    let all: BTreeMap<&str, &Prototype> = prototypes.iter().map(|p| (p.name.as_str(), p)).collect();
    let mut text = String::new();
    for prototype in prototypes {
        let (target, other) = target(prototype, &all);
        for name in [prototype.name.clone(), format!("P{}", prototype.name)] {
            if let Some(binding) = binding(&target, implemented) {
                export(&mut text, prototype, other, &name, &binding);
            } else {
                let _ = writeln!(
                    text,
                    "#[unsafe(no_mangle)] extern \"C\" fn {name}() -> c_int {{ refuse({:?}) }}",
                    prototype.name
                );
            }
        }
    }
    text
}

fn export(
    text: &mut String,
    prototype: &Prototype,
    other: Option<&Prototype>,
    name: &str,
    binding: &Binding,
) {
    let mut parameters = String::new();
    let mut arguments = String::new();
    for (i, (kind, word)) in prototype.parameters.iter().enumerate() {
        let of_other = other.map(|o| o.parameters[i].0.as_str());
        let (rust, argument) = parameter(kind, of_other, word);
        let _ = write!(parameters, "_{word}: {rust}, ");
        if !binding.left_out.contains(&word.as_str()) {
            let _ = write!(arguments, "{argument}, ");
        }
    }
    let is_value = prototype.result != "int" || prototype.name.ends_with("_toint");
    let result = rust_type(&prototype.result);
    let does = format!("api::{}({arguments}){}", binding.function, binding.then);
    let body = if is_value {
        does
    } else if prototype.name.starts_with("MPI_T_") {
        // These may be given no place for a result.
        format!("api::tool_call({:?}, || {does})", prototype.name)
    } else {
        format!("call({:?}, || {})", prototype.name, checked(prototype, &does))
    };
    let _ = writeln!(
        text,
        "#[unsafe(no_mangle)] extern \"C\" fn {name}({parameters}) -> {result} {{ {body} }}"
    );
}

/// A call that fails where there is no place for a result, and leaves no handle of an object that
/// was not made.
fn checked(of: &Prototype, does: &str) -> String {
    let results = of.parameters.iter().zip(&of.is_result).filter(|(_, is_result)| **is_result);
    let results: Vec<_> = results.map(|(parameter, _)| parameter).collect();
    if results.is_empty() {
        return does.to_owned();
    }
    let places: Vec<_> =
        results.iter().map(|(_, name)| format!("({name:?}, _{name}.is_null())")).collect();
    let named = |kind| of.parameters.iter().find(|(k, _)| k == kind).map(|(_, name)| name);
    let comm =
        named("MPI_Comm").map_or_else(|| "Handle::SELF".to_owned(), |name| format!("_{name}"));
    let places = format!("&[{}]", places.join(", "));
    let check = match named("MPI_File") {
        Some(file) => format!("api::check_file_results(_{file}, {places})"),
        None => format!("check_results({comm}, {places})"),
    };
    let mut nothing = String::new();
    for (kind, name) in results {
        let null = match kind.as_str() {
            "MPI_Comm*" if name != "comm" => "COMM_NULL",
            "MPI_Datatype*" if name.starts_with("new") => "DATATYPE_NULL",
            "MPI_Group*" if name.starts_with("new") => "GROUP_NULL",
            _ => continue,
        };
        let _ = write!(nothing, ".inspect_err(|_| _{name}.put(Handle::{null}))");
    }
    format!("{{ {check}?; {does}{nothing} }}")
}

/// Which functions there are, as a table for people.
pub(crate) fn table(prototypes: &[Prototype], implemented: &BTreeSet<String>) -> String {
    let all: BTreeMap<&str, &Prototype> = prototypes.iter().map(|p| (p.name.as_str(), p)).collect();
    let mut text = String::new();
    for prototype in prototypes {
        let is_there = binding(&target(prototype, &all).0, implemented).is_some();
        let _ = writeln!(text, "{} {}", if is_there { "yes" } else { "no " }, prototype.name);
    }
    text
}
