use std::io::Read;
use std::os::fd::OwnedFd;
use std::thread;

use super::*;

#[test]
fn put__writes_more_than_a_pipe_holds() {
    let (mut reader, writer) = io::pipe().expect("a pipe");
    let mut output = Output::new(File::from(OwnedFd::from(writer)));
    let sent = vec![5; 1 << 20];
    let received = thread::scope(|scope| {
        let reads = scope.spawn(move || {
            let mut all = Vec::new();
            reader.read_to_end(&mut all).map(|_| all)
        });
        output.put(&sent).expect("there is a reader");
        // Expect: dropping it is the end for the reader.
        drop(output);
        reads.join().expect("no panic")
    });
    assert!(received.expect("a pipe can be read") == sent);
}

#[test]
fn put__tells_when_the_reader_is_gone() {
    let (reader, writer) = io::pipe().expect("a pipe");
    let mut output = Output::new(File::from(OwnedFd::from(writer)));
    drop(reader);
    let error = output.put(b"x").expect_err("nobody reads");
    assert_eq!(error.kind(), ErrorKind::BrokenPipe);
}
