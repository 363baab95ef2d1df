//! The last frame that passes, and the first that does not. These were found by mutations that
//! nothing caught.

use super::*;

/// Frames of `bytes` bytes on the wire, from 1 to 7.
fn of_length(bytes: usize) -> Vec<u8> {
    let long = sealed(head(1, 7, mac(1), mac(0xa0), 0), &[&[0; 1484]]);
    long[..bytes].to_vec()
}

//= PRP-FWD-2, type=test
#[test]
fn handle_packet__one_byte_more_than_the_link_takes_is_too_many() {
    let mut router = router(MIDDLE, 5);
    let most = 1500 + ETHERNET_LEN;
    assert_eq!(forwarded(&mut router, 0, &of_length(most)).1.len(), most);
    assert_eq!(dropped(&mut router, 0, &of_length(most + 1)), ForwardDrop::TooBig);
}

//= PRP-NODE-4, type=test
#[test]
fn answer__an_echo_dropped_for_another_reason_is_not_reported() {
    let router = router(MIDDLE, 5);
    let bytes = echo(7, 0);
    let frame = Frame::parse(&bytes, ETHERTYPE).unwrap();
    assert!(answer(&router, &frame, Some(ForwardDrop::NoRoute)).is_some());
    for why in [ForwardDrop::BadSource, ForwardDrop::NotOurMac, ForwardDrop::SendFailed] {
        assert_eq!(answer(&router, &frame, Some(why)), None, "{why:?}");
    }
}

//= PRP-RST-2, type=test
#[test]
fn refuse__what_says_the_same_as_a_request_and_is_none() {
    let router = router(MIDDLE, 5);
    let reliability = ReliabilitySet::ALL;
    let offer = Offer { id: 0xabcd, echo: 0, reliability, crc: false, mss: 1484, window: 64 };
    let refused = |flags: Flags| {
        let mut head = head(1, 5, mac(1), mac(0xa0), 0);
        head.transport.flags = flags;
        let bytes = sealed(head, &[&offer.emit()]);
        refuse(&router, &Frame::parse(&bytes, ETHERTYPE).unwrap()).is_some()
    };
    assert!(refused(Flags::CREQ));
    assert!(!refused(Flags::EOM));
}
