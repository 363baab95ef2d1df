use super::*;
use crate::testing::hex;

/// RFC 5869, test case 1.
#[test]
fn extract__published_value() {
    let salt: [u8; 13] = core::array::from_fn(|i| i as u8);
    let expected = hex("077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2b3e5");
    assert_eq!(extract(&salt, &[0x0b; 22]).bytes(), &expected);
}

/// Computed by Python's `hmac` and `hashlib` from the words of SPEC PRP-KEY-5 to 11.
#[test]
fn derive__values_of_another_implementation() {
    let secret = Secret::new(core::array::from_fn(|i| i as u8));
    let root = cluster(&secret);
    let expected = hex("84f35e6b2c7833b25098282f7dd00be85c00580c9a6dc4e22a0fdf07b1a5d3cc");
    assert_eq!(root.bytes(), &expected);
    let request = derive(&root, Purpose::Request, &[&5_u16.to_be_bytes()]);
    let expected = hex("8ef382206db1acaa8b3ecf7fae34e4450d7e8fc39eb3447e0422e6de5b68b009");
    assert_eq!(request.bytes(), &expected);
    assert_eq!(*cipher_key(&secret), hex("181e0d72cb7d756198e37e5dfbdf1ac9"));
    assert_eq!(fingerprint(&secret).0, hex("9e20bc23c2ff69d4"));
    assert_eq!(code(&secret, &[b"ab", b"", b"c"]), hex("64d220681a669f90b6b937a0999e2b33"));
}

#[test]
fn code__of_other_pieces_is_another() {
    let secret = Secret::new([1; 32]);
    let tag = code(&secret, &[b"ab", b"c"]);
    assert!(is_code(&secret, &[b"ab", b"c"], &tag));
    for other in [&[&b"a"[..], b"bc"][..], &[b"abc"], &[b"ab", b"c", b""], &[b"ab", b"d"]] {
        assert!(!is_code(&secret, other, &tag), "{other:?}");
    }
    assert!(!is_code(&Secret::new([2; 32]), &[b"ab", b"c"], &tag));
}

#[test]
fn derive__each_purpose_has_its_own() {
    let secret = Secret::new([1; 32]);
    let all = [
        Purpose::Request,
        Purpose::Outside,
        Purpose::Pair,
        Purpose::Answer,
        Purpose::Frames,
        Purpose::EpochKey,
        Purpose::NextEpoch,
        Purpose::Fingerprint,
    ];
    let derived = all.map(|purpose| *derive(&secret, purpose, &[]).bytes());
    for (i, one) in derived.iter().enumerate() {
        assert!(!derived[..i].contains(one), "{:?}", all[i]);
    }
}
