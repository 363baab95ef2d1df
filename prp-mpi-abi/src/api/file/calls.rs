//! The calls that read and write. Each stands also for those that begin the same: with a request,
//! or to be ended by another call.

use super::access::{FileAccess, Place};
use super::collective::CollectiveAccess;
use crate::api::error::Failure;
use crate::object::Handle;
use crate::sys::pointer::Address;

pub(crate) fn access_file_read_at(
    fh: Handle,
    offset: i64,
    buf: Address,
    count: i64,
    datatype: Handle,
) -> Result<FileAccess, Failure> {
    FileAccess::new(fh, false, Place::At(offset), (buf, count, datatype))
}

pub(crate) fn access_file_read_at_all(
    fh: Handle,
    offset: i64,
    buf: Address,
    count: i64,
    datatype: Handle,
) -> Result<CollectiveAccess, Failure> {
    CollectiveAccess::new(fh, false, Place::At(offset), (buf, count, datatype))
}

pub(crate) fn access_file_write_at(
    fh: Handle,
    offset: i64,
    buf: Address,
    count: i64,
    datatype: Handle,
) -> Result<FileAccess, Failure> {
    FileAccess::new(fh, true, Place::At(offset), (buf, count, datatype))
}

pub(crate) fn access_file_write_at_all(
    fh: Handle,
    offset: i64,
    buf: Address,
    count: i64,
    datatype: Handle,
) -> Result<CollectiveAccess, Failure> {
    CollectiveAccess::new(fh, true, Place::At(offset), (buf, count, datatype))
}

pub(crate) fn access_file_read(
    fh: Handle,
    buf: Address,
    count: i64,
    datatype: Handle,
) -> Result<FileAccess, Failure> {
    FileAccess::new(fh, false, Place::Own, (buf, count, datatype))
}

pub(crate) fn access_file_read_all(
    fh: Handle,
    buf: Address,
    count: i64,
    datatype: Handle,
) -> Result<CollectiveAccess, Failure> {
    CollectiveAccess::new(fh, false, Place::Own, (buf, count, datatype))
}

pub(crate) fn access_file_write(
    fh: Handle,
    buf: Address,
    count: i64,
    datatype: Handle,
) -> Result<FileAccess, Failure> {
    FileAccess::new(fh, true, Place::Own, (buf, count, datatype))
}

pub(crate) fn access_file_write_all(
    fh: Handle,
    buf: Address,
    count: i64,
    datatype: Handle,
) -> Result<CollectiveAccess, Failure> {
    CollectiveAccess::new(fh, true, Place::Own, (buf, count, datatype))
}

pub(crate) fn access_file_read_shared(
    fh: Handle,
    buf: Address,
    count: i64,
    datatype: Handle,
) -> Result<FileAccess, Failure> {
    FileAccess::new(fh, false, Place::Shared, (buf, count, datatype))
}

pub(crate) fn access_file_write_shared(
    fh: Handle,
    buf: Address,
    count: i64,
    datatype: Handle,
) -> Result<FileAccess, Failure> {
    FileAccess::new(fh, true, Place::Shared, (buf, count, datatype))
}

pub(crate) fn access_file_read_ordered(
    fh: Handle,
    buf: Address,
    count: i64,
    datatype: Handle,
) -> Result<CollectiveAccess, Failure> {
    CollectiveAccess::new(fh, false, Place::Ordered, (buf, count, datatype))
}

pub(crate) fn access_file_write_ordered(
    fh: Handle,
    buf: Address,
    count: i64,
    datatype: Handle,
) -> Result<CollectiveAccess, Failure> {
    CollectiveAccess::new(fh, true, Place::Ordered, (buf, count, datatype))
}
