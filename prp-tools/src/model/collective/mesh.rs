//! A connection between any two of some processes.

use std::fmt;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::str::FromStr;
use std::thread;
use std::time::{Duration, Instant};

use prp_sock::{Builder, Port, PrpListener, PrpStream};

use super::MeshTransport;
use crate::accepting::is_broken;
use crate::exit::{Code, Failure};

/// How long processes may take to come: a script starts them one after the other.
const ARRIVAL: Duration = Duration::from_secs(30);

/// Between two attempts to reach a process that does not listen yet.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// How long a measurement may take: longer means that a process is gone.
const MEASUREMENT_TIMEOUT: Duration = Duration::from_secs(60);

/// Where a process listens.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct ProcessAddress {
    host: String,
    port: u16,
}

impl FromStr for ProcessAddress {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FORM: &str = "expected NODE:PORT or ADDRESS:PORT";
        let (host, port) = text.rsplit_once(':').ok_or(FORM)?;
        let port = port.parse().ok().filter(|port| *port > 0).ok_or(FORM)?;
        Ok(Self { host: host.to_owned(), port })
    }
}

impl ProcessAddress {
    /// A node, or an address.
    pub(super) fn host(&self) -> &str {
        &self.host
    }

    /// Its socket address, if the host is an IP address.
    pub(super) fn socket_addr(&self) -> Option<SocketAddr> {
        self.host.parse().ok().map(|host: IpAddr| SocketAddr::new(host, self.port))
    }
}

impl fmt::Display for ProcessAddress {
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

enum MeshListener {
    Prp(PrpListener),
    Tcp(TcpListener),
}

impl Mesh {
    /// Connects to all processes before this one, and waits for those after it.
    pub(super) fn join(
        transport: MeshTransport,
        rank: usize,
        addresses: &[ProcessAddress],
        hosts: &Path,
    ) -> Result<Self, Failure> {
        let own = &addresses[rank];
        let here = |e: io::Error| Failure::network(format_args!("listening at {own}"), &e);
        let prp = prp(hosts, addresses.len());
        let listener = MeshListener::open(transport, own, &prp).map_err(here)?;
        let mut links: Vec<Option<Link>> = addresses.iter().map(|_| None).collect();
        for (at, address) in addresses.iter().enumerate().take(rank) {
            let there = |e: io::Error| Failure::network(address, &e);
            let link = connect(transport, address, &prp).map_err(there)?;
            link.patient().and_then(|()| link.put(&(rank as u32).to_be_bytes())).map_err(there)?;
            links[at] = Some(link);
        }
        for _ in rank + 1..addresses.len() {
            let link = listener.accept().map_err(here)?;
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
    /// send before the others are through would be taken for theirs.
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
        link.ok_or_else(|| io::Error::other("a message to an unknown process"))
    }
}

impl MeshListener {
    fn open(transport: MeshTransport, address: &ProcessAddress, prp: &Builder) -> io::Result<Self> {
        match transport {
            MeshTransport::Prp => prp.bind(Port::new(address.port)).map(Self::Prp),
            MeshTransport::Tcp => TcpListener::bind(resolve(address)?).map(Self::Tcp),
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
                            thread::sleep(RETRY_INTERVAL);
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

fn resolve(address: &ProcessAddress) -> io::Result<SocketAddr> {
    address.socket_addr().ok_or_else(|| io::Error::other("TCP needs an address: ADDRESS:PORT"))
}

/// A connection to a process that may not listen yet.
fn connect(transport: MeshTransport, address: &ProcessAddress, prp: &Builder) -> io::Result<Link> {
    let deadline = Instant::now() + ARRIVAL;
    let once = || match transport {
        MeshTransport::Prp => prp.connect(address.to_string()).map(Link::Prp),
        MeshTransport::Tcp => {
            let stream = TcpStream::connect(resolve(address)?)?;
            stream.set_nodelay(true)?;
            Ok(Link::Tcp(stream))
        }
    };
    loop {
        match once() {
            Err(e) if e.kind() == ErrorKind::ConnectionRefused && Instant::now() < deadline => {
                thread::sleep(RETRY_INTERVAL);
            }
            done => return done,
        }
    }
}

impl Link {
    /// Reads end with an error when nothing has come for long.
    fn patient(&self) -> io::Result<()> {
        match self {
            Self::Prp(stream) => stream.set_read_timeout(Some(MEASUREMENT_TIMEOUT)),
            Self::Tcp(stream) => stream.set_read_timeout(Some(MEASUREMENT_TIMEOUT)),
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
        let address: ProcessAddress = "node2:7001".parse().expect("an address");
        assert_eq!((address.to_string().as_str(), address.port), ("node2:7001", 7001));
        let address: ProcessAddress = "10.99.0.2:7001".parse().expect("an address");
        assert!(resolve(&address).is_ok());
        for wrong in ["node2", "node2:", "node2:0", "node2:x"] {
            assert!(wrong.parse::<ProcessAddress>().is_err(), "{wrong}");
        }
    }
}
