//! `many_connections ADDR CONNECTIONS BYTES ROUNDS`: opens CONNECTIONS connections to an echo
//! server before it uses any of them. Then it sends a different pattern on each and compares the
//! echo, ROUNDS times. Prints `ok`, or the error.

use std::io::{self, Read, Write};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use prp_sock::PrpStream;
use prp_tests::pattern::Pattern;
use prp_tests::privilege::raise_descriptor_limit;

/// Connections that are used at the same time.
const THREADS: usize = 16;

fn main() -> ExitCode {
    match run() {
        Ok(()) => {
            println!("ok");
            ExitCode::SUCCESS
        }
        Err(e) => {
            println!("err {:?} {e}", e.kind());
            ExitCode::FAILURE
        }
    }
}

fn run() -> io::Result<()> {
    raise_descriptor_limit()?;
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [addr, connections, bytes, rounds] = &words[..] else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let number = |word: &str| word.parse::<usize>().map_err(io::Error::other);
    let (bytes, rounds) = (number(bytes)?, number(rounds)?);
    let streams = (0..number(connections)?)
        .map(|_| PrpStream::connect(addr.as_str()).map(Mutex::new))
        .collect::<io::Result<Vec<_>>>()?;
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let work = || {
            while let Some((at, stream)) = {
                let index = next.fetch_add(1, Ordering::Relaxed);
                (index < streams.len() * rounds).then(|| (index, &streams[index % streams.len()]))
            } {
                // The previous message may still be in transit.
                let stream = stream.lock().map_err(|_| io::Error::other("panic"))?;
                round_trip(&stream, at as u64, bytes)?;
            }
            Ok(())
        };
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|t| t.join().map_err(|_| io::Error::other("panic"))?)
    })
}

/// Sends a message and receives its echo. The message fits into the buffers, so that sending does
/// not block.
fn round_trip(mut stream: &PrpStream, seed: u64, bytes: usize) -> io::Result<()> {
    let mut pattern = Pattern::new(seed);
    let mut sent = Vec::new();
    while sent.len() < bytes {
        sent.extend_from_slice(pattern.next(bytes - sent.len()));
    }
    stream.write_all(&sent)?;
    let mut got = vec![0; bytes];
    stream.read_exact(&mut got)?;
    if got == sent { Ok(()) } else { Err(io::Error::other("other bytes than were sent")) }
}
