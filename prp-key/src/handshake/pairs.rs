//! The secrets of pairs of processes.

use alloc::collections::BTreeMap;

use crate::keyring::KeyName;
use crate::secret::Secret;

use super::SHARE_BYTES;

/// How many processes a process remembers its secrets with. The one that it has not heard of for
/// longest is forgotten, and costs public-key work when it comes again.
pub const MAX_PAIRS: usize = 4096;

/// Secrets by the key that vouches for the other process, and its public key.
#[derive(Default)]
#[cfg_attr(feature = "testing", derive(Clone))]
pub(super) struct Pairs {
    secrets: BTreeMap<(KeyName, [u8; SHARE_BYTES]), (Secret, u64)>,
    /// How often any was used.
    uses: u64,
}

impl Pairs {
    pub(super) fn find(&self, key: KeyName, share: &[u8; SHARE_BYTES]) -> Option<Secret> {
        self.secrets.get(&(key, *share)).map(|(secret, _)| secret.clone())
    }

    /// Notes that the secret of a pair was used.
    pub(super) fn note(&mut self, key: KeyName, share: &[u8; SHARE_BYTES], secret: &Secret) {
        self.uses += 1;
        let entry = (secret.clone(), self.uses);
        self.secrets.insert((key, *share), entry);
        if self.secrets.len() > MAX_PAIRS {
            let oldest = self.secrets.iter().min_by_key(|(_, (_, used))| *used);
            if let Some(place) = oldest.map(|(place, _)| *place) {
                self.secrets.remove(&place);
            }
        }
    }

    /// How many there are.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.secrets.len()
    }
}
