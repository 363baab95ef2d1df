//! Manual pages: one for each function, and prp(3) with all of them.

use std::fmt::Write;

use super::header::{Function, Header, Struct};

/// The pages by their names, each with an example that `example` reads.
pub(crate) fn pages(
    header: &Header,
    version: &str,
    example: impl Fn(&str) -> String,
) -> Vec<(String, String)> {
    let mut pages: Vec<_> = header
        .functions
        .iter()
        .map(|function| {
            let text = page(header, function, version, &example(function.example()));
            (format!("{}.3", function.name), text)
        })
        .collect();
    pages.push(("libprp.3".to_owned(), overview(header, version)));
    pages
}

fn head(name: &str, version: &str) -> String {
    format!(".TH {name} 3 \"\" \"PRP {version}\" \"PRP\"\n")
}

fn page(header: &Header, function: &Function, version: &str, example: &str) -> String {
    let mut text = head(&function.name, version);
    let summary = function.summary.trim_end_matches('.');
    let _ = writeln!(text, ".SH NAME\n{} \\- {}", function.name, escaped(&first_small(summary)));
    let _ = writeln!(text, ".SH SYNOPSIS\n.nf\n.B #include <prp.h>\n.PP");
    let _ = writeln!(text, ".B {}\n.fi", escaped(&function.declaration));
    function.structs(header).for_each(|of| declare(&mut text, of));
    let _ =
        writeln!(text, ".PP\nLink with \\-lprp, or what \\fBpkg-config \\-\\-libs prp\\fP prints.");
    let _ = writeln!(text, ".SH DESCRIPTION\n{}", escaped(&function.summary));
    for paragraph in &function.text {
        let _ = writeln!(text, ".PP\n{}", escaped(paragraph));
    }
    for parameter in function.tagged("param") {
        let (name, what) = parameter.split_once(' ').unwrap_or((parameter, ""));
        let _ = writeln!(text, ".TP\n.I {name}\n{}", escaped(what));
    }
    lists(&mut text, header, function);
    for result in function.tagged("return") {
        let _ = writeln!(text, ".SH RETURN VALUE\n{}", escaped(&first_large(result)));
    }
    let errors: Vec<_> = function.tagged("error").collect();
    if !errors.is_empty() {
        let _ = writeln!(text, ".SH ERRORS\nprp_last_error(3) has the text of an error.");
    }
    for error in errors {
        let (name, what) = error.split_once(' ').unwrap_or((error, ""));
        let _ = writeln!(text, ".TP\n.B {name}\n{}", escaped(what));
    }
    let _ = writeln!(
        text,
        ".SH ATTRIBUTES\nAny thread may call it at any time, with any handle (MT-Safe). It must \
         not be called in a signal handler."
    );
    let _ = writeln!(text, ".SH VERSIONS\nSince PRP {}.", function.since());
    let _ = writeln!(text, ".SH EXAMPLES\n.EX\n{}.EE", escaped_code(example));
    let _ = writeln!(text, ".SH SEE ALSO\n.BR libprp (3)");
    text
}

/// Writes the declaration of a struct, without its comments.
fn declare(text: &mut String, of: &Struct) {
    let _ = writeln!(text, ".PP\n.nf\n.B typedef struct {} {{", of.name);
    for field in &of.fields {
        let space = if field.kind.ends_with('*') { "" } else { " " };
        let _ = writeln!(text, ".B \\ \\ \\ \\ {}{space}{};", field.kind, field.name);
    }
    let _ = writeln!(text, ".B }} {};\n.fi", of.name);
}

/// Writes what the constants and the fields mean that a function has to do with.
fn lists(text: &mut String, header: &Header, function: &Function) {
    for prefixes in function.tagged("constants") {
        let _ = writeln!(text, ".SS Constants");
        let is_meant = |name: &str| prefixes.split(' ').any(|prefix| name.starts_with(prefix));
        for constant in header.constants.iter().filter(|constant| is_meant(&constant.name)) {
            let _ = writeln!(text, ".TP\n.B {}\n{}", constant.name, escaped(&constant.text));
        }
    }
    for of in function.structs(header) {
        let _ = writeln!(text, ".SS Fields of {}", of.name);
        for field in &of.fields {
            let _ = writeln!(text, ".TP\n.I {}\n{}", field.name, escaped(&field.text));
        }
    }
}

/// The page with all functions.
fn overview(header: &Header, version: &str) -> String {
    let mut text = head("libprp", version);
    text.push_str(
        ".SH NAME\nlibprp \\- byte streams and messages between the nodes of a cluster\n\
         .SH DESCRIPTION\nA function that fails returns \\-1, or NULL where it returns a handle, \
         sets errno, and keeps a text for prp_last_error(3). Times are in nanoseconds. A handle \
         looks like a pointer, and points to nothing: NULL, a handle that was closed, and a handle \
         of the process that this one was forked from are refused with EBADF. A pointer that is \
         NULL where something is needed is refused with EFAULT. A fault of the library itself is \
         EIO.\n",
    );
    for function in &header.functions {
        let _ = writeln!(text, ".TP\n.BR {} (3)\n{}", function.name, escaped(&function.summary));
    }
    text.push_str(".SH SEE ALSO\n.BR prp (1)\n");
    text
}

fn first_small(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |c| c.to_ascii_lowercase().to_string() + chars.as_str())
}

fn first_large(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map_or_else(String::new, |c| c.to_ascii_uppercase().to_string());
    first + chars.as_str() + "."
}

/// Text that groff prints as it is.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}

fn escaped_code(code: &str) -> String {
    code.lines().map(|line| escaped(line) + "\n").collect()
}
