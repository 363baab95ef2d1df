//! `epoll_echo ADDR level|edge`: an echo server on one thread, with the `epoll` loop of a server
//! over kernel sockets. Prints `ok ADDR` once it listens.

use std::collections::{HashMap, VecDeque};
use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use prp_sock::{PrpListener, PrpStream};
use prp_tests::privilege::raise_descriptor_limit;

/// The key of the listener. Streams have the keys after it.
const LISTENER: u64 = 0;

fn main() -> io::Result<()> {
    raise_descriptor_limit()?;
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [addr, trigger] = &words[..] else { return Err(ErrorKind::InvalidInput.into()) };
    let listener = PrpListener::bind(addr.as_str())?;
    listener.set_nonblocking(true)?;
    println!("ok {}", listener.local_addr()?);
    Server {
        epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?,
        edge: if trigger == "edge" { EpollFlags::EPOLLET } else { EpollFlags::empty() },
        listener,
        conns: HashMap::new(),
        next: LISTENER + 1,
    }
    .run()
}

struct Server {
    epoll: Epoll,
    edge: EpollFlags,
    listener: PrpListener,
    conns: HashMap<u64, Conn>,
    next: u64,
}

/// A connection, and the bytes to send back on it.
struct Conn {
    stream: PrpStream,
    pending: VecDeque<u8>,
    /// The peer has shut down its sending direction.
    ended: bool,
}

/// The events that the connection waits for; `None` if it has ended.
type Next = io::Result<Option<EpollFlags>>;

impl Server {
    fn run(mut self) -> io::Result<()> {
        self.epoll
            .add(&self.listener, EpollEvent::new(EpollFlags::EPOLLIN | self.edge, LISTENER))?;
        let mut events = [EpollEvent::empty(); 64];
        loop {
            let n = self.epoll.wait(&mut events, EpollTimeout::NONE)?;
            for event in &events[..n] {
                match event.data() {
                    LISTENER => self.accept_all()?,
                    key => self.serve(key)?,
                }
            }
        }
    }

    fn accept_all(&mut self) -> io::Result<()> {
        loop {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(e) => return Err(e),
            };
            stream.set_nonblocking(true)?;
            let key = self.next;
            self.next += 1;
            let flags = if self.edge.is_empty() {
                EpollFlags::EPOLLIN
            } else {
                self.edge | EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT
            };
            self.epoll.add(&stream, EpollEvent::new(flags, key))?;
            self.conns.insert(key, Conn { stream, pending: VecDeque::new(), ended: false });
        }
    }

    fn serve(&mut self, key: u64) -> io::Result<()> {
        let Some(conn) = self.conns.get_mut(&key) else { return Ok(()) };
        match conn.serve() {
            Ok(Some(flags)) if self.edge.is_empty() => {
                self.epoll.modify(&conn.stream, &mut EpollEvent::new(flags, key))?;
            }
            Ok(Some(_)) => {}
            Ok(None) | Err(_) => {
                self.epoll.delete(&conn.stream)?;
                self.conns.remove(&key);
            }
        }
        Ok(())
    }
}

impl Conn {
    /// Reads and writes until both would block, as edge-triggered events require.
    fn serve(&mut self) -> Next {
        let mut buf = [0; 16 * 1024];
        while !self.ended {
            match self.stream.read(&mut buf) {
                Ok(0) => self.ended = true,
                Ok(n) => self.pending.extend(&buf[..n]),
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) => return Err(e),
            }
        }
        while !self.pending.is_empty() {
            match self.stream.write(self.pending.as_slices().0) {
                Ok(n) => drop(self.pending.drain(..n)),
                Err(e) if e.kind() == ErrorKind::WouldBlock => break,
                Err(e) => return Err(e),
            }
        }
        if self.pending.is_empty() && self.ended {
            self.stream.shutdown(Shutdown::Write)?;
            return Ok(None);
        }
        let mut flags = EpollFlags::empty();
        flags.set(EpollFlags::EPOLLIN, !self.ended);
        flags.set(EpollFlags::EPOLLOUT, !self.pending.is_empty());
        Ok(Some(flags))
    }
}
