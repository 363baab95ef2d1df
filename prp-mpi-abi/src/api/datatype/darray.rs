//! The part of an array that one process of a grid has, where the array is shared out over the
//! grid.

use std::ffi::c_int;

use prp_mpi::datatype::Datatype;

use super::{ORDER_C, add, check_order, constructor, count_of, known};
use crate::api::error::{Class, Failure, Outcome, fail};
use crate::object::Handle;
use crate::sys::pointer::{Counts, Ptr};

/// `MPI_COMBINER_DARRAY`.
pub(super) const DARRAY: i32 = 112;
const NONE: c_int = 16;
const BLOCK: c_int = 17;
const CYCLIC: c_int = 18;
/// `MPI_DISTRIBUTE_DFLT_DARG`: blocks as the kind of sharing has them by itself.
const BY_ITSELF: c_int = 19;

/// How one dimension is shared out.
#[derive(Copy, Clone, Debug)]
struct Dimension {
    /// Elements.
    size: i64,
    kind: c_int,
    argument: c_int,
    /// Processes, and which of them this is.
    processes: c_int,
    place: c_int,
}

impl Dimension {
    /// First elements and lengths of the blocks of this process.
    fn blocks(self) -> Result<Vec<(i64, i64)>, Failure> {
        let Self { size, kind, argument, processes, place } = self;
        let (processes, place) = (i64::from(processes), i64::from(place));
        let each = match (kind, argument) {
            (NONE, _) if processes == 1 => size.max(1),
            (BLOCK, BY_ITSELF) => (size + processes - 1) / processes,
            (BLOCK, n) if n > 0 && i64::from(n) * processes >= size => n.into(),
            (CYCLIC, BY_ITSELF) => 1,
            (CYCLIC, n) if n > 0 => n.into(),
            _ => return fail(Class::Arg, "the array cannot be shared out like this"),
        };
        let starts = (0..).map(|round| (round * processes + place) * each);
        let inside = starts.take_while(|&start| start < size);
        Ok(inside.map(|start| (start, each.min(size - start))).collect())
    }
}

pub(crate) fn type_create_darray(
    size: c_int,
    rank: c_int,
    ndims: c_int,
    sizes: Counts,
    kinds: Ptr<c_int>,
    arguments: Ptr<c_int>,
    processes: Ptr<c_int>,
    order: c_int,
    old: Handle,
    new: Ptr<Handle>,
) -> Outcome {
    let of = known(old)?;
    let n = count_of(ndims.into())?;
    let sizes = sizes.list(n);
    let [kinds, arguments, processes] = [kinds, arguments, processes].map(|p| p.list(n));
    let is_grid = processes.iter().all(|&p| p > 0)
        && processes.iter().map(|&p| i64::from(p)).product::<i64>() == i64::from(size);
    if n == 0 || !is_grid || !(0..size).contains(&rank) || sizes.iter().any(|&s| s < 0) {
        return fail(Class::Arg, "no array, or no process of this grid");
    }
    check_order(order)?;
    // The grid's last dimension is the one whose processes follow each other, in either order.
    let mut places = vec![0; n];
    let mut rest = rank;
    for d in (0..n).rev() {
        places[d] = rest % processes[d];
        rest /= processes[d];
    }
    let dims: Vec<usize> = if order == ORDER_C { (0..n).rev().collect() } else { (0..n).collect() };
    let mut stride = of.extent();
    let mut made = Some((*of).clone());
    for &d in &dims {
        let dimension = Dimension {
            size: sizes[d],
            kind: kinds[d],
            argument: arguments[d],
            processes: processes[d],
            place: places[d],
        };
        let elements = dimension.blocks()?.into_iter().flat_map(|(at, len)| at..at + len);
        let places = elements.map(|i| ((i as isize).saturating_mul(stride), 1));
        made = made.and_then(|inner| Datatype::blocks(&inner, places));
        stride = stride.saturating_mul(sizes[d] as isize);
    }
    let [kinds, arguments, processes] =
        [kinds, arguments, processes].map(|l| l.into_iter().map(i64::from));
    let integers: Vec<i64> = [size, rank, ndims]
        .map(i64::from)
        .into_iter()
        .chain(sizes)
        .chain(kinds)
        .chain(arguments)
        .chain(processes)
        .chain([i64::from(order)])
        .collect();
    let made = made.and_then(|made| made.resized(0, stride));
    add(made, constructor(DARRAY, &integers, &[], &[old]), new)
}
