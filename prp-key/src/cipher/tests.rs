use super::*;
use crate::testing::hex;

const KEY: &str = "feffe9928665731c6d6a8f9467308308";
const NONCE: &str = "cafebabefacedbaddecaf888";
const PLAIN: &str = "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72\
                     1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39";
const ASSOCIATED: &str = "feedfacedeadbeeffeedfacedeadbeefabaddad2";
const SEALED: &str = "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e\
                      21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091";
const TAG: &str = "5bc94fbc3221a5db94fae95ae7121a47";

/// Test cases 1, 2 and 4 of McGrew and Viega, *The Galois/Counter Mode of Operation*.
#[test]
fn seal__published_values() {
    let cipher = Aes128Gcm::new(&[0; 16]);
    assert_eq!(cipher.seal(&[0; 12], &[], &mut []), hex("58e2fccefa7e3061367f1d57a4e7455a"));
    let mut text = [0; 16];
    assert_eq!(cipher.seal(&[0; 12], &[], &mut text), hex("ab6e47d42cec13bdf53a67b21257bddf"));
    assert_eq!(text, hex("0388dace60b6a392f328c2b971b2fe78"));
    let cipher = Aes128Gcm::new(&hex(KEY));
    let mut text: [u8; 60] = hex(PLAIN);
    assert_eq!(cipher.seal(&hex(NONCE), &hex::<20>(ASSOCIATED), &mut text), hex(TAG));
    assert_eq!(text, hex(SEALED));
    let sealed = text;
    assert!(cipher.open(&hex(NONCE), &hex::<20>(ASSOCIATED), &sealed, &mut text, &hex(TAG)));
    assert_eq!(text, hex(PLAIN));
}

#[test]
fn open__a_wrong_tag_is_refused() {
    let cipher = Aes128Gcm::new(&hex(KEY));
    for byte in 0..TAG_BYTES {
        let mut tag: Tag = hex(TAG);
        tag[byte] ^= 1;
        let (sealed, mut text) = (hex::<60>(SEALED), [0; 60]);
        assert!(!cipher.open(&hex(NONCE), &hex::<20>(ASSOCIATED), &sealed, &mut text, &tag));
        assert_ne!(text, hex(PLAIN), "nothing is said that was not checked");
    }
}
