//! `long double` of C on x86-64: 80 bits in 16 bytes, for which Rust has no type.

use std::arch::asm;
use std::cmp::Ordering;

/// A `long double` as it lies in memory.
#[derive(Copy, Clone, Debug)]
#[repr(C, align(16))]
pub struct LongDouble([u8; 16]);

/// Does an instruction of the x87 on two numbers, and keeps its result in the second one.
macro_rules! x87 {
    ($instruction:literal, $first:expr, $second:expr) => {{
        let (first, mut second): (Self, Self) = ($first, $second);
        // SAFETY: the instructions read ten bytes of each number and write ten of the second, and
        // all registers of the x87 are free before and after them.
        unsafe {
            asm!(
                "fld tbyte ptr [{first}]",
                "fld tbyte ptr [{second}]",
                concat!($instruction, " st(1), st"),
                "fstp tbyte ptr [{second}]",
                first = in(reg) first.0.as_ptr(),
                second = in(reg) second.0.as_mut_ptr(),
                out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                options(nostack),
            );
        }
        second
    }};
}

impl LongDouble {
    /// The number at the beginning of `bytes`.
    pub fn read(bytes: &[u8]) -> Self {
        Self(std::array::from_fn(|i| bytes[i]))
    }

    /// As it lies in memory.
    pub const fn bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// The sum.
    pub fn plus(self, other: Self) -> Self {
        x87!("faddp", self, other)
    }

    /// The product.
    pub fn times(self, other: Self) -> Self {
        x87!("fmulp", self, other)
    }

    /// The same with the other sign.
    pub fn negated(mut self) -> Self {
        self.0[9] ^= 0x80;
        self
    }

    /// Exponent and fraction as a number that grows with the value, and the sign.
    fn parts(self) -> (u128, bool) {
        let bits = u128::from_le_bytes(self.0) & ((1 << 80) - 1);
        (bits & !(1 << 79), bits >> 79 == 1)
    }

    fn is_nan(self) -> bool {
        let (size, _) = self.parts();
        size > 0x7fff_8000_0000_0000_0000
    }
}

impl PartialEq for LongDouble {
    fn eq(&self, other: &Self) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}

impl PartialOrd for LongDouble {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        if self.is_nan() || other.is_nan() {
            return None;
        }
        let signed = |(size, is_negative): (u128, bool)| {
            let size = size.cast_signed();
            if is_negative { -size } else { size }
        };
        signed(self.parts()).partial_cmp(&signed(other.parts()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A power of two times a small whole number.
    fn number(whole: i64, power: i32) -> LongDouble {
        let mut bytes = [0; 16];
        if whole != 0 {
            let size = whole.unsigned_abs();
            let shift = size.leading_zeros();
            bytes[..8].copy_from_slice(&(size << shift).to_le_bytes());
            let exponent = (16383 + 63 - shift.cast_signed() + power) as u16;
            let sign = if whole < 0 { 0x8000 } else { 0 };
            bytes[8..10].copy_from_slice(&(exponent | sign).to_le_bytes());
        }
        LongDouble(bytes)
    }

    #[test]
    fn plus_and_times__as_the_processor_has_them() {
        // 64 bits of fraction: more than a double has.
        let large = number((1 << 62) + 1, 0);
        assert_eq!(large.plus(number(2, 0)), number((1 << 62) + 3, 0));
        assert_eq!(number(3, 0).times(number(-7, 10)), number(-21, 10));
        assert_eq!(number(3, 0).plus(number(3, 0).negated()), number(0, 0));
        assert_eq!(number(5, 0).negated(), number(-5, 0));
    }

    #[test]
    fn partial_cmp__by_value() {
        let in_order = [number(-7, 100), number(-7, 0), number(0, 0), number(1, -90), number(1, 0)];
        for (a, x) in in_order.iter().enumerate() {
            for (b, y) in in_order.iter().enumerate() {
                assert_eq!(x.partial_cmp(y), Some(a.cmp(&b)), "{a} {b}");
            }
        }
        assert_eq!(number(0, 0), number(0, 0).negated());
        let mut nan = number(1, 0);
        (nan.0[7], nan.0[8], nan.0[9]) = (0xc0, 0xff, 0x7f);
        assert_eq!(nan.partial_cmp(&nan), None);
    }
}
