//! Handshakes in a capture: both directions between two nodes, of which one may be this node.

use crate::keyring::Keyring;
use crate::refusal::Refusal;
use crate::schedule;
use crate::session::{Header, without_hops};

use super::Offer;

/// Checks that a member has made the request with this header and block of options; the id of the
/// secret.
///
/// # Errors
/// No member whose secret is in `keyring` has. [`Refusal::UnknownKey`] where that cannot be told.
pub fn check_request(keyring: &Keyring, header: &Header, block: &[u8]) -> Result<u16, Refusal> {
    let header = without_hops(header);
    let (offer, unsigned, tag) = Offer::read(block)?;
    let mut keys = keyring.captured(&header, offer.key_id, offer.with_nodes)?;
    let key = keys.find(|key| schedule::is_code(&key.request, &[&header, unsigned], tag));
    key.map(|key| key.id).ok_or(Refusal::BadTag)
}

/// Checks that a member has made the answer with this header and block of options to the request
/// `asked`, its header and its block; the id of the secret.
///
/// # Errors
/// As [`check_request`].
pub fn check_answer(
    keyring: &Keyring,
    (asked_header, asked): (&Header, &[u8]),
    (header, block): (&Header, &[u8]),
) -> Result<u16, Refusal> {
    let [asked_header, header] = [asked_header, header].map(without_hops);
    let (offer, unsigned, tag) = Offer::read(block)?;
    let mut keys = keyring.captured(&header, offer.key_id, offer.with_nodes)?;
    let said: [&[u8]; 4] = [&asked_header, asked, &header, unsigned];
    let key = keys.find(|key| schedule::is_code(&key.answer, &said, tag));
    key.map(|key| key.id).ok_or(Refusal::BadTag)
}

/// Returns whether keys of nodes vouch for a request or an answer with this block of options.
#[must_use]
pub fn names_node_keys(block: &[u8]) -> bool {
    Offer::read(block).is_ok_and(|(offer, ..)| offer.with_nodes)
}
