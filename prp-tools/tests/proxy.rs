//! `prp proxy` between TCP and PRP over UDP, which needs no privilege.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use socket2::SockRef;
use tempfile::NamedTempFile;

/// Longer than anything here takes.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A PRP port of every node here.
const PORT: u16 = 7000;

/// A client's node and a server's, with a proxy on each: from TCP to the server's node, and from
/// there to a TCP server.
struct Network {
    hosts: NamedTempFile,
    nodes: [u16; 2],
}

/// A proxy that ends with the test.
struct Proxy {
    process: Child,
    /// Where it listens.
    at: String,
}

impl Network {
    /// Two nodes that no other test uses: all tests share the ports of a node.
    fn new() -> Self {
        static PAIRS: AtomicU16 = AtomicU16::new(0);
        let first = 1 + 2 * PAIRS.fetch_add(1, Ordering::Relaxed);
        let nodes = [first, first + 1];
        let mut hosts = NamedTempFile::new().expect("a temporary file");
        let [high, low] = (std::process::id() as u16).to_be_bytes();
        let line = |node| format!("{node} udp:127.{}.{low}.{node}\n", 128 | high);
        hosts.write_all(nodes.map(line).concat().as_bytes()).expect("room");
        Self { hosts, nodes }
    }

    /// A proxy on the node at `place`, started by a shell after `limits`.
    fn start(&self, place: usize, limits: &str, from: &str, to: &str) -> Proxy {
        let prp = env!("CARGO_BIN_EXE_prp");
        let command = format!("{limits}; exec {prp} proxy {from} {to}");
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", &command]).stdin(Stdio::null()).stderr(Stdio::piped());
        shell.env("PRP_HOSTS", self.hosts.path()).env("PRP_NODE", self.nodes[place].to_string());
        let mut process = shell.spawn().expect("a shell");
        let mut lines = BufReader::new(process.stderr.take().expect("a pipe")).lines();
        let at = lines.find_map(|line| {
            let line = line.expect("text");
            let (at, _) = line.strip_prefix("prp: listening at ")?.split_once(", for ")?;
            Some(at.to_owned())
        });
        // It writes on, and must not wait for a reader.
        thread::spawn(move || lines.for_each(drop));
        Proxy { process, at: at.expect("it listens") }
    }

    /// Both proxies in a row: to `target` through a node.
    fn both(&self, target: SocketAddr) -> [Proxy; 2] {
        let server = self.start(1, ":", &format!("prp:{PORT}"), &format!("tcp:{target}"));
        [self.start(0, ":", "tcp:127.0.0.1:0", &self.server()), server]
    }

    /// The server's address.
    fn server(&self) -> String {
        format!("prp:{}:{PORT}", self.nodes[1])
    }
}

impl Proxy {
    /// A connection to it by TCP.
    fn client(&self) -> TcpStream {
        let addr = self.at.strip_prefix("tcp:").expect("a proxy of TCP");
        let stream = TcpStream::connect(addr).expect("it listens");
        stream.set_read_timeout(Some(TIMEOUT)).expect("a duration");
        stream
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A TCP server that calls `serve` with each connection.
fn server(serve: impl Fn(TcpStream) + Copy + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let addr = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || serve(stream));
        }
    });
    addr
}

/// Sends back what comes, byte by byte.
fn echo(mut stream: TcpStream) {
    let mut byte = [0];
    while let Ok(1) = stream.read(&mut byte) {
        let _ = stream.write_all(&byte);
    }
}

/// Resets `stream`, as a program that crashes does.
fn reset(stream: TcpStream) {
    SockRef::from(&stream).set_linger(Some(Duration::ZERO)).expect("a socket");
    drop(stream);
}

fn answer(stream: &mut TcpStream) -> [u8; 1] {
    let mut byte = [0];
    stream.read_exact(&mut byte).expect("an answer");
    byte
}

/// What comes until the end or an error.
fn read_all(stream: &mut impl Read) -> (Vec<u8>, Option<ErrorKind>) {
    let mut all = Vec::new();
    let ended = stream.read_to_end(&mut all);
    (all, ended.err().map(|e| e.kind()))
}

#[test]
fn proxy__raises_the_limit_of_descriptors() {
    let network = Network::new();
    let target = format!("tcp:{}", server(echo));
    let _server = network.start(1, ":", &format!("prp:{PORT}"), &target);
    let proxy = network.start(0, "ulimit -Sn 64", "tcp:127.0.0.1:0", &network.server());
    let mut clients: Vec<_> = (0..100).map(|_| proxy.client()).collect();
    for stream in &mut clients {
        stream.write_all(b"?").expect("it is there");
    }
    for stream in &mut clients {
        assert_eq!(answer(stream), *b"?");
    }
}

#[test]
fn proxy__connections_wait_where_there_are_no_descriptors() {
    let network = Network::new();
    let target = format!("tcp:{}", server(echo));
    let _server = network.start(1, ":", &format!("prp:{PORT}"), &target);
    let proxy = network.start(0, "ulimit -n 64", "tcp:127.0.0.1:0", &network.server());
    let clients: Vec<_> = (0..100).map(|_| proxy.client()).collect();
    for mut stream in clients {
        stream.write_all(b"?").expect("it is there");
        assert_eq!(answer(&mut stream), *b"?");
    }
}

/// A server that ends its direction first, and a client that does.
#[test]
fn order__half_an_end_is_half_an_end() {
    let network = Network::new();
    let late = |mut stream: TcpStream| {
        let (all, error) = read_all(&mut stream);
        assert_eq!(error, None);
        stream.write_all(&all).expect("the client waits");
    };
    let [proxy, _server] = network.both(server(late));
    let mut client = proxy.client();
    client.write_all(b"question").expect("it is there");
    client.shutdown(Shutdown::Write).expect("connected");
    assert_eq!(read_all(&mut client), (b"question".to_vec(), None));
    let network = Network::new();
    let early = |mut stream: TcpStream| {
        stream.write_all(b"answer").expect("connected");
        stream.shutdown(Shutdown::Write).expect("connected");
        let (all, error) = read_all(&mut stream);
        assert_eq!((all.len(), error), (8, None));
    };
    let [proxy, _server] = network.both(server(early));
    let mut client = proxy.client();
    assert_eq!(read_all(&mut client), (b"answer".to_vec(), None));
    client.write_all(b"question").expect("this direction goes on");
}

/// Half of an answer does not look like all of it, on either side.
#[test]
fn reset__is_passed_on() {
    let network = Network::new();
    let crash = |mut stream: TcpStream| {
        stream.write_all(b"half").expect("connected");
        // Once the client has it.
        assert_eq!(answer(&mut stream), *b"?");
        reset(stream);
    };
    let [proxy, _server] = network.both(server(crash));
    let mut client = proxy.client();
    client.read_exact(&mut [0; 4]).expect("half of the answer");
    client.write_all(b"?").expect("it is there");
    assert_eq!(read_all(&mut client), (Vec::new(), Some(ErrorKind::ConnectionReset)));
    let (sender, ends) = mpsc::channel();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let network = Network::new();
    let [proxy, _server] = network.both(listener.local_addr().expect("an address"));
    let serving = thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("the proxy");
        sender.send(answer(&mut stream)).expect("the test waits");
        read_all(&mut stream)
    });
    let mut client = proxy.client();
    client.write_all(b"?").expect("it is there");
    assert_eq!(ends.recv(), Ok(*b"?"));
    reset(client);
    let ended = serving.join().expect("the server");
    assert_eq!(ended, (Vec::new(), Some(ErrorKind::ConnectionReset)));
}

/// Of a target that is not there, and of a proxy that ends.
#[test]
fn reset__where_there_is_no_answer() {
    let network = Network::new();
    let gone = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("a port");
    let [proxy, _server] = network.both(gone);
    let mut client = proxy.client();
    assert_eq!(read_all(&mut client), (Vec::new(), Some(ErrorKind::ConnectionReset)));
    for signal in [Signal::SIGTERM, Signal::SIGKILL] {
        let network = Network::new();
        let [proxy, _server] = network.both(server(echo));
        let mut client = proxy.client();
        client.write_all(b"?").expect("it is there");
        assert_eq!(answer(&mut client), *b"?");
        let pid = Pid::from_raw(proxy.process.id().cast_signed());
        kill(pid, signal).expect("it runs");
        let ended = read_all(&mut client);
        assert_eq!(ended, (Vec::new(), Some(ErrorKind::ConnectionReset)), "{signal}");
    }
}

#[test]
fn unix__is_an_end_as_well() {
    let network = Network::new();
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("socket");
    let at = format!("unix:{}", path.display());
    let target = format!("tcp:{}", server(echo));
    let _server = network.start(1, ":", &format!("prp:{PORT}"), &target);
    // The second one takes the place of the first, which could not remove its socket.
    for _ in 0..2 {
        let proxy = network.start(0, ":", &at, &network.server());
        assert_eq!(proxy.at, at);
        let mut client = UnixStream::connect(&path).expect("it listens");
        client.write_all(b"text").expect("it is there");
        client.shutdown(Shutdown::Write).expect("connected");
        assert_eq!(read_all(&mut client), (b"text".to_vec(), None));
    }
}

#[test]
fn usage__one_end_is_of_prp() {
    for (from, to) in [("tcp:127.0.0.1:0", "tcp:127.0.0.1:1"), ("unix:a", "tcp:127.0.0.1:1")] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prp"));
        let output = command.args(["proxy", from, to]).output().expect("the program can be run");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && text.contains("neither end is PRP"), "{text}");
    }
}
