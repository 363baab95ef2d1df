//! What the elements of a buffer are and how they lie in memory.

use std::sync::Arc;

/// A kind of element that MPI knows by itself.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Hash)]
pub struct Basic {
    /// How its bytes are read.
    pub class: Class,
    /// Bytes of one element.
    pub size: u8,
    /// Bytes of one element in external32.
    pub external: u8,
}

/// How the bytes of an element are read.
#[derive(Copy, Clone, Debug, Eq, PartialEq, Hash)]
pub enum Class {
    /// Bytes without meaning: `MPI_BYTE`, `MPI_PACKED`.
    Byte,
    /// Characters, which no operation takes.
    Character,
    /// Signed integers.
    Signed,
    /// Unsigned integers.
    Unsigned,
    /// IEEE floating point.
    Float,
    /// The 80-bit floating point of x86, in 16 bytes.
    LongDouble,
    /// Two floating-point numbers.
    Complex,
    /// Two numbers of 80-bit floating point.
    LongComplex,
    /// A truth value: zero or not.
    Logical,
}

impl Basic {
    /// A kind of element, which is as long in external32.
    pub const fn new(class: Class, size: u8) -> Self {
        Self { class, size, external: size }
    }

    /// The same, with another number of bytes in external32.
    #[must_use]
    pub const fn with_external(self, external: u8) -> Self {
        Self { external, ..self }
    }

    /// What the address of one is a multiple of in C: of x86-64 and AArch64, where a number of
    /// 16 bytes is the longest.
    pub const fn alignment(self) -> usize {
        match self.class {
            Class::Complex | Class::LongComplex => self.size as usize / 2,
            _ => self.size as usize,
        }
    }

    /// A number that is the same for elements that mean the same; 0 for bytes, which go with
    /// everything.
    pub const fn code(self) -> u16 {
        let class = match self.class {
            Class::Byte => return 0,
            Class::Character => 1,
            Class::Signed => 2,
            Class::Unsigned => 3,
            Class::Float => 4,
            Class::LongDouble => 5,
            Class::Complex => 6,
            Class::LongComplex => 7,
            Class::Logical => 8,
        };
        class << 8 | self.size as u16
    }
}

/// Elements of one kind that follow each other without a gap.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct Run {
    /// Where the first is, in bytes from the address of the buffer.
    pub at: isize,
    /// What they are.
    pub basic: Basic,
    /// How many.
    pub count: usize,
}

impl Run {
    const fn bytes(&self) -> usize {
        self.count * self.basic.size as usize
    }
}

/// How a datatype was made, for those who ask.
#[derive(Clone, Debug, Default)]
pub struct Constructor {
    /// `MPI_COMBINER_*`.
    pub combiner: i32,
    /// The integers of the call.
    pub integers: Vec<i64>,
    /// The addresses of the call.
    pub addresses: Vec<isize>,
    /// The datatypes of the call, with the handles they had then.
    pub datatypes: Vec<(usize, Arc<Datatype>)>,
}

/// A datatype: which elements, where.
#[derive(Clone, Debug)]
pub struct Datatype {
    runs: Vec<Run>,
    /// Bytes before each run when packed.
    before: Vec<usize>,
    size: usize,
    lb: isize,
    ub: isize,
    /// The program has set the bounds: they are not those of the elements.
    has_own_bounds: bool,
    contiguous: bool,
    /// How it was made.
    pub constructor: Constructor,
}

impl Datatype {
    /// `runs` in the order of their elements, from `lb` to `ub`.
    fn new(runs: Vec<Run>, (lb, ub): (isize, isize), has_own_bounds: bool) -> Self {
        let mut merged: Vec<Run> = Vec::with_capacity(runs.len());
        for run in runs.into_iter().filter(|r| r.count > 0 && r.basic.size > 0) {
            match merged.last_mut() {
                Some(last)
                    if last.basic == run.basic && last.at + last.bytes() as isize == run.at =>
                {
                    last.count += run.count;
                }
                _ => merged.push(run),
            }
        }
        let mut size = 0;
        let before = merged.iter().map(|r| (size, size += r.bytes()).0).collect();
        let gapless = merged.windows(2).all(|w| w[0].at + w[0].bytes() as isize == w[1].at);
        let contiguous = gapless && (merged.is_empty() || ub - lb == size as isize);
        let constructor = Constructor::default();
        Self { runs: merged, before, size, lb, ub, has_own_bounds, contiguous, constructor }
    }

    /// One element of a kind.
    pub fn basic(class: Class, size: u8) -> Self {
        Self::of(Basic::new(class, size))
    }

    /// One element of a kind.
    pub fn of(basic: Basic) -> Self {
        Self::new(vec![Run { at: 0, basic, count: 1 }], (0, basic.size.into()), false)
    }

    /// Bytes of the elements.
    pub const fn size(&self) -> usize {
        self.size
    }

    /// Lower bound, in bytes.
    pub const fn lb(&self) -> isize {
        self.lb
    }

    /// Upper bound, in bytes.
    pub const fn ub(&self) -> isize {
        self.ub
    }

    /// From one to the next, in bytes.
    pub const fn extent(&self) -> isize {
        self.ub - self.lb
    }

    /// Where the first byte is, and where the byte after the last one would be.
    pub fn true_bounds(&self) -> (isize, isize) {
        true_bounds(&self.runs)
    }

    /// Whether any number of them lies in one piece, in order.
    pub const fn is_contiguous(&self) -> bool {
        self.contiguous
    }

    /// Where the first element is.
    pub fn first_byte(&self) -> isize {
        self.runs.first().map_or(0, |r| r.at)
    }

    /// The elements.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The only kind of element there is.
    pub fn only_basic(&self) -> Option<Basic> {
        let first = self.runs.first()?.basic;
        self.runs.iter().all(|r| r.basic == first).then_some(first)
    }

    /// Elements of predefined kinds.
    pub fn elements(&self) -> usize {
        self.runs.iter().map(|r| r.count).sum()
    }

    /// How many elements of predefined kinds `bytes` packed bytes hold; `None` if they end within
    /// one.
    pub fn elements_in(&self, bytes: usize) -> Option<usize> {
        if self.size == 0 {
            return (bytes == 0).then_some(0);
        }
        let mut left = bytes % self.size;
        let mut elements = bytes / self.size * self.elements();
        for run in &self.runs {
            if left < run.bytes() {
                let size = usize::from(run.basic.size);
                return left.is_multiple_of(size).then_some(elements + left / size);
            }
            left -= run.bytes();
            elements += run.count;
        }
        Some(elements)
    }

    /// Bytes of the first `elements` elements of predefined kinds, packed.
    pub fn bytes_of(&self, elements: usize) -> usize {
        let each = self.elements().max(1);
        let mut left = elements % each;
        let mut bytes = elements / each * self.size;
        for run in &self.runs {
            let count = run.count.min(left);
            bytes += count * usize::from(run.basic.size);
            left -= count;
        }
        bytes
    }

    /// Names the pieces, relative to the address of the buffer, that hold `n` packed bytes from
    /// `offset` on.
    pub fn pieces(&self, offset: usize, n: usize, mut piece: impl FnMut(isize, usize)) {
        if self.size == 0 {
            return;
        }
        let mut left = n;
        let mut element = offset / self.size;
        let mut within = offset % self.size;
        let mut run = self.before.partition_point(|&b| b <= within).saturating_sub(1);
        within -= self.before[run];
        while left > 0 {
            let of = &self.runs[run];
            let len = (of.bytes() - within).min(left);
            piece(element as isize * self.extent() + of.at + within as isize, len);
            left -= len;
            within = 0;
            run += 1;
            if run == self.runs.len() {
                run = 0;
                element += 1;
            }
        }
    }

    /// Blocks of `of`: each a displacement in bytes and a number of elements.
    pub fn blocks(of: &Self, blocks: impl IntoIterator<Item = (isize, usize)>) -> Self {
        Self::structure(blocks.into_iter().map(|(at, n)| (at, n, of)))
    }

    /// Blocks of several datatypes: displacement in bytes, number, datatype. If the bounds of any
    /// of them were set, those are what counts. Else it reaches as far as its parts, and to where
    /// the next one of an array may begin.
    pub fn structure<'a>(blocks: impl IntoIterator<Item = (isize, usize, &'a Self)>) -> Self {
        let mut runs = Vec::new();
        let mut set: Option<(isize, isize)> = None;
        let mut reached = None;
        for (at, n, of) in blocks.into_iter().filter(|&(_, n, _)| n > 0) {
            if of.contiguous && of.runs.len() == 1 {
                let run = of.runs[0];
                runs.push(Run { at: run.at + at, basic: run.basic, count: run.count * n });
            } else {
                for i in 0..n as isize {
                    let at = at + i * of.extent();
                    runs.extend(of.runs.iter().map(|r| Run { at: r.at + at, ..*r }));
                }
            }
            let last = at + (n as isize - 1) * of.extent();
            let (lb, ub) = (at.min(last) + of.lb, at.max(last) + of.ub);
            let bounds = if of.has_own_bounds { &mut set } else { &mut reached };
            // What has no elements and no bounds of its own reaches nowhere.
            if of.has_own_bounds || !of.runs.is_empty() {
                *bounds = Some(bounds.map_or((lb, ub), |(l, u)| (l.min(lb), u.max(ub))));
            }
        }
        let bounds = set.unwrap_or_else(|| aligned(reached.unwrap_or_default(), &runs));
        Self::new(runs, bounds, set.is_some())
    }

    /// The same elements with other bounds.
    pub fn resized(&self, lb: isize, extent: isize) -> Self {
        Self::new(self.runs.clone(), (lb, lb + extent), true)
    }

    /// How it was made, added to it.
    #[must_use]
    pub fn with_constructor(mut self, constructor: Constructor) -> Self {
        self.constructor = constructor;
        self
    }

    /// Bytes, for what has no other type.
    pub fn bytes() -> Arc<Self> {
        Arc::new(Self::basic(Class::Byte, 1))
    }
}

/// Where the first byte is, and where the byte after the last one would be.
fn true_bounds(runs: &[Run]) -> (isize, isize) {
    let lb = runs.iter().map(|r| r.at).min().unwrap_or(0);
    let ub = runs.iter().map(|r| r.at + r.bytes() as isize).max().unwrap_or(0);
    (lb, ub)
}

/// Bounds with as much behind them as the next one of an array needs for the element that C aligns
/// most.
fn aligned((lb, ub): (isize, isize), runs: &[Run]) -> (isize, isize) {
    let widest = runs.iter().map(|r| r.basic.alignment()).max().unwrap_or(1).max(1);
    (lb, lb + (ub - lb).cast_unsigned().next_multiple_of(widest).cast_signed())
}

#[cfg(test)]
mod tests;
