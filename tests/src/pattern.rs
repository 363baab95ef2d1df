//! Bytes that are derived from a seed, and digests of received bytes.

use std::collections::TryReserveError;
use std::fmt;
use std::io::{self, Read, Write};

use sha2::{Digest as _, Sha256};

use crate::seed::{Dice, generator};

/// Bytes that are generated or transferred at a time.
const CHUNK: usize = 64 * 1024;

/// An endless stream of bytes that is derived from a seed. It repeats one chunk of random bytes,
/// each time with another number in front. So it is cheap to generate, and no two chunks are equal.
#[derive(Debug)]
pub struct Pattern {
    chunk: Vec<u8>,
    number: u64,
    at: usize,
}

impl Pattern {
    /// The pattern of `seed`.
    ///
    /// # Panics
    /// If there is no memory for it.
    pub fn new(seed: u64) -> Self {
        Self::try_new(seed).expect("memory for a pattern")
    }

    /// As [`Self::new`], where memory may be short.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn try_new(seed: u64) -> Result<Self, TryReserveError> {
        let mut chunk = Vec::new();
        chunk.try_reserve_exact(CHUNK)?;
        chunk.resize(CHUNK, 0);
        let mut dice: Dice = generator(seed);
        dice.fill(&mut chunk);
        let mut pattern = Self { chunk, number: 0, at: 0 };
        pattern.mark();
        Ok(pattern)
    }

    fn mark(&mut self) {
        self.chunk[..8].copy_from_slice(&self.number.to_be_bytes());
    }

    /// The next bytes, at most `most`.
    pub fn next(&mut self, most: usize) -> &[u8] {
        if self.at == CHUNK {
            self.at = 0;
            self.number += 1;
            self.mark();
        }
        let end = CHUNK.min(self.at.saturating_add(most));
        let piece = &self.chunk[self.at..end];
        self.at = end;
        piece
    }
}

/// The number of bytes and their SHA-256.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    bytes: u64,
    hash: Sha256,
}

impl Tally {
    /// The tally of the first `bytes` bytes of the pattern of `seed`.
    pub fn expected(seed: u64, bytes: u64) -> Self {
        let (mut pattern, mut tally) = (Pattern::new(seed), Self::default());
        while tally.bytes < bytes {
            tally.note(pattern.next((bytes - tally.bytes).min(CHUNK as u64) as usize));
        }
        tally
    }

    /// Adds `piece`.
    pub fn note(&mut self, piece: &[u8]) {
        self.bytes += piece.len() as u64;
        self.hash.update(piece);
    }

    /// The number of bytes.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes ", self.bytes)?;
        self.hash.clone().finalize().iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Writes the first `bytes` bytes of the pattern of `seed`.
///
/// # Errors
/// Those of writing.
pub fn send(to: &mut impl Write, seed: u64, bytes: u64) -> io::Result<()> {
    let (mut pattern, mut left) = (Pattern::try_new(seed)?, bytes);
    while left > 0 {
        let piece = pattern.next(left.min(CHUNK as u64) as usize);
        to.write_all(piece)?;
        left -= piece.len() as u64;
    }
    Ok(())
}

/// Reads to the end of the stream, or until `most` bytes have arrived. `tally` also has the bytes
/// that arrived before an error.
///
/// # Errors
/// Those of reading.
pub fn receive(from: &mut impl Read, most: u64, tally: &mut Tally) -> io::Result<()> {
    let mut buf = vec![0; 256 * 1024];
    let end = tally.bytes.saturating_add(most);
    while tally.bytes < end {
        let room = (end - tally.bytes).min(buf.len() as u64) as usize;
        match from.read(&mut buf[..room]) {
            Ok(0) => break,
            Ok(n) => tally.note(&buf[..n]),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}
