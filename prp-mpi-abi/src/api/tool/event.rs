//! Events, their sources and enumerations, of which this library has none: so every index and
//! handle of them is wrong.

use std::ffi::{c_char, c_int};

use super::{Error, Told};
use crate::object::Handle;
use crate::sys::pointer::{Address, Ptr};

pub(crate) fn t_event_get_num(count: Ptr<c_int>) -> Told {
    count.put(0);
    Ok(())
}

pub(crate) fn t_source_get_num(count: Ptr<c_int>) -> Told {
    count.put(0);
    Ok(())
}

pub(crate) fn t_event_get_index(_name: Ptr<c_char>, _index: Ptr<c_int>) -> Told {
    Err(Error::Name)
}

pub(crate) fn t_event_get_info(
    _index: c_int,
    _name: Ptr<c_char>,
    _name_len: Ptr<c_int>,
    _verbosity: Ptr<c_int>,
    _datatypes: Ptr<Handle>,
    _displacements: Ptr<isize>,
    _elements: Ptr<c_int>,
    _enumeration: Ptr<Handle>,
    _info: Ptr<Handle>,
    _about: Ptr<c_char>,
    _about_len: Ptr<c_int>,
    _bind: Ptr<c_int>,
) -> Told {
    Err(Error::Index)
}

pub(crate) fn t_event_handle_alloc(
    _index: c_int,
    _object: Address,
    _info: Handle,
    _registration: Ptr<Handle>,
) -> Told {
    Err(Error::Index)
}

pub(crate) fn t_event_handle_free(_of: Handle, _data: Address, _callback: Handle) -> Told {
    Err(Error::Handle)
}

pub(crate) fn t_event_handle_get_info(_of: Handle, _info: Ptr<Handle>) -> Told {
    Err(Error::Handle)
}

pub(crate) fn t_event_handle_set_info(_of: Handle, _info: Handle) -> Told {
    Err(Error::Handle)
}

pub(crate) fn t_event_callback_get_info(_of: Handle, _safety: c_int, _info: Ptr<Handle>) -> Told {
    Err(Error::Handle)
}

pub(crate) fn t_event_callback_set_info(_of: Handle, _safety: c_int, _info: Handle) -> Told {
    Err(Error::Handle)
}

pub(crate) fn t_event_register_callback(
    _of: Handle,
    _safety: c_int,
    _info: Handle,
    _data: Address,
    _callback: Handle,
) -> Told {
    Err(Error::Handle)
}

pub(crate) fn t_event_set_dropped_handler(_of: Handle, _callback: Handle) -> Told {
    Err(Error::Handle)
}

pub(crate) fn t_event_read(_event: Handle, _element: c_int, _value: Address) -> Told {
    Err(Error::Handle)
}

pub(crate) fn t_event_copy(_event: Handle, _value: Address) -> Told {
    Err(Error::Handle)
}

pub(crate) fn t_event_get_timestamp(_event: Handle, _time: Ptr<i64>) -> Told {
    Err(Error::Handle)
}

pub(crate) fn t_event_get_source(_event: Handle, _source: Ptr<c_int>) -> Told {
    Err(Error::Handle)
}

pub(crate) fn t_source_get_info(
    _index: c_int,
    _name: Ptr<c_char>,
    _name_len: Ptr<c_int>,
    _about: Ptr<c_char>,
    _about_len: Ptr<c_int>,
    _ordering: Ptr<c_int>,
    _ticks_per_second: Ptr<i64>,
    _max_ticks: Ptr<i64>,
    _info: Ptr<Handle>,
) -> Told {
    Err(Error::Index)
}

pub(crate) fn t_source_get_timestamp(_index: c_int, _time: Ptr<i64>) -> Told {
    Err(Error::Index)
}

pub(crate) fn t_enum_get_info(
    _of: Handle,
    _count: Ptr<c_int>,
    _name: Ptr<c_char>,
    _name_len: Ptr<c_int>,
) -> Told {
    Err(Error::Handle)
}

pub(crate) fn t_enum_get_item(
    _of: Handle,
    _index: c_int,
    _value: Ptr<c_int>,
    _name: Ptr<c_char>,
    _name_len: Ptr<c_int>,
) -> Told {
    Err(Error::Item)
}
