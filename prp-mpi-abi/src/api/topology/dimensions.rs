//! Dimensions of a grid of a number of ranks.

use std::ffi::c_int;

use crate::api::error::{Class, Outcome, fail, length};
use crate::object::Handle;
use crate::sys::pointer::Ptr;

/// Dimensions that are as close to each other as can be, in falling order.
pub(crate) fn dims_create(ranks: c_int, ndims: c_int, dims: Ptr<c_int>) -> Outcome {
    let given = dims.list(length(ndims, Class::Dims, Handle::SELF)?);
    let fixed = given.iter().filter(|d| **d > 0).try_fold(1, |all: c_int, d| all.checked_mul(*d));
    let rest = fixed.filter(|fixed| ranks > 0 && ranks % fixed == 0).map(|fixed| ranks / fixed);
    let Some(rest) = rest.filter(|_| given.iter().all(|d| *d >= 0)) else {
        return fail(Class::Dims, "the given dimensions do not divide the number of ranks");
    };
    let open = given.iter().filter(|d| **d == 0).count();
    if open == 0 && rest > 1 {
        return fail(Class::Dims, "the dimensions do not make up the number of ranks");
    }
    let places = given.iter().enumerate().filter(|(_, d)| **d == 0).map(|(i, _)| i);
    for (place, dim) in places.zip(closest(rest.unsigned_abs(), open)) {
        dims.set(place, dim.cast_signed());
    }
    Ok(())
}

/// The factors of `ranks`, in falling order, whose largest and smallest differ least.
fn closest(ranks: u32, count: usize) -> Vec<u32> {
    let low: Vec<u32> =
        (1..=root(ranks, 2)).filter(|divisor| ranks.is_multiple_of(*divisor)).collect();
    let high = low.iter().rev().map(|divisor| ranks / divisor);
    let divisors = low.iter().copied().chain(high).collect();
    let mut search = Search { divisors, chosen: Vec::new(), best: None };
    search.extend(ranks, count, ranks);
    search.best.unwrap_or_default()
}

/// A search through the products that make a number.
struct Search {
    /// Those of the number, in rising order.
    divisors: Vec<u32>,
    /// The factors chosen so far, in falling order.
    chosen: Vec<u32>,
    best: Option<Vec<u32>>,
}

impl Search {
    /// Chooses `count` factors of `rest`, none above `most`.
    fn extend(&mut self, rest: u32, count: usize, most: u32) {
        if rest == 1 {
            let ones = std::iter::repeat_n(1, count);
            return self.compare(self.chosen.iter().copied().chain(ones).collect());
        }
        if count <= 1 {
            if count == 1 && rest <= most {
                self.compare(self.chosen.iter().copied().chain([rest]).collect());
            }
            return;
        }
        // The largest is at least the root, and the smallest at most that.
        let root = root(rest, count);
        let first = if power(root, count) == u64::from(rest) { root } else { root + 1 };
        let from = self.divisors.partition_point(|divisor| *divisor < first);
        let to = self.divisors.partition_point(|divisor| *divisor <= most);
        for at in from..to {
            let factor = self.divisors[at];
            if !rest.is_multiple_of(factor) {
                continue;
            }
            let largest = self.chosen.first().copied().unwrap_or(factor);
            if self.best.as_ref().is_some_and(|best| largest - root >= spread(best)) {
                break;
            }
            self.chosen.push(factor);
            self.extend(rest / factor, count - 1, factor);
            self.chosen.pop();
        }
    }

    fn compare(&mut self, found: Vec<u32>) {
        if self.best.as_ref().is_none_or(|best| spread(&found) < spread(best)) {
            self.best = Some(found);
        }
    }
}

/// How much the largest and the smallest of factors in falling order differ.
fn spread(factors: &[u32]) -> u32 {
    factors.first().zip(factors.last()).map_or(0, |(largest, smallest)| largest - smallest)
}

/// `base` to the power of `exponent`, or something above all numbers of ranks.
fn power(base: u32, exponent: usize) -> u64 {
    let exponent = u32::try_from(exponent).unwrap_or(u32::MAX);
    u64::from(base).checked_pow(exponent).unwrap_or(u64::MAX)
}

/// The largest number whose power is at most `of`.
fn root(of: u32, count: usize) -> u32 {
    let (mut low, mut high) = (1, of);
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        if power(middle, count) <= u64::from(of) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    low
}

#[cfg(test)]
mod tests;
