//! Texts of others, as a terminal shows them and does nothing else: names of programs and files,
//! and what other processes and machines say. They may have escape sequences in them, line breaks,
//! and bytes that are no UTF-8.

use std::fmt::Write;
use std::path::Path;

/// Characters without a shape of their own that change how others are shown: marks of direction,
/// joiners, separators of lines and paragraphs.
const INVISIBLE: [(char, char); 8] = [
    ('\u{ad}', '\u{ad}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{180e}', '\u{180e}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{fff9}', '\u{fffb}'),
];

/// Returns whether a terminal would do something else at `c` than show it.
pub fn is_invisible(c: char) -> bool {
    c.is_control() || INVISIBLE.iter().any(|(first, last)| (*first..=*last).contains(&c))
}

/// Returns `text` in one line, with escapes in place of what a terminal would not show as itself:
/// `\n`, `\u{1b}`, and `\xff` for a byte that is no UTF-8.
pub fn printable(text: impl AsRef<[u8]>) -> String {
    let text = text.as_ref();
    let mut shown = String::with_capacity(text.len());
    for chunk in text.utf8_chunks() {
        for c in chunk.valid().chars() {
            if is_invisible(c) {
                shown.extend(c.escape_default());
            } else {
                shown.push(c);
            }
        }
        for byte in chunk.invalid() {
            // Writing to memory does not fail.
            let _ = write!(shown, "\\x{byte:02x}");
        }
    }
    shown
}

/// Returns the name of a file in one line, as [`printable`].
pub fn printable_path(path: impl AsRef<Path>) -> String {
    printable(path.as_ref().as_os_str().as_encoded_bytes())
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn printable__does_nothing_to_a_terminal() {
        for text in ["", "prp", "grüße 你好", "a b\\c"] {
            assert_eq!(printable(text), text);
        }
        assert_eq!(printable("e\u{1b}[2J\r\n\t"), "e\\u{1b}[2J\\r\\n\\t");
        assert_eq!(printable("a\u{202e}b\u{9b}c\u{feff}"), "a\\u{202e}b\\u{9b}c\\u{feff}");
        assert_eq!(printable(b"name\xff\xc3"), "name\\xff\\xc3");
        assert_eq!(printable_path(Path::new(OsStr::from_bytes(b"/a\xe4\n"))), "/a\\xe4\\n");
    }
}
