//! What the elements of a buffer are and how they lie in memory.

mod layout;
mod pieces;

use std::sync::Arc;

use self::layout::{Builder, Facts, Layout, Part};
pub use self::pieces::Pieces;
use self::pieces::Places;

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

impl Class {
    /// All, by number.
    const ALL: [Self; 9] = [
        Self::Byte,
        Self::Character,
        Self::Signed,
        Self::Unsigned,
        Self::Float,
        Self::LongDouble,
        Self::Complex,
        Self::LongComplex,
        Self::Logical,
    ];
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

/// A datatype: which elements, where. It takes as much memory as what the program has told of it.
#[derive(Clone, Debug)]
pub struct Datatype {
    /// None if it has no elements.
    elements: Option<Part>,
    facts: Facts,
    lb: isize,
    ub: isize,
    /// The program has set the bounds: they are not those of the elements.
    has_own_bounds: bool,
    contiguous: bool,
    /// How it was made.
    pub constructor: Constructor,
}

impl Datatype {
    /// Elements from `lb` to `ub`. `None` if they are more than can be addressed.
    fn new(elements: Option<Part>, (lb, ub): (isize, isize), has_own_bounds: bool) -> Option<Self> {
        let facts = match &elements {
            Some(part) => part.facts()?,
            None => Facts::NONE,
        };
        let is_dense = ub.checked_sub(lb)? == facts.size.try_into().ok()?;
        let contiguous = facts.is_gapless && (elements.is_none() || is_dense);
        let constructor = Constructor::default();
        Some(Self { elements, facts, lb, ub, has_own_bounds, contiguous, constructor })
    }

    /// One element of a kind.
    pub fn basic(class: Class, size: u8) -> Self {
        Self::of(Basic::new(class, size))
    }

    /// One element of a kind.
    pub fn of(basic: Basic) -> Self {
        let part = Part::new(0, Layout::one(basic));
        Self {
            facts: part.facts().unwrap_or(Facts::NONE),
            elements: Some(part),
            lb: 0,
            ub: basic.size.into(),
            has_own_bounds: false,
            contiguous: true,
            constructor: Constructor::default(),
        }
    }

    /// Bytes of the elements.
    pub const fn size(&self) -> usize {
        self.facts.size
    }

    /// Bytes of the elements in external32.
    pub const fn external_size(&self) -> usize {
        self.facts.external
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
    pub const fn true_bounds(&self) -> (isize, isize) {
        self.facts.bounds
    }

    /// Where the first byte of `count` of them is, and where the byte after the last one would be.
    /// `None` if that cannot be addressed.
    pub fn span(&self, count: usize) -> Option<(isize, isize)> {
        let Some(others) = count.checked_sub(1) else { return Some((0, 0)) };
        let reach = self.extent().checked_mul(isize::try_from(others).ok()?)?;
        let (first, end) = self.true_bounds();
        Some((first.checked_add(reach.min(0))?, end.checked_add(reach.max(0))?))
    }

    /// Whether any number of them lies in one piece, in order.
    pub const fn is_contiguous(&self) -> bool {
        self.contiguous
    }

    /// Where the first element is.
    pub const fn first_byte(&self) -> isize {
        self.facts.first
    }

    /// Names the elements in order, as many at a time as lie in one piece and are of one kind.
    pub fn each_run(&self, run: impl FnMut(Run)) {
        if let Some(elements) = &self.elements {
            elements.each_run(run);
        }
    }

    /// Whether something holds of all kinds of elements.
    pub fn all_kinds(&self, holds: impl FnMut(Basic) -> bool) -> bool {
        self.elements.as_ref().is_none_or(|elements| elements.all_kinds(holds))
    }

    /// The only kind of element there is.
    pub const fn only_basic(&self) -> Option<Basic> {
        self.facts.kind
    }

    /// Elements of predefined kinds.
    pub const fn elements(&self) -> usize {
        self.facts.elements
    }

    /// How many elements of predefined kinds `bytes` packed bytes hold; `None` if they end within
    /// one.
    pub fn elements_in(&self, bytes: usize) -> Option<usize> {
        let Some(elements) = &self.elements else { return (bytes == 0).then_some(0) };
        let rest = elements.elements_in(bytes % self.size())?;
        Some(bytes / self.size() * self.elements() + rest)
    }

    /// Bytes of the first `elements` elements of predefined kinds, packed.
    pub fn bytes_of(&self, elements: usize) -> usize {
        let each = self.elements().max(1);
        let rest = self.elements.as_ref().map_or(0, |all| all.bytes_of(elements % each));
        elements / each * self.size() + rest
    }

    /// Names the pieces, relative to the address of the buffer, that hold `n` packed bytes from
    /// `offset` on: as many at a time as are as long, and as far from each other, with the number
    /// of these packed bytes before the first. Their order is not that of packing.
    pub fn pieces(&self, offset: usize, n: usize, mut pieces: impl FnMut(usize, Pieces)) {
        let mut before = 0;
        self.walk(offset, n, &mut |places: Places<'_>| {
            match places {
                Places::Pieces(some) => pieces(before, some),
                Places::Rows(rows) => rows.blocks(|at, some| pieces(before + at, some)),
            }
            before += places.bytes();
        });
    }

    /// Names the pieces one at a time, in the order of packing.
    pub fn each_piece(&self, offset: usize, n: usize, mut piece: impl FnMut(isize, usize)) {
        self.walk(offset, n, &mut |places: Places<'_>| match places {
            Places::Pieces(some) => {
                for i in 0..some.count as isize {
                    piece(some.at + i * some.stride, some.len);
                }
            }
            Places::Rows(rows) => rows.in_order(&mut piece),
        });
    }

    fn walk(&self, offset: usize, n: usize, places: &mut impl FnMut(Places<'_>)) {
        if let Some(elements) = &self.elements {
            elements.repeated_places(self.extent(), offset, n, places);
        }
    }

    /// Blocks of `of`: each a displacement in bytes and a number of elements. `None` if they are
    /// more than can be addressed, or there is no memory for the places.
    pub fn blocks(of: &Self, blocks: impl IntoIterator<Item = (isize, usize)>) -> Option<Self> {
        Self::structure(blocks.into_iter().map(|(at, n)| (at, n, of)))
    }

    /// `count` blocks of `length` elements, each `stride` bytes from the one before, the first one
    /// at `at`. `None` if they are more than can be addressed.
    pub fn vector(
        of: &Self,
        at: isize,
        count: usize,
        length: usize,
        stride: isize,
    ) -> Option<Self> {
        if count == 0 || length == 0 {
            return Self::blocks(of, []);
        }
        let block = Self::blocks(of, [(at, length)])?;
        let reach = stride.checked_mul(isize::try_from(count - 1).ok()?)?;
        let part = match &block.elements {
            Some(Part { at, layout, .. }) => Some(Part::new(*at, layout.repeated(count, stride)?)),
            None => None,
        };
        let ends = [0, reach].map(|by| bounds_of(of, at.checked_add(by)?, length));
        let [Some(first), Some(last)] = ends else { return None };
        let reached = (first.0.min(last.0), first.1.max(last.1));
        let facts = part.as_ref().map(Part::facts);
        match facts {
            _ if of.has_own_bounds => Self::new(part, reached, true),
            None => Self::new(None, (0, 0), false),
            Some(facts) => Self::new(part, aligned(reached, &facts?)?, false),
        }
    }

    /// Blocks of several datatypes: displacement in bytes, number, datatype. If the bounds of any
    /// of them were set, those are what counts. Else it reaches as far as its parts, and to where
    /// the next one of an array may begin. `None` if they are more than can be addressed, or there
    /// is no memory for the places.
    pub fn structure<'a>(
        blocks: impl IntoIterator<Item = (isize, usize, &'a Self)>,
    ) -> Option<Self> {
        let mut builder = Builder::default();
        let mut set: Option<(isize, isize)> = None;
        let mut reached = None;
        // The last block: its datatype, number and layout. The next one is often the same.
        let mut last: Option<(&Self, usize, Layout)> = None;
        for (at, n, of) in blocks.into_iter().filter(|&(_, n, _)| n > 0) {
            if let Some(elements) = &of.elements {
                let known = last.take().filter(|l| std::ptr::eq(l.0, of) && l.1 == n);
                let layout = match known {
                    Some((.., layout)) => layout,
                    None => elements.layout.repeated(n, of.extent())?,
                };
                builder.push(at.checked_add(elements.at)?, &layout)?;
                last = Some((of, n, layout));
            }
            let bounds = if of.has_own_bounds { &mut set } else { &mut reached };
            // What has no elements and no bounds of its own reaches nowhere.
            if of.has_own_bounds || of.elements.is_some() {
                let (lb, ub) = bounds_of(of, at, n)?;
                *bounds = Some(bounds.map_or((lb, ub), |(l, u)| (l.min(lb), u.max(ub))));
            }
        }
        let elements = builder.finish()?;
        let bounds = match (set, &elements) {
            (Some(set), _) => set,
            (None, Some(part)) => aligned(reached.unwrap_or_default(), &part.facts()?)?,
            (None, None) => (0, 0),
        };
        Self::new(elements, bounds, set.is_some())
    }

    /// The same elements with other bounds. `None` if these are further from each other than can be
    /// addressed.
    pub fn resized(&self, lb: isize, extent: isize) -> Option<Self> {
        Self::new(self.elements.clone(), (lb, lb.checked_add(extent)?), true)
    }

    /// How it was made, added to it.
    #[must_use]
    pub fn with_constructor(mut self, constructor: Constructor) -> Self {
        self.constructor = constructor;
        self
    }

    /// Describes the elements and their bounds for another rank, behind what `to` has.
    pub fn describe(&self, to: &mut Vec<u8>) {
        for bound in [self.lb, self.ub] {
            to.extend((bound as i64).to_le_bytes());
        }
        if let Some(part) = &self.elements {
            part.describe(to);
        }
    }

    /// Reads what [`Self::describe`] has written. `None` if it describes nothing.
    pub fn from_description(mut text: &[u8]) -> Option<Self> {
        let from = &mut text;
        let bounds = (layout::place(from)?, layout::place(from)?);
        let elements = if from.is_empty() { None } else { Some(Part::read(from)?) };
        from.is_empty().then(|| Self::new(elements, bounds, true))?
    }

    /// Bytes, for what has no other type.
    pub fn bytes() -> Arc<Self> {
        Arc::new(Self::basic(Class::Byte, 1))
    }
}

/// The bounds of a block of `n` elements, of one at least.
fn bounds_of(of: &Datatype, at: isize, n: usize) -> Option<(isize, isize)> {
    let reach = of.extent().checked_mul(isize::try_from(n - 1).ok()?)?;
    let last = at.checked_add(reach)?;
    Some((at.min(last).checked_add(of.lb)?, at.max(last).checked_add(of.ub)?))
}

/// Bounds with as much behind them as the next one of an array needs for the element that C aligns
/// most.
fn aligned((lb, ub): (isize, isize), facts: &Facts) -> Option<(isize, isize)> {
    let extent = usize::try_from(ub.checked_sub(lb)?).ok()?;
    let extent = extent.checked_next_multiple_of(facts.alignment.max(1))?;
    Some((lb, lb.checked_add(extent.try_into().ok()?)?))
}

#[cfg(test)]
mod tests;
