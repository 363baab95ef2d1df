//! Elements in one piece: as they lie in memory, or as on any machine.

use std::ffi::c_char;

use prp_mpi::datatype::{Class as Kind, Datatype};
use prp_mpi::sys::memory::Region;

use super::{count_of, known};
use crate::api::error::{Class, Failure, Outcome, fail};
use crate::object::Handle;
use crate::sys::pointer::{Address, Counts, Ptr};

const NO_ROOM: &str = "no room to pack this";
const PACKED_TOO_SHORT: &str = "what was packed ends before this does";

pub(crate) fn pack_size(count: i64, datatype: Handle, _comm: Handle, size: Counts) -> Outcome {
    size.put(count * known(datatype)?.size() as i64);
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
    let from = inbuf.region(count_of(count)?, &known(datatype)?);
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
    let mut to = outbuf.region(count_of(count)?, &known(datatype)?);
    to.copy_from(&next_bytes(inbuf, size, position, to.len(), PACKED_TOO_SHORT)?);
    Ok(())
}

/// Goes through all numbers: their bytes, and whether they are `long double`.
fn each_number(bytes: &mut [u8], datatype: &Datatype, mut does: impl FnMut(&mut [u8], bool)) {
    let mut rest = bytes;
    while !rest.is_empty() && datatype.size() > 0 {
        for run in datatype.runs() {
            let size = usize::from(run.basic.size);
            let class = run.basic.class;
            let is_pair = matches!(class, Kind::Complex | Kind::LongComplex);
            let is_long = matches!(class, Kind::LongDouble | Kind::LongComplex);
            let each = if is_pair { size / 2 } else { size };
            let (now, later) = rest.split_at_mut((run.count * size).min(rest.len()));
            now.chunks_exact_mut(each.max(1)).for_each(|number| does(number, is_long));
            rest = later;
        }
    }
}

/// external32 has the highest byte first, and `long double` in the 128 bits of IEEE.
fn to_external(bytes: &mut [u8], datatype: &Datatype) {
    each_number(bytes, datatype, |number, is_long| {
        if is_long {
            number.copy_from_slice(&wide_of_long(number));
        }
        number.reverse();
    });
}

fn from_external(bytes: &mut [u8], datatype: &Datatype) {
    each_number(bytes, datatype, |number, is_long| {
        number.reverse();
        if is_long {
            number.copy_from_slice(&long_of_wide(number));
        }
    });
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
    pack_size(count, datatype, Handle::SELF, size)
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
    let mut packed = inbuf.region(count_of(count)?, &of).to_vec();
    to_external(&mut packed, &of);
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
    let mut packed = next_bytes(inbuf, size, position, to.len(), PACKED_TOO_SHORT)?.to_vec();
    from_external(&mut packed, &of);
    to.write(0, &packed);
    Ok(())
}
