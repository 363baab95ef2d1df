//! `prp proxy` from TCP to TCP, which needs neither prphosts nor a privilege.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// Longer than anything here takes.
const TIMEOUT: Duration = Duration::from_secs(30);

/// A proxy that ends with the test.
struct Proxy {
    process: Child,
    addr: SocketAddr,
}

impl Proxy {
    /// To `target`, started by a shell after `limits`.
    fn start(limits: &str, target: SocketAddr) -> Self {
        // Another address than clients have: a client that asks too early and is given the port
        // that it asks for would be connected to itself.
        let addr = TcpListener::bind("127.0.0.2:0").and_then(|l| l.local_addr()).expect("a port");
        let prp = env!("CARGO_BIN_EXE_prp");
        let command = format!("{limits}; exec {prp} proxy tcp:{addr} tcp:{target}");
        let mut shell = Command::new("/bin/sh");
        let process = shell.args(["-c", &command]).stdin(Stdio::null()).spawn().expect("a shell");
        Self { process, addr }
    }

    /// A connection, once the proxy listens, which has sent one byte.
    fn client(&mut self) -> TcpStream {
        loop {
            if let Ok(mut stream) = TcpStream::connect(self.addr) {
                stream.set_read_timeout(Some(TIMEOUT)).expect("a duration");
                stream.write_all(b"?").expect("the proxy is there");
                return stream;
            }
            assert_eq!(self.process.try_wait().expect("a child"), None, "the proxy has ended");
            thread::yield_now();
        }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A server that sends back the first byte of each connection, and waits for its end.
fn echo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let addr = listener.local_addr().expect("an address");
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut byte = [0];
                while let Ok(1) = stream.read(&mut byte) {
                    let _ = stream.write_all(&byte);
                }
            });
        }
    });
    addr
}

fn answer(stream: &mut TcpStream) -> [u8; 1] {
    let mut byte = [0];
    stream.read_exact(&mut byte).expect("an answer");
    byte
}

#[test]
fn proxy__raises_the_limit_of_descriptors() {
    let mut proxy = Proxy::start("ulimit -Sn 64", echo());
    let mut clients: Vec<_> = (0..100).map(|_| proxy.client()).collect();
    for stream in &mut clients {
        assert_eq!(answer(stream), *b"?");
    }
}

#[test]
fn proxy__connections_wait_where_there_are_no_descriptors() {
    let mut proxy = Proxy::start("ulimit -n 64", echo());
    let clients: Vec<_> = (0..100).map(|_| proxy.client()).collect();
    for mut stream in clients {
        assert_eq!(answer(&mut stream), *b"?");
    }
}
