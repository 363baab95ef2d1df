//! Elements in one piece: as they lie in memory, or as on any machine.

use std::ffi::c_char;

use prp_mpi::datatype::{Basic, Class as Kind, Datatype, Run};
use prp_mpi::sys::memory::Region;

use super::{count_of, known};
use crate::api::error::{Class, Failure, Outcome, fail};
use crate::api::message::region;
use crate::object::Handle;
use crate::sys::pointer::{Address, Counts, Ptr};

const NO_ROOM: &str = "no room to pack this";
const PACKED_TOO_SHORT: &str = "what was packed ends before this does";

pub(crate) fn pack_size(count: i64, datatype: Handle, _comm: Handle, size: Counts) -> Outcome {
    size.put((count_of(count)? * known(datatype)?.size()) as i64);
    Ok(())
}

pub(crate) fn pack(
    inbuf: Address,
    count: i64,
    datatype: Handle,
    outbuf: Address,
    room: i64,
    position: Counts,
    _comm: Handle,
) -> Outcome {
    let from = region(inbuf, count, datatype, Handle::SELF)?;
    let mut to = next_bytes(outbuf, room, position, from.len(), NO_ROOM)?;
    to.copy_from(&from);
    Ok(())
}

/// The next `len` of the `size` packed bytes at `buf`. The position is behind them then.
fn next_bytes(
    buf: Address,
    size: i64,
    position: Counts,
    len: usize,
    too_short: &str,
) -> Result<Region, Failure> {
    let at = position.at(0);
    if at < 0 || size < 0 {
        return fail(Class::Arg, "a negative position or size");
    }
    let end = at + len as i64;
    if end > size {
        return fail(Class::Truncate, too_short);
    }
    position.put(end);
    Ok(buf.offset(at as isize).region(len, &Datatype::bytes()))
}

pub(crate) fn unpack(
    inbuf: Address,
    size: i64,
    position: Counts,
    outbuf: Address,
    count: i64,
    datatype: Handle,
    _comm: Handle,
) -> Outcome {
    let mut to = region(outbuf, count, datatype, Handle::SELF)?;
    to.copy_from(&next_bytes(inbuf, size, position, to.len(), PACKED_TOO_SHORT)?);
    Ok(())
}

/// How many numbers of which class follow each other in elements, and the bytes of one of them: in
/// memory and in external32.
fn numbers(of: &Run) -> (usize, Kind, usize, usize) {
    let Basic { class, size, external } = of.basic;
    let parts = if matches!(class, Kind::Complex | Kind::LongComplex) { 2 } else { 1 };
    let [size, external] = [size, external].map(|bytes| usize::from(bytes) / parts);
    (of.count * parts, class, size, external)
}

const fn is_long(class: Kind) -> bool {
    matches!(class, Kind::LongDouble | Kind::LongComplex)
}

/// What the bytes of a number hold that are not in external32.
fn filling(class: Kind, low: &[u8]) -> u8 {
    let is_negative = class == Kind::Signed && low.last().is_some_and(|byte| byte & 0x80 != 0);
    if is_negative { 0xff } else { 0 }
}

/// external32 has the highest byte first, `long double` in the 128 bits of IEEE, and for some
/// numbers fewer bytes than memory. None if a number does not fit.
pub(crate) fn to_external(packed: &[u8], datatype: &Datatype) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(packed.len());
    let mut rest = packed;
    let mut fits = true;
    while !rest.is_empty() && fits {
        datatype.each_run(|run| {
            let (count, class, size, external) = numbers(&run);
            let (now, later) = rest.split_at(count * size);
            rest = later;
            for number in now.chunks_exact(size) {
                let wide = is_long(class).then(|| wide_of_long(number));
                let (low, high) = wide.as_ref().map_or(number, |w| w).split_at(external);
                fits &= high.iter().all(|byte| *byte == filling(class, low));
                out.extend(low.iter().rev());
            }
        });
    }
    fits.then_some(out)
}

pub(crate) fn from_external(outside: &[u8], datatype: &Datatype) -> Vec<u8> {
    let mut packed = Vec::with_capacity(outside.len());
    let mut rest = outside;
    while !rest.is_empty() {
        datatype.each_run(|run| {
            let (count, class, size, external) = numbers(&run);
            let (now, later) = rest.split_at(count * external);
            rest = later;
            for number in now.chunks_exact(external) {
                let mut low: Vec<u8> = number.iter().rev().copied().collect();
                if is_long(class) {
                    low = long_of_wide(&low).to_vec();
                }
                low.resize(size, filling(class, &low));
                packed.extend(low);
            }
        });
    }
    packed
}

/// The fraction of a `long double` without its first bit, which IEEE does not write down.
const FRACTION: u128 = (1 << 63) - 1;
/// How much longer the fraction of IEEE's 128 bits is.
const LONGER: u32 = 112 - 63;

fn number_of(bytes: &[u8]) -> u128 {
    u128::from_le_bytes(std::array::from_fn(|i| bytes[i]))
}

/// Sign and exponent are the same in both.
fn wide_of_long(bytes: &[u8]) -> [u8; 16] {
    let long = number_of(bytes);
    let head = long >> 64 & 0xffff;
    (head << 112 | (long & FRACTION) << LONGER).to_le_bytes()
}

fn long_of_wide(bytes: &[u8]) -> [u8; 16] {
    let wide = number_of(bytes);
    let head = wide >> 112;
    let first = u128::from(head & 0x7fff != 0) << 63;
    (head << 64 | first | wide >> LONGER & FRACTION).to_le_bytes()
}

/// The only other representation there is.
fn check(name: Ptr<c_char>) -> Outcome {
    if name.text() != "external32" {
        return fail(Class::Arg, "no such representation");
    }
    Ok(())
}

pub(crate) fn pack_external_size(
    name: Ptr<c_char>,
    count: i64,
    datatype: Handle,
    size: Counts,
) -> Outcome {
    check(name)?;
    size.put((count_of(count)? * known(datatype)?.external_size()) as i64);
    Ok(())
}

pub(crate) fn pack_external(
    name: Ptr<c_char>,
    inbuf: Address,
    count: i64,
    datatype: Handle,
    outbuf: Address,
    room: i64,
    position: Counts,
) -> Outcome {
    check(name)?;
    let of = known(datatype)?;
    let Some(packed) = to_external(&inbuf.region(count_of(count)?, &of).to_vec(), &of) else {
        return fail(Class::Conversion, "a number that external32 has no room for");
    };
    next_bytes(outbuf, room, position, packed.len(), NO_ROOM)?.write(0, &packed);
    Ok(())
}

pub(crate) fn unpack_external(
    name: Ptr<c_char>,
    inbuf: Address,
    size: i64,
    position: Counts,
    outbuf: Address,
    count: i64,
    datatype: Handle,
) -> Outcome {
    check(name)?;
    let of = known(datatype)?;
    let mut to = outbuf.region(count_of(count)?, &of);
    let len = count_of(count)? * of.external_size();
    let packed = next_bytes(inbuf, size, position, len, PACKED_TOO_SHORT)?.to_vec();
    to.write(0, &from_external(&packed, &of));
    Ok(())
}
