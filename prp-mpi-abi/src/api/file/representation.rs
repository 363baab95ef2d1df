//! Numbers in files: as in memory, or as in external32.

use std::sync::Arc;

use prp_mpi::datatype::Datatype;

/// How a datatype lies in a file of external32. `None` if its numbers are not as long there, and
/// not all of one kind: then nothing says where they lie.
pub(super) fn in_external(of: &Arc<Datatype>) -> Option<Arc<Datatype>> {
    if of.all_kinds(|kind| kind.size == kind.external) {
        return Some(of.clone());
    }
    let kind = of.only_basic()?;
    let (size, external) = (isize::from(kind.size), isize::from(kind.external));
    let there = |bytes: isize| (bytes % size == 0).then(|| bytes / size * external);
    let mut blocks = Some(Vec::new());
    of.each_run(|run| match (there(run.at), &mut blocks) {
        (Some(at), Some(blocks)) => blocks.push((at, run.count)),
        _ => blocks = None,
    });
    let number = Datatype::basic(kind.class, kind.external);
    let made = Datatype::blocks(&number, blocks?)?.resized(there(of.lb())?, there(of.extent())?);
    made.map(Arc::new)
}

/// Bytes in memory of the numbers of elements that are whole in the first `outside` bytes of
/// external32.
pub(super) fn bytes_in_memory(of: &Datatype, outside: usize) -> usize {
    let each = of.external_size();
    if each == 0 {
        return 0;
    }
    let (whole, mut rest, mut bytes) = (outside / each, outside % each, 0);
    of.each_run(|run| {
        let external = usize::from(run.basic.external);
        let count = run.count.min(rest / external);
        bytes += count * usize::from(run.basic.size);
        // Behind a part of a number there are none.
        rest = if count < run.count { 0 } else { rest - count * external };
    });
    whole * of.size() + bytes
}

#[cfg(test)]
mod tests {
    use prp_mpi::datatype::{Basic, Class};

    use super::*;

    /// `long`, which has 4 bytes in external32.
    fn long() -> Datatype {
        Datatype::of(Basic::new(Class::Signed, 8).with_external(4))
    }

    #[test]
    fn in_external__places_are_counted_in_the_bytes_there() {
        let strided = Datatype::blocks(&long(), [(8, 2), (40, 1)]).unwrap().resized(0, 64).unwrap();
        let there = in_external(&Arc::new(strided)).unwrap();
        assert_eq!((there.size(), there.extent(), there.true_bounds()), (12, 32, (4, 24)));
        let odd = Datatype::blocks(&long(), [(4, 1)]).unwrap();
        assert!(in_external(&Arc::new(odd)).is_none());
        let mixed = Datatype::structure([(0, 1, &long()), (8, 1, &Datatype::bytes())]).unwrap();
        assert!(in_external(&Arc::new(mixed)).is_none());
        let double = Arc::new(Datatype::basic(Class::Float, 8));
        assert!(Arc::ptr_eq(&in_external(&double).unwrap(), &double));
    }

    #[test]
    fn bytes_in_memory__are_those_of_whole_numbers() {
        let three = Datatype::blocks(&long(), [(0, 3)]).unwrap();
        let cases = [(0, 0), (3, 0), (4, 8), (11, 16), (12, 24), (17, 32)];
        for (outside, inside) in cases {
            assert_eq!(bytes_in_memory(&three, outside), inside, "{outside} bytes");
        }
        let pair = Datatype::structure([(0, 1, &long()), (8, 1, &Datatype::bytes())]).unwrap();
        assert_eq!([5, 9, 10].map(|outside| bytes_in_memory(&pair, outside)), [9, 17, 18]);
    }
}
