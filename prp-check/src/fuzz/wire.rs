//! Wire formats: what parses is emitted and parsed again to the same.

use prp_proto::wire::{
    Control, CrcKey, ETHERTYPE, Flags, Frame, HEADER_LEN, MAX_CONTROL_LEN, Offer, Pretty,
    ResetBlock, checksum, packet_header,
};

/// Offset of the EtherType in a frame.
const ETHERTYPE_AT: usize = 12;

/// Reads `data` as everything the wire may carry: a frame, and each kind of block.
///
/// # Panics
/// If parsing, emitting and parsing again does not give the same, or an agreed trailer does not
/// verify.
pub fn wire(data: &[u8]) {
    blocks(data);
    frame(data, ETHERTYPE);
    // The same with the right EtherType, so that a random input gets past the first check.
    if let Some(own) = data.get(..HEADER_LEN) {
        let mut fixed = own.to_vec();
        fixed[ETHERTYPE_AT..ETHERTYPE_AT + 2].copy_from_slice(&ETHERTYPE.to_be_bytes());
        fixed.extend_from_slice(&data[HEADER_LEN..]);
        frame(&fixed, ETHERTYPE);
    }
}

fn frame(bytes: &[u8], ethertype: u16) {
    let shown = Pretty::new(bytes, ethertype).to_string();
    assert!(!shown.contains(char::is_control), "{shown:?}");
    let Ok(frame) = Frame::parse(bytes, ethertype) else { return };
    let head = frame.head.emit();
    assert_eq!(head, bytes[..HEADER_LEN], "a header came out other than it went in");
    assert_eq!(packet_header(&head), frame.packet_header());
    assert_eq!(frame.payload.len(), usize::from(frame.head.transport.len));
    blocks(frame.payload);
    if frame.flags().contains(Flags::ACK) {
        let flags = frame.flags().with_hops(frame.flags().hops());
        assert_eq!(flags, frame.flags(), "HOPS touched another field");
    }
    // A trailer made under a key verifies under that key and, one bit off, no longer.
    let key = CrcKey { sender: 1, receiver: 2 };
    let trailer = checksum(key, packet_header(&head), [frame.payload, &[]]);
    let mut sealed = [&head[..], frame.payload, &trailer].concat();
    assert!(Frame::parse(&sealed, ethertype).is_ok_and(|f| f.crc_ok(key)));
    let last = sealed.len() - 1;
    sealed[last] ^= 1;
    assert!(Frame::parse(&sealed, ethertype).is_ok_and(|f| !f.crc_ok(key)));
}

fn blocks(bytes: &[u8]) {
    if let Some(control) = Control::parse(bytes) {
        let mut out = [0xa5; MAX_CONTROL_LEN];
        let len = control.emit(&mut out);
        assert_eq!(Control::parse(&out[..len]), Some(control));
        // No block may need more than it says.
        assert!(Control::parse(&out[..len - 1]).is_none());
    }
    if let Ok(offer) = Offer::parse(bytes) {
        assert_eq!(Offer::parse(&offer.emit()), Ok(offer));
    }
    if let Some(block) = ResetBlock::parse(bytes) {
        assert_eq!(ResetBlock::parse(&block.emit()), Some(block));
    }
}
