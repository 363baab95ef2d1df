//! Mutations of what the cluster key checks.

use super::mutation::Catcher::{Fuzz, Key, Unit};
use super::mutation::{Mutation, mutation};

const HANDSHAKE: &str = "prp-key/src/handshake.rs";
const INCOMING: &str = "prp-key/src/session/incoming.rs";
const KEYRING: &str = "prp-key/src/keyring.rs";
const OUTGOING: &str = "prp-key/src/session/outgoing.rs";
const REFUSAL: &str = "prp-proto/src/endpoint/refusal.rs";
const REPLAY: &str = "prp-key/src/session/replay.rs";
const SECURITY: &str = "prp-proto/src/endpoint/security.rs";
const SESSION: &str = "prp-key/src/session.rs";

/// Those mutations.
pub(super) const KEYS: &[Mutation] = &[
    // Frames of connections.
    mutation(
        Fuzz,
        "the tag of a frame is not checked",
        "session",
        INCOMING,
        "if !is_authentic(&self.cipher, &counter.nonce()) {",
        "if !is_authentic(&self.cipher, &counter.nonce()) && false {",
    ),
    mutation(
        Unit,
        "a frame that comes again is taken",
        "session",
        INCOMING,
        "if !self.window.is_new(counter.index) {",
        "if false {",
    ),
    mutation(
        Key,
        "a frame that is older than the window is taken",
        "session",
        REPLAY,
        "self.reached - index <= WINDOW && self.words[word] & bit == 0",
        "self.words[word] & bit == 0",
    ),
    mutation(
        Key,
        "a repeat takes the counter of the frame before",
        "session",
        OUTGOING,
        "        self.next.index += 1;\n",
        "        self.next.index += self.next.index & 1 ^ 1;\n",
    ),
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
        "an epoch begins before the peer is in the one before",
        "session",
        SESSION,
        "if is_due && self.leads && is_heard {",
        "if is_due && self.leads {",
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
        SESSION,
        "    joined[..HEADER_BYTES].copy_from_slice(header);\n",
        "    let _ = header;\n",
    ),
    // Handshakes.
    mutation(
        Unit,
        "a request's tag is not checked",
        "handshake",
        HANDSHAKE,
        "keys.find(|key| schedule::is_code(&key.request, &[header, unsigned], tag))",
        "keys.find(|key| schedule::is_code(&key.request, &[header, unsigned], tag) || true)",
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
        Key,
        "an answer may agree on less than was asked for",
        "handshake",
        HANDSHAKE,
        "if theirs.mode < ours.mode.max(Mode::Sign) {",
        "if theirs.mode < Mode::Sign {",
    ),
    mutation(
        Unit,
        "a request without the key is taken where one is asked for",
        "handshake",
        SECURITY,
        "match wished.unwrap_or_default().max(security.least(node)) {",
        "match wished.unwrap_or_default() {",
    ),
    mutation(
        Unit,
        "an answer without the key is taken where one is asked for",
        "handshake",
        SECURITY,
        "if wish(frame.payload).is_none() && protection.may_be_off() {",
        "if wish(frame.payload).is_none() {",
    ),
    mutation(
        Unit,
        "public-key work has no budget",
        "handshake",
        HANDSHAKE,
        "None if !may_pair() => return Err(Refusal::Busy),",
        "None if !may_pair() && false => return Err(Refusal::Busy),",
    ),
    mutation(
        Unit,
        "a connection is offered before its client has spoken",
        "handshake",
        "prp-proto/src/endpoint/request.rs",
        "        if !is_protected {\n",
        "        if true {\n",
    ),
    // Frames outside connections.
    mutation(
        Unit,
        "a reset without the key is believed",
        "endpoint",
        SECURITY,
        "Err(why) if is_required => Err(note(conn, why.into())),",
        "Err(why) if is_required && false => Err(note(conn, why.into())),",
    ),
    mutation(
        Unit,
        "nothing that is refused is signed",
        "endpoint",
        REFUSAL,
        "if let Some(keyring) = keyring.filter(is_asked) {",
        "if let Some(keyring) = keyring.filter(|_| false) {",
    ),
    // Keys of nodes.
    mutation(
        Unit,
        "the cluster's secret alone will do for a node with a key",
        "node keys",
        KEYRING,
        "(Some(_), false) => return Err(Refusal::Unsigned),",
        "(Some(_), false) => &self.keys,",
    ),
    mutation(
        Key,
        "the keys of nodes do not enter the secret of two processes",
        "node keys",
        HANDSHAKE,
        "        length += nodes.len();\n",
        "        length += nodes.len() & 0;\n",
    ),
    mutation(
        Key,
        "the secret of two nodes does not come from their keys",
        "node keys",
        "prp-key/src/keyring/nodes.rs",
        "schedule::extract(secret.root.bytes(), agreed.as_bytes())",
        "schedule::extract(secret.root.bytes(), &agreed.as_bytes()[..0])",
    ),
    mutation(
        Unit,
        "requests with different node keys cross",
        "node keys",
        SECURITY,
        "            && theirs != ours\n",
        "            && theirs != ours && false\n",
    ),
];
