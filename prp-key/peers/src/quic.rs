//! QUIC: quinn on tokio, all of an end in one thread, as quinn's own benchmark has it.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::sys::socket::{setsockopt, sockopt};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{
    Connection, Endpoint, EndpointConfig, Incoming, MtuDiscoveryConfig, RecvStream, SendStream,
    TokioRuntime, TransportConfig, VarInt,
};
use tokio::runtime::{Builder, Runtime};

use crate::Outcome;
use crate::identity::NAME;
use crate::measure::{CHUNK, Figures, LATENCY, MESSAGE, RoundTrips, STREAM, gbps};

/// Bytes that the kernel keeps for a socket, as in quinn's own benchmark.
const SOCKET_BUFFER: usize = 2 << 20;

/// Bytes that may be under way: more than any link between two namespaces holds.
const WINDOW: u32 = 8 << 20;

/// Payload of a datagram at MTU 1500 over IPv4.
const DATAGRAM: u16 = 1472;

/// A socket with large buffers. Without the right to exceed the kernel's limit it has as large ones
/// as that allows.
pub(crate) fn socket(address: SocketAddr) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(address)?;
    let _ = setsockopt(&socket, sockopt::RcvBufForce, &SOCKET_BUFFER)
        .or_else(|_| setsockopt(&socket, sockopt::RcvBuf, &SOCKET_BUFFER));
    let _ = setsockopt(&socket, sockopt::SndBufForce, &SOCKET_BUFFER)
        .or_else(|_| setsockopt(&socket, sockopt::SndBuf, &SOCKET_BUFFER));
    Ok(socket)
}

fn transport() -> Arc<TransportConfig> {
    let mut discovery = MtuDiscoveryConfig::default();
    discovery.upper_bound(DATAGRAM);
    let mut config = TransportConfig::default();
    config
        .stream_receive_window(WINDOW.into())
        .receive_window(WINDOW.into())
        .send_window(WINDOW.into())
        .mtu_discovery_config(Some(discovery));
    Arc::new(config)
}

fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

fn endpoint(socket: UdpSocket, server: Option<quinn::ServerConfig>) -> io::Result<Endpoint> {
    let mut config = EndpointConfig::default();
    config.max_udp_payload_size(DATAGRAM).map_err(io::Error::other)?;
    Endpoint::new(config, server, socket, Arc::new(TokioRuntime))
}

/// Serves one client after another until the process is killed.
pub(crate) fn serve(socket: UdpSocket, config: Arc<rustls::ServerConfig>) -> Outcome {
    let config = QuicServerConfig::try_from(config)?;
    let mut config = quinn::ServerConfig::with_crypto(Arc::new(config));
    config.transport_config(transport());
    runtime()?.block_on(async {
        let endpoint = endpoint(socket, Some(config))?;
        while let Some(incoming) = endpoint.accept().await {
            if let Err(e) = session(incoming).await {
                eprintln!("prp-key-peers: a client over QUIC: {e}");
            }
        }
        Ok(())
    })
}

/// All measurements of a client.
async fn session(incoming: Incoming) -> Outcome {
    let connection = incoming.await?;
    while let Ok((send, receive)) = connection.accept_bi().await {
        answer(send, receive).await?;
    }
    Ok(())
}

/// One measurement of a client's.
async fn answer(mut send: SendStream, mut receive: RecvStream) -> Outcome {
    let mut what = [0];
    receive.read_exact(&mut what).await?;
    if what == [LATENCY] {
        let mut message = [0; MESSAGE];
        while receive.read_exact(&mut message).await.is_ok() {
            send.write_all(&message).await?;
        }
        return Ok(());
    }
    let mut bytes = 0_u64;
    while let Some(chunk) = receive.read_chunk(CHUNK, true).await? {
        bytes += chunk.bytes.len() as u64;
    }
    send.write_all(&bytes.to_be_bytes()).await?;
    send.finish()?;
    Ok(())
}

/// One stream for `time`, and then messages for as long.
pub(crate) fn measure(
    address: SocketAddr,
    config: Arc<rustls::ClientConfig>,
    time: Duration,
) -> Outcome<Figures> {
    let config = QuicClientConfig::try_from(config)?;
    let mut config = quinn::ClientConfig::new(Arc::new(config));
    config.transport_config(transport());
    runtime()?.block_on(async {
        let endpoint = endpoint(socket((Ipv4Addr::UNSPECIFIED, 0).into())?, None)?;
        let connection = endpoint.connect_with(config, address, NAME)?.await?;
        let gbps = goodput(&connection, time).await?;
        let p50_us = latency(&connection, time).await?;
        connection.close(VarInt::from_u32(0), b"");
        endpoint.wait_idle().await;
        Ok(Figures { gbps, p50_us })
    })
}

async fn goodput(connection: &Connection, time: Duration) -> Outcome<f64> {
    let (mut send, mut receive) = connection.open_bi().await?;
    send.write_all(&[STREAM]).await?;
    let buffer = vec![7; CHUNK];
    let begin = Instant::now();
    while begin.elapsed() < time {
        send.write_all(&buffer).await?;
    }
    send.finish()?;
    let mut arrived = [0; 8];
    receive.read_exact(&mut arrived).await?;
    Ok(gbps(u64::from_be_bytes(arrived), begin.elapsed()))
}

async fn latency(connection: &Connection, time: Duration) -> Outcome<f64> {
    let (mut send, mut receive) = connection.open_bi().await?;
    send.write_all(&[LATENCY]).await?;
    let mut message = [7; MESSAGE];
    let mut trips = RoundTrips::start(time);
    while trips.next() {
        send.write_all(&message).await?;
        receive.read_exact(&mut message).await?;
        trips.done();
    }
    send.finish()?;
    Ok(trips.p50_us())
}
