//! How the elements of a datatype lie in memory: a description, which is as short as the datatype
//! was told. What repeats is described once.

mod description;

use std::sync::Arc;

pub(super) use self::description::place;
use super::pieces::{Places, Rows};
use super::{Basic, Pieces, Run};

/// Elements, seen from the address of the first one that is told, in the order of packing.
#[derive(Clone, Debug)]
pub(super) enum Layout {
    /// Elements of one kind without a gap.
    Run(Basic, usize),
    /// The same again and again.
    Repeat(Arc<Repeat>),
    /// One after the other.
    Parts(Arc<Parts>),
}

/// The same elements again and again, each time as far from the time before.
#[derive(Debug)]
pub(super) struct Repeat {
    inner: Layout,
    count: usize,
    stride: isize,
    facts: Facts,
}

/// Different elements, or at irregular places.
#[derive(Debug)]
pub(super) struct Parts {
    parts: Vec<Part>,
    facts: Facts,
}

/// Elements somewhere.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// Bytes to what the layout is seen from.
    pub(super) at: isize,
    /// Packed bytes of the parts before.
    before: usize,
    pub(super) layout: Layout,
}

/// What is known of elements without a look at each.
#[derive(Copy, Clone, Debug)]
pub(super) struct Facts {
    /// Packed bytes.
    pub(super) size: usize,
    /// Bytes in external32.
    pub(super) external: usize,
    pub(super) elements: usize,
    /// Where the element is that is packed first.
    pub(super) first: isize,
    /// Where the first byte is, and where the byte after the last one would be.
    pub(super) bounds: (isize, isize),
    /// What C aligns most.
    pub(super) alignment: usize,
    /// The only kind of element.
    pub(super) kind: Option<Basic>,
    /// They lie in one piece, in order.
    pub(super) is_gapless: bool,
}

impl Facts {
    /// Of no elements at all.
    pub(super) const NONE: Self = Self {
        size: 0,
        external: 0,
        elements: 0,
        first: 0,
        bounds: (0, 0),
        alignment: 1,
        kind: None,
        is_gapless: true,
    };

    fn of_run(basic: Basic, count: usize) -> Option<Self> {
        let size = count.checked_mul(basic.size.into())?;
        Some(Self {
            size,
            external: count.checked_mul(basic.external.into())?,
            elements: count,
            first: 0,
            bounds: (0, size.try_into().ok()?),
            alignment: basic.alignment(),
            kind: Some(basic),
            is_gapless: true,
        })
    }

    /// The same elsewhere.
    fn moved(self, by: isize) -> Option<Self> {
        let (low, high) = self.bounds;
        let bounds = (low.checked_add(by)?, high.checked_add(by)?);
        Some(Self { first: self.first.checked_add(by)?, bounds, ..self })
    }

    /// With others, which are packed behind.
    fn and(self, other: Self) -> Option<Self> {
        let end = self.first.checked_add(self.size.try_into().ok()?)?;
        Some(Self {
            size: self.size.checked_add(other.size)?,
            external: self.external.checked_add(other.external)?,
            elements: self.elements.checked_add(other.elements)?,
            first: self.first,
            bounds: (self.bounds.0.min(other.bounds.0), self.bounds.1.max(other.bounds.1)),
            alignment: self.alignment.max(other.alignment),
            kind: self.kind.filter(|kind| other.kind == Some(*kind)),
            is_gapless: self.is_gapless && other.is_gapless && end == other.first,
        })
    }
}

impl Layout {
    /// One element.
    pub(super) const fn one(basic: Basic) -> Self {
        Self::Run(basic, 1)
    }

    /// `None` if there are more bytes than can be addressed.
    fn checked_facts(&self) -> Option<Facts> {
        match self {
            Self::Run(basic, count) => Facts::of_run(*basic, *count),
            Self::Repeat(repeat) => Some(repeat.facts),
            Self::Parts(parts) => Some(parts.facts),
        }
    }

    fn size(&self) -> usize {
        match self {
            Self::Run(basic, count) => count * usize::from(basic.size),
            Self::Repeat(repeat) => repeat.facts.size,
            Self::Parts(parts) => parts.facts.size,
        }
    }

    fn elements(&self) -> usize {
        match self {
            Self::Run(_, count) => *count,
            Self::Repeat(repeat) => repeat.facts.elements,
            Self::Parts(parts) => parts.facts.elements,
        }
    }

    /// This `count` times. `None` if that is more than can be addressed.
    pub(super) fn repeated(&self, count: usize, stride: isize) -> Option<Self> {
        if count == 1 {
            return Some(self.clone());
        }
        if let Self::Run(basic, each) = self
            && self.size() as isize == stride
        {
            let run = Self::Run(*basic, each.checked_mul(count)?);
            return run.checked_facts().map(|_| run);
        }
        let one = self.checked_facts()?;
        let reach = stride.checked_mul(isize::try_from(count.checked_sub(1)?).ok()?)?;
        let last = one.moved(reach)?;
        let facts = Facts {
            size: one.size.checked_mul(count)?,
            external: one.external.checked_mul(count)?,
            elements: one.elements.checked_mul(count)?,
            bounds: (one.bounds.0.min(last.bounds.0), one.bounds.1.max(last.bounds.1)),
            is_gapless: one.is_gapless && stride == one.size as isize,
            ..one
        };
        Some(Self::Repeat(Arc::new(Repeat { inner: self.clone(), count, stride, facts })))
    }

    /// Whether this is the same description, not only of the same elements.
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Run(a, n), Self::Run(b, m)) => a == b && n == m,
            (Self::Repeat(a), Self::Repeat(b)) => Arc::ptr_eq(a, b),
            (Self::Parts(a), Self::Parts(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }

    /// Where all of it begins, if it lies in one piece, in order.
    fn start_of_piece(&self) -> Option<isize> {
        match self {
            Self::Run(..) => Some(0),
            Self::Repeat(_) | Self::Parts(_) => {
                self.checked_facts().filter(|facts| facts.is_gapless).map(|facts| facts.first)
            }
        }
    }

    /// Names the places that hold `n` packed bytes from `offset` on, seen from `base`.
    fn places<F: FnMut(Places<'_>)>(&self, base: isize, offset: usize, n: usize, places: &mut F) {
        if let Some(start) = self.start_of_piece() {
            return places(Places::Pieces(Pieces::one(base + start + offset as isize, n)));
        }
        match self {
            Self::Run(..) => {}
            Self::Repeat(repeat) => {
                let Repeat { inner, stride, .. } = &**repeat;
                inner.repeated_places((base, *stride), offset, n, places);
            }
            Self::Parts(all) => {
                let first = all.parts.partition_point(|part| part.before <= offset) - 1;
                let (mut within, mut left) = (offset - all.parts[first].before, n);
                for part in &all.parts[first..] {
                    let len = (part.layout.size() - within).min(left);
                    if len == 0 {
                        break;
                    }
                    part.layout.places(base + part.at, within, len, places);
                    left -= len;
                    within = 0;
                }
            }
        }
    }

    /// As [`Self::places`], of this again and again, each time `stride` bytes behind the time
    /// before.
    fn repeated_places<F: FnMut(Places<'_>)>(
        &self,
        (base, stride): (isize, isize),
        offset: usize,
        n: usize,
        places: &mut F,
    ) {
        let each = self.size();
        let mut at = base + (offset / each) as isize * stride;
        let (mut within, mut left) = (offset % each, n);
        while left > 0 {
            let count = left / each;
            if within == 0
                && count > 0
                && let Some(whole) = self.whole(at, stride, count)
            {
                places(whole);
                left -= count * each;
                at = at.wrapping_add(stride.wrapping_mul(count as isize));
                continue;
            }
            let len = (each - within).min(left);
            self.places(at, within, len, places);
            left -= len;
            within = 0;
            // Behind the last one no address need be.
            at = at.wrapping_add(stride);
        }
    }

    /// All of this `count` times, if that can be told at once.
    fn whole(&self, at: isize, stride: isize, count: usize) -> Option<Places<'_>> {
        let each = self.size();
        if let Some(start) = self.start_of_piece() {
            let at = at + start;
            return Some(Places::Pieces(Pieces {
                at,
                len: each,
                count,
                stride,
                packed_stride: each,
            }));
        }
        let Self::Parts(all) = self else { return None };
        let are_pieces = count > 1 && all.parts.iter().all(|part| part.piece().is_some());
        are_pieces.then_some(Places::Rows(Rows { at, parts: &all.parts, each, count, stride }))
    }

    fn each_run(&self, base: isize, run: &mut impl FnMut(Run)) {
        match self {
            Self::Run(basic, count) => run(Run { at: base, basic: *basic, count: *count }),
            Self::Repeat(repeat) => {
                for i in 0..repeat.count as isize {
                    repeat.inner.each_run(base + i * repeat.stride, run);
                }
            }
            Self::Parts(all) => {
                all.parts.iter().for_each(|part| part.layout.each_run(base + part.at, run));
            }
        }
    }

    fn all_kinds(&self, holds: &mut impl FnMut(Basic) -> bool) -> bool {
        match self {
            Self::Run(basic, _) => holds(*basic),
            Self::Repeat(repeat) => repeat.inner.all_kinds(holds),
            Self::Parts(all) => all.parts.iter().all(|part| part.layout.all_kinds(holds)),
        }
    }

    /// Elements that the first packed bytes hold; `None` if they end within one.
    fn elements_in(&self, bytes: usize) -> Option<usize> {
        match self {
            Self::Run(basic, _) => {
                let size = usize::from(basic.size);
                bytes.is_multiple_of(size).then_some(bytes / size)
            }
            Self::Repeat(repeat) => {
                let each = repeat.inner.size();
                let rest = repeat.inner.elements_in(bytes % each)?;
                Some(bytes / each * repeat.inner.elements() + rest)
            }
            Self::Parts(all) => {
                let (mut left, mut elements) = (bytes, 0);
                for Part { layout, .. } in &all.parts {
                    let len = layout.size().min(left);
                    elements += layout.elements_in(len)?;
                    left -= len;
                }
                Some(elements)
            }
        }
    }

    /// Packed bytes of the first elements.
    fn bytes_of(&self, elements: usize) -> usize {
        match self {
            Self::Run(basic, _) => elements * usize::from(basic.size),
            Self::Repeat(repeat) => {
                let Repeat { inner, .. } = &**repeat;
                let each = inner.elements();
                elements / each * inner.size() + inner.bytes_of(elements % each)
            }
            Self::Parts(all) => {
                let (mut left, mut bytes) = (elements, 0);
                for Part { layout, .. } in &all.parts {
                    let count = layout.elements().min(left);
                    bytes += layout.bytes_of(count);
                    left -= count;
                }
                bytes
            }
        }
    }
}

impl Part {
    /// A layout at a place.
    pub(super) const fn new(at: isize, layout: Layout) -> Self {
        Self { at, before: 0, layout }
    }

    /// What is known of it; `None` if it has more bytes than can be addressed.
    pub(super) fn facts(&self) -> Option<Facts> {
        self.layout.checked_facts()?.moved(self.at)
    }

    /// Where it begins, and its bytes, if it lies in one piece, in order.
    pub(super) fn piece(&self) -> Option<(isize, usize)> {
        Some((self.at + self.layout.start_of_piece()?, self.layout.size()))
    }

    /// As [`Layout::places`], of this again and again, each time `stride` bytes behind the time
    /// before.
    pub(super) fn repeated_places<F: FnMut(Places<'_>)>(
        &self,
        stride: isize,
        offset: usize,
        n: usize,
        places: &mut F,
    ) {
        self.layout.repeated_places((self.at, stride), offset, n, places);
    }

    /// Names all elements in order.
    pub(super) fn each_run(&self, mut run: impl FnMut(Run)) {
        self.layout.each_run(self.at, &mut run);
    }

    /// Whether something holds of all kinds of elements.
    pub(super) fn all_kinds(&self, mut holds: impl FnMut(Basic) -> bool) -> bool {
        self.layout.all_kinds(&mut holds)
    }

    /// Elements that the first packed bytes hold; `None` if they end within one.
    pub(super) fn elements_in(&self, bytes: usize) -> Option<usize> {
        self.layout.elements_in(bytes)
    }

    /// Packed bytes of the first elements.
    pub(super) fn bytes_of(&self, elements: usize) -> usize {
        self.layout.bytes_of(elements)
    }
}

/// Makes one layout of parts that are told one after the other. Parts that are the same, at regular
/// places, become one.
#[derive(Debug, Default)]
pub(super) struct Builder {
    parts: Vec<Part>,
    series: Option<Series>,
    facts: Option<Facts>,
}

/// The same again and again, so far.
#[derive(Debug)]
struct Series {
    at: isize,
    layout: Layout,
    count: usize,
    /// Once there are two.
    stride: isize,
}

/// So many of the same are described as parts, which take less memory.
const FEW: usize = 2;

impl Builder {
    /// One more part. `None` if there are more bytes than can be addressed, or no memory for it.
    pub(super) fn push(&mut self, at: isize, layout: &Layout) -> Option<()> {
        let facts = layout.checked_facts()?.moved(at)?;
        self.facts = Some(match self.facts {
            None => facts,
            Some(before) => before.and(facts)?,
        });
        if let Some(series) = &mut self.series {
            if series.count == 1
                && let (Layout::Run(basic, count), Layout::Run(other, more)) =
                    (&mut series.layout, layout)
                && basic == other
                && series.at + (*count * usize::from(basic.size)) as isize == at
            {
                *count += more;
                return Some(());
            }
            if series.layout.is_same(layout) {
                let stride = at.checked_sub(series.at)?;
                if series.count == 1 {
                    (series.count, series.stride) = (2, stride);
                    return Some(());
                }
                if series.stride.checked_mul(series.count as isize) == Some(stride) {
                    series.count += 1;
                    return Some(());
                }
            }
        }
        self.end_series()?;
        self.series = Some(Series { at, layout: layout.clone(), count: 1, stride: 0 });
        Some(())
    }

    fn end_series(&mut self) -> Option<()> {
        let Some(Series { at, layout, count, stride }) = self.series.take() else {
            return Some(());
        };
        if count > FEW {
            return self.put(at, layout.repeated(count, stride)?);
        }
        for i in 0..count as isize {
            self.put(at + i * stride, layout.clone())?;
        }
        Some(())
    }

    fn put(&mut self, at: isize, layout: Layout) -> Option<()> {
        let before = self.parts.last().map_or(0, |last| last.before + last.layout.size());
        self.parts.try_reserve(1).ok()?;
        self.parts.push(Part { at, before, layout });
        Some(())
    }

    /// All parts as one, if there are any. `None` outside if there is no memory for them.
    pub(super) fn finish(mut self) -> Option<Option<Part>> {
        self.end_series()?;
        self.parts.shrink_to_fit();
        let Self { mut parts, facts, .. } = self;
        let (2.., Some(facts)) = (parts.len(), facts) else { return Some(parts.pop()) };
        Some(Some(Part::new(0, Layout::Parts(Arc::new(Parts { parts, facts })))))
    }
}
