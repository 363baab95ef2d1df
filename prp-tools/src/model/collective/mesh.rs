//! A connection between any two of some processes.

use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::str::FromStr;
use std::thread;
use std::time::{Duration, Instant};

use prp_sock::{Builder, Port, PrpListener, PrpStream};

use super::Transport;
use crate::accepting::is_broken;
use crate::exit::{Code, Failure};

/// How long processes may take to come: a script starts them one after the other.
const ARRIVAL: Duration = Duration::from_secs(30);

/// Between two attempts to reach a process that does not listen yet.
const AGAIN: Duration = Duration::from_millis(20);

/// How long a measurement may take: longer means that a process is gone.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where a process listens.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Place {
    host: String,
    port: u16,
}

impl FromStr for Place {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FORM: &str = "expected NODE:PORT or ADDRESS:PORT";
        let (host, port) = text.rsplit_once(':').ok_or(FORM)?;
        let port = port.parse().ok().filter(|port| *port > 0).ok_or(FORM)?;
        Ok(Self { host: host.to_owned(), port })
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// The connections of one process.
#[derive(Debug)]
pub(super) struct Mesh {
    pub(super) rank: usize,
    /// By process; none to itself.
    links: Vec<Option<Link>>,
}

#[derive(Debug)]
enum Link {
    Prp(PrpStream),
    Tcp(TcpStream),
}

enum Door {
    Prp(PrpListener),
    Tcp(TcpListener),
}

impl Mesh {
    /// Connects to all processes before this one, and waits for those after it.
    pub(super) fn join(
        transport: Transport,
        rank: usize,
        places: &[Place],
        hosts: &Path,
    ) -> Result<Self, Failure> {
        let own = &places[rank];
        let here = |e: io::Error| Failure::network(format_args!("listening at {own}"), &e);
        let prp = prp(hosts, places.len());
        let door = Door::open(transport, own, &prp).map_err(here)?;
        let mut links: Vec<Option<Link>> = places.iter().map(|_| None).collect();
        for (at, place) in places.iter().enumerate().take(rank) {
            let there = |e: io::Error| Failure::network(place, &e);
            let link = connect(transport, place, &prp).map_err(there)?;
            link.patient().and_then(|()| link.put(&(rank as u32).to_be_bytes())).map_err(there)?;
            links[at] = Some(link);
        }
        for _ in rank + 1..places.len() {
            let link = door.accept().map_err(here)?;
            let mut name = [0; 4];
            link.patient().and_then(|()| link.take(&mut name)).map_err(here)?;
            let from = u32::from_be_bytes(name) as usize;
            match links.get_mut(from) {
                Some(free @ None) if from > rank => *free = Some(link),
                _ => {
                    let text = format!("{own}: process {from} came, and is not waited for");
                    return Err(Failure::new(Code::Failed, text));
                }
            }
        }
        Ok(Self { rank, links })
    }

    pub(super) fn send(&self, to: usize, message: &[u8]) -> io::Result<()> {
        self.link(to)?.put(message)
    }

    pub(super) fn receive(&self, from: usize, message: &mut [u8]) -> io::Result<()> {
        self.link(from)?.take(message)
    }

    /// Waits for all processes; then each has the number that process 0 chose.
    pub(super) fn agree(&self, choose: impl FnOnce() -> io::Result<u64>) -> io::Result<u64> {
        if self.rank > 0 {
            self.send(0, &[0])?;
            let mut number = [0; 8];
            self.receive(0, &mut number)?;
            return Ok(u64::from_be_bytes(number));
        }
        for other in 1..self.links.len() {
            self.receive(other, &mut [0])?;
        }
        let number = choose()?;
        for other in 1..self.links.len() {
            self.send(other, &number.to_be_bytes())?;
        }
        Ok(number)
    }

    /// The numbers of all, at process 0; nothing elsewhere. Each is asked for its own: what some
    /// send before the others are through would be in the way.
    pub(super) fn gather(&self, own: u64) -> io::Result<Vec<u64>> {
        if self.rank > 0 {
            self.receive(0, &mut [0])?;
            self.send(0, &own.to_be_bytes())?;
            return Ok(Vec::new());
        }
        let mut all = vec![own];
        for other in 1..self.links.len() {
            self.send(other, &[0])?;
            let mut number = [0; 8];
            self.receive(other, &mut number)?;
            all.push(u64::from_be_bytes(number));
        }
        Ok(all)
    }

    fn link(&self, to: usize) -> io::Result<&Link> {
        let link = self.links.get(to).and_then(Option::as_ref);
        link.ok_or_else(|| io::Error::other("a message to nobody"))
    }
}

impl Door {
    fn open(transport: Transport, place: &Place, prp: &Builder) -> io::Result<Self> {
        match transport {
            Transport::Prp => prp.bind(Port::new(place.port)).map(Self::Prp),
            Transport::Tcp => TcpListener::bind(address(place)?).map(Self::Tcp),
        }
    }

    fn accept(&self) -> io::Result<Link> {
        match self {
            Self::Prp(listener) => Ok(Link::Prp(listener.accept_timeout(ARRIVAL)?.0)),
            Self::Tcp(listener) => {
                let deadline = Instant::now() + ARRIVAL;
                listener.set_nonblocking(true)?;
                loop {
                    match listener.accept() {
                        Err(e) if e.kind() == ErrorKind::WouldBlock => {
                            if Instant::now() >= deadline {
                                return Err(ErrorKind::TimedOut.into());
                            }
                            thread::sleep(AGAIN);
                        }
                        Err(e) if is_broken(&e) => {}
                        Err(e) => return Err(e),
                        Ok((stream, _)) => {
                            stream.set_nonblocking(false)?;
                            stream.set_nodelay(true)?;
                            return Ok(Link::Tcp(stream));
                        }
                    }
                }
            }
        }
    }
}

/// How processes find and wait for each other. Where they outnumber the processors, none polls for
/// what another needs its processor to send: each waits as TCP does.
fn prp(hosts: &Path, processes: usize) -> Builder {
    let builder = Builder::new().hosts(hosts).connect_timeout(ARRIVAL);
    let processors = thread::available_parallelism().map_or(1, usize::from);
    if processes > processors { builder.spin(Duration::ZERO) } else { builder }
}

fn address(place: &Place) -> io::Result<SocketAddr> {
    let host: Result<IpAddr, _> = place.host.parse();
    let host = host.map_err(|_| io::Error::other("TCP needs an address: ADDRESS:PORT"))?;
    Ok(SocketAddr::new(host, place.port))
}

/// A connection to a process that may not listen yet.
fn connect(transport: Transport, place: &Place, prp: &Builder) -> io::Result<Link> {
    let deadline = Instant::now() + ARRIVAL;
    let once = || match transport {
        Transport::Prp => prp.connect(place.to_string()).map(Link::Prp),
        Transport::Tcp => {
            let stream = TcpStream::connect(address(place)?)?;
            stream.set_nodelay(true)?;
            Ok(Link::Tcp(stream))
        }
    };
    loop {
        match once() {
            Err(e) if e.kind() == ErrorKind::ConnectionRefused && Instant::now() < deadline => {
                thread::sleep(AGAIN);
            }
            done => return done,
        }
    }
}

impl Link {
    /// Reads end with an error when nothing has come for long.
    fn patient(&self) -> io::Result<()> {
        match self {
            Self::Prp(stream) => stream.set_read_timeout(Some(PATIENCE)),
            Self::Tcp(stream) => stream.set_read_timeout(Some(PATIENCE)),
        }
    }

    fn put(&self, message: &[u8]) -> io::Result<()> {
        match self {
            Self::Prp(stream) => (&*stream).write_all(message),
            Self::Tcp(stream) => (&*stream).write_all(message),
        }
    }

    fn take(&self, message: &mut [u8]) -> io::Result<()> {
        match self {
            Self::Prp(stream) => (&*stream).read_exact(message),
            Self::Tcp(stream) => (&*stream).read_exact(message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place__is_a_node_or_an_address_with_a_port() {
        let place: Place = "node2:7001".parse().expect("a place");
        assert_eq!((place.to_string().as_str(), place.port), ("node2:7001", 7001));
        let place: Place = "10.99.0.2:7001".parse().expect("a place");
        assert!(address(&place).is_ok());
        for wrong in ["node2", "node2:", "node2:0", "node2:x"] {
            assert!(wrong.parse::<Place>().is_err(), "{wrong}");
        }
    }
}
