//! Tests the effect of `fork` on streams:
//!
//! - `forker ADDR`: opens a stream to the echo server at ADDR and forks. Prints the errors of the
//!   child's calls on that stream (`child KIND KIND`), and the echo that the parent receives after
//!   the child has ended (`parent TEXT`);
//! - `forker ADDR beside N`: forks N times while threads connect to the echo server at ADDR. Every
//!   25th child connects as well, the others only exit. Prints the number of children that have
//!   ended;
//! - `forker ADDR leave`: listens at ADDR, forks a child that waits for the end of its standard
//!   input, prints `ok` once that child runs, and is killed.
#![allow(unsafe_code, reason = "forking is unsafe in a program with threads")]

use std::cell::Cell;
use std::io::{self, Read, Write};
use std::process::exit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{ForkResult, Pid, fork};
use prp_sock::{PrpListener, PrpStream};

/// Time limit for a child.
const TIMEOUT: Duration = Duration::from_secs(60);

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        [addr] => with_a_stream_open(addr),
        [addr, "beside", n] => beside_threads(addr, n.parse().map_err(io::Error::other)?),
        [addr, "leave"] => leave(addr),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// Forks; the child does `work` and exits, which runs its exit handlers.
fn child(work: impl FnOnce() -> io::Result<()>) -> io::Result<Pid> {
    // SAFETY: the children allocate memory, print and use PRP, while other threads of the parent do
    // the same. glibc's allocator and standard output work in such a child, and the test checks
    // that PRP does.
    match unsafe { fork() }? {
        ForkResult::Child => exit(i32::from(work().inspect_err(|e| eprintln!("{e}")).is_err())),
        ForkResult::Parent { child } => Ok(child),
    }
}

fn with_a_stream_open(addr: &str) -> io::Result<()> {
    let mut stream = PrpStream::connect(addr)?;
    stream.write_all(b"before")?;
    let held = Cell::new(Some(stream));
    let pid = child(|| {
        let mut stream = held.take().expect("this process has it, too");
        let kind = |outcome: io::Result<usize>| match outcome {
            Ok(n) => format!("Ok({n})"),
            Err(e) => format!("{:?}", e.kind()),
        };
        println!("child {} {}", kind(stream.write(b"x")), kind(stream.read(&mut [0; 9])));
        // A new connection of the child works, and dropping the inherited one changes nothing for
        // the parent.
        println!("child {}", ask(addr)?);
        drop(stream);
        Ok(())
    })?;
    assert_eq!(waitpid(pid, None)?, WaitStatus::Exited(pid, 0));
    let mut stream = held.take().expect("only the child has taken its own");
    stream.write_all(b" and after")?;
    let mut got = [0; 16];
    stream.read_exact(&mut got)?;
    println!("parent {}", String::from_utf8_lossy(&got));
    Ok(())
}

/// The echo server's answer on `own`.
fn ask(addr: &str) -> io::Result<String> {
    let mut stream = PrpStream::connect(addr)?;
    stream.write_all(b"own")?;
    let mut got = [0; 3];
    stream.read_exact(&mut got)?;
    Ok(String::from_utf8_lossy(&got).into_owned())
}

fn beside_threads(addr: &str, children: usize) -> io::Result<()> {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    PrpStream::connect(addr).expect("there is a listener");
                }
            });
        }
        let ended = (0..children).try_for_each(|n| {
            let pid = child(|| if n % 25 == 0 { ask(addr).map(drop) } else { Ok(()) })?;
            wait_for(pid).map_err(|what| io::Error::other(format!("child {n} {what}")))
        });
        over.store(true, Ordering::Relaxed);
        ended
    })?;
    println!("{children} children");
    Ok(())
}

/// Waits until `pid` has exited with status 0.
fn wait_for(pid: Pid) -> Result<(), String> {
    let start = Instant::now();
    loop {
        match waitpid(pid, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::StillAlive) if start.elapsed() < TIMEOUT => {
                std::thread::sleep(Duration::from_micros(200));
            }
            Ok(WaitStatus::StillAlive) => {
                let _ = kill(pid, Signal::SIGKILL).and_then(|()| waitpid(pid, None));
                return Err(format!("was stuck for {TIMEOUT:?}"));
            }
            Ok(WaitStatus::Exited(_, 0)) => return Ok(()),
            ended => return Err(format!("ended as {ended:?}")),
        }
    }
}

fn leave(addr: &str) -> io::Result<()> {
    let listener = PrpListener::bind(addr)?;
    let _stream = PrpStream::connect(addr)?;
    let (mut from_child, mut to_parent) = io::pipe()?;
    child(|| {
        to_parent.write_all(b"x")?;
        io::stdin().read_to_end(&mut Vec::new()).map(drop)
    })?;
    // A child that the scheduler has not run yet still has the parent's ports.
    from_child.read_exact(&mut [0])?;
    println!("ok {}", listener.local_addr()?);
    io::stdout().flush()?;
    kill(Pid::this(), Signal::SIGKILL)?;
    Ok(())
}
