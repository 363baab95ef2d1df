//! `attacker DEVICE TO-MAC FROM-MAC FROM TO KIND COUNT SEED` sends COUNT frames as fast as it can,
//! with these hardware addresses and PRP addresses (`1:80`; port 0 stands for a different port in
//! each frame). KIND:
//!
//! | kind | frames |
//! | --- | --- |
//! | `reset` | well-formed RST with random connection ids |
//! | `data` | well-formed segments with random numbers and acknowledgements |
//! | `request` | well-formed CREQ, each for a new connection |
//! | `sizes` | frames cut at a random byte, or with a wrong length field |
//!
//! `attacker DEVICE record FILE COUNT` writes the PRP frames that it receives to a file; `attacker
//! DEVICE replay FILE TIMES` sends them again.
//!
//! In topologies with UDP addresses alone it sends datagrams between the first processes of both
//! nodes. The last byte of an IP address is that of the hardware address.

use std::fs;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::time::Duration;

use prp_device::raw::RawSocket;
use prp_proto::addr::{MacAddr, Port, PrpAddr};
use prp_proto::wire::{
    CrcKey, ETHERNET_LEN, ETHERTYPE, EthernetHeader, Flags, Head, NetworkHeader, Offer,
    ReliabilitySet, ResetBlock, ResetReason, TransportHeader, UDP_PORT, checksum, packet_header,
};
use prp_tests::capture::{ETHERTYPE_IPV4, datagram_frame};
use prp_tests::seed::{Dice, generator};
use prp_tests::topology::is_over_udp;

/// Frames per system call.
const BATCH: usize = 32;

/// Payload of a segment that fills a frame, or a datagram, which has the headers of IP and UDP as
/// well.
const PAYLOAD: usize = 1484;
const DATAGRAM_HEADERS: usize = 28;

/// Offset of UDP's checksum in a frame with IPv4.
const UDP_CHECKSUM: Range<usize> = 40..42;

/// The UDP port of the first process of a node.
const FIRST_PROCESS: u16 = UDP_PORT + 1;

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        [device, "record", file, count] => record(device, file, number(count)? as usize),
        [device, "replay", file, times] => replay(device, file, number(times)?),
        [device, to_mac, from_mac, from, to, kind, count, seed] => {
            let mac = |text: &str| text.parse::<MacAddr>().map_err(io::Error::other);
            let addr = |text: &str| text.parse::<PrpAddr>().map_err(io::Error::other);
            let macs = [mac(to_mac)?, mac(from_mac)?];
            let dice = generator(number(seed)?);
            let full = PAYLOAD - if is_over_udp() { DATAGRAM_HEADERS } else { 0 };
            let mut forger = Forger { macs, from: addr(from)?, to: addr(to)?, full, dice };
            let mut socket = open(device)?;
            let mut left = number(count)? as usize;
            while left > 0 {
                let batch: Vec<_> = (0..left.min(BATCH)).map(|_| forger.frame(kind)).collect();
                left -= batch.len();
                send(&mut socket, &batch)?;
            }
            println!("ok");
            Ok(())
        }
        _ => Err(ErrorKind::InvalidInput.into()),
    }
}

fn open(device: &str) -> io::Result<RawSocket> {
    RawSocket::open(device, if is_over_udp() { ETHERTYPE_IPV4 } else { ETHERTYPE })
}

fn number(text: &str) -> io::Result<u64> {
    text.parse().map_err(io::Error::other)
}

fn send(socket: &mut RawSocket, frames: &[Vec<u8>]) -> io::Result<()> {
    let mut sent = 0;
    while sent < frames.len() {
        let rest = frames[sent..].iter().map(|frame| [&frame[..], &[], &[], &[]]);
        sent += socket.send(&mut { rest })?.0;
    }
    Ok(())
}

fn record(device: &str, file: &str, count: usize) -> io::Result<()> {
    let mut socket = open(device)?;
    println!("ready");
    let mut seen: Vec<Vec<u8>> = Vec::new();
    while seen.len() < count {
        socket.receive(BATCH, &mut |frame| seen.push(frame.to_vec()))?;
        socket.sleep(Duration::from_secs(1))?;
    }
    let lengths = seen.iter().map(|frame| (frame.len() as u32).to_be_bytes());
    let bytes: Vec<u8> = lengths.zip(&seen).flat_map(|(n, f)| [&n[..], f].concat()).collect();
    fs::write(file, bytes)?;
    println!("ok {}", seen.len());
    Ok(())
}

fn replay(device: &str, file: &str, times: u64) -> io::Result<()> {
    let bytes = fs::read(file)?;
    let (mut frames, mut rest) = (Vec::new(), &bytes[..]);
    while let Some((length, after)) = rest.split_first_chunk() {
        let (frame, after) = after.split_at(u32::from_be_bytes(*length) as usize);
        let mut frame = frame.to_vec();
        if is_over_udp() && frame.len() > UDP_CHECKSUM.end {
            // A virtual link carries datagrams before the checksum is computed. 0 stands for no
            // checksum.
            frame[UDP_CHECKSUM].fill(0);
        }
        frames.push(frame);
        rest = after;
    }
    let mut socket = open(device)?;
    for _ in 0..times {
        frames.chunks(BATCH).try_for_each(|batch| send(&mut socket, batch))?;
    }
    println!("ok");
    Ok(())
}

/// Makes frames.
struct Forger {
    /// The receiver's and the sender's address.
    macs: [MacAddr; 2],
    from: PrpAddr,
    to: PrpAddr,
    /// Bytes of payload that a full segment has.
    full: usize,
    dice: Dice,
}

impl Forger {
    fn frame(&mut self, kind: &str) -> Vec<u8> {
        let frame = self.ethernet_frame(kind);
        if !is_over_udp() {
            return frame;
        }
        let [to, from] = self.macs.map(|mac| (mac, FIRST_PROCESS));
        datagram_frame(from, to, &frame[ETHERNET_LEN..])
    }

    fn ethernet_frame(&mut self, kind: &str) -> Vec<u8> {
        match kind {
            "reset" => {
                let [receiver, sender] = [(); 2].map(|()| self.dice.number());
                let block = ResetBlock { reason: ResetReason::Aborted, receiver, sender };
                self.sealed(Flags::RST, &block.emit())
            }
            "request" => {
                let offer = Offer {
                    id: self.dice.number() | 1,
                    echo: 0,
                    reliability: ReliabilitySet::ALL,
                    crc: false,
                    mss: self.full as u16,
                    window: 1000,
                };
                self.sealed(Flags::CREQ, &offer.emit())
            }
            "sizes" => {
                let mut frame = self.data();
                if self.dice.below(2) == 0 {
                    frame.truncate(14 + self.dice.below(frame.len() - 14));
                } else {
                    // The length of the payload.
                    let length = (self.dice.number() as u16).to_be_bytes();
                    frame[24..26].copy_from_slice(&length);
                }
                frame
            }
            _ => self.data(),
        }
    }

    fn data(&mut self) -> Vec<u8> {
        let flags = Flags::from_bits(self.dice.number() & !Flags::RST.bits());
        let mut payload = vec![0; self.full];
        self.dice.fill(&mut payload);
        self.sealed(flags, &payload)
    }

    /// A frame with the trailer that frames without a connection have.
    fn sealed(&mut self, flags: Flags, payload: &[u8]) -> Vec<u8> {
        let [dst, src] = self.macs;
        let port = if self.from.port == Port::CONTROL {
            Port::new(1 + self.dice.below(65_535) as u16)
        } else {
            self.from.port
        };
        let to = if self.to.port == Port::CONTROL {
            Port::new(1000 + self.dice.below(60_000) as u16)
        } else {
            self.to.port
        };
        let head = Head {
            ethernet: Some(EthernetHeader { dst, src, ethertype: ETHERTYPE }),
            network: NetworkHeader { src: self.from.node, dst: self.to.node },
            transport: TransportHeader {
                src_port: port,
                dst_port: to,
                seq: self.dice.number() as u16,
                len: payload.len() as u16,
                flags,
            },
        };
        let head = head.emit();
        let trailer = checksum(CrcKey::NONE, packet_header(&head), [payload, &[]]);
        // A full segment has no room for a trailer.
        let trailer = if payload.len() < self.full { &trailer[..] } else { &[] };
        [&head[..], payload, trailer].concat()
    }
}
