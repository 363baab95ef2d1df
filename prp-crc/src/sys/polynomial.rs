//! Multiplication and reduction modulo the polynomial of CRC-32 (IEEE), with bits reversed (Gopal
//! and others, *Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction*, Intel
//! 2009).

use std::arch::x86_64::{
    __m128i, _mm_and_si128, _mm_clmulepi64_si128, _mm_extract_epi32, _mm_set_epi32, _mm_set_epi64x,
    _mm_srli_si128, _mm_xor_si128,
};

/// The value of the CRC-32 register before the first byte.
pub(super) const REGISTER: u32 = !0;

/// The polynomial with its leading term, and its inverse for the reduction by multiplication
/// (Barrett), both with their bits reversed.
const POLYNOMIAL: i64 = 0x1_db71_0641;
const INVERSE: i64 = 0x1_f701_1641;

/// Factors that shift a block by a number of bits: one for the lower and one for the upper half of
/// every 128 bits.
pub(super) type Factors = (i64, i64);

pub(super) const BY_128: Factors = factors(128);

/// x^64 modulo the polynomial, for the last 96 bits.
const BY_32: i64 = power(64);

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

/// The factors that shift by `bits`.
pub(super) const fn factors(bits: u32) -> Factors {
    (power(bits + 32), power(bits - 32))
}

/// Reduces the `sum` of the last 16 bytes to the CRC-32.
#[target_feature(enable = "pclmulqdq,sse4.1")]
#[inline]
pub(super) fn reduce(sum: __m128i) -> u32 {
    // From 128 bits to 96, to 64, to 32.
    let sum = _mm_xor_si128(multiplied(sum, BY_128.1), _mm_srli_si128(sum, 8));
    let sum = _mm_xor_si128(multiplied(lowest(sum), BY_32), _mm_srli_si128(sum, 4));
    let quotient = multiplied(lowest(sum), INVERSE);
    let product = multiplied(lowest(quotient), POLYNOMIAL);
    !(_mm_extract_epi32(_mm_xor_si128(sum, product), 1) as u32)
}

/// The product of the lower 64 bits and `by`.
#[target_feature(enable = "pclmulqdq,sse4.1")]
#[inline]
fn multiplied(a: __m128i, by: i64) -> __m128i {
    _mm_clmulepi64_si128(a, _mm_set_epi64x(0, by), 0x00)
}

/// The lowest 32 bits.
#[target_feature(enable = "pclmulqdq,sse4.1")]
#[inline]
fn lowest(a: __m128i) -> __m128i {
    _mm_and_si128(a, _mm_set_epi32(0, 0, 0, !0))
}
