use std::io::{PipeWriter, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::thread;

use super::*;

fn piped() -> (Input, PipeWriter) {
    let (reader, writer) = io::pipe().expect("a pipe");
    (Input::new(File::from(OwnedFd::from(reader))).expect("a descriptor that is open"), writer)
}

/// A file with `text`, read from `at` on.
fn filed(text: &[u8], at: u64) -> Input {
    let mut file = tempfile::tempfile().expect("a temporary file");
    file.write_all(text).expect("room for a few bytes");
    file.seek(SeekFrom::Start(at)).expect("a regular file");
    Input::new(file).expect("a descriptor that is open")
}

#[test]
fn fill__gives_what_was_not_consumed_before_reading_on() {
    let (stop, _keep) = io::pipe().expect("a pipe");
    let (mut input, mut writer) = piped();
    writer.write_all(b"abc").expect("the pipe is open");
    assert_eq!(input.fill(&stop).expect("no error"), b"abc");
    input.consume(1);
    assert_eq!(input.fill(&stop).expect("no error"), b"bc");
    input.consume(2);
    drop(writer);
    assert_eq!(input.fill(&stop).expect("no error"), b"");
}

#[test]
fn fill__is_woken_when_no_more_is_wanted() {
    let (stop, keep) = io::pipe().expect("a pipe");
    let (mut input, writer) = piped();
    thread::scope(|scope| {
        let waits = scope.spawn(|| input.fill(&stop).map(<[u8]>::len));
        drop(keep);
        // Expect: the end, though the pipe is still open for writing.
        assert_eq!(waits.join().expect("no panic").expect("no error"), 0);
    });
    drop(writer);
}

#[test]
fn fill__stops_within_a_regular_file_too() {
    let (stop, keep) = io::pipe().expect("a pipe");
    let mut input = filed(&vec![7; CHUNK + 1], 0);
    let first = input.fill(&stop).expect("no error").len();
    assert_eq!(first, CHUNK);
    input.consume(first);
    drop(keep);
    assert_eq!(input.fill(&stop).expect("no error"), b"");
}

#[test]
fn remaining__counts_from_where_the_file_is_read() {
    let (stop, _keep) = io::pipe().expect("a pipe");
    let mut input = filed(b"0123456789", 4);
    assert_eq!(input.remaining(), Some(6));
    assert_eq!(input.fill(&stop).expect("no error"), b"456789");
    // Expect: what was read ahead still counts.
    input.consume(2);
    assert_eq!(input.remaining(), Some(4));
}

#[test]
fn remaining__of_a_pipe_is_unknown() {
    let (mut input, _writer) = piped();
    assert_eq!(input.remaining(), None);
}
