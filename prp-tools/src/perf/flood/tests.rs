use std::io::{ErrorKind, Read};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;

use super::*;

/// Connections to a server that counts what comes, and what it has counted in the end.
fn conns(count: usize) -> (Vec<Conn>, JoinHandle<u64>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback");
    let addr = listener.local_addr().expect("it is bound");
    let server = thread::spawn(move || {
        let one = |mut stream: TcpStream| {
            let (mut total, mut chunk) = (0, vec![0; 1 << 16]);
            while let Ok(n @ 1..) = stream.read(&mut chunk) {
                total += n as u64;
            }
            total
        };
        let threads: Vec<_> = (0..count)
            .map(|_| listener.accept().expect("they come").0)
            .map(|stream| thread::spawn(move || one(stream)))
            .collect();
        threads.into_iter().map(|t| t.join().expect("it counts")).sum()
    });
    let connect = |_| Conn::tcp(TcpStream::connect(addr).expect("it listens"), false).expect("set");
    ((0..count).map(connect).collect(), server)
}

#[test]
fn beside__writes_until_the_measurement_is_over() {
    let (conns, server) = conns(3);
    let (came, gbps) = beside(&conns, || Ok(7)).expect("nothing fails");
    assert_eq!(came, 7);
    let received = server.join().expect("it counts");
    assert_eq!(gbps.is_some_and(|gbps| gbps > 0.0), received > 0, "{gbps:?} of {received} bytes");
}

#[test]
fn beside__ends_with_a_measurement_that_fails() {
    let (conns, server) = conns(2);
    let failed = beside(&conns, || Err::<(), _>(ErrorKind::TimedOut.into())).unwrap_err();
    assert_eq!(failed.kind(), ErrorKind::TimedOut);
    server.join().expect("the writers have ended");
}

#[test]
fn beside__without_connections_writes_nothing() {
    assert_eq!(beside(&[], || Ok(7)).expect("nothing fails"), (7, None));
}
