use alloc::format;
use alloc::string::ToString;

use proptest::prelude::*;

use super::{MacAddr, NodeId, Port, PrpAddr};

#[test]
fn node__reserved_numbers_are_refused() {
    assert!(NodeId::new(0).is_none());
    assert!(NodeId::new(65535).is_none());
    assert_eq!(NodeId::new(65534).map(NodeId::number), Some(65534));
}

#[test]
fn parse__rejects_what_is_not_plain_decimal() {
    for bad in
        ["", "+3:80", "3:+80", "3", "3:", ":80", "0:80", "65535:1", "3:65536", "3:80 ", "a:1"]
    {
        assert!(bad.parse::<PrpAddr>().is_err(), "{bad:?} parsed");
    }
}

#[test]
fn mac__parses_two_hex_digits_an_octet_only() {
    assert_eq!("02:00:00:00:0A:ff".parse(), Ok(MacAddr([2, 0, 0, 0, 10, 255])));
    for bad in [
        "",
        "02:00:00:00:00",
        "02:00:00:00:00:00:00",
        "2:0:0:0:0:1",
        "02:00:00:00:00:0g",
        "02-00-00-00-00-01",
    ] {
        assert!(bad.parse::<MacAddr>().is_err(), "{bad:?} parsed");
    }
}

#[test]
fn mac__group_and_zero_addresses_are_no_station() {
    assert!(!MacAddr::BROADCAST.is_station());
    assert!(!MacAddr::ZERO.is_station());
    assert!(!MacAddr([1, 0, 0x5e, 0, 0, 1]).is_station());
    assert!(MacAddr([2, 0, 0, 0, 0, 1]).is_station());
}

#[test]
fn display__honours_width() {
    let addr = PrpAddr::new(NodeId::MIN, Port::new(80));
    assert_eq!(format!("[{addr:>8}]"), "[    1:80]");
}

proptest! {
    #[test]
    fn addr__prints_and_parses_back(node in 1u16..65535, port: u16) {
        let addr = PrpAddr::new(NodeId::new(node).unwrap(), Port::new(port));
        prop_assert_eq!(addr.to_string().parse(), Ok(addr));
    }

    #[test]
    fn mac__prints_and_parses_back(octets: [u8; 6]) {
        let mac = MacAddr(octets);
        prop_assert_eq!(mac.to_string().parse(), Ok(mac));
    }
}
