//! Capture files in the classic pcap format of tcpdump, dumpcap and Wireshark.

use std::io::{self, ErrorKind};

use prp_proto::addr::MacAddr;

/// Magic number of a little-endian file with times in microseconds.
const MAGIC: u32 = 0xa1b2_c3d4;

/// Bytes before the first frame, and before each frame.
const FILE_HEADER: usize = 24;
const FRAME_HEADER: usize = 16;

/// The longest frame that Wireshark reads.
const SNAP_LEN: u32 = 0x4_0000;

/// Frames begin with an Ethernet header, without FCS.
const LINKTYPE_ETHERNET: u32 = 1;

/// The frames of a capture file.
///
/// # Errors
/// `InvalidData` if it is no such file, or ends within a frame.
pub fn frames(file: &[u8]) -> io::Result<Vec<&[u8]>> {
    if word(file, 0) != Some(MAGIC) || word(file, 20) != Some(LINKTYPE_ETHERNET) {
        return Err(ErrorKind::InvalidData.into());
    }
    let mut frames = Vec::new();
    let mut at = FILE_HEADER;
    while at < file.len() {
        let len = word(file, at + 8).ok_or(ErrorKind::InvalidData)? as usize;
        at += FRAME_HEADER;
        frames.push(file.get(at..at + len).ok_or(ErrorKind::InvalidData)?);
        at += len;
    }
    Ok(frames)
}

/// A capture file of `frames`, a microsecond apart.
pub fn file(frames: &[Vec<u8>]) -> Vec<u8> {
    // Version 2.4, no offset from UTC, no accuracy.
    let header = [MAGIC, 2 | 4 << 16, 0, 0, SNAP_LEN, LINKTYPE_ETHERNET];
    let mut file: Vec<u8> = header.iter().flat_map(|word| word.to_le_bytes()).collect();
    for (frame, at) in frames.iter().zip(0u32..) {
        let len = frame.len() as u32;
        [0, at, len, len].iter().for_each(|word| file.extend(word.to_le_bytes()));
        file.extend(frame);
    }
    file
}

/// Bytes of an Ethernet header.
const ETHERNET: usize = 14;

/// Bytes of the headers of IPv4, without options, IPv6 and UDP.
const IPV4: usize = 20;
const IPV6: usize = 40;
const UDP: usize = 8;

/// The protocol number of UDP.
const PROTOCOL_UDP: u8 = 17;

/// The UDP payload of a frame, with its source and destination port.
pub fn datagram(frame: &[u8]) -> Option<(u16, u16, &[u8])> {
    let ip = frame.get(ETHERNET..)?;
    let (protocol, header) = match (frame.get(12..ETHERNET)?, ip.first()? >> 4) {
        ([0x08, 0x00], 4) => (*ip.get(9)?, IPV4),
        ([0x86, 0xdd], 6) => (*ip.get(6)?, IPV6),
        _ => return None,
    };
    let udp = ip.get(header..).filter(|_| protocol == PROTOCOL_UDP)?;
    let number = |at: usize| Some(u16::from_be_bytes(*udp.get(at..)?.first_chunk()?));
    let (source, destination, len) = (number(0)?, number(2)?, number(4)?);
    Some((source, destination, udp.get(UDP..usize::from(len))?))
}

/// Whether the IP packet in a frame has the same source and destination address.
pub fn has_one_address(frame: &[u8]) -> bool {
    let (at, len) = if frame.get(12..ETHERNET) == Some(&[0x08, 0x00]) { (12, 4) } else { (8, 16) };
    let address = |at: usize| frame.get(ETHERNET + at..ETHERNET + at + len);
    address(at).is_some_and(|source| address(at + len) == Some(source))
}

/// The EtherType of IPv4.
pub const ETHERTYPE_IPV4: u16 = 0x0800;

/// A frame that carries `payload` by IPv4 and UDP, from one hardware address to another. The IP
/// addresses are in 10.99.0.0/24, as in topologies; the last byte of each is that of the hardware
/// address. UDP's checksum is 0, which stands for no checksum.
pub fn datagram_frame(from: (MacAddr, u16), to: (MacAddr, u16), payload: &[u8]) -> Vec<u8> {
    let [(from, from_port), (to, to_port)] = [from, to];
    let udp_len = (UDP + payload.len()) as u16;
    let [high, low] = (IPV4 as u16 + udp_len).to_be_bytes();
    // No fragments, 64 routers at most.
    let mut ip = [0x45, 0, high, low, 0, 0, 0x40, 0, 64, PROTOCOL_UDP, 0, 0];
    let addresses = [10, 99, 0, from.0[5], 10, 99, 0, to.0[5]];
    let words = ip.chunks_exact(2).chain(addresses.chunks_exact(2));
    let sum: u32 = words.map(|word| u32::from(word[0]) << 8 | u32::from(word[1])).sum();
    // The checksum of RFC 1071. The sum of this number of words has at most two carries.
    let sum = (sum & 0xffff) + (sum >> 16);
    let checksum = !((sum & 0xffff) + (sum >> 16)) as u16;
    ip[10..].copy_from_slice(&checksum.to_be_bytes());
    let mut frame = [&to.0[..], &from.0, &ETHERTYPE_IPV4.to_be_bytes(), &ip, &addresses].concat();
    for number in [from_port, to_port, udp_len, 0] {
        frame.extend(number.to_be_bytes());
    }
    frame.extend(payload);
    frame
}

fn word(file: &[u8], at: usize) -> Option<u32> {
    file.get(at..)?.first_chunk().copied().map(u32::from_le_bytes)
}
