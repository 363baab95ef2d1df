//! What is printed where nothing can be printed, and of names that would do something to a
//! terminal. Nothing here needs a privilege.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::{NamedTempFile, TempDir, tempdir};

/// Longer than anything here takes.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A folder with a prphosts of a node over UDP, and a capture without frames.
fn folder() -> TempDir {
    let folder = tempdir().expect("a temporary folder");
    let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes);
    write("hosts", b"self 1\n1 udp:127.0.0.1 alpha\n2 udp:127.0.0.2 beta\n").expect("room");
    write("sizes.csv", b"bytes,seconds\n8,1e-6\n64,2e-6\n512,3e-6\n4096,9e-6\n").expect("room");
    // Version 2.4, frames of any length, Ethernet; a frame of 30 bytes.
    let words = [0xa1b2_c3d4, 0x0004_0002, 0, 0, 1 << 17, 1, 9, 0, 30, 30];
    let frame = [&[2; 12][..], &[0x88, 0xb5], &[0, 1, 0, 2], &[0; 12]].concat();
    write("capture", &[&words.map(u32::to_le_bytes).concat()[..], &frame].concat()).expect("room");
    folder
}

/// Commands that print something there.
const COMMANDS: [&str; 14] = [
    "--help",
    "--version",
    "cat --help",
    "doctor",
    "doctor --json",
    "dump -r capture",
    "dump -r capture --json",
    "dump -r capture -w -",
    "hosts check",
    "hosts check --json",
    "hosts resolve beta",
    "hosts generate chain 3 --node 1",
    "model fit sizes.csv",
    "stat --json",
];

fn prp(folder: &TempDir, words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prp"));
    command.args(words.split(' ')).current_dir(folder.path()).stdin(Stdio::null());
    command.env("PRP_HOSTS", folder.path().join("hosts")).env_remove("PRP_NODE");
    command
}

/// The code and standard error.
fn ended(output: &Output) -> (Option<i32>, String) {
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn full__is_one_line_and_no_panic() {
    let folder = folder();
    for words in COMMANDS {
        let full = File::options().write(true).open("/dev/full").expect("there is /dev/full");
        let output = prp(&folder, words).stdout(full).output().expect("the program can be run");
        let (code, text) = ended(&output);
        let lines: Vec<_> = text.lines().collect();
        let [line] = &lines[..] else { panic!("{words}: {text}") };
        assert!(code == Some(1) && line.contains("No space left"), "{words}: {code:?} {text}");
    }
}

#[test]
fn closed__is_no_failure() {
    let folder = folder();
    for words in COMMANDS {
        let (reader, writer) = io::pipe().expect("a pipe");
        drop(reader);
        let output = prp(&folder, words).stdout(writer).output().expect("the program can be run");
        assert_eq!(ended(&output), (Some(0), String::new()), "{words}");
    }
}

/// Where standard error takes nothing, all ends as it would otherwise.
#[test]
fn errors__that_cannot_be_printed_change_nothing() {
    let folder = folder();
    for words in COMMANDS.into_iter().chain(["cat", "hosts resolve gamma", "dump -r none"]) {
        let wanted = prp(&folder, words).output().expect("the program can be run");
        let full = File::options().write(true).open("/dev/full").expect("there is /dev/full");
        let output = prp(&folder, words).stderr(full).output().expect("the program can be run");
        assert_eq!(output.status.code(), wanted.status.code(), "{words}");
        assert_eq!(output.stdout.is_empty(), wanted.stdout.is_empty(), "{words}");
    }
}

/// A program that ends with the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A name with an escape sequence, a line break, and a byte that is no UTF-8.
const NAME: &[u8] = b"e\x1b[2J\nx\xff";
const SHOWN: &str = "e\\u{1b}[2J\\nx\\xff";

#[test]
fn names__of_programs_are_shown_and_do_nothing() {
    let folder = tempdir().expect("a temporary folder");
    let program = folder.path().join(OsStr::from_bytes(NAME));
    // The program cp copies it: one that some process has open for writing cannot be run, and a
    // child that another thread forks meanwhile inherits the descriptors of this process.
    let copied = Command::new("cp").arg(env!("CARGO_BIN_EXE_prp")).arg(&program).status();
    assert!(copied.is_ok_and(|status| status.success()), "room for it");
    let mut hosts = NamedTempFile::new().expect("a temporary file");
    let [high, low] = (std::process::id() as u16).to_be_bytes();
    writeln!(hosts, "64000 udp:127.{}.{low}.250", 128 | high).expect("room");
    let on_node = |program: &Path, words: &str| {
        let mut command = Command::new(program);
        command.args(words.split(' ')).env("PRP_HOSTS", hosts.path()).env("PRP_NODE", "64000");
        command.stdin(Stdio::null());
        command
    };
    let server = on_node(&program, "cat -lk 7000").spawn().expect("a program");
    let _server = Server(server);
    let prp = Path::new(env!("CARGO_BIN_EXE_prp"));
    let stat = |words: &str| on_node(prp, words).output().expect("the program can be run").stdout;
    let until = Instant::now() + TIMEOUT;
    let table = loop {
        let table = stat("stat -lH sport 7000");
        if !table.is_empty() || Instant::now() > until {
            break String::from_utf8(table).expect("text");
        }
    };
    let row: Vec<_> = table.lines().filter(|line| line.contains("64000:7000")).collect();
    let [row] = &row[..] else { panic!("{table:?}") };
    assert!(row.contains(SHOWN) && !table.contains('\x1b'), "{table:?}");
    assert_eq!(table.lines().count(), 1, "{table:?}");
    let texts = ["stat -s", "stat --openmetrics", "top --once -d 0.1"];
    for words in texts {
        let text = String::from_utf8(stat(words)).expect("text");
        assert!(!text.contains('\x1b') && !text.contains("\nx"), "{words}: {text:?}");
    }
    let json: Value = serde_json::from_slice(&stat("stat --json -l")).expect("JSON");
    let processes = json["processes"].as_array().expect("a list");
    assert!(processes.iter().any(|process| process["program"] == SHOWN), "{json}");
}

#[test]
fn names__of_files_are_shown_and_do_nothing() {
    let folder = folder();
    for words in ["dump -r", "hosts check", "model fit"] {
        let output = prp(&folder, words).arg(OsStr::from_bytes(NAME)).output().expect("it runs");
        let (code, text) = ended(&output);
        assert!(code == Some(1) && text.contains(SHOWN), "{words}: {code:?} {text:?}");
        assert!(!text.contains('\x1b') && !text.contains("\nx"), "{words}: {text:?}");
    }
}
