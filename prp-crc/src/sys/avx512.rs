//! Folding by carry-less multiplication of four times 128 bits at once.

use std::arch::is_x86_feature_detected;
use std::arch::x86_64::{
    __m512i, _mm_xor_si128, _mm256_castsi256_si128, _mm256_extracti128_si256, _mm256_xor_si256,
    _mm512_castsi512_si256, _mm512_clmulepi64_epi128, _mm512_extracti64x4_epi64,
    _mm512_loadu_si512, _mm512_maskz_mov_epi64, _mm512_maskz_permutexvar_epi8, _mm512_or_si512,
    _mm512_set_epi64, _mm512_set1_epi8, _mm512_setzero_si512, _mm512_sub_epi8,
    _mm512_ternarylogic_epi64,
};

use super::polynomial::{self, BY_128, Factors, REGISTER, factors};
use crate::{FRONT, Front};

/// Bytes of a step.
const BLOCK: usize = 64;

/// Bytes of a payload at least: shorter ones have too few steps to save the time that the padding
/// takes.
pub(super) const MIN_PAYLOAD: usize = 4 * BLOCK;

const BY_256: Factors = factors(256);
const BY_384: Factors = factors(384);
const BY_512: Factors = factors(512);
const BY_1024: Factors = factors(1024);
const BY_1536: Factors = factors(1536);
const BY_2048: Factors = factors(2048);

/// Whether this processor has the features that [`fold`] needs.
#[inline]
pub(super) fn is_supported() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vbmi")
        && is_x86_feature_detected!("vpclmulqdq")
        && is_x86_feature_detected!("pclmulqdq")
        && is_x86_feature_detected!("sse4.1")
}

/// CRC-32 over the words in front, `a`, `b` and `c`, and `payload`, of [`MIN_PAYLOAD`] or more.
///
/// Three arguments, since the caller of this function would write an array to memory.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,vpclmulqdq,pclmulqdq,sse4.1")]
pub(super) fn fold(a: u64, b: u64, c: u64, payload: &[u8]) -> u32 {
    let first = payload.len() % BLOCK;
    let (blocks, _) = payload[first..].as_chunks();
    reduce(fold_blocks(begin([a, b, c], payload, first), blocks))
}

/// The sum of two blocks: zeros, then `front`, then the first `first` bytes of the payload, so that
/// whole blocks are left of it.
///
/// They are put together in registers. What has just been written to memory byte by byte cannot be
/// read again as a block until the processor has finished all that came before.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,vpclmulqdq,pclmulqdq,sse4.1")]
#[inline]
fn begin(front: Front, payload: &[u8], first: usize) -> __m512i {
    const FRONT_BYTES: u128 = (1 << FRONT) - 1;
    const ALL_BYTES: u128 = u64::MAX as u128;
    let at = 2 * BLOCK - first - FRONT;
    let [a, b, c] = front.map(|word| word.swap_bytes() as i64);
    let front = _mm512_set_epi64(0, 0, 0, 0, 0, c, b, a ^ i64::from(REGISTER));
    let front_bytes = FRONT_BYTES << at;
    let in_first = placed(front, at, front_bytes as u64);
    let in_second = placed(front, at, (front_bytes >> BLOCK) as u64);
    let start = match payload.first_chunk() {
        Some(block) => load(block),
        None => _mm512_setzero_si512(),
    };
    let start = placed(start, BLOCK - first, (ALL_BYTES << (BLOCK - first)) as u64);
    moved(in_first, BY_512, _mm512_or_si512(in_second, start))
}

/// `bytes`, the first of which becomes byte `at` modulo 64; zeros where `mask` has none.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
#[inline]
fn placed(bytes: __m512i, at: usize, mask: u64) -> __m512i {
    const INDICES: [u8; BLOCK] = {
        let mut indices = [0; BLOCK];
        let mut i = 0;
        while i < BLOCK {
            indices[i] = i as u8;
            i += 1;
        }
        indices
    };
    let from = _mm512_sub_epi8(load(&INDICES), _mm512_set1_epi8(at as i8));
    _mm512_maskz_permutexvar_epi8(mask, from, bytes)
}

/// `sum` with `blocks` folded into it.
#[target_feature(enable = "avx512f,vpclmulqdq,pclmulqdq,sse4.1")]
#[inline]
fn fold_blocks(mut sum: __m512i, blocks: &[[u8; BLOCK]]) -> __m512i {
    let (lead, fours) = blocks.as_rchunks::<4>();
    for block in lead {
        sum = moved(sum, BY_512, load(block));
    }
    let Some(([a, b, c, d], fours)) = fours.split_first() else { return sum };
    // Four independent sums, so that multiplications overlap in the pipeline.
    let mut sums = [moved(sum, BY_512, load(a)), load(b), load(c), load(d)];
    for four in fours {
        for (sum, block) in sums.iter_mut().zip(four) {
            *sum = moved(*sum, BY_2048, load(block));
        }
    }
    let [a, b, c, d] = sums;
    moved(a, BY_1536, moved(b, BY_1024, moved(c, BY_512, d)))
}

/// Shifts `sum` by the number of bits that `by` stands for, and adds `next`.
#[target_feature(enable = "avx512f,vpclmulqdq,pclmulqdq,sse4.1")]
#[inline]
fn moved(sum: __m512i, (low, high): Factors, next: __m512i) -> __m512i {
    moved_each(sum, _mm512_set_epi64(high, low, high, low, high, low, high, low), next)
}

/// Multiplies each 128 bits of `sum` with those of `by`, and adds `next`.
#[target_feature(enable = "avx512f,vpclmulqdq,pclmulqdq,sse4.1")]
#[inline]
fn moved_each(sum: __m512i, by: __m512i, next: __m512i) -> __m512i {
    const XOR_OF_THREE: i32 = 0x96;
    let low = _mm512_clmulepi64_epi128(sum, by, 0x00);
    let high = _mm512_clmulepi64_epi128(sum, by, 0x11);
    _mm512_ternarylogic_epi64(low, high, next, XOR_OF_THREE)
}

/// Reduces the `sum` of the last 64 bytes to the CRC-32.
#[target_feature(enable = "avx512f,vpclmulqdq,pclmulqdq,sse4.1")]
#[inline]
fn reduce(sum: __m512i) -> u32 {
    const LAST_128: u8 = 0b1100_0000;
    let by = _mm512_set_epi64(0, 0, BY_128.1, BY_128.0, BY_256.1, BY_256.0, BY_384.1, BY_384.0);
    let each = moved_each(sum, by, _mm512_maskz_mov_epi64(LAST_128, sum));
    let halves = _mm256_xor_si256(_mm512_castsi512_si256(each), _mm512_extracti64x4_epi64(each, 1));
    let sum = _mm_xor_si128(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1));
    polynomial::reduce(sum)
}

#[target_feature(enable = "avx512f")]
#[inline]
fn load(block: &[u8; BLOCK]) -> __m512i {
    // SAFETY: the slice has that number of bytes, and the load needs no alignment.
    unsafe { _mm512_loadu_si512(block.as_ptr().cast()) }
}
