//! Compares what `prp-key` could be made from, and prints a table in Markdown: nanoseconds of one
//! frame by payload, the least of many rounds, with prepared keys.
//!
//! `seal` encrypts in place, `open` checks and decrypts, `sign` makes a tag over 16 bytes of
//! headers and the payload.

use std::hint::black_box;
use std::time::Instant;

const PAYLOADS: [usize; 7] = [16, 64, 256, 1024, 1484, 8192, 65536];

const HEADER: [u8; 16] = [7; 16];

/// Rounds of a measurement, of which the fastest counts: other programs run beside it.
const ROUNDS: usize = 200;

/// Bytes of a round, about.
const ROUND_BYTES: usize = 1 << 17;

/// The least nanoseconds of one call.
fn time(bytes: usize, mut call: impl FnMut(u64)) -> f64 {
    let calls = (ROUND_BYTES / (bytes + 512)).max(1) as u64;
    let mut number = 0;
    let rounds = (0..ROUNDS).map(|_| {
        let start = Instant::now();
        for _ in 0..calls {
            number += 1;
            call(number);
        }
        start.elapsed().as_nanos() as f64 / calls as f64
    });
    rounds.fold(f64::INFINITY, f64::min)
}

fn row(name: &str, what: &str, call: impl Fn(u64, &mut [u8])) {
    print!("| {name} | {what} |");
    for bytes in PAYLOADS {
        let mut payload = vec![1; bytes];
        print!(" {:.0} |", time(bytes, |number| call(number, black_box(&mut payload))));
    }
    println!();
}

fn nonce(number: u64) -> [u8; 12] {
    let mut nonce = [0; 12];
    nonce[4..].copy_from_slice(&number.to_be_bytes());
    nonce
}

/// Seal and open of a cipher, and sign with the payload as associated data.
fn cipher(
    name: &str,
    seal: impl Fn(&[u8; 12], &[u8], &mut [u8]) -> [u8; 16],
    open: impl Fn(&[u8; 12], &[u8], &mut [u8], &[u8; 16]) -> bool,
) {
    row(name, "seal", |number, payload| {
        black_box(seal(&nonce(number), &HEADER, payload));
    });
    print!("| {name} | open |");
    for bytes in PAYLOADS {
        let mut sealed = vec![1; bytes];
        let tag = seal(&nonce(1), &HEADER, &mut sealed);
        let mut payload = sealed.clone();
        let copy = time(bytes, |_| black_box(&mut payload).copy_from_slice(black_box(&sealed)));
        let both = time(bytes, |_| {
            payload.copy_from_slice(&sealed);
            assert!(open(&nonce(1), &HEADER, black_box(&mut payload), &tag));
        });
        print!(" {:.0} |", both - copy);
    }
    println!();
    row(name, "sign", |number, payload| {
        black_box(seal(&nonce(number), payload, &mut HEADER.clone()));
    });
}

fn rust_crypto() {
    use aes_gcm::aead::{AeadInOut, KeyInit};
    let aes = aes_gcm::Aes128Gcm::new(&[3; 16].into());
    cipher(
        "aes-gcm (AES-128-GCM)",
        |n, ad, text| aes.encrypt_inout_detached(n.into(), ad, text.into()).unwrap().into(),
        |n, ad, text, tag| {
            aes.decrypt_inout_detached(n.into(), ad, text.into(), tag.into()).is_ok()
        },
    );
    let chacha = chacha20poly1305::ChaCha20Poly1305::new(&[3; 32].into());
    cipher(
        "chacha20poly1305",
        |n, ad, text| chacha.encrypt_inout_detached(n.into(), ad, text.into()).unwrap().into(),
        |n, ad, text, tag| {
            chacha.decrypt_inout_detached(n.into(), ad, text.into(), tag.into()).is_ok()
        },
    );
}

macro_rules! ring_like {
    ($name:literal, $ring:ident, $algorithm:ident) => {{
        use $ring::aead::{Aad, LessSafeKey, Nonce, UnboundKey, $algorithm};
        let key = [3; 32];
        let key = UnboundKey::new(&$algorithm, &key[..$algorithm.key_len()]).unwrap();
        let key = LessSafeKey::new(key);
        cipher(
            concat!($name, " (", stringify!($algorithm), ")"),
            |n, ad, text| {
                let nonce = Nonce::assume_unique_for_key(*n);
                let tag = key.seal_in_place_separate_tag(nonce, Aad::from(ad), text).unwrap();
                tag.as_ref().try_into().unwrap()
            },
            |n, ad, text, tag| {
                let nonce = Nonce::assume_unique_for_key(*n);
                ring_open!($ring, key, nonce, ad, text, tag)
            },
        );
    }};
}

macro_rules! ring_open {
    (ring, $key:ident, $nonce:ident, $ad:ident, $text:ident, $tag:ident) => {
        $key.open_in_place_separate_tag(
            $nonce,
            Aad::from($ad),
            ring::aead::Tag::from(*$tag),
            $text,
            0..,
        )
        .is_ok()
    };
    (aws_lc_rs, $key:ident, $nonce:ident, $ad:ident, $text:ident, $tag:ident) => {{
        // It opens a separate tag from one place to another only: with a copy too many.
        let sealed = $text.to_vec();
        $key.open_separate_gather($nonce, Aad::from($ad), &sealed, $tag, $text).is_ok()
    }};
}

fn rings() {
    ring_like!("ring", ring, AES_128_GCM);
    ring_like!("ring", ring, CHACHA20_POLY1305);
    ring_like!("aws-lc-rs", aws_lc_rs, AES_128_GCM);
    ring_like!("aws-lc-rs", aws_lc_rs, CHACHA20_POLY1305);
}

fn aegis_row() {
    use aegis::aegis128l::{Aegis128L, Aegis128LMac};
    let wide = |n: &[u8; 12]| {
        let mut wide = [0; 16];
        wide[4..].copy_from_slice(n);
        wide
    };
    cipher(
        "aegis (AEGIS-128L)",
        |n, ad, text| Aegis128L::<16>::new(&[3; 16], &wide(n)).encrypt_in_place(text, ad),
        |n, ad, text, tag| {
            Aegis128L::<16>::new(&[3; 16], &wide(n)).decrypt_in_place(text, tag, ad).is_ok()
        },
    );
    row("aegis (AEGISMAC-128L)", "sign", |number, payload| {
        let mut mac = Aegis128LMac::<16>::new_with_nonce(&[3; 16], &wide(&nonce(number)));
        mac.update(&HEADER);
        mac.update(payload);
        black_box(mac.finalize());
    });
}

fn hashes() {
    use hmac::{Hmac, KeyInit, Mac};
    let prepared = Hmac::<sha2::Sha256>::new_from_slice(&[3; 32]).unwrap();
    row("hmac + sha2 (HMAC-SHA-256)", "sign", |number, payload| {
        let mut mac = prepared.clone();
        mac.update(&nonce(number));
        mac.update(&HEADER);
        mac.update(payload);
        black_box(mac.finalize());
    });
    let prepared = blake2::Blake2sMac256::new_from_slice(&[3; 32]).unwrap();
    row("blake2 (BLAKE2s)", "sign", |number, payload| {
        let mut mac = prepared.clone();
        mac.update(&nonce(number));
        mac.update(&HEADER);
        mac.update(payload);
        black_box(mac.finalize());
    });
    row("blake3", "sign", |number, payload| {
        let mut mac = blake3::Hasher::new_keyed(&[3; 32]);
        mac.update(&nonce(number));
        mac.update(&HEADER);
        mac.update(payload);
        black_box(mac.finalize());
    });
}

fn agreement() {
    use ring::agreement::{EphemeralPrivateKey, UnparsedPublicKey, X25519, agree_ephemeral};
    let random = ring::rand::SystemRandom::new();
    let own = x25519_dalek::StaticSecret::from([5; 32]);
    let theirs = x25519_dalek::PublicKey::from(&x25519_dalek::StaticSecret::from([6; 32]));
    let dalek = time(8192, |_| {
        black_box(own.diffie_hellman(black_box(&theirs)));
    });
    let share = *theirs.as_bytes();
    let of_ring = time(8192, |_| {
        let own = EphemeralPrivateKey::generate(&X25519, &random).unwrap();
        let peer = UnparsedPublicKey::new(&X25519, black_box(share));
        agree_ephemeral(own, &peer, |secret| black_box(secret[0])).unwrap();
    });
    println!("\nX25519: x25519-dalek {dalek:.0} ns; ring {of_ring:.0} ns, with a random key.");
}

fn main() {
    print!("| crate | what |");
    PAYLOADS.iter().for_each(|bytes| print!(" {bytes} B |"));
    print!("\n| --- | --- |");
    PAYLOADS.iter().for_each(|_| print!(" ---: |"));
    println!();
    rust_crypto();
    rings();
    aegis_row();
    hashes();
    agreement();
}
