//! The predefined operations of reductions, on packed elements.

use crate::datatype::{Basic, Class, Datatype};
#[cfg(target_arch = "x86_64")]
use crate::sys::long_double;

/// Whether reductions take `long double`: other processors have other ones, or none that Rust knows
/// how to add.
const HAS_LONG_DOUBLE: bool = cfg!(target_arch = "x86_64");

/// A predefined operation; the numbers are those of the ABI.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
#[repr(u8)]
pub enum Operation {
    /// Sum.
    Sum = 0x21,
    /// Smallest.
    Min = 0x22,
    /// Largest.
    Max = 0x23,
    /// Product.
    Prod = 0x24,
    /// And, bit by bit.
    Band = 0x28,
    /// Or, bit by bit.
    Bor = 0x29,
    /// Exclusive or, bit by bit.
    Bxor = 0x2a,
    /// And.
    Land = 0x30,
    /// Or.
    Lor = 0x31,
    /// Exclusive or.
    Lxor = 0x32,
    /// Smallest, and where it is.
    Minloc = 0x38,
    /// Largest, and where it is.
    Maxloc = 0x39,
    /// The later one.
    Replace = 0x3c,
    /// The earlier one.
    NoOp = 0x3d,
}

impl Operation {
    const ALL: [(Self, &str); 14] = [
        (Self::Sum, "MPI_SUM"),
        (Self::Min, "MPI_MIN"),
        (Self::Max, "MPI_MAX"),
        (Self::Prod, "MPI_PROD"),
        (Self::Band, "MPI_BAND"),
        (Self::Bor, "MPI_BOR"),
        (Self::Bxor, "MPI_BXOR"),
        (Self::Land, "MPI_LAND"),
        (Self::Lor, "MPI_LOR"),
        (Self::Lxor, "MPI_LXOR"),
        (Self::Minloc, "MPI_MINLOC"),
        (Self::Maxloc, "MPI_MAXLOC"),
        (Self::Replace, "MPI_REPLACE"),
        (Self::NoOp, "MPI_NO_OP"),
    ];

    /// The operation with this number.
    pub fn from_code(code: usize) -> Option<Self> {
        Self::ALL.iter().map(|(op, _)| *op).find(|op| *op as usize == code)
    }

    /// Its name in C.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(op, _)| *op == self).map_or("", |(_, name)| name)
    }

    /// Whether it can be done on all elements of `datatype`.
    pub fn takes(self, datatype: &Datatype) -> bool {
        use Class::{Byte, Complex, Float, Logical, LongComplex, LongDouble, Signed, Unsigned};
        if matches!(self, Self::Minloc | Self::Maxloc) {
            return locator(datatype).is_some();
        }
        datatype.all_kinds(|basic| match (self, basic.class) {
            (Self::Replace | Self::NoOp, _) => true,
            (_, Signed | Unsigned) => true,
            (Self::Sum | Self::Prod | Self::Min | Self::Max, Float) => {
                matches!(basic.size, 4 | 8)
            }
            (Self::Sum | Self::Prod, Complex) => matches!(basic.size, 8 | 16),
            (Self::Sum | Self::Prod | Self::Min | Self::Max, LongDouble)
            | (Self::Sum | Self::Prod, LongComplex) => HAS_LONG_DOUBLE,
            (Self::Band | Self::Bor | Self::Bxor, Byte) => true,
            (Self::Land | Self::Lor | Self::Lxor, Logical) => true,
            _ => false,
        })
    }

    /// Combines `lower` with `higher`, which gets the result: packed elements of `datatype`, for
    /// which [`Self::takes`] holds.
    pub fn combine(self, datatype: &Datatype, lower: &[u8], higher: &mut [u8]) {
        if matches!(self, Self::Minloc | Self::Maxloc) {
            if let Some(locate) = locator(datatype) {
                locate(self, lower, higher);
            }
            return;
        }
        if let Some(basic) = datatype.only_basic() {
            return self.apply(basic, lower, higher);
        }
        let size = datatype.size().max(1);
        for (lower, higher) in lower.chunks_exact(size).zip(higher.chunks_exact_mut(size)) {
            let mut at = 0;
            datatype.each_run(|run| {
                let end = at + run.count * usize::from(run.basic.size);
                self.apply(run.basic, &lower[at..end], &mut higher[at..end]);
                at = end;
            });
        }
    }

    fn apply(self, basic: Basic, lower: &[u8], higher: &mut [u8]) {
        match self {
            Self::Replace => return,
            Self::NoOp => return higher.copy_from_slice(lower),
            _ => {}
        }
        match (basic.class, basic.size) {
            (Class::Signed, 1) => self.integers::<i8>(lower, higher),
            (Class::Signed, 2) => self.integers::<i16>(lower, higher),
            (Class::Signed, 4) => self.integers::<i32>(lower, higher),
            (Class::Signed, 8) => self.integers::<i64>(lower, higher),
            (Class::Unsigned | Class::Byte | Class::Logical, 1) => {
                self.integers::<u8>(lower, higher);
            }
            (Class::Unsigned | Class::Logical, 2) => self.integers::<u16>(lower, higher),
            (Class::Unsigned | Class::Logical, 4) => self.integers::<u32>(lower, higher),
            (Class::Unsigned | Class::Logical, 8) => self.integers::<u64>(lower, higher),
            (Class::Float, 4) => self.floats::<f32>(lower, higher),
            (Class::Float, 8) => self.floats::<f64>(lower, higher),
            #[cfg(target_arch = "x86_64")]
            (Class::LongDouble, _) => self.floats::<long_double::LongDouble>(lower, higher),
            #[cfg(target_arch = "x86_64")]
            (Class::LongComplex, _) => self.complex::<long_double::LongDouble>(lower, higher),
            (Class::Complex, 8) => self.complex::<f32>(lower, higher),
            (Class::Complex, 16) => self.complex::<f64>(lower, higher),
            _ => {}
        }
    }

    fn integers<T: Integer>(self, lower: &[u8], higher: &mut [u8]) {
        let truth = |b: bool| if b { T::ONE } else { T::ZERO };
        let is = |x: T| x != T::ZERO;
        match self {
            Self::Sum => each(lower, higher, T::plus),
            Self::Prod => each(lower, higher, T::times),
            Self::Min => each(lower, higher, |a: T, b| if b < a { b } else { a }),
            Self::Max => each(lower, higher, |a: T, b| if b > a { b } else { a }),
            Self::Band => each(lower, higher, T::and),
            Self::Bor => each(lower, higher, T::or),
            Self::Bxor => each(lower, higher, T::xor),
            Self::Land => each(lower, higher, |a: T, b| truth(is(a) && is(b))),
            Self::Lor => each(lower, higher, |a: T, b| truth(is(a) || is(b))),
            Self::Lxor => each(lower, higher, |a: T, b| truth(is(a) != is(b))),
            _ => {}
        }
    }

    fn floats<T: Number>(self, lower: &[u8], higher: &mut [u8]) {
        match self {
            Self::Sum => each(lower, higher, T::plus),
            Self::Prod => each(lower, higher, T::times),
            Self::Min => each(lower, higher, |a: T, b| if b < a { b } else { a }),
            Self::Max => each(lower, higher, |a: T, b| if b > a { b } else { a }),
            _ => {}
        }
    }

    fn complex<T: Number>(self, lower: &[u8], higher: &mut [u8]) {
        if self == Self::Sum {
            return each(lower, higher, T::plus);
        }
        let size = size_of::<T>();
        for (a, b) in lower.chunks_exact(2 * size).zip(higher.chunks_exact_mut(2 * size)) {
            let (re, im) = (T::read(a), T::read(&a[size..]));
            let (other_re, other_im) = (T::read(b), T::read(&b[size..]));
            re.times(other_re).minus(im.times(other_im)).write(b);
            re.times(other_im).plus(im.times(other_re)).write(&mut b[size..]);
        }
    }

    fn locate_as<V: Number, I: Number>(self, lower: &[u8], higher: &mut [u8]) {
        let size = size_of::<V>() + size_of::<I>();
        for (a, b) in lower.chunks_exact(size).zip(higher.chunks_exact_mut(size)) {
            let (value, other) = (V::read(a), V::read(b));
            let (at, other_at) = (I::read(&a[size_of::<V>()..]), I::read(&b[size_of::<V>()..]));
            let is_better = if self == Self::Minloc { value < other } else { value > other };
            if is_better || (value == other && at < other_at) {
                b.copy_from_slice(a);
            }
        }
    }
}

/// Compares packed pairs of a value and where it is.
type Locator = fn(Operation, &[u8], &mut [u8]);

/// Returns what compares the pairs of this datatype; none if it has something else.
fn locator(datatype: &Datatype) -> Option<Locator> {
    use Class::{Float, Signed};
    let [value, index] = pair(datatype)?;
    Some(match (value.class, value.size, index.class, index.size) {
        (Signed, 2, Signed, 4) => Operation::locate_as::<i16, i32>,
        (Signed, 4, Signed, 4) => Operation::locate_as::<i32, i32>,
        (Signed, 8, Signed, 4) => Operation::locate_as::<i64, i32>,
        (Float, 4, Signed, 4) => Operation::locate_as::<f32, i32>,
        (Float, 8, Signed, 4) => Operation::locate_as::<f64, i32>,
        (Float, 4, Float, 4) => Operation::locate_as::<f32, f32>,
        (Float, 8, Float, 8) => Operation::locate_as::<f64, f64>,
        #[cfg(target_arch = "x86_64")]
        (Class::LongDouble, 16, Signed, 4) => Operation::locate_as::<long_double::LongDouble, i32>,
        _ => return None,
    })
}

/// Returns the kinds of a value and an index, if the elements are these by turns.
fn pair(datatype: &Datatype) -> Option<[Basic; 2]> {
    let mut kinds = [None; 2];
    let (mut elements, mut alternate) = (0, true);
    datatype.each_run(|run| {
        // A run of several elements has the same kind at both places.
        for place in elements..elements + run.count.min(2) {
            alternate &= *kinds[place % 2].get_or_insert(run.basic) == run.basic;
        }
        elements += run.count;
    });
    let [value, index] = kinds;
    Some([value?, index?]).filter(|_| alternate && elements % 2 == 0)
}

/// Combines the elements of both.
fn each<T: Number>(lower: &[u8], higher: &mut [u8], combine: impl Fn(T, T) -> T) {
    let size = size_of::<T>();
    for (a, b) in lower.chunks_exact(size).zip(higher.chunks_exact_mut(size)) {
        combine(T::read(a), T::read(b)).write(b);
    }
}

/// Numbers as they lie in memory.
trait Number: Copy + PartialOrd {
    fn read(from: &[u8]) -> Self;
    fn write(self, to: &mut [u8]);
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
}

/// Numbers that have bits.
trait Integer: Number {
    const ZERO: Self;
    const ONE: Self;
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
}

macro_rules! number {
    ($type:ty, $plus:expr, $minus:expr, $times:expr) => {
        impl Number for $type {
            fn read(from: &[u8]) -> Self {
                Self::from_ne_bytes(std::array::from_fn(|i| from[i]))
            }
            fn write(self, to: &mut [u8]) {
                to[..size_of::<Self>()].copy_from_slice(&self.to_ne_bytes());
            }
            fn plus(self, other: Self) -> Self {
                $plus(self, other)
            }
            fn minus(self, other: Self) -> Self {
                $minus(self, other)
            }
            fn times(self, other: Self) -> Self {
                $times(self, other)
            }
        }
    };
}

macro_rules! integer {
    ($($type:ty)*) => {$(
        number!($type, Self::wrapping_add, Self::wrapping_sub, Self::wrapping_mul);
        impl Integer for $type {
            const ZERO: Self = 0;
            const ONE: Self = 1;
            fn and(self, other: Self) -> Self {
                self & other
            }
            fn or(self, other: Self) -> Self {
                self | other
            }
            fn xor(self, other: Self) -> Self {
                self ^ other
            }
        }
    )*};
}

integer!(i8 i16 i32 i64 u8 u16 u32 u64);
number!(f32, std::ops::Add::add, std::ops::Sub::sub, std::ops::Mul::mul);
number!(f64, std::ops::Add::add, std::ops::Sub::sub, std::ops::Mul::mul);

#[cfg(target_arch = "x86_64")]
impl Number for long_double::LongDouble {
    fn read(from: &[u8]) -> Self {
        Self::read(from)
    }
    fn write(self, to: &mut [u8]) {
        to[..size_of::<Self>()].copy_from_slice(self.bytes());
    }
    fn plus(self, other: Self) -> Self {
        self.plus(other)
    }
    fn minus(self, other: Self) -> Self {
        self.plus(other.negated())
    }
    fn times(self, other: Self) -> Self {
        self.times(other)
    }
}

#[cfg(test)]
mod tests;
