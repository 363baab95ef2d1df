//! TLS over the kernel's TCP: rustls, with blocking calls.

use std::io::{self, BufReader, IoSlice, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, ServerConfig, ServerConnection, StreamOwned};

use crate::Outcome;
use crate::identity::NAME;
use crate::measure::{CHUNK, Figures, LATENCY, MESSAGE, RoundTrips, STREAM, gbps};

/// A TCP stream that is read in large pieces: rustls itself asks for 4 KiB at a time.
struct Socket(BufReader<TcpStream>);

impl Socket {
    fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self(BufReader::with_capacity(CHUNK, stream)))
    }
}

impl Read for Socket {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.read(bytes)
    }
}

impl Write for Socket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.get_mut().write(bytes)
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0.get_mut().write_vectored(parts)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Serves one client after another until the process is killed.
pub(crate) fn serve(listener: &TcpListener, config: &Arc<ServerConfig>) {
    for stream in listener.incoming() {
        if let Err(e) = stream.map_err(Into::into).and_then(|stream| session(stream, config)) {
            eprintln!("prp-key-peers: a client over TLS: {e}");
        }
    }
}

fn session(stream: TcpStream, config: &Arc<ServerConfig>) -> Outcome {
    let mut connection = ServerConnection::new(config.clone())?;
    connection.set_buffer_limit(Some(2 * CHUNK));
    let mut stream = StreamOwned::new(connection, Socket::new(stream)?);
    let mut what = [0];
    stream.read_exact(&mut what)?;
    if what == [LATENCY] {
        let mut message = [0; MESSAGE];
        while stream.read_exact(&mut message).is_ok() {
            stream.write_all(&message)?;
        }
        return Ok(());
    }
    let (mut bytes, mut buffer) = (0_u64, vec![0; CHUNK]);
    loop {
        match stream.read(&mut buffer)? {
            0 => break,
            n => bytes += n as u64,
        }
    }
    stream.write_all(&bytes.to_be_bytes())?;
    Ok(())
}

type Client = StreamOwned<ClientConnection, Socket>;

/// A connection for what the first byte says.
fn connect(address: SocketAddr, config: &Arc<ClientConfig>, what: u8) -> Outcome<Client> {
    let mut connection = ClientConnection::new(config.clone(), ServerName::try_from(NAME)?)?;
    connection.set_buffer_limit(Some(2 * CHUNK));
    let mut stream = StreamOwned::new(connection, Socket::new(TcpStream::connect(address)?)?);
    stream.write_all(&[what])?;
    Ok(stream)
}

/// One stream for `time`, and then messages for as long.
pub(crate) fn measure(
    address: SocketAddr,
    config: Arc<ClientConfig>,
    time: Duration,
) -> Outcome<Figures> {
    let gbps = goodput(connect(address, &config, STREAM)?, time)?;
    let p50_us = latency(connect(address, &config, LATENCY)?, time)?;
    Ok(Figures { gbps, p50_us })
}

fn goodput(mut stream: Client, time: Duration) -> Outcome<f64> {
    let buffer = vec![7; CHUNK];
    let begin = Instant::now();
    while begin.elapsed() < time {
        stream.write_all(&buffer)?;
    }
    stream.conn.send_close_notify();
    stream.flush()?;
    let mut arrived = [0; 8];
    stream.read_exact(&mut arrived)?;
    Ok(gbps(u64::from_be_bytes(arrived), begin.elapsed()))
}

fn latency(mut stream: Client, time: Duration) -> Outcome<f64> {
    let mut message = [7; MESSAGE];
    let mut trips = RoundTrips::start(time);
    while trips.next() {
        stream.write_all(&message)?;
        stream.read_exact(&mut message)?;
        trips.done();
    }
    Ok(trips.p50_us())
}
