//! How a datatype was made, and datatypes by what they are for.

use std::ffi::c_int;

use prp_mpi::datatype::Constructor;

use super::{SUBARRAY, add, constructor, known};
use crate::api::datatype::darray::DARRAY;
use crate::api::error::{Class, Failure, Outcome, fail};
use crate::object::{self, Handle, TYPES, Typed};
use crate::sys::pointer::Ptr;

const NAMED: i32 = 101;
const F90_REAL: i32 = 113;
const F90_COMPLEX: i32 = 114;
const F90_INTEGER: i32 = 115;

/// The values of a call in the three kinds that the calls with large counts tell apart.
struct Values {
    integers: Vec<i64>,
    addresses: Vec<isize>,
    counts: Vec<i64>,
}

/// Counts are told as integers where all fit. Otherwise all are told as counts, and addresses with
/// them.
fn values(constructor: Constructor) -> Values {
    let Constructor { combiner, integers, addresses, .. } = constructor;
    if integers.iter().all(|&i| c_int::try_from(i).is_ok()) {
        return Values { integers, addresses, counts: Vec::new() };
    }
    // Of arrays the number of dimensions and the order are none, nor what says how they are shared.
    let is_count = |i: usize| match combiner {
        SUBARRAY => (1..integers.len() - 1).contains(&i),
        DARRAY => (3..3 + integers[2] as usize).contains(&i),
        _ => true,
    };
    let (counts, rest): (Vec<_>, Vec<_>) = (0..integers.len()).partition(|&i| is_count(i));
    let of = |places: Vec<usize>| places.into_iter().map(|i| integers[i]);
    let large = addresses.iter().map(|&a| a as i64);
    Values {
        integers: of(rest).collect(),
        addresses: Vec::new(),
        counts: of(counts).chain(large).collect(),
    }
}

fn constructor_of(datatype: Handle) -> Result<Constructor, Failure> {
    Ok(known(datatype)?.constructor.clone())
}

pub(crate) fn type_get_envelope(
    datatype: Handle,
    integers: Ptr<c_int>,
    addresses: Ptr<c_int>,
    datatypes: Ptr<c_int>,
    combiner: Ptr<c_int>,
) -> Outcome {
    let constructor = constructor_of(datatype)?;
    integers.put(constructor.integers.len() as c_int);
    addresses.put(constructor.addresses.len() as c_int);
    datatypes.put(constructor.datatypes.len() as c_int);
    combiner.put(constructor.combiner);
    Ok(())
}

pub(crate) fn type_get_envelope_c(
    datatype: Handle,
    integers: Ptr<i64>,
    addresses: Ptr<i64>,
    counts: Ptr<i64>,
    datatypes: Ptr<i64>,
    combiner: Ptr<c_int>,
) -> Outcome {
    let constructor = constructor_of(datatype)?;
    datatypes.put(constructor.datatypes.len() as i64);
    combiner.put(constructor.combiner);
    let values = values(constructor);
    integers.put(values.integers.len() as i64);
    addresses.put(values.addresses.len() as i64);
    counts.put(values.counts.len() as i64);
    Ok(())
}

/// Each is a handle of its own, which the application frees.
fn put_datatypes(constructor: &Constructor, to: Ptr<Handle>) -> Outcome {
    if constructor.combiner == NAMED {
        return fail(Class::Type, "a predefined datatype has no contents");
    }
    for (i, (handle, datatype)) in constructor.datatypes.iter().enumerate() {
        let is_predefined = *handle < Handle::FIRST;
        let made = || TYPES.add(Typed::new(datatype.clone()));
        to.set(i, if is_predefined { Handle(*handle) } else { made() });
    }
    Ok(())
}

/// Whether the lists of the application have room: of each how many values there are, and how many
/// it takes.
fn check_room(lists: &[(usize, i64)]) -> Outcome {
    match lists.iter().all(|&(values, room)| usize::try_from(room).is_ok_and(|r| values <= r)) {
        true => Ok(()),
        false => fail(Class::Arg, "a list is shorter than what MPI_Type_get_envelope says"),
    }
}

fn put_all<T: Copy, U: Copy>(from: &[T], to: Ptr<U>, like: impl Fn(T) -> U) {
    for (i, &value) in from.iter().enumerate() {
        to.set(i, like(value));
    }
}

pub(crate) fn type_get_contents(
    datatype: Handle,
    most_integers: c_int,
    most_addresses: c_int,
    most_datatypes: c_int,
    integers: Ptr<c_int>,
    addresses: Ptr<isize>,
    datatypes: Ptr<Handle>,
) -> Outcome {
    let constructor = constructor_of(datatype)?;
    check_room(&[
        (constructor.integers.len(), most_integers.into()),
        (constructor.addresses.len(), most_addresses.into()),
        (constructor.datatypes.len(), most_datatypes.into()),
    ])?;
    put_datatypes(&constructor, datatypes)?;
    if constructor.integers.iter().any(|&i| c_int::try_from(i).is_err()) {
        return fail(Class::Type, "made with counts that only MPI_Type_get_contents_c can tell");
    }
    put_all(&constructor.integers, integers, |i| i as c_int);
    put_all(&constructor.addresses, addresses, |a| a);
    Ok(())
}

pub(crate) fn type_get_contents_c(
    datatype: Handle,
    most_integers: i64,
    most_addresses: i64,
    most_counts: i64,
    most_datatypes: i64,
    integers: Ptr<c_int>,
    addresses: Ptr<isize>,
    counts: Ptr<i64>,
    datatypes: Ptr<Handle>,
) -> Outcome {
    let constructor = constructor_of(datatype)?;
    let of_types = constructor.datatypes.len();
    let values = values(constructor.clone());
    check_room(&[
        (values.integers.len(), most_integers),
        (values.addresses.len(), most_addresses),
        (values.counts.len(), most_counts),
        (of_types, most_datatypes),
    ])?;
    put_datatypes(&constructor, datatypes)?;
    put_all(&values.integers, integers, |i| i as c_int);
    put_all(&values.addresses, addresses, |a| a);
    put_all(&values.counts, counts, |c| c);
    Ok(())
}

/// The datatype of a class that is as long.
pub(crate) fn type_match_size(class: c_int, size: c_int, datatype: Ptr<Handle>) -> Outcome {
    let handle = match (class, size) {
        (192, 1) => 0x240,
        (192, 2) => 0x248,
        (192, 4) => 0x250,
        (192, 8) => 0x258,
        (193, 4) => 0x210,
        (193, 8) => 0x214,
        (193, 16) => 0x220,
        (194, 8) => 0x212,
        (194, 16) => 0x216,
        (194, 32) => 0x224,
        _ => return fail(Class::Arg, "no datatype of this class is as long"),
    };
    datatype.put(Handle(handle));
    Ok(())
}

/// A copy of a predefined datatype that tells what it was asked for. The program does not free it.
fn of_fortran(like: usize, combiner: i32, asked: &[c_int], new: Ptr<Handle>) -> Outcome {
    let integers: Vec<i64> = asked.iter().copied().map(i64::from).collect();
    let datatype = known(Handle(like))?;
    add(Some((*datatype).clone()), constructor(combiner, &integers, &[], &[]), new)
}

/// Whether the decimal digits and the exponent fit, where each may be undefined.
const fn fits(digits: c_int, range: c_int, most_digits: c_int, most_range: c_int) -> bool {
    digits <= most_digits && range <= most_range
}

pub(crate) fn type_create_f90_real(digits: c_int, range: c_int, new: Ptr<Handle>) -> Outcome {
    let like = match () {
        () if fits(digits, range, 6, 37) => 0x210,
        () if fits(digits, range, 15, 307) => 0x214,
        () => return fail(Class::Arg, "no real numbers of this precision and range"),
    };
    of_fortran(like, F90_REAL, &[digits, range], new)
}

pub(crate) fn type_create_f90_complex(digits: c_int, range: c_int, new: Ptr<Handle>) -> Outcome {
    let like = match () {
        () if fits(digits, range, 6, 37) => 0x212,
        () if fits(digits, range, 15, 307) => 0x216,
        () => return fail(Class::Arg, "no complex numbers of this precision and range"),
    };
    of_fortran(like, F90_COMPLEX, &[digits, range], new)
}

pub(crate) fn type_create_f90_integer(range: c_int, new: Ptr<Handle>) -> Outcome {
    let like = match range {
        ..=2 => 0x240,
        3..=4 => 0x248,
        5..=9 => 0x250,
        10..=18 => 0x258,
        _ => return fail(Class::Arg, "no integers of this range"),
    };
    of_fortran(like, F90_INTEGER, &[range], new)
}

/// The pair of a value and an index: predefined where the index is an `int`, as there are no
/// others.
pub(crate) fn type_get_value_index(value: Handle, index: Handle, pair: Ptr<Handle>) -> Outcome {
    known(value)?;
    known(index)?;
    pair.put(object::pair_of(value, index).unwrap_or(Handle::DATATYPE_NULL));
    Ok(())
}
