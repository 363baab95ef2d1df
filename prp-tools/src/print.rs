//! What is printed, on standard output and standard error. Nothing else writes there, but for what
//! carries the bytes of connections: texts of others must do nothing to a terminal, and what cannot
//! be printed must not end the program by a panic.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};

use prp_node::printable::is_invisible;
use serde::Serialize;

use crate::exit::{Code, Failure};

/// Prints a line on standard error, in the program's name.
pub(crate) fn notice(line: impl Display) {
    // A closed standard error leaves nowhere to complain to.
    let _ = writeln!(io::stderr(), "prp: {}", printable(&line.to_string()));
}

/// Prints text on standard output, at once, and ends its last line.
///
/// # Errors
/// Standard output takes nothing. A closed standard output ends the program without a word.
pub(crate) fn print_line(line: impl Display) -> Result<(), Failure> {
    print_bytes(format!("{}\n", printable(&line.to_string())).as_bytes())
}

/// Prints `value` as JSON in a line, or in several if it is `pretty`.
///
/// # Errors
/// As [`print_line`].
pub(crate) fn print_json(value: &impl Serialize, pretty: bool) -> Result<(), Failure> {
    print_bytes(format!("{}\n", json(value, pretty)?).as_bytes())
}

/// Prints bytes on standard output, at once.
///
/// # Errors
/// As [`print_line`].
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(|e| unwritten(&e))
}

/// What ends the program when standard output takes nothing.
pub(crate) fn unwritten(error: &io::Error) -> Failure {
    match error.kind() {
        ErrorKind::BrokenPipe => Failure::new(Code::Unread, ""),
        _ => Failure::local("standard output", error),
    }
}

/// `value` as JSON. Characters that a terminal does not show as themselves are escaped.
///
/// # Errors
/// It has no form in JSON.
pub(crate) fn json(value: &impl Serialize, pretty: bool) -> Result<String, Failure> {
    let text =
        if pretty { serde_json::to_string_pretty(value) } else { serde_json::to_string(value) };
    let text = text.map_err(|e| Failure::local("JSON", &e.into()))?;
    // Outside of texts JSON has no such characters but the line breaks that make it pretty.
    if !text.contains(|c: char| c != '\n' && is_invisible(c)) {
        return Ok(text);
    }
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if c != '\n' && is_invisible(c) {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                escaped.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            escaped.push(c);
        }
    }
    Ok(escaped)
}

/// `text` as [`prp_node::printable()`], but for line breaks and tabs in it, which are this
/// program's.
pub(crate) fn printable(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for part in text.split_inclusive(['\n', '\t']) {
        let rest = part.trim_end_matches(['\n', '\t']);
        shown.push_str(&prp_node::printable(rest));
        shown.push_str(&part[rest.len()..]);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printable__has_a_terminal_do_nothing() {
        let text = "a\u{1b}[2Jb\u{9b}31mc\r\u{7}d\u{7f}\n\te";
        let shown = "a\\u{1b}[2Jb\\u{9b}31mc\\r\\u{7}d\\u{7f}\n\te";
        assert_eq!(printable(text), shown);
        assert_eq!(printable("3:80: früh – 2,5 µs"), "3:80: früh – 2,5 µs");
    }

    #[test]
    fn json__reads_back_and_has_a_terminal_do_nothing() {
        let texts = ["\u{9b}2J", "a\u{202e}b\u{7f}", "früh\n\"\\"];
        for pretty in [false, true] {
            let text = json(&texts, pretty).expect("texts");
            assert!(!text.contains(|c: char| c != '\n' && is_invisible(c)), "{text}");
            assert_eq!(serde_json::from_str::<[String; 3]>(&text).expect("JSON"), texts);
        }
    }
}
