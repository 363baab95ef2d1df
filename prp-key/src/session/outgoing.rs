//! The direction in which an end sends.

use core::fmt::{self, Debug, Formatter};

use crate::cipher::Cipher;
use crate::schedule::{self, Purpose};
use crate::secret::Secret;

use super::Exhausted;
use super::counter::{Counter, INDICES};

/// The keys and the counter of frames to send.
#[cfg_attr(feature = "testing", derive(Clone))]
pub(super) struct Outgoing<C> {
    /// Of the next frame.
    next: Counter,
    cipher: C,
    /// Of the present epoch. Those of epochs before are gone, so their frames cannot be read from
    /// what an end still knows.
    secret: Secret,
}

impl<C: Cipher> Outgoing<C> {
    pub(super) fn new(secret: &Secret) -> Self {
        Self {
            next: Counter { epoch: 0, index: 0 },
            cipher: cipher(secret),
            secret: secret.clone(),
        }
    }

    /// Takes the next counter, which nobody gets again, and the cipher for it.
    pub(super) fn next(&mut self) -> Result<(Counter, &C), Exhausted> {
        let counter = self.next;
        if counter.index >= INDICES {
            return Err(Exhausted);
        }
        self.next.index += 1;
        Ok((counter, &self.cipher))
    }

    /// Goes on to the epoch `number`, if it is not there.
    pub(super) fn follow(&mut self, number: u32) {
        while self.next.epoch < number {
            self.secret = following(&self.secret);
            self.cipher = cipher(&self.secret);
            self.next = Counter { epoch: self.next.epoch + 1, index: 0 };
        }
    }
}

impl<C> Outgoing<C> {
    pub(super) const fn epoch(&self) -> u32 {
        self.next.epoch
    }

    /// How many frames were sent in this epoch.
    pub(super) const fn sent(&self) -> u32 {
        self.next.index
    }
}

#[cfg(feature = "testing")]
impl<C> core::hash::Hash for Outgoing<C> {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        (self.next.epoch, self.next.index, self.secret.bytes()).hash(state);
    }
}

impl<C> Debug for Outgoing<C> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.next)
    }
}

/// Returns the cipher of the epoch whose secret is `secret` (PRP-KEY-11).
pub(super) fn cipher<C: Cipher>(secret: &Secret) -> C {
    C::new(&schedule::cipher_key(secret))
}

/// Returns the secret of the epoch after the one whose secret is `secret` (PRP-KEY-11). Most
/// connections end before they need it.
pub(super) fn following(secret: &Secret) -> Secret {
    schedule::derive(secret, Purpose::NextEpoch, &[])
}

#[cfg(test)]
mod tests;
