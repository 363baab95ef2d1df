//! GSO batches as packet sockets see them: one long datagram, which the kernel or the network card
//! cuts afterwards, or has put together before (SPEC PRP-UDP-6). A capture does not say where the
//! cuts are. All datagrams but the last have one size, and each is a packet whose header has its
//! length.

use prp_proto::key::TRAILER_BYTES;
use prp_proto::wire::{CRC_LEN, GsoProbe, PACKET_HEADER_LEN};

/// Where a packet's header has the length of its payload.
const LENGTH_AT: usize = 10;

/// What is behind a payload: nothing, a checksum, or the cluster key's counter and tag.
const TRAILER_LENS: [usize; 3] = [0, CRC_LEN, TRAILER_BYTES];

/// The datagrams of `payload`: itself, unless it is a GSO batch of packets or of probes.
pub(super) fn datagrams(payload: &[u8]) -> Vec<&[u8]> {
    let size = match GsoProbe::read(payload) {
        Some(first) => probe_len(payload, first),
        None => packet_len(payload),
    };
    match size {
        Some(size) => payload.chunks(size).collect(),
        None => vec![payload],
    }
}

/// Whether more may follow the first datagram of `payload`, of which the end was not captured.
pub(super) fn may_be_more(payload: &[u8]) -> bool {
    match GsoProbe::read(payload) {
        Some(GsoProbe::Probe { .. }) => true,
        Some(_) => false,
        None => {
            length(payload).is_some_and(|l| PACKET_HEADER_LEN + l + TRAILER_BYTES < payload.len())
        }
    }
}

/// How long the packets of a GSO batch are, with a trailer or without, if that is what `payload`
/// is.
fn packet_len(payload: &[u8]) -> Option<usize> {
    let whole = PACKET_HEADER_LEN + length(payload)?;
    let is_packet = |bytes: &[u8]| {
        let left = length(bytes).and_then(|len| bytes.len().checked_sub(PACKET_HEADER_LEN + len));
        // There is no node 0: zeros stand for what was not captured.
        TRAILER_LENS.into_iter().any(|len| left == Some(len)) && !bytes.starts_with(&[0, 0])
    };
    let sizes = TRAILER_LENS.map(|len| whole + len).into_iter();
    sizes.filter(|size| *size < payload.len()).find(|size| payload.chunks(*size).all(is_packet))
}

fn length(packet: &[u8]) -> Option<usize> {
    let bytes = packet.get(LENGTH_AT..)?.first_chunk::<2>()?;
    Some(u16::from_be_bytes(*bytes).into())
}

/// How long the probes of a GSO batch are that begins with `first`, if that is what `payload` is:
/// the second one has the next index.
fn probe_len(payload: &[u8], first: GsoProbe) -> Option<usize> {
    let GsoProbe::Probe { test, index } = first else { return None };
    let second = Some(GsoProbe::Probe { test, index: index.wrapping_add(1) });
    let is_second = |size: &usize| GsoProbe::read(&payload[*size..]) == second;
    // A GSO batch has two at least, so it is cut before its middle.
    (GsoProbe::LEN..=payload.len() / 2).find(is_second)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets with payloads of these lengths, each with `behind` bytes behind it.
    fn gso_batch(lens: &[u16], behind: usize) -> Vec<u8> {
        let mut gso_batch = Vec::new();
        for len in lens {
            let mut packet = vec![7; PACKET_HEADER_LEN + usize::from(*len) + behind];
            packet[LENGTH_AT..LENGTH_AT + 2].copy_from_slice(&len.to_be_bytes());
            gso_batch.extend(packet);
        }
        gso_batch
    }

    fn lens(payload: &[u8]) -> Vec<usize> {
        datagrams(payload).into_iter().map(<[u8]>::len).collect()
    }

    #[test]
    fn datagrams__of_a_gso_batch_with_trailers_and_without() {
        assert_eq!(lens(&gso_batch(&[1000, 1000, 30], 0)), [1016, 1016, 46]);
        assert_eq!(lens(&gso_batch(&[1000, 1000, 30], 4)), [1020, 1020, 50]);
        assert_eq!(lens(&gso_batch(&[1000, 1000, 30], 20)), [1036, 1036, 66]);
        assert_eq!(lens(&gso_batch(&[0, 0], 0)), [16, 16]);
    }

    #[test]
    fn datagrams__what_is_no_gso_batch_is_one() {
        assert_eq!(lens(&gso_batch(&[1000], 4)), [1020]);
        // A packet with padding, as long as two.
        assert_eq!(lens(&gso_batch(&[1000], 1016)), [2032]);
        // Which was not captured whole.
        assert_eq!(lens(&gso_batch(&[1000, 1000], 0)[..1500]), [1500]);
        let mut ended = gso_batch(&[1000, 0], 4);
        assert_eq!(lens(&ended), [1020, 20]);
        ended[128..].fill(0);
        assert_eq!(lens(&ended), [1040]);
        assert_eq!(lens(&[1, 2, 3]), [3]);
        assert_eq!(lens(&[]), [0]);
    }

    #[test]
    fn datagrams__of_probes() {
        let mut probes = Vec::new();
        for index in 0..3 {
            let mut probe = vec![9; 100];
            probe[..12].copy_from_slice(&[0, 0, 0, 0, 1, index, 0, 0, 0, 0, 0, 5]);
            probes.extend(probe);
        }
        assert_eq!(lens(&probes), [100, 100, 100]);
        assert_eq!(lens(&probes[..100]), [100]);
    }
}
