//! Seeds of endpoints, some chosen so that their first segment number is about to wrap.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use prp_proto::seq::SeqWidth;

/// The seed of `node` in its `incarnation`-th life.
pub(super) fn plain(node: usize, incarnation: u8) -> [u8; 32] {
    let mut seed = [0; 32];
    seed[0] = node as u8 + 1;
    seed[1] = incarnation;
    seed
}

/// A seed under which an endpoint's first connection starts with one of the last two numbers of
/// `width`: its second or third segment is number zero.
pub(super) fn near_wrap(node: usize, width: SeqWidth) -> [u8; 32] {
    let mut seed = plain(node, 0);
    let found = (0u32..).find(|n| {
        seed[4..8].copy_from_slice(&n.to_le_bytes());
        first_number(seed, width) >= width.mask() - 1
    });
    seed[4..8].copy_from_slice(&found.unwrap_or_default().to_le_bytes());
    seed
}

/// What an endpoint draws, in order: key of its tables, port, connection id, first number. Trying
/// real endpoints would take seconds; a test holds this against one.
pub(super) fn first_number(seed: [u8; 32], width: SeqWidth) -> u32 {
    let mut rng = ChaCha8Rng::from_seed(seed);
    let _key = rng.next_u64();
    let (_port, _id) = (rng.next_u32(), rng.next_u32());
    rng.next_u32() & width.mask()
}
