//! Folding by carry-less multiplication of four times 128 bits at once (Gopal and others, *Fast CRC
//! Computation for Generic Polynomials Using PCLMULQDQ Instruction*, Intel 2009).

use std::arch::is_x86_feature_detected;
use std::arch::x86_64::{
    __m128i, __m512i, _mm_and_si128, _mm_clmulepi64_si128, _mm_extract_epi32, _mm_set_epi32,
    _mm_set_epi64x, _mm_srli_si128, _mm_xor_si128, _mm256_castsi256_si128,
    _mm256_extracti128_si256, _mm256_xor_si256, _mm512_castsi512_si256, _mm512_clmulepi64_epi128,
    _mm512_extracti64x4_epi64, _mm512_loadu_si512, _mm512_maskz_mov_epi64,
    _mm512_maskz_permutexvar_epi8, _mm512_or_si512, _mm512_set_epi64, _mm512_set1_epi8,
    _mm512_setzero_si512, _mm512_sub_epi8, _mm512_ternarylogic_epi64,
};

use crate::FRONT;

/// Bytes of a step.
const BLOCK: usize = 64;

/// Factors that shift 64 bytes by a number of bits: one for the lower and one for the upper half of
/// every 128 bits.
type Factors = (i64, i64);

const BY_128: Factors = factors(128);
const BY_256: Factors = factors(256);
const BY_384: Factors = factors(384);
const BY_512: Factors = factors(512);
const BY_1024: Factors = factors(1024);
const BY_1536: Factors = factors(1536);
const BY_2048: Factors = factors(2048);

/// x^64 modulo the polynomial, for the last 96 bits.
const BY_32: i64 = power(64);

/// The polynomial of CRC-32 (IEEE) with its leading term, and its inverse for the reduction by
/// multiplication (Barrett), both with their bits reversed.
const POLYNOMIAL: i64 = 0x1_db71_0641;
const INVERSE: i64 = 0x1_f701_1641;

/// x^`n` modulo the polynomial, with its bits reversed and shifted up by one bit, since the product
/// of two reversed numbers is one bit too low.
const fn power(n: u32) -> i64 {
    let mut bits = 1_u32 << 31;
    let mut i = 0;
    while i < n {
        bits = if bits & 1 == 1 { (bits >> 1) ^ (POLYNOMIAL >> 1) as u32 } else { bits >> 1 };
        i += 1;
    }
    (bits as i64) << 1
}

const fn factors(bits: u32) -> Factors {
    (power(bits + 32), power(bits - 32))
}

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

/// CRC-32 over `front` and `payload`, of 64 bytes or more.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,vpclmulqdq,pclmulqdq,sse4.1")]
pub(super) fn fold(front: &[u8; FRONT], payload: &[u8]) -> u32 {
    let first = payload.len() % BLOCK;
    let (blocks, _) = payload[first..].as_chunks();
    reduce(fold_blocks(begin(front, payload, first), blocks))
}

/// The sum of two blocks: zeros, then `front`, then the first `first` bytes of the payload, so that
/// whole blocks are left of it.
///
/// They are put together in registers. What has just been written to memory byte by byte cannot be
/// read again as a block until the processor has finished all that came before.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,vpclmulqdq,pclmulqdq,sse4.1")]
#[inline]
fn begin(front: &[u8; FRONT], payload: &[u8], first: usize) -> __m512i {
    const FRONT_BYTES: u128 = (1 << FRONT) - 1;
    const ALL_BYTES: u128 = u64::MAX as u128;
    // The value of the CRC-32 register before the first byte.
    const REGISTER: i64 = 0xffff_ffff;
    let at = 2 * BLOCK - first - FRONT;
    let [a, b, c] = words(front);
    let front = _mm512_set_epi64(0, 0, 0, 0, 0, c, b, a ^ REGISTER);
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

/// The three words of `front`, as they lie in memory.
#[inline]
fn words(front: &[u8; FRONT]) -> [i64; 3] {
    let (words, _) = front.as_chunks();
    [0, 1, 2].map(|i| words.get(i).map_or(0, |word| i64::from_le_bytes(*word)))
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
    // From 128 bits to 96, to 64, to 32.
    let sum = _mm_xor_si128(multiplied(sum, BY_128.1), _mm_srli_si128(sum, 8));
    let sum = _mm_xor_si128(multiplied(lowest(sum), BY_32), _mm_srli_si128(sum, 4));
    let quotient = multiplied(lowest(sum), INVERSE);
    let product = multiplied(lowest(quotient), POLYNOMIAL);
    !(_mm_extract_epi32(_mm_xor_si128(sum, product), 1) as u32)
}

/// The product of the lower 64 bits and `by`.
#[target_feature(enable = "avx512f,vpclmulqdq,pclmulqdq,sse4.1")]
#[inline]
fn multiplied(a: __m128i, by: i64) -> __m128i {
    _mm_clmulepi64_si128(a, _mm_set_epi64x(0, by), 0x00)
}

/// The lowest 32 bits.
#[target_feature(enable = "avx512f,vpclmulqdq,pclmulqdq,sse4.1")]
#[inline]
fn lowest(a: __m128i) -> __m128i {
    _mm_and_si128(a, _mm_set_epi32(0, 0, 0, !0))
}

#[target_feature(enable = "avx512f")]
#[inline]
fn load(block: &[u8; BLOCK]) -> __m512i {
    // SAFETY: the slice has that number of bytes, and the load needs no alignment.
    unsafe { _mm512_loadu_si512(block.as_ptr().cast()) }
}
