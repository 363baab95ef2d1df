use std::fs::File;
use std::io::{PipeReader, Read, Seek, Write};
use std::os::fd::OwnedFd;
use std::thread::JoinHandle;

use prp_sock::testing::{Pair, within_patience};

use super::*;
use crate::cat::tests::parse;
use crate::signals::Signals;

/// A session with what a user has in hand: the other ends of its standard input and output.
struct Running {
    input: Option<PipeWriter>,
    output: PipeReader,
    signals: Signals,
    session: JoinHandle<Result<(), CopyError>>,
}

impl Running {
    /// Runs `prp cat` with the options of `line` on `stream`.
    fn start(line: &'static str, stream: PrpStream) -> Self {
        let (stdin, input) = io::pipe().expect("a pipe");
        let mut running = Self::with_input(line, stream, OwnedFd::from(stdin).into());
        running.input = Some(input);
        running
    }

    fn with_input(line: &'static str, stream: PrpStream, stdin: File) -> Self {
        let (output, stdout) = io::pipe().expect("a pipe");
        let signals = Signals::default();
        let own_signals = signals.clone();
        let session = thread::spawn(move || {
            let input = Input::new(stdin).expect("a descriptor that is open");
            let args = parse(line);
            let ends_with_input = args.send_only;
            let mut side = Side { args: &args, signals: own_signals, input, ends_with_input };
            let stdout = Output::new(OwnedFd::from(stdout).into());
            let nowhere = Output::nowhere().expect("there is a /dev/null");
            run(stream, &mut side, if args.send_only { nowhere } else { stdout })
        });
        Self { input: None, output, signals, session }
    }

    fn type_in(&self, text: &str) {
        let mut input = self.input.as_ref().expect("standard input is open");
        input.write_all(text.as_bytes()).expect("the session reads");
    }

    fn read_all(&mut self) -> String {
        let mut text = String::new();
        self.output.read_to_string(&mut text).expect("text");
        text
    }

    fn end(self) -> Result<(), CopyError> {
        self.session.join().expect("no panic")
    }

    /// How the connection broke.
    fn broken(self) -> ErrorKind {
        match self.end() {
            Err(CopyError::Stream(e)) => e.kind(),
            other => panic!("expected a broken connection, got {other:?}"),
        }
    }
}

fn read_all(mut stream: &PrpStream) -> io::Result<String> {
    let mut text = String::new();
    stream.read_to_string(&mut text).map(|_| text)
}

#[test]
fn run__goes_on_receiving_after_its_input_has_ended() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, mut theirs) = pair.streams();
        let mut cat = Running::start("cat -q beta 80", ours);
        cat.type_in("question");
        cat.input = None;
        assert_eq!(read_all(&theirs).expect("no error"), "question");
        theirs.write_all(b"answer").expect("it is read");
        drop(theirs);
        assert_eq!(cat.read_all(), "answer");
        cat.end().expect("both directions have ended");
    });
}

#[test]
fn run__ends_its_output_with_the_peer_and_goes_on_sending() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, theirs) = pair.streams();
        let mut cat = Running::start("cat -q beta 80", ours);
        theirs.shutdown(Shutdown::Write).expect("it is open");
        assert_eq!(cat.read_all(), "");
        cat.type_in("still here");
        cat.input = None;
        assert_eq!(read_all(&theirs).expect("no error"), "still here");
        cat.end().expect("both directions have ended");
    });
}

/// With standard input open and nothing from the peer, which has all there was and is told the end.
#[test]
fn run__ends_well_when_nothing_moves_for_too_long() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, theirs) = pair.streams();
        let mut cat = Running::start("cat -qw 0.1 beta 80", ours);
        cat.type_in("and then nothing");
        assert_eq!(read_all(&theirs).expect("no error"), "and then nothing");
        assert_eq!(cat.read_all(), "");
        cat.end().expect("all has arrived");
    });
}

/// The peer reads nothing, and thus much of the file never arrives.
#[test]
fn run__says_that_it_was_idle_when_not_all_has_arrived() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, theirs) = pair.streams();
        let mut file = tempfile::tempfile().expect("a temporary file");
        file.write_all(&vec![b'x'; 64 << 20]).expect("room for 64 MiB");
        file.rewind().expect("a regular file");
        let cat = Running::with_input("cat -qw 0.1 beta 80", ours, file);
        assert!(matches!(cat.end(), Err(CopyError::Idle(_))));
        let reset = read_all(&theirs).expect_err("it was cut short");
        assert_eq!(reset.kind(), ErrorKind::ConnectionReset);
    });
}

#[test]
fn run__copies_much_in_both_directions_at_once() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, theirs) = pair.streams();
        let text = "0123456789abcdef".repeat(1 << 17);
        let mut file = tempfile::tempfile().expect("a temporary file");
        file.write_all(text.as_bytes()).expect("room for 2 MiB");
        file.rewind().expect("a regular file");
        let mut cat = Running::with_input("cat -q beta 80", ours, file);
        thread::scope(|scope| {
            scope.spawn(|| {
                (&theirs).write_all(text.as_bytes()).expect("it is read");
                theirs.shutdown(Shutdown::Write).expect("it is open");
            });
            let received = scope.spawn(|| read_all(&theirs));
            assert!(cat.read_all() == text);
            assert!(received.join().expect("no panic").expect("no error") == text);
        });
        cat.end().expect("both directions have ended");
    });
}

/// The peer is gone, but all that says so is an end like any other, until something is sent to it.
#[test]
fn run__does_not_wait_for_input_without_a_receiver() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, mut theirs) = pair.streams();
        let mut cat = Running::start("cat -q beta 80", ours);
        cat.type_in("one");
        theirs.read_exact(&mut [0; 3]).expect("it was sent");
        drop(theirs);
        assert_eq!(cat.read_all(), "");
        cat.type_in("two");
        // Expect: the end, with standard input still open.
        let _open = cat.input.take();
        assert_eq!(cat.broken(), ErrorKind::BrokenPipe);
    });
}

#[test]
fn run__resets_when_its_output_is_not_read() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, mut theirs) = pair.streams();
        let mut cat = Running::start("cat -q beta 80", ours);
        let _open = cat.input.take();
        let Running { output, session, .. } = cat;
        drop(output);
        theirs.write_all(b"for nobody").expect("there is room");
        match session.join().expect("no panic") {
            Err(CopyError::Output(e)) => assert_eq!(e.kind(), ErrorKind::BrokenPipe),
            other => panic!("expected a broken pipe, got {other:?}"),
        }
        let error = theirs.read(&mut [0]).expect_err("a reset");
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    });
}

#[test]
fn run__resets_when_its_input_breaks() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, theirs) = pair.streams();
        let folder = File::open("/").expect("there is a root");
        let cat = Running::with_input("cat -q beta 80", ours, folder);
        assert!(matches!(cat.end(), Err(CopyError::Input(_))));
        // Expect: not an end, which would read as if all had been sent.
        let error = read_all(&theirs).expect_err("a reset");
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    });
}

#[test]
fn run__resets_when_a_signal_ends_it() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, mut theirs) = pair.streams();
        let cat = Running::start("cat -q beta 80", ours);
        cat.type_in("begun");
        theirs.read_exact(&mut [0; 5]).expect("it was sent");
        assert!(cat.signals.deliver(Signal::SIGINT));
        let error = theirs.read(&mut [0]).expect_err("a reset");
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        assert!(matches!(cat.end(), Err(CopyError::Signal(Signal::SIGINT))));
    });
}

/// It waits in a write, with the peer's window full: nothing but closing the stream gets it out.
#[test]
fn run__resets_when_a_signal_ends_it_in_a_write() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, theirs) = pair.streams();
        let zeros = File::open("/dev/zero").expect("there is one");
        let cat = Running::with_input("cat -q beta 80", ours, zeros);
        // Full: both buffers, of 512 KiB each.
        prp_sock::testing::wait_until("the peer's buffer is full", || {
            theirs.stats().is_ok_and(|stats| stats.bytes_received > 500_000)
        });
        assert!(cat.signals.deliver(Signal::SIGTERM));
        assert!(matches!(cat.end(), Err(CopyError::Signal(Signal::SIGTERM))));
        let error = read_all(&theirs).expect_err("a reset");
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    });
}

#[test]
fn run__message_is_a_line_in_both_directions() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, theirs) = pair.streams();
        let mut cat = Running::start("cat -q -m beta 80", ours);
        let long = "x".repeat(CHUNK_AND_MORE);
        let mut input = cat.input.take().expect("standard input is open");
        let line = long.clone();
        let typing = thread::spawn(move || write!(input, "one\n\n{line}\nlast"));
        for expected in ["one", "", &long, "last"] {
            let mut message = Vec::new();
            assert!(theirs.recv_message(&mut message).expect("no error"));
            assert!(message == expected.as_bytes());
        }
        assert!(!theirs.recv_message(&mut Vec::new()).expect("no error"));
        typing.join().expect("no panic").expect("the session reads");
        for message in ["", "two\nlines", "end"] {
            theirs.send_message(message.as_bytes()).expect("it is read");
        }
        drop(theirs);
        assert_eq!(cat.read_all(), "\ntwo\nlines\nend\n");
        cat.end().expect("both directions have ended");
    });
}

/// More than one read of standard input gives.
const CHUNK_AND_MORE: usize = crate::cat::input::CHUNK + 100;

#[test]
fn run__send_only_does_not_wait_for_the_peer() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, theirs) = pair.streams();
        let mut cat = Running::start("cat -q -s beta 80", ours);
        cat.type_in("all");
        // More than there is room for on the path: it is read all the time.
        (&theirs).write_all(&[0; 2 << 20]).expect("it is thrown away");
        cat.input = None;
        cat.end().expect("everything has arrived");
        assert_eq!(read_all(&theirs).expect("no error"), "all");
    });
}

#[test]
fn run__recv_only_leaves_its_input_alone() {
    within_patience(|| {
        let pair = Pair::new();
        let (ours, mut theirs) = pair.streams();
        let mut cat = Running::start("cat -q -r beta 80", ours);
        assert_eq!(read_all(&theirs).expect("no error"), "");
        theirs.write_all(b"heard").expect("it is read");
        drop(theirs);
        assert_eq!(cat.read_all(), "heard");
        // Expect: the end, with standard input still open.
        let _open = cat.input.take();
        cat.end().expect("both directions have ended");
    });
}
