//! Datatypes.

mod contents;
mod darray;
mod pack;

use std::ffi::{c_char, c_int};
use std::sync::Arc;

use prp_mpi::datatype::{Constructor, Datatype};

pub(crate) use self::contents::*;
pub(crate) use self::darray::*;
pub(crate) use self::pack::*;
use super::error::{Class, Failure, Outcome, fail, length};
use super::message::type_of;
use crate::object::{self, Handle, TYPES, Typed};
use crate::sys::pointer::{Counts, Ptr};

const DUP: i32 = 102;
const CONTIGUOUS: i32 = 103;
const VECTOR: i32 = 104;
const HVECTOR: i32 = 105;
const INDEXED: i32 = 106;
const HINDEXED: i32 = 107;
const INDEXED_BLOCK: i32 = 108;
const HINDEXED_BLOCK: i32 = 109;
const STRUCT: i32 = 110;
const SUBARRAY: i32 = 111;
const RESIZED: i32 = 116;
const ORDER_C: c_int = 12;
const ORDER_FORTRAN: c_int = 15;

fn known(handle: Handle) -> Result<Arc<Datatype>, Failure> {
    type_of(handle, Handle::SELF)
}

/// Adds a datatype, if it could be made: what cannot be addressed, or has more places than there is
/// memory for, cannot.
fn add(made: Option<Datatype>, constructor: Constructor, to: Ptr<Handle>) -> Outcome {
    let Some(datatype) = made else {
        return fail(Class::NoMemory, "there is not as much memory as the datatype describes");
    };
    to.put(TYPES.add(Typed::new(Arc::new(datatype.with_constructor(constructor)))));
    Ok(())
}

/// Bytes to an element of an array. What cannot be addressed is as far as can be.
fn far(elements: i64, of: &Datatype) -> isize {
    (elements as isize).saturating_mul(of.extent())
}

fn constructor(
    combiner: i32,
    integers: &[i64],
    addresses: &[isize],
    handles: &[Handle],
) -> Constructor {
    Constructor {
        combiner,
        integers: integers.to_vec(),
        addresses: addresses.to_vec(),
        datatypes: handles.iter().filter_map(|h| Some((h.0, object::datatype(*h)?))).collect(),
    }
}

fn count_of(count: i64) -> Result<usize, Failure> {
    length(count, Class::Count, Handle::SELF)
}

fn check_order(order: c_int) -> Outcome {
    match order {
        ORDER_C | ORDER_FORTRAN => Ok(()),
        _ => fail(Class::Arg, "no such order of the elements of an array"),
    }
}

fn counts_of(counts: &[i64]) -> Result<Vec<usize>, Failure> {
    counts.iter().map(|&c| count_of(c)).collect()
}

pub(crate) fn type_contiguous(count: i64, old: Handle, new: Ptr<Handle>) -> Outcome {
    let made = Datatype::blocks(&*known(old)?, [(0, count_of(count)?)]);
    add(made, constructor(CONTIGUOUS, &[count], &[], &[old]), new)
}

fn vector(
    count: i64,
    length: i64,
    stride: isize,
    old: &Datatype,
) -> Result<Option<Datatype>, Failure> {
    Ok(Datatype::vector(old, 0, count_of(count)?, count_of(length)?, stride))
}

pub(crate) fn type_vector(
    count: i64,
    length: i64,
    stride: i64,
    old: Handle,
    new: Ptr<Handle>,
) -> Outcome {
    let of = known(old)?;
    let made = vector(count, length, far(stride, &of), &of)?;
    add(made, constructor(VECTOR, &[count, length, stride], &[], &[old]), new)
}

pub(crate) fn type_create_hvector(
    count: i64,
    length: i64,
    stride: i64,
    old: Handle,
    new: Ptr<Handle>,
) -> Outcome {
    let made = vector(count, length, stride as isize, &*known(old)?)?;
    add(made, constructor(HVECTOR, &[count, length], &[stride as isize], &[old]), new)
}

pub(crate) fn type_indexed(
    count: i64,
    lengths: Counts,
    displacements: Counts,
    old: Handle,
    new: Ptr<Handle>,
) -> Outcome {
    let of = known(old)?;
    let n = count_of(count)?;
    let (lengths, places) = (lengths.list(n), displacements.list(n));
    let blocks = counts_of(&lengths)?.into_iter().zip(&places);
    let made = Datatype::blocks(&of, blocks.map(|(l, &at)| (far(at, &of), l)));
    let integers: Vec<i64> = [count].into_iter().chain(lengths).chain(places).collect();
    add(made, constructor(INDEXED, &integers, &[], &[old]), new)
}

pub(crate) fn type_create_hindexed(
    count: i64,
    lengths: Counts,
    displacements: Counts,
    old: Handle,
    new: Ptr<Handle>,
) -> Outcome {
    let of = known(old)?;
    let n = count_of(count)?;
    let lengths = lengths.list(n);
    let places: Vec<isize> = displacements.list(n).into_iter().map(|a| a as isize).collect();
    let blocks = counts_of(&lengths)?.into_iter().zip(&places);
    let made = Datatype::blocks(&of, blocks.map(|(l, &at)| (at, l)));
    let integers: Vec<i64> = [count].into_iter().chain(lengths).collect();
    add(made, constructor(HINDEXED, &integers, &places, &[old]), new)
}

pub(crate) fn type_create_indexed_block(
    count: i64,
    length: i64,
    displacements: Counts,
    old: Handle,
    new: Ptr<Handle>,
) -> Outcome {
    let of = known(old)?;
    let (places, length_each) = (displacements.list(count_of(count)?), count_of(length)?);
    let blocks = places.iter().map(|&at| (far(at, &of), length_each));
    let made = Datatype::blocks(&of, blocks);
    let integers: Vec<i64> = [count, length].into_iter().chain(places).collect();
    add(made, constructor(INDEXED_BLOCK, &integers, &[], &[old]), new)
}

pub(crate) fn type_create_hindexed_block(
    count: i64,
    length: i64,
    displacements: Counts,
    old: Handle,
    new: Ptr<Handle>,
) -> Outcome {
    let of = known(old)?;
    let places = displacements.list(count_of(count)?);
    let places: Vec<isize> = places.into_iter().map(|a| a as isize).collect();
    let length_each = count_of(length)?;
    let made = Datatype::blocks(&of, places.iter().map(|&at| (at, length_each)));
    add(made, constructor(HINDEXED_BLOCK, &[count, length], &places, &[old]), new)
}

pub(crate) fn type_create_struct(
    count: i64,
    lengths: Counts,
    displacements: Counts,
    types: Ptr<Handle>,
    new: Ptr<Handle>,
) -> Outcome {
    let n = count_of(count)?;
    let lengths = lengths.list(n);
    let places: Vec<isize> = displacements.list(n).into_iter().map(|a| a as isize).collect();
    let handles = types.list(n);
    let of: Vec<Arc<Datatype>> = handles.iter().map(|&h| known(h)).collect::<Result<_, _>>()?;
    let each = counts_of(&lengths)?;
    let made = Datatype::structure((0..n).map(|i| (places[i], each[i], &*of[i])));
    let integers: Vec<i64> = [count].into_iter().chain(lengths).collect();
    add(made, constructor(STRUCT, &integers, &places, &handles), new)
}

pub(crate) fn type_create_subarray(
    ndims: c_int,
    sizes: Counts,
    subsizes: Counts,
    starts: Counts,
    order: c_int,
    old: Handle,
    new: Ptr<Handle>,
) -> Outcome {
    let of = known(old)?;
    let n = count_of(ndims.into())?;
    let (sizes, subsizes, starts) = (sizes.list(n), subsizes.list(n), starts.list(n));
    let fits = (0..n).all(|i| {
        subsizes[i] > 0 && starts[i] >= 0 && subsizes[i] <= sizes[i].saturating_sub(starts[i])
    });
    if n == 0 || !fits {
        return fail(Class::Arg, "the part is not within the array");
    }
    check_order(order)?;
    // The dimension whose elements are neighbours first.
    let dims: Vec<usize> = if order == ORDER_C { (0..n).rev().collect() } else { (0..n).collect() };
    let mut stride = of.extent();
    let mut made = Some((*of).clone());
    for &d in &dims {
        let at = (starts[d] as isize).saturating_mul(stride);
        let count = subsizes[d] as usize;
        made = made.and_then(|inner| Datatype::vector(&inner, at, count, 1, stride));
        stride = stride.saturating_mul(sizes[d] as isize);
    }
    let made = made.and_then(|made| made.resized(0, stride));
    let integers: Vec<i64> = [i64::from(ndims)]
        .into_iter()
        .chain(sizes)
        .chain(subsizes)
        .chain(starts)
        .chain([i64::from(order)])
        .collect();
    add(made, constructor(SUBARRAY, &integers, &[], &[old]), new)
}

pub(crate) fn type_create_resized(old: Handle, lb: i64, extent: i64, new: Ptr<Handle>) -> Outcome {
    let made = known(old)?.resized(lb as isize, extent as isize);
    add(made, constructor(RESIZED, &[], &[lb as isize, extent as isize], &[old]), new)
}

pub(crate) fn type_dup(old: Handle, new: Ptr<Handle>) -> Outcome {
    let made = Some((*known(old)?).clone());
    let attributes = super::attribute::copy_all_of_type(old)?;
    add(made, constructor(DUP, &[], &[], &[old]), new)?;
    TYPES.with(new.get(), |t| t.attributes = attributes);
    Ok(())
}

pub(crate) fn type_commit(datatype: Ptr<Handle>) -> Outcome {
    known(datatype.get()).map(drop)
}

pub(crate) fn type_free(datatype: Ptr<Handle>) -> Outcome {
    if TYPES.with(datatype.get(), |_| ()).is_none() {
        return fail(Class::Type, "no datatype of the application");
    }
    super::attribute::delete_all_of_type(datatype.get())?;
    TYPES.retire(datatype.get());
    datatype.put(Handle::DATATYPE_NULL);
    Ok(())
}

pub(crate) fn type_size(datatype: Handle, size: Counts) -> Outcome {
    size.put(known(datatype)?.size() as i64);
    Ok(())
}

pub(crate) fn type_size_x(datatype: Handle, size: Ptr<i64>) -> Outcome {
    type_size(datatype, Counts::Long(size))
}

pub(crate) fn type_get_extent(datatype: Handle, lb: Counts, extent: Counts) -> Outcome {
    let of = known(datatype)?;
    lb.put(of.lb() as i64);
    extent.put(of.extent() as i64);
    Ok(())
}

pub(crate) fn type_get_extent_x(datatype: Handle, lb: Ptr<i64>, extent: Ptr<i64>) -> Outcome {
    type_get_extent(datatype, Counts::Long(lb), Counts::Long(extent))
}

pub(crate) fn type_get_true_extent(datatype: Handle, lb: Counts, extent: Counts) -> Outcome {
    let (first, end) = known(datatype)?.true_bounds();
    lb.put(first as i64);
    extent.put((end - first) as i64);
    Ok(())
}

pub(crate) fn type_get_true_extent_x(datatype: Handle, lb: Ptr<i64>, extent: Ptr<i64>) -> Outcome {
    type_get_true_extent(datatype, Counts::Long(lb), Counts::Long(extent))
}

pub(crate) fn type_get_name(datatype: Handle, name: Ptr<c_char>, length: Ptr<c_int>) -> Outcome {
    if datatype == Handle::DATATYPE_NULL {
        length.put(name.put_text("MPI_DATATYPE_NULL", 128));
        return Ok(());
    }
    known(datatype)?;
    let text = object::datatype_name(datatype).unwrap_or_default();
    length.put(name.put_text(&text, 128));
    Ok(())
}

pub(crate) fn type_set_name(datatype: Handle, name: Ptr<c_char>) -> Outcome {
    known(datatype)?;
    object::name_datatype(datatype, name.text());
    Ok(())
}
