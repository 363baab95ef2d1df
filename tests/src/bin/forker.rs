//! `forker ADDR`: opens a stream to the echo server at ADDR, forks with it open, and prints what the child
//! may do with it, and what the parent may after the child has ended: `child KIND KIND`, `parent TEXT`.
#![allow(unsafe_code, reason = "forking is unsafe in a program with threads")]

use std::io::{self, Read, Write};
use std::process::exit;

use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, fork};
use prp_sock::PrpStream;

fn main() -> io::Result<()> {
    let addr = std::env::args().nth(1).ok_or(io::ErrorKind::InvalidInput)?;
    let mut stream = PrpStream::connect(addr.as_str())?;
    stream.write_all(b"before")?;
    // SAFETY: the child allocates, prints and connects; no other thread of this program does that at the
    // time, and the engine's own thread is told apart by the library, which is what is tested.
    match unsafe { fork() }? {
        ForkResult::Child => {
            let kind = |outcome: io::Result<usize>| match outcome {
                Ok(n) => format!("Ok({n})"),
                Err(e) => format!("{:?}", e.kind()),
            };
            println!("child {} {}", kind(stream.write(b"x")), kind(stream.read(&mut [0; 9])));
            // A connection of its own works, and dropping the other one changes nothing for the parent.
            let mut own = PrpStream::connect(addr.as_str())?;
            own.write_all(b"own")?;
            let mut got = [0; 3];
            own.read_exact(&mut got)?;
            println!("child {}", String::from_utf8_lossy(&got));
            drop(stream);
            // The orderly way out, with all that is done at exit.
            exit(0)
        }
        ForkResult::Parent { child } => {
            assert_eq!(waitpid(child, None)?, WaitStatus::Exited(child, 0));
            stream.write_all(b" and after")?;
            let mut got = [0; 16];
            stream.read_exact(&mut got)?;
            println!("parent {}", String::from_utf8_lossy(&got));
            Ok(())
        }
    }
}
