//! The direction in which an end receives.

use alloc::boxed::Box;
use core::fmt::{self, Debug, Formatter};
use core::mem;

use crate::cipher::{CIPHER_NONCE_BYTES, Cipher};
use crate::refusal::Refusal;
use crate::secret::Secret;

use super::counter::{Counter, WIRE_BYTES};
use super::outgoing::{cipher, following};
use super::replay::{ReplayWindow, WINDOW};

/// The keys of frames that come, and which have come.
///
/// It has the key of the present epoch, that of the one before for frames that were overtaken, and
/// that of the next one from the first frame on that claims to be of it.
#[cfg_attr(feature = "testing", derive(Clone))]
pub(super) struct Incoming<C> {
    /// The number of the present epoch.
    number: u32,
    present: Epoch<C>,
    previous: Option<Box<Epoch<C>>>,
    /// With its secret.
    next: Option<Box<(Epoch<C>, Secret)>>,
    /// The secret of the present epoch.
    secret: Secret,
}

/// The key of an epoch, and which of its frames have come.
#[cfg_attr(feature = "testing", derive(Clone))]
struct Epoch<C> {
    cipher: C,
    window: ReplayWindow,
}

impl<C: Cipher> Epoch<C> {
    fn new(secret: &Secret) -> Self {
        Self { cipher: cipher(secret), window: ReplayWindow::new() }
    }

    /// Checks the frame with `counter` by `is_authentic`, and notes it after that.
    fn open(
        &mut self,
        counter: Counter,
        is_authentic: impl FnOnce(&C, &[u8; CIPHER_NONCE_BYTES]) -> bool,
    ) -> Result<(), Refusal> {
        if !self.window.is_new(counter.index) {
            return Err(Refusal::Replayed);
        }
        if !is_authentic(&self.cipher, &counter.nonce()) {
            return Err(Refusal::BadTag);
        }
        self.window.note(counter.index);
        Ok(())
    }
}

impl<C: Cipher> Incoming<C> {
    pub(super) fn new(secret: &Secret) -> Self {
        let (present, secret) = (Epoch::new(secret), secret.clone());
        Self { number: 0, present, previous: None, next: None, secret }
    }

    /// Checks the frame with the counter `wire` by `is_authentic`. Nothing that is not authentic
    /// changes what it takes.
    pub(super) fn open(
        &mut self,
        wire: [u8; WIRE_BYTES],
        is_authentic: impl FnOnce(&C, &[u8; CIPHER_NONCE_BYTES]) -> bool,
    ) -> Result<(), Refusal> {
        let counter = Counter::read(wire, self.number).ok_or(Refusal::UnknownKey)?;
        if counter.epoch < self.number {
            let previous = self.previous.as_deref_mut().ok_or(Refusal::UnknownKey)?;
            return previous.open(counter, is_authentic);
        }
        if counter.epoch == self.number {
            self.present.open(counter, is_authentic)?;
            if self.present.window.reached() >= WINDOW {
                self.previous = None;
            }
            return Ok(());
        }
        // Forged frames have the next key made once.
        let next = self.next.get_or_insert_with(|| {
            let secret = following(&self.secret);
            Box::new((Epoch::new(&secret), secret))
        });
        next.0.open(counter, is_authentic)?;
        self.promote();
        Ok(())
    }

    /// Makes the next epoch the present one.
    fn promote(&mut self) {
        let Some(next) = self.next.take() else { return };
        let (next, secret) = *next;
        self.previous = Some(Box::new(mem::replace(&mut self.present, next)));
        self.secret = secret;
        self.number += 1;
    }
}

impl<C> Incoming<C> {
    /// The newest epoch of which an authentic frame has come.
    pub(super) const fn epoch(&self) -> u32 {
        self.number
    }

    /// One more than the newest frame of this epoch that has come.
    pub(super) const fn reached(&self) -> u32 {
        self.present.window.reached()
    }
}

#[cfg(feature = "testing")]
impl<C> core::hash::Hash for Incoming<C> {
    fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
        let previous = self.previous.as_ref().map(|previous| &previous.window);
        (self.number, &self.present.window, previous).hash(state);
        (self.next.is_some(), self.secret.bytes()).hash(state);
    }
}

impl<C> Debug for Incoming<C> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "epoch {}, up to {}", self.number, self.reached())
    }
}
