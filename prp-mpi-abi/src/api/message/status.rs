//! What is known of a message that has been received.

use std::ffi::c_int;

use super::*;
use crate::object::Handle;
use crate::sys::pointer::{Counts, Ptr, Status};

fn bytes_of(status: &Status) -> u64 {
    u64::from(status.bytes[0]) | u64::from(status.bytes[1]) << 32
}

pub(crate) fn get_count(status: Ptr<Status>, datatype: Handle, count: Counts) -> Outcome {
    let size = type_of(datatype, Handle::SELF)?.size() as u64;
    let bytes = bytes_of(&status.get());
    let whole = match size {
        0 if bytes == 0 => 0,
        size if size > 0 && bytes.is_multiple_of(size) => {
            i64::try_from(bytes / size).unwrap_or(i64::MAX)
        }
        _ => i64::from(crate::api::UNDEFINED),
    };
    count.put(whole);
    Ok(())
}

pub(crate) fn get_elements(status: Ptr<Status>, datatype: Handle, count: Counts) -> Outcome {
    let datatype = type_of(datatype, Handle::SELF)?;
    let elements = datatype.elements_in(bytes_of(&status.get()) as usize);
    count.put(elements.map_or_else(|| crate::api::UNDEFINED.into(), |n| n as i64));
    Ok(())
}

pub(crate) fn get_elements_x(status: Ptr<Status>, datatype: Handle, count: Ptr<i64>) -> Outcome {
    get_elements(status, datatype, Counts::Long(count))
}

pub(crate) fn status_set_elements(status: Ptr<Status>, datatype: Handle, count: i64) -> Outcome {
    let datatype = type_of(datatype, Handle::SELF)?;
    let bytes = datatype.bytes_of(length(count, Class::Count, Handle::SELF)?) as u64;
    status.put(Status { bytes: [bytes as u32, (bytes >> 32) as u32], ..status.get() });
    Ok(())
}

pub(crate) fn status_set_elements_x(status: Ptr<Status>, datatype: Handle, count: i64) -> Outcome {
    status_set_elements(status, datatype, count)
}

pub(crate) fn status_set_cancelled(status: Ptr<Status>, flag: c_int) -> Outcome {
    status.put(Status { cancelled: (flag != 0).into(), ..status.get() });
    Ok(())
}

pub(crate) fn test_cancelled(status: Ptr<Status>, flag: Ptr<c_int>) -> Outcome {
    flag.put(status.get().cancelled);
    Ok(())
}

macro_rules! status_field {
    ($get:ident, $set:ident, $field:ident) => {
        pub(crate) fn $get(status: Ptr<Status>, value: Ptr<c_int>) -> Outcome {
            value.put(status.get().$field);
            Ok(())
        }

        pub(crate) fn $set(status: Ptr<Status>, value: c_int) -> Outcome {
            status.put(Status { $field: value, ..status.get() });
            Ok(())
        }
    };
}

status_field!(get_source, set_source, source);
status_field!(get_tag, set_tag, tag);
status_field!(get_error, set_error, error);

pub(crate) fn status_get_source(status: Ptr<Status>, value: Ptr<c_int>) -> Outcome {
    get_source(status, value)
}

pub(crate) fn status_set_source(status: Ptr<Status>, value: c_int) -> Outcome {
    set_source(status, value)
}

pub(crate) fn status_get_tag(status: Ptr<Status>, value: Ptr<c_int>) -> Outcome {
    get_tag(status, value)
}

pub(crate) fn status_set_tag(status: Ptr<Status>, value: c_int) -> Outcome {
    set_tag(status, value)
}

pub(crate) fn status_get_error(status: Ptr<Status>, value: Ptr<c_int>) -> Outcome {
    get_error(status, value)
}

pub(crate) fn status_set_error(status: Ptr<Status>, value: c_int) -> Outcome {
    set_error(status, value)
}
