//! `mio_echo ADDR`: an echo server on one thread, with mio. Prints `ok ADDR` once it listens.

use std::collections::HashMap;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsRawFd;

use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};
use prp_sock::{PrpListener, PrpStream};
use prp_tests::privilege::raise_descriptor_limit;

const LISTENER: Token = Token(0);

fn main() -> io::Result<()> {
    raise_descriptor_limit()?;
    let addr = std::env::args().nth(1).ok_or(ErrorKind::InvalidInput)?;
    let listener = PrpListener::bind(addr)?;
    listener.set_nonblocking(true)?;
    println!("ok {}", listener.local_addr()?);
    let mut poll = Poll::new()?;
    poll.registry().register(&mut SourceFd(&listener.as_raw_fd()), LISTENER, Interest::READABLE)?;
    let mut conns: HashMap<Token, (PrpStream, Vec<u8>)> = HashMap::new();
    let mut events = Events::with_capacity(64);
    let mut next = 1;
    loop {
        poll.poll(&mut events, None)?;
        for event in &events {
            if event.token() != LISTENER {
                let Some((stream, pending)) = conns.get_mut(&event.token()) else { continue };
                if !matches!(serve(stream, pending), Ok(true)) {
                    poll.registry().deregister(&mut SourceFd(&stream.as_raw_fd()))?;
                    conns.remove(&event.token());
                }
                continue;
            }
            while let Ok((stream, _)) = listener.accept() {
                stream.set_nonblocking(true)?;
                let interest = Interest::READABLE | Interest::WRITABLE;
                let token = Token(next);
                next += 1;
                poll.registry().register(&mut SourceFd(&stream.as_raw_fd()), token, interest)?;
                conns.insert(token, (stream, Vec::new()));
            }
        }
    }
}

/// Echoes data until it would block; whether the connection is still open.
fn serve(stream: &mut PrpStream, pending: &mut Vec<u8>) -> io::Result<bool> {
    let mut buf = [0; 16 * 1024];
    let mut ended = false;
    loop {
        match stream.read(&mut buf) {
            Ok(0) => ended = true,
            Ok(n) => {
                pending.extend_from_slice(&buf[..n]);
                continue;
            }
            Err(e) if e.kind() == ErrorKind::WouldBlock => {}
            Err(e) => return Err(e),
        }
        break;
    }
    while !pending.is_empty() {
        match stream.write(pending) {
            Ok(n) => drop(pending.drain(..n)),
            Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(true),
            Err(e) => return Err(e),
        }
    }
    Ok(!ended)
}
