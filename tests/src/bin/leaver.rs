//! `leaver ADDR HOW`: connects to ADDR and exits as HOW says. The test checks the exit
//! status and what the peer receives.
//!
//! | how | what it does |
//! | --- | --- |
//! | `reader` | a thread reads from another connection and prints the result; the main thread writes to the first one and returns from `main` |
//! | `last-words` | an exit handler that was registered with `atexit` before the first stream writes to the stream |
//! | `quick_exit` | writes and calls `quick_exit` |
#![allow(unsafe_code, reason = "functions of the C library that no crate offers")]

use std::io::{self, Read, Write};
use std::sync::Mutex;
use std::thread;

use prp_sock::PrpStream;
use prp_tests::pattern;

unsafe extern "C" {
    safe fn atexit(f: extern "C" fn()) -> i32;
    safe fn quick_exit(status: i32) -> !;
}

/// Fits into the buffers of both ends.
const SOME: u64 = 400_000;

static STREAM: Mutex<Option<PrpStream>> = Mutex::new(None);

extern "C" fn last_words() {
    let stream = STREAM.lock().expect("no thread panicked with the lock").take();
    let written = stream.map(|mut stream| stream.write_all(b"goodbye").map_err(|e| e.kind()));
    println!("{written:?}");
}

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [addr, how] = &words[..] else { return Err(io::ErrorKind::InvalidInput.into()) };
    if how == "last-words" {
        atexit(last_words);
    }
    let mut stream = PrpStream::connect(addr.as_str())?;
    match how.as_str() {
        "reader" => {
            let mut read = PrpStream::connect(addr.as_str())?;
            thread::spawn(move || println!("{:?}", read.read(&mut [0])));
            pattern::send(&mut stream, 1, SOME)
        }
        "last-words" => {
            *STREAM.lock().expect("no thread panicked with the lock") = Some(stream);
            Ok(())
        }
        "quick_exit" => {
            pattern::send(&mut stream, 1, SOME)?;
            quick_exit(0)
        }
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}
