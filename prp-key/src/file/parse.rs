//! Reading a key file (SPEC PRP-KEY-2 and 3).

use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::error::Error;
use core::fmt::{self, Display, Formatter};

use crate::mode::Mode;
use crate::secret::{Secret, SecretError};

use super::{Key, KeyFile, MAX_KEYS};

/// The largest file: a line for each node, and comments.
const MAX_BYTES: usize = 1 << 22;

/// The largest number of a node.
const MAX_NODE: u16 = 65_534;

/// The mode, before a line says otherwise.
const DEFAULT_MODE: Mode = Mode::Seal;

/// A mistake in a key file: where it is, and what was expected there. It quotes nothing that may be
/// a secret.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ParseError {
    line: usize,
    column: usize,
    text: String,
}

impl ParseError {
    /// Returns the line, which counts from 1. A mistake of the whole file has the line behind its
    /// last one.
    #[must_use]
    pub const fn line(&self) -> usize {
        self.line
    }
}

impl ParseError {
    /// A mistake of the whole file, which has `lines`.
    pub(crate) fn of_file(lines: usize, text: &str) -> Self {
        Self { line: lines + 1, column: 1, text: text.to_owned() }
    }
}

impl Display for ParseError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.text)
    }
}

impl Error for ParseError {}

/// A word and its column.
pub(crate) type Word<'a> = (usize, &'a str);

/// The words of one line, and where they are.
pub(crate) struct Line<'a> {
    number: usize,
    pub(crate) words: Vec<Word<'a>>,
    /// The column behind the last word.
    end: usize,
}

impl<'a> Line<'a> {
    fn new(number: usize, text: &'a str) -> Self {
        let text = text.split('#').next().unwrap_or_default().trim_end();
        let (mut words, mut rest, mut column) = (Vec::new(), text, 1);
        while let Some(start) = rest.find(|c: char| !c.is_whitespace()) {
            column += rest[..start].chars().count();
            let word = rest[start..].split(char::is_whitespace).next().unwrap_or_default();
            words.push((column, word));
            column += word.chars().count();
            rest = &rest[start + word.len()..];
        }
        Self { number, words, end: text.chars().count() + 1 }
    }

    pub(crate) fn error(&self, column: usize, text: impl Into<String>) -> ParseError {
        ParseError { line: self.number, column, text: text.into() }
    }

    /// The word `index`, or that `expected` is missing.
    fn word(&self, index: usize, expected: &str) -> Result<Word<'a>, ParseError> {
        let missing = || self.error(self.end, format!("expected {expected}, found the line's end"));
        self.words.get(index).copied().ok_or_else(missing)
    }

    fn mode(&self, index: usize) -> Result<Mode, ParseError> {
        let (column, word) = self.word(index, "off, sign or seal")?;
        word.parse().map_err(|expected: &str| self.error(column, expected))
    }

    fn number(&self, index: usize, what: &str, last: u16) -> Result<u16, ParseError> {
        let expected = format!("{what} from 1 to {last}");
        let (column, word) = self.word(index, &expected)?;
        let is_plain = word.bytes().all(|c| c.is_ascii_digit());
        let number = word.parse().ok().filter(|number| is_plain && (1..=last).contains(number));
        number.ok_or_else(|| self.error(column, format!("expected {expected}")))
    }

    /// The secret that is the word `index`.
    pub(crate) fn secret(&self, index: usize) -> Result<Secret, ParseError> {
        let (column, word) = self.word(index, "a secret of 64 hexadecimal digits")?;
        // No word of a file is quoted: this one may be most of a secret.
        word.parse().map_err(|e: SecretError| self.error(column, e.to_string()))
    }

    /// That there are no words from `index` on.
    pub(crate) fn end(&self, index: usize) -> Result<(), ParseError> {
        match self.words.get(index) {
            None => Ok(()),
            Some(&(column, _)) => Err(self.error(column, "expected the line's end")),
        }
    }
}

/// What lines have said so far.
#[derive(Default)]
struct Draft {
    mode: Option<Mode>,
    nodes: BTreeMap<u16, Mode>,
    keys: Vec<Key>,
    used: Option<u16>,
}

impl Draft {
    fn take(&mut self, line: &Line<'_>) -> Result<(), ParseError> {
        match line.words.first() {
            None => Ok(()),
            Some((_, "mode")) => self.mode(line),
            Some((_, "node")) => self.node(line),
            Some((_, "key")) => self.key(line),
            Some(&(column, _)) => Err(line.error(column, "expected mode, node or key")),
        }
    }

    fn mode(&mut self, line: &Line<'_>) -> Result<(), ParseError> {
        let mode = line.mode(1)?;
        line.end(2)?;
        match self.mode.replace(mode) {
            None => Ok(()),
            Some(_) => Err(line.error(line.words[0].0, "a second mode: leave one of the two")),
        }
    }

    fn node(&mut self, line: &Line<'_>) -> Result<(), ParseError> {
        let node = line.number(1, "a node", MAX_NODE)?;
        let mode = line.mode(2)?;
        line.end(3)?;
        match self.nodes.insert(node, mode) {
            None => Ok(()),
            Some(_) => Err(line.error(line.words[1].0, format!("node {node} has a line already"))),
        }
    }

    fn key(&mut self, line: &Line<'_>) -> Result<(), ParseError> {
        let id = line.number(1, "the id of a key", u16::MAX)?;
        let secret = line.secret(2)?;
        let is_used = line.words.len() > 3;
        if is_used {
            let (column, word) = line.words[3];
            if word != "use" {
                return Err(line.error(column, "expected use, or the line's end"));
            }
            line.end(4)?;
        }
        let first = line.words[0].0;
        if self.keys.iter().any(|key| key.id == id) {
            return Err(line.error(line.words[1].0, format!("there is a key {id} already")));
        }
        if self.keys.len() == MAX_KEYS {
            return Err(line.error(first, format!("a file has at most {MAX_KEYS} keys: drop one")));
        }
        if let Some(other) = self.used.filter(|_| is_used) {
            let text = format!("key {other} is in use already: one of the keys is");
            return Err(line.error(line.words[3].0, text));
        }
        self.used = self.used.or_else(|| is_used.then_some(id));
        self.keys.push(Key { id, secret });
        Ok(())
    }

    fn finish(mut self, last: usize) -> Result<KeyFile, ParseError> {
        let of_file = |text| ParseError::of_file(last, text);
        if self.keys.is_empty() {
            return Err(of_file("expected a key: `prp key new` makes one"));
        }
        let used = self.used.ok_or_else(|| of_file("expected use behind one of the keys"))?;
        self.keys.sort_unstable_by_key(Key::id);
        let mode = self.mode.unwrap_or(DEFAULT_MODE);
        Ok(KeyFile { mode, nodes: self.nodes, keys: self.keys, used })
    }
}

pub(super) fn file(text: &[u8]) -> Result<KeyFile, ParseError> {
    let mut draft = Draft::default();
    let last = each_line(text, |line| draft.take(line))?;
    draft.finish(last)
}

/// Has `take` read the lines of a file of keys; how many there are.
///
/// # Errors
/// It is too long or no text, or what `take` says.
pub(crate) fn each_line(
    text: &[u8],
    mut take: impl FnMut(&Line<'_>) -> Result<(), ParseError>,
) -> Result<usize, ParseError> {
    if text.len() > MAX_BYTES {
        return Err(ParseError::of_file(0, "a key file has at most 4 MiB"));
    }
    let text =
        str::from_utf8(text).map_err(|_| ParseError::of_file(0, "expected text in UTF-8"))?;
    let mut last = 0;
    for (number, line) in (1..).zip(text.trim_start_matches('\u{feff}').lines()) {
        take(&Line::new(number, line))?;
        last = number;
    }
    Ok(last)
}
