//! Mutations of what the cluster key checks, of the same kind.

use super::mutation::Catcher::{Fuzz, Key, Unit};
use super::mutation::{Mutation, mutation};

const HANDSHAKE: &str = "prp-key/src/handshake.rs";
const INCOMING: &str = "prp-key/src/session/incoming.rs";

/// Those of prp-key.
pub(super) const KEYS: &[Mutation] = &[
    // Keys of connections.
    mutation(
        Key,
        "both directions have the same keys",
        "session",
        HANDSHAKE,
        "let direction = [mode.wire(), u8::from(is_upward)];",
        "let direction = [mode.wire(), u8::from(is_upward) & 0];",
    ),
    mutation(
        Key,
        "the ids of a connection do not enter its keys",
        "session",
        HANDSHAKE,
        "let ends = [low.0, low.1, high.0, high.1].concat();",
        "let ends = [low.0, [0; 4], high.0, [0; 4]].concat();",
    ),
    mutation(
        Key,
        "nonces do not enter the keys of a connection",
        "session",
        HANDSHAKE,
        "schedule::extract(&[low.2, high.2].concat(), pair.bytes())",
        "schedule::extract(&[0; 32], pair.bytes())",
    ),
    mutation(
        Key,
        "the secret of two nodes does not come from their keys",
        "node keys",
        "prp-key/src/keyring/nodes.rs",
        "schedule::extract(secret.root.bytes(), agreed.as_bytes())",
        "schedule::extract(secret.root.bytes(), &agreed.as_bytes()[..0])",
    ),
    // What is checked.
    mutation(
        Fuzz,
        "the tag of a frame is not checked",
        "session",
        INCOMING,
        "if !is_authentic(&self.cipher, &counter.nonce()) {",
        "if !is_authentic(&self.cipher, &counter.nonce()) && false {",
    ),
    mutation(
        Key,
        "a forged frame of the next epoch is enough to go on to it",
        "session",
        INCOMING,
        "        next.0.open(counter, is_authentic)?;\n        self.promote();",
        "        let opened = next.0.open(counter, is_authentic);\n        self.promote();\n        opened?;",
    ),
    mutation(
        Key,
        "the headers of a sealed frame are not authenticated",
        "session",
        "prp-key/src/session.rs",
        "    joined[..HEADER_BYTES].copy_from_slice(header);\n",
        "    let _ = header;\n",
    ),
    mutation(
        Key,
        "an answer's tag is not over the request",
        "handshake",
        HANDSHAKE,
        "let said: [&[u8]; 4] = [asked_header, asked, header, unsigned];",
        "let said: [&[u8]; 4] = [asked_header, &block[..0], header, unsigned];",
    ),
    mutation(
        Unit,
        "the cluster's secret alone will do for a node with a key",
        "node keys",
        "prp-key/src/keyring.rs",
        "(Some(_), false) => return Err(Refusal::Unsigned),",
        "(Some(_), false) => &self.keys,",
    ),
];
