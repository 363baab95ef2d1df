//! Numbers in files: as in memory, as in external32, or as functions of the program write them.

use std::ffi::c_char;
use std::sync::Arc;

use parking_lot::Mutex;
use prp_mpi::datatype::{Basic, Datatype};

use crate::api::error::{Class, Outcome, fail};
use crate::object::{OwnRepresentation, Representation, handle_of_basic};
use crate::sys::callback::{Callback, Conversion};
use crate::sys::pointer::{Address, Ptr};

/// Bytes of the longest name with its end: `MPI_MAX_DATAREP_STRING`.
const LONGEST_NAME: usize = 128;

/// What the program has registered.
static REGISTERED: Mutex<Vec<Arc<OwnRepresentation>>> = Mutex::new(Vec::new());

/// The representation of a name.
pub(super) fn representation_of(name: &str) -> Option<Representation> {
    let predefined = Representation::PREDEFINED.into_iter().find(|known| known.name() == name);
    predefined.or_else(|| {
        let registered = REGISTERED.lock();
        let own = registered.iter().find(|own| own.name == name)?;
        Some(Representation::Own(own.clone()))
    })
}

pub(crate) fn register_datarep(
    name: Ptr<c_char>,
    read: Conversion,
    write: Conversion,
    extent: Callback,
    extra: Address,
) -> Outcome {
    let name = name.text();
    if name.is_empty() || name.len() >= LONGEST_NAME || extent.is_null() {
        return fail(Class::Arg, "a representation has a short name, and a function for extents");
    }
    if representation_of(&name).is_some() {
        return fail(Class::DupDatarep, "there is a representation of this name");
    }
    let own = OwnRepresentation { name, read, write, extent, extra };
    REGISTERED.lock().push(Arc::new(own));
    Ok(())
}

impl OwnRepresentation {
    /// Bytes that a number takes in a file.
    fn bytes_of(&self, kind: Basic) -> Option<u8> {
        let extent = self.extent.extent(handle_of_basic(kind), self.extra)?;
        u8::try_from(extent).ok().filter(|bytes| *bytes > 0)
    }
}

impl Representation {
    /// Bytes that a number takes in a file. `None` if the program does not say.
    fn bytes_of(&self, kind: Basic) -> Option<u8> {
        match self {
            Self::Native | Self::Internal => Some(kind.size),
            Self::External => Some(kind.external),
            Self::Own(own) => own.bytes_of(kind),
        }
    }

    /// Bytes that the numbers of an element take in a file.
    pub(super) fn size_of(&self, of: &Datatype) -> Option<usize> {
        match self {
            Self::Native | Self::Internal => return Some(of.size()),
            Self::External => return Some(of.external_size()),
            Self::Own(_) => {}
        }
        let mut size = Some(0);
        of.each_run(|run| {
            let bytes = self.bytes_of(run.basic).map(|bytes| run.count * usize::from(bytes));
            size = size.zip(bytes).map(|(before, bytes)| before + bytes);
        });
        size
    }
}

/// How a datatype lies in a file. `None` if its numbers are not as long there, and not all of one
/// kind: then nothing says where they lie.
pub(super) fn in_file(
    of: &Arc<Datatype>,
    representation: &Representation,
) -> Option<Arc<Datatype>> {
    if of.all_kinds(|kind| representation.bytes_of(kind) == Some(kind.size)) {
        return Some(of.clone());
    }
    let kind = of.only_basic()?;
    let bytes = representation.bytes_of(kind)?;
    let (size, external) = (isize::from(kind.size), isize::from(bytes));
    let there = |bytes: isize| (bytes % size == 0).then(|| bytes / size * external);
    let mut blocks = Some(Vec::new());
    of.each_run(|run| match (there(run.at), &mut blocks) {
        (Some(at), Some(blocks)) => blocks.push((at, run.count)),
        _ => blocks = None,
    });
    let number = Datatype::basic(kind.class, bytes);
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
    fn in_file__places_are_counted_in_the_bytes_there() {
        let strided = Datatype::blocks(&long(), [(8, 2), (40, 1)]).unwrap().resized(0, 64).unwrap();
        let in_external = |of: &Arc<Datatype>| in_file(of, &Representation::External);
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
