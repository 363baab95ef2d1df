//! Records of a status page: a kind, and fields with names.

use std::fmt::{Display, Write};

use crate::printable::printable;

/// Records as they are written.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct RecordText(String);

impl RecordText {
    /// Begins a record of this `kind`.
    pub fn begin(&mut self, kind: &str) -> &mut Self {
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        self.0.push_str(kind);
        self
    }

    /// Adds a field to the record begun last. Control characters of its value become `?`.
    pub fn field(&mut self, name: &str, value: impl Display) -> &mut Self {
        let _ = write!(self.0, "\t{name}=");
        let from = self.0.len();
        let _ = write!(self.0, "{value}");
        if self.0[from..].contains(char::is_control) {
            let value = self.0.split_off(from).replace(char::is_control, "?");
            self.0.push_str(&value);
        }
        self
    }

    /// What a reader finds.
    pub(super) fn parse(&self) -> Vec<Record> {
        Record::parse(&self.0)
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

/// A record as it is read.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Record {
    /// What it describes.
    pub kind: String,
    fields: Vec<(String, String)>,
}

impl Record {
    /// The records of a page, which any process may have written. What is no field is left out,
    /// and values are printable.
    pub(super) fn parse(text: &str) -> Vec<Self> {
        let is_part = |c: char| matches!(c, '_' | '-') || c.is_ascii_alphanumeric();
        let record = |line: &str| {
            let mut words = line.split('\t');
            let kind = words.next()?.to_owned();
            let field = |word: &str| {
                let (name, value) = word.split_once('=')?;
                name.chars().all(is_part).then(|| (name.to_owned(), printable(value)))
            };
            Some(Self { kind, fields: words.filter_map(field).collect() })
        };
        text.lines().filter_map(record).collect()
    }

    /// The value of the field `name`.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// The value of the field `name`, if it is a number.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.text(name)?.parse().ok()
    }

    /// All fields, in the order in which they were written.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        self.fields.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}
