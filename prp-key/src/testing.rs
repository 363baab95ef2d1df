//! What tests of several modules use.

use std::string::String;
use std::vec::Vec;

use crate::{
    Aes128Gcm, Header, KeyFile, Keyring, Member, Mode, Nonce, Refusal, Secret, Seed, Session,
};

/// The bytes that `digits` write in hexadecimal.
pub(crate) fn hex<const N: usize>(digits: &str) -> [u8; N] {
    let bytes: Vec<_> = digits
        .as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect();
    bytes.try_into().unwrap()
}

/// `bytes` in hexadecimal.
pub(crate) fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| std::format!("{byte:02x}")).collect()
}

/// Headers of a frame from node 1, port 40000, to node 2, port 80.
pub(crate) const UP: Header = [0, 1, 0, 2, 0x9c, 0x40, 0, 80, 0, 0, 0, 90, 0, 0, 0, 1];

/// Headers of a frame in the other direction.
pub(crate) const DOWN: Header = [0, 2, 0, 1, 0, 80, 0x9c, 0x40, 0, 0, 0, 90, 0, 0, 0, 2];

/// Options without a key of a sender with the connection id `id`.
pub(crate) fn options(id: u8) -> Vec<u8> {
    std::vec![1, 4, 1, 0, 0, 0, 0, id, 0, 0, 0, 0, 5, 204, 0, 0, 0, 0, 1, 0]
}

/// A file with one secret.
pub(crate) fn file(mode: Mode) -> KeyFile {
    KeyFile::new(mode, 5, Secret::new(core::array::from_fn(|i| i as u8)))
}

/// A process with `file`.
pub(crate) fn member(file: &KeyFile, seed: u8) -> Member<Aes128Gcm> {
    Member::new(Keyring::new(file), Seed::new([seed; 32]))
}

/// A handshake from the process at [`UP`]'s source; the sessions of the asking end and the other.
pub(crate) fn connect(
    asking: &mut Member<Aes128Gcm>,
    answering: &mut Member<Aes128Gcm>,
    nonces: [u8; 2],
) -> Result<[Session<Aes128Gcm>; 2], Refusal> {
    let (mut request, mut answer) = (options(11), options(12));
    let asked = asking.ask(&UP, Nonce::new([nonces[0]; 16]), &mut request);
    let nonce = Nonce::new([nonces[1]; 16]);
    let there = answering.answer((&UP, &request), nonce, (&DOWN, &mut answer), || true)?;
    Ok([asking.finish(&asked, (&DOWN, &answer))?, there])
}
