//! Folding by carry-less multiplication of two times 128 bits at once.

use std::arch::is_x86_feature_detected;
use std::arch::x86_64::{
    __m128i, __m256i, _mm_clmulepi64_si128, _mm_set_epi64x, _mm_xor_si128,
    _mm256_broadcastsi128_si256, _mm256_castsi256_si128, _mm256_clmulepi64_epi128,
    _mm256_extracti128_si256, _mm256_loadu_si256, _mm256_set_epi64x, _mm256_setzero_si256,
    _mm256_shuffle_epi8, _mm256_xor_si256,
};
use std::array;

use super::polynomial::{BY_128, Factors, REGISTER, factors, reduce};
use crate::{FRONT, Front};

/// Bytes of a step, and of the two parts of a register that instructions treat apart.
const BLOCK: usize = 32;
const LANE: usize = BLOCK / 2;

/// Bytes of a payload at least: it fills a step. Even then this takes less time than `crc32fast`.
pub(super) const MIN_PAYLOAD: usize = BLOCK;

const BY_256: Factors = factors(256);
const BY_512: Factors = factors(512);
const BY_768: Factors = factors(768);
const BY_1024: Factors = factors(1024);

/// Whether this processor has the features that [`fold`] needs.
#[inline]
pub(super) fn is_supported() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("vpclmulqdq")
        && is_x86_feature_detected!("pclmulqdq")
        && is_x86_feature_detected!("sse4.1")
}

/// CRC-32 over the words in front, `a`, `b` and `c`, and `payload`, of [`MIN_PAYLOAD`] or more.
///
/// Three arguments, since the caller of this function would write an array to memory.
#[target_feature(enable = "avx2,vpclmulqdq,pclmulqdq,sse4.1")]
pub(super) fn fold(a: u64, b: u64, c: u64, payload: &[u8]) -> u32 {
    let first = payload.len() % BLOCK;
    let (blocks, _) = payload[first..].as_chunks();
    let sum = fold_blocks(begin([a, b, c], payload, first), blocks);
    let [low, high] = [_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1)];
    let by = _mm_set_epi64x(BY_128.1, BY_128.0);
    let low =
        _mm_xor_si128(_mm_clmulepi64_si128(low, by, 0x00), _mm_clmulepi64_si128(low, by, 0x11));
    reduce(_mm_xor_si128(low, high))
}

/// The sum of two blocks: zeros, then `front`, then the first `first` bytes of the payload, so that
/// whole blocks are left of it.
///
/// They are put together in registers. What has just been written to memory byte by byte cannot be
/// read again as a block until the processor has finished all that came before.
#[target_feature(enable = "avx2,vpclmulqdq,pclmulqdq,sse4.1")]
#[inline]
fn begin(front: Front, payload: &[u8], first: usize) -> __m256i {
    let at = 2 * BLOCK - first;
    let [a, b, c] = front.map(|word| word.swap_bytes() as i64);
    let [d, e, f, g] = payload.first_chunk().map_or([0; 4], words);
    // What of the last two parts follows the first bytes lies behind the two blocks.
    let parts = [
        placed(_mm_set_epi64x(b, a ^ i64::from(REGISTER)), at - FRONT),
        placed(_mm_set_epi64x(0, c), at - FRONT + LANE),
        placed(_mm_set_epi64x(e, d), at),
        placed(_mm_set_epi64x(g, f), at + LANE),
    ];
    let [first, second] = parts.into_iter().fold([_mm256_setzero_si256(); 2], |sums, part| {
        [_mm256_xor_si256(sums[0], part[0]), _mm256_xor_si256(sums[1], part[1])]
    });
    moved(first, BY_256, second)
}

/// The words of a block, as they lie in memory.
#[inline]
fn words(block: &[u8; BLOCK]) -> [i64; 4] {
    let (words, _) = block.as_chunks();
    array::from_fn(|i| words.get(i).map_or(0, |word| i64::from_le_bytes(*word)))
}

/// Two blocks of zeros, but for `bytes`, the first of which becomes byte `at`; what lies behind
/// them is left out.
#[target_feature(enable = "avx2,vpclmulqdq,pclmulqdq,sse4.1")]
#[inline]
fn placed(bytes: __m128i, at: usize) -> [__m256i; 2] {
    /// Shuffles each byte to where it is, amid bytes that give zeros.
    const INDICES: [u8; 5 * BLOCK] = {
        let mut indices = [0x80; 5 * BLOCK];
        let mut i = 0;
        while i < LANE {
            indices[3 * BLOCK + i] = i as u8;
            i += 1;
        }
        indices
    };
    let (blocks, _) = INDICES[3 * BLOCK - at..][..2 * BLOCK].as_chunks();
    let bytes = _mm256_broadcastsi128_si256(bytes);
    [0, 1].map(|i| _mm256_shuffle_epi8(bytes, load(&blocks[i])))
}

/// `sum` with `blocks` folded into it.
#[target_feature(enable = "avx2,vpclmulqdq,pclmulqdq,sse4.1")]
#[inline]
fn fold_blocks(mut sum: __m256i, blocks: &[[u8; BLOCK]]) -> __m256i {
    let (lead, fours) = blocks.as_rchunks::<4>();
    for block in lead {
        sum = moved(sum, BY_256, load(block));
    }
    let Some(([a, b, c, d], fours)) = fours.split_first() else { return sum };
    // Four independent sums, so that multiplications overlap in the pipeline.
    let mut sums = [moved(sum, BY_256, load(a)), load(b), load(c), load(d)];
    for four in fours {
        for (sum, block) in sums.iter_mut().zip(four) {
            *sum = moved(*sum, BY_1024, load(block));
        }
    }
    let [a, b, c, d] = sums;
    moved(a, BY_768, moved(b, BY_512, moved(c, BY_256, d)))
}

/// Shifts `sum` by the number of bits that `by` stands for, and adds `next`.
#[target_feature(enable = "avx2,vpclmulqdq,pclmulqdq,sse4.1")]
#[inline]
fn moved(sum: __m256i, (low, high): Factors, next: __m256i) -> __m256i {
    let by = _mm256_set_epi64x(high, low, high, low);
    let low = _mm256_clmulepi64_epi128(sum, by, 0x00);
    let high = _mm256_clmulepi64_epi128(sum, by, 0x11);
    _mm256_xor_si256(_mm256_xor_si256(low, high), next)
}

#[target_feature(enable = "avx2")]
#[inline]
fn load(block: &[u8; BLOCK]) -> __m256i {
    // SAFETY: the array has the bytes that are loaded, and the load needs no alignment.
    unsafe { _mm256_loadu_si256(block.as_ptr().cast()) }
}
