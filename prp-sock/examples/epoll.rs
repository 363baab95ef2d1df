//! One thread, many connections: an echo server on epoll. `epoll` answers on port 7003. Use any
//! client, for example `prp cat NODE 7003`.
use std::collections::HashMap;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsRawFd;

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use prp_sock::{PrpListener, PrpStream};

/// A connection, and the received bytes that are not sent back yet.
struct Client {
    stream: PrpStream,
    waiting: Vec<u8>,
    has_ended: bool,
}

impl Client {
    /// Moves bytes until the stream would block; whether the connection is still needed.
    fn serve(&mut self) -> io::Result<bool> {
        let mut buffer = [0; 4096];
        loop {
            while !self.waiting.is_empty() {
                match self.stream.write(&self.waiting) {
                    Ok(n) => drop(self.waiting.drain(..n)),
                    // Readable bytes stay in the stream meanwhile, which slows down the sender.
                    Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(true),
                    Err(e) => return Err(e),
                }
            }
            if self.has_ended {
                return Ok(false);
            }
            match self.stream.read(&mut buffer) {
                Ok(0) => self.has_ended = true,
                Ok(n) => self.waiting.extend_from_slice(&buffer[..n]),
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(true),
                Err(e) => return Err(e),
            }
        }
    }
}

fn main() -> io::Result<()> {
    let listener = PrpListener::bind("self:7003")?;
    listener.set_nonblocking(true)?;
    let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
    let listening = listener.as_raw_fd() as u64;
    epoll.add(&listener, EpollEvent::new(EpollFlags::EPOLLIN, listening))?;
    let mut clients = HashMap::new();
    let mut events = [EpollEvent::empty(); 64];
    loop {
        let ready = epoll.wait(&mut events, EpollTimeout::NONE)?;
        for event in &events[..ready] {
            if event.data() == listening {
                while let Ok((stream, _)) = listener.accept() {
                    stream.set_nonblocking(true)?;
                    let key = stream.as_raw_fd() as u64;
                    let flags = EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLET;
                    epoll.add(&stream, EpollEvent::new(flags, key))?;
                    let waiting = Vec::new();
                    clients.insert(key, Client { stream, waiting, has_ended: false });
                }
            } else if let Some(client) = clients.get_mut(&event.data())
                && !client.serve().unwrap_or(false)
            {
                epoll.delete(&client.stream)?;
                clients.remove(&event.data());
            }
        }
    }
}
