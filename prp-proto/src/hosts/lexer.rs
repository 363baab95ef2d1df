//! Lines and words of prphosts, and their places (SPEC PRP-HOSTS-1).

/// A word of a line. The empty word is the end of the line.
#[derive(Copy, Clone)]
pub(super) struct Word<'a> {
    pub(super) text: &'a str,
    /// Bytes before it in its line.
    start: usize,
}

/// The words of a line, and whose line it is.
pub(super) struct Words<'a> {
    /// The whole line.
    text: &'a str,
    /// Where its comment begins.
    end: usize,
    /// Just after the last word taken.
    pos: usize,
}

impl Word<'_> {
    pub(super) fn is_end(self) -> bool {
        self.text.is_empty()
    }
}

impl<'a> Words<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, end: text.find('#').unwrap_or(text.len()), pos: 0 }
    }

    /// The next word: a comma, or whatever is between spaces, tabs and commas.
    pub(super) fn next(&mut self) -> Word<'a> {
        let word = self.peek();
        self.pos = word.start + word.text.len();
        word
    }

    /// The next word, left in place.
    pub(super) fn peek(&self) -> Word<'a> {
        let rest = &self.text[self.pos..self.end];
        let found = rest.trim_start_matches(is_space);
        if found.is_empty() {
            // What is missing is missed just after the last word, not behind trailing spaces.
            return Word { text: "", start: self.pos };
        }
        let len = match found.find(|c| is_space(c) || c == ',') {
            Some(0) => 1,
            Some(len) => len,
            None => found.len(),
        };
        Word { text: &found[..len], start: self.pos + rest.len() - found.len() }
    }

    /// The column of `word`: characters before it, plus one.
    pub(super) fn column(&self, word: Word<'_>) -> u32 {
        column(&self.text[..word.start])
    }
}

fn is_space(c: char) -> bool {
    c == ' ' || c == '\t'
}

/// The column after `before`, the text of a line so far.
pub(super) fn column(before: &str) -> u32 {
    before.chars().count() as u32 + 1
}

/// The lines of a file with their numbers, without line ends and byte order mark.
pub(super) fn lines(bytes: &[u8]) -> impl Iterator<Item = (u32, &[u8])> {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    (1..).zip(text.split(|&b| b == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line)))
}
