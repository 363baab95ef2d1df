//! Programs that are to be started together, as the content of frames.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// Words of a frame's content. They are bytes: names of files need not be text.
pub type Words<'a> = std::slice::Split<'a, u8, fn(&u8) -> bool>;

/// The words of a content that [`joined`] has made.
pub fn words(content: &[u8]) -> Words<'_> {
    let is_between: fn(&u8) -> bool = |byte| *byte == 0;
    content.split(is_between)
}

/// The words as a content. None of them has a zero byte, as none of the system's has.
pub fn joined<W: AsRef<OsStr>>(words: &[W]) -> Vec<u8> {
    let words: Vec<_> = words.iter().map(|word| word.as_ref().as_bytes()).collect();
    words.join(&0)
}

/// The next word, if it is a number or the like.
pub fn parsed<T: std::str::FromStr>(words: &mut Words<'_>) -> Option<T> {
    std::str::from_utf8(words.next()?).ok()?.parse().ok()
}

/// The next word, as it is.
pub fn word(words: &mut Words<'_>) -> Option<OsString> {
    words.next().map(|word| OsStr::from_bytes(word).to_owned())
}

/// A program of some ranks.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Program {
    /// Ranks that run it.
    pub ranks: usize,
    /// Node that they are on; empty where the launcher chooses.
    pub node: String,
    /// Folder that they work in; empty for the job's.
    pub folder: PathBuf,
    /// The program and its arguments.
    pub words: Vec<OsString>,
}

impl Program {
    /// Appends it to the words of a content.
    pub fn append_to(&self, all: &mut Vec<OsString>) {
        all.push(self.ranks.to_string().into());
        all.extend([(&self.node).into(), self.folder.clone().into_os_string()]);
        all.push(self.words.len().to_string().into());
        all.extend(self.words.iter().cloned());
    }

    /// Takes it from the words of a content.
    pub fn take_from(all: &mut Words<'_>) -> Option<Self> {
        let ranks = parsed(all)?;
        let node = word(all)?.into_string().ok()?;
        let folder = word(all)?.into();
        let count: usize = parsed(all)?;
        let words: Option<_> = (0..count).map(|_| word(all)).collect();
        Some(Self { ranks, node, folder, words: words? })
    }
}

/// What a rank asks the launcher to start.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct SpawnRequest {
    /// The port at which those that ask wait for the new ranks.
    pub parent: String,
    /// The programs, whose ranks are one job.
    pub programs: Vec<Program>,
}

impl SpawnRequest {
    /// As the content of a frame.
    pub fn to_content(&self) -> Vec<u8> {
        let mut all = vec![OsString::from(&self.parent)];
        self.programs.iter().for_each(|program| program.append_to(&mut all));
        joined(&all)
    }

    /// Out of the content of a frame.
    pub fn from_content(content: &[u8]) -> Option<Self> {
        let mut all = words(content);
        let parent = word(&mut all)?.into_string().ok()?;
        let mut programs = Vec::new();
        while all.clone().next().is_some() {
            programs.push(Program::take_from(&mut all)?);
        }
        Some(Self { parent, programs })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spawn_request__is_read_as_it_was_written() {
        let word = |bytes: &[u8]| OsStr::from_bytes(bytes).to_owned();
        let plain = Program { ranks: 2, words: vec![word(b"a")], ..Program::default() };
        let odd = Program {
            ranks: 1,
            node: "beta".to_owned(),
            folder: "/a folder".into(),
            words: vec![word(b"b\n"), word(b""), word(b"\xff")],
        };
        let none = Program::default();
        for programs in [vec![plain.clone()], vec![plain, odd, none], Vec::new()] {
            let request = SpawnRequest { parent: "a port".to_owned(), programs };
            let content = request.to_content();
            assert_eq!(SpawnRequest::from_content(&content), Some(request));
            assert!(SpawnRequest::from_content(&[&content[..], b"\0x"].concat()).is_none());
        }
    }
}
