//! The exported functions of listeners.

use super::*;

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn prp_listen(
    address: *const c_char,
    options: *const OptionsPtr,
) -> *mut ListenerPtr {
    call(|| {
        // SAFETY: as the header says.
        let address = unsafe { text("address", address) }?;
        let listener = Listener::bind(address, &settings_of(options)?)?;
        LISTENERS.get().insert(listener).map(handle)
    })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn prp_accept(
    listener: *mut ListenerPtr,
    peer: *mut Address,
) -> *mut StreamPtr {
    call(|| {
        let (stream, address) = listener_of(listener)?.accept()?;
        let made = STREAMS.get().insert(stream).map(handle)?;
        // SAFETY: as the header says.
        unsafe { put(peer, address.into()) };
        Ok(made)
    })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn prp_listener_address(
    listener: *const ListenerPtr,
    address: *mut Address,
) -> c_int {
    call(|| {
        place("address", address)?;
        // SAFETY: as the header says, and the place was checked.
        unsafe { put(address, listener_of(listener)?.listener.local_addr()?.into()) };
        Ok(0)
    })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn prp_listener_set(
    listener: *mut ListenerPtr,
    option: c_int,
    value: i64,
) -> c_int {
    call(|| listener_of(listener)?.set(option, value).map(|()| 0))
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn prp_listener_get(
    listener: *const ListenerPtr,
    option: c_int,
    value: *mut i64,
) -> c_int {
    call(|| {
        place("value", value)?;
        // SAFETY: as the header says, and the place was checked.
        unsafe { put(value, listener_of(listener)?.value(option)?) };
        Ok(0)
    })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn prp_listener_fd(listener: *mut ListenerPtr) -> c_int {
    call(|| listener_of(listener)?.fd())
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn prp_listener_close(listener: *mut ListenerPtr) -> c_int {
    call(|| {
        if listener.is_null() {
            return Ok(0);
        }
        LISTENERS.get().remove(listener.addr()).map(|_| 0)
    })
}
