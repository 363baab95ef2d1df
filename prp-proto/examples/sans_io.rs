//! The loop of a driver: two endpoints in one process, a vector as the link, and a clock that jumps
//! to the next deadline. `cargo run -p prp-proto --example sans_io`
use std::error::Error;
use std::time::Duration;

use prp_proto::TransmitBatch;
use prp_proto::addr::{DeviceId, MacAddr, NodeId, Port, PrpAddr};
use prp_proto::config::{ConnConfig, EndpointConfig};
use prp_proto::endpoint::{Device, Ending, Endpoint};
use prp_proto::hosts::Hosts;
use prp_proto::route::RouteTable;
use prp_proto::time::Instant;
use prp_proto::wire::ethernet_source;

const HOSTS: &str = "1 02:00:00:00:00:01 eth0 alpha\n2 02:00:00:00:00:02 eth0 beta\n";
const ETH0: DeviceId = DeviceId(0);

fn node(number: u8) -> Result<Endpoint, Box<dyn Error>> {
    let local = NodeId::new(u16::from(number)).ok_or("no node has this number")?;
    let hosts = Hosts::parse(HOSTS.as_bytes())?;
    let routes = RouteTable::build(&hosts, local, |_| Some(ETH0));
    let mac = MacAddr([2, 0, 0, 0, 0, number]);
    let devices = vec![Device::ethernet(mac, 1500)];
    // A driver takes the seed from the operating system, so that connection ids cannot be guessed.
    let seed = [number; 32];
    Ok(Endpoint::new(EndpointConfig::default(), routes, devices, seed))
}

/// Passes all frames of `from` to `to`; whether there was one.
fn carry(now: Instant, from: &mut Endpoint, to: &mut Endpoint) -> bool {
    let mut batch = TransmitBatch::new(32, 1 << 20);
    let frames = from.poll_transmit(now, &mut batch);
    for index in 0..frames {
        let frame = from.frame(&batch, index).concat();
        println!("{:>9?} {} bytes", now, frame.len());
        to.handle_packet(now, ETH0, ethernet_source(&frame), &frame, None);
    }
    from.handle_sent(now);
    frames > 0
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut alpha, mut beta) = (node(1)?, node(2)?);
    let mut now = Instant::ZERO;
    let listener = beta.listen(Port::new(7000), 16, ConnConfig::default())?;
    let address = PrpAddr::new(beta.local_node(), Port::new(7000));
    let stream = alpha.connect(now, address, None, ConnConfig::default(), |_| true)?;

    let (mut is_written, mut accepted, mut text) = (false, None, Vec::new());
    while !accepted.is_some_and(|conn| beta.has_ended(conn)) {
        while carry(now, &mut alpha, &mut beta) | carry(now, &mut beta, &mut alpha) {}
        if !is_written && alpha.is_writable(stream) {
            alpha.write(now, stream, b"a byte stream without a socket", Ending::Write)?;
            alpha.shutdown_send(now, stream);
            is_written = true;
            continue;
        }
        accepted = accepted.or_else(|| beta.accept(now, listener));
        if let Some(conn) = accepted {
            let mut buffer = [0; 64];
            while let Ok(n @ 1..) = beta.read(now, conn, &mut buffer) {
                text.extend_from_slice(&buffer[..n]);
            }
        }
        // No frame is in transit: the clock jumps to the next deadline.
        let deadline = [alpha.poll_timeout(), beta.poll_timeout()].into_iter().flatten().min();
        now = deadline.unwrap_or(now + Duration::from_millis(1)).max(now);
        alpha.handle_timeout(now);
        beta.handle_timeout(now);
    }
    println!("{}", String::from_utf8(text)?);
    Ok(())
}
