//! Names of services, by which jobs find ports.

use std::ffi::c_char;
use std::io;

use super::{MAX_PORT_NAME, failure};
use crate::api::environment::process;
use crate::api::error::{Class, Outcome};
use crate::object::Handle;
use crate::sys::pointer::Ptr;

fn outcome<T>(done: io::Result<T>, class: Class) -> Result<T, crate::api::error::Failure> {
    done.map_err(|e| failure(class, Handle::SELF, &e))
}

pub(crate) fn publish_name(service: Ptr<c_char>, _info: Handle, port: Ptr<c_char>) -> Outcome {
    outcome(process()?.publish(&service.text(), &port.text()), Class::Service)
}

pub(crate) fn unpublish_name(service: Ptr<c_char>, _info: Handle, _port: Ptr<c_char>) -> Outcome {
    outcome(process()?.withdraw(&service.text()), Class::Service)
}

pub(crate) fn lookup_name(service: Ptr<c_char>, _info: Handle, port: Ptr<c_char>) -> Outcome {
    let found = outcome(process()?.look_up(&service.text()), Class::Name)?;
    port.put_text(&found, MAX_PORT_NAME);
    Ok(())
}
