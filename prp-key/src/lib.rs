//! The cluster key: who may speak, and what nobody else can change or read.
//!
//! This crate has the key file ([`KeyFile`]), the handshake that rides in CREQ and CACK
//! ([`Member`]), the protection of a connection's frames ([`Session`]) and that of frames outside
//! connections ([`Keyring::sign`]). `SPEC.md` of prp-proto has the clauses (`PRP-KEY-…`), and
//! `docs/security.md` says what they promise against whom.
//!
//! Why it is made like this:
//!
//! - The handshake is pattern NNpsk0 of the Noise framework (KKpsk0 where nodes have keys), with
//!   keys for Diffie-Hellman that live as long as the process. A pair of processes computes its
//!   secret once; connections take their keys from it by hashing. A process that was started again
//!   has another key, so no message asks for "once more in full".
//! - The tag of a request is checked before anything is computed or kept: forging costs a hash.
//! - The nonce is a counter of frames and no segment number: a segment that is repeated carries
//!   another acknowledgement. A [`Session`] cannot be copied.
//! - One of the two ends begins each epoch of keys, after it has seen the other one in the epoch
//!   before. So a receiver knows three keys at most, and a frame says which it has.
//! - The tag is behind the payload: what reads frames of mode sign need not know of it.
//! - Resets of routers and of restarted nodes are signed with a key that follows from the cluster's
//!   secret, and name both ids, since their senders have no keys of the connection.
//!
//! It reads no clock and no file, draws no random number, and does no I/O: random bytes are
//! arguments, and frames are slices. The cipher is behind the trait [`Cipher`].
//!
//! ```
//! use prp_key::{Aes128Gcm, KeyFile, Keyring, Member, Mode, Nonce, Secret, Seed};
//!
//! let file = KeyFile::new(Mode::Seal, 1, Secret::new([7; 32]));
//! let member = |seed| Member::<Aes128Gcm>::new(Keyring::new(&file), Seed::new([seed; 32]));
//! let (mut client, mut server) = (member(1), member(2));
//!
//! // Node 1 port 40000 asks node 2 port 80, and both have connection ids.
//! let asks = [0, 1, 0, 2, 0x9c, 0x40, 0, 80, 0, 0, 0, 0, 0, 0, 0, 1];
//! let mut request = vec![1, 4, 1, 0, 0, 0, 0, 11, 0, 0, 0, 0, 5, 204, 0, 0, 0, 0, 1, 0];
//! let asked = client.ask(&asks, Nonce::new([3; 16]), &mut request);
//!
//! let answers = [0, 2, 0, 1, 0, 80, 0x9c, 0x40, 0, 0, 0, 0, 0, 0, 0, 2];
//! let mut answer = vec![1, 4, 1, 0, 0, 0, 0, 12, 0, 0, 0, 11, 5, 204, 0, 0, 0, 0, 1, 0];
//! let nonce = Nonce::new([4; 16]);
//! let mut at_server = server.answer((&asks, &request), nonce, (&answers, &mut answer), || true)?;
//! let mut at_client = client.finish(&asked, (&answers, &answer))?;
//!
//! let (header, mut payload) = ([0; 16], *b"hello");
//! let trailer = at_client.protect(&header, &mut payload).expect("it is the first frame");
//! assert_ne!(&payload, b"hello");
//! let mut text = Vec::new();
//! assert_eq!(at_server.open(&header, &payload, &trailer, &mut text)?, b"hello");
//! # Ok::<(), prp_key::Refusal>(())
//! ```
#![no_std]
#![forbid(unsafe_code)]
#![cfg_attr(test, allow(non_snake_case, reason = "tests are named function__case"))]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod cipher;
mod file;
mod handshake;
mod hex;
mod keyring;
mod mode;
mod node;
mod refusal;
mod schedule;
mod secret;
mod session;
#[cfg(test)]
mod testing;

pub use cipher::{Aes128Gcm, CIPHER_KEY_BYTES, CIPHER_NONCE_BYTES, Cipher, TAG_BYTES, Tag};
pub use file::{EditError, Key, KeyFile, MAX_KEYS, ParseError};
pub use handshake::{
    Asked, MAX_PAIRS, Member, Nonce, OPTION_BYTES, OPTION_TYPE, Seed, check_answer, check_request,
    names_node_keys, wish,
};
pub use keyring::{KeyName, Keyring};
pub use mode::Mode;
pub use node::{MAX_NODE_KEYS, NoNodeKey, NodeKey, NodeKeyFile, NodeKeys, NodeSecret};
pub use refusal::Refusal;
pub use secret::{Fingerprint, Secret, SecretError};
pub use session::{Exhausted, HEADER_BYTES, Header, RENEW_AFTER, Session, TRAILER_BYTES, Trailer};
