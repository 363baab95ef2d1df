//! The exported functions of streams.

use super::*;

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn prp_connect(
    address: *const c_char,
    options: *const OptionsPtr,
) -> *mut StreamPtr {
    call(|| {
        // SAFETY: as the header says.
        let address = unsafe { text("address", address) }?;
        let stream = Stream::connect(address, &settings_of(options)?)?;
        STREAMS.get().insert(stream).map(handle)
    })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn prp_take_error(stream: *mut StreamPtr) -> c_int {
    call(|| stream_of(stream)?.take_error())
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn prp_send(
    stream: *mut StreamPtr,
    data: *const c_void,
    size: usize,
) -> isize {
    call(|| {
        // SAFETY: as the header says.
        let data = unsafe { bytes(data, size) }?;
        stream_of(stream)?.send(&[io::IoSlice::new(data)]).map(count)
    })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn prp_sendv(
    stream: *mut StreamPtr,
    list: *const iovec,
    number: c_int,
) -> isize {
    call(|| {
        // SAFETY: as the header says.
        let parts = unsafe { parts(list, number) }?;
        stream_of(stream)?.send(&parts).map(count)
    })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn prp_send_all(
    stream: *mut StreamPtr,
    data: *const c_void,
    size: usize,
) -> c_int {
    call(|| {
        // SAFETY: as the header says.
        let data = unsafe { bytes(data, size) }?;
        stream_of(stream)?.send_all(data).map(|()| 0)
    })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn prp_recv(
    stream: *mut StreamPtr,
    buffer: *mut c_void,
    size: usize,
) -> isize {
    call(|| {
        // SAFETY: as the header says.
        let buffer = unsafe { room(buffer, size) }?;
        stream_of(stream)?.recv(&mut [io::IoSliceMut::new(buffer)]).map(count)
    })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn prp_recvv(
    stream: *mut StreamPtr,
    list: *const iovec,
    number: c_int,
) -> isize {
    call(|| {
        // SAFETY: as the header says.
        let mut rooms = unsafe { rooms(list, number) }?;
        stream_of(stream)?.recv(&mut rooms).map(count)
    })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn prp_recv_all(
    stream: *mut StreamPtr,
    buffer: *mut c_void,
    size: usize,
) -> isize {
    call(|| {
        // SAFETY: as the header says.
        let buffer = unsafe { room(buffer, size) }?;
        stream_of(stream)?.recv_all(buffer).map(count)
    })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn prp_peek(
    stream: *mut StreamPtr,
    buffer: *mut c_void,
    size: usize,
) -> isize {
    call(|| {
        // SAFETY: as the header says.
        let buffer = unsafe { room(buffer, size) }?;
        stream_of(stream)?.peek(buffer).map(count)
    })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn prp_send_message(
    stream: *mut StreamPtr,
    message: *const c_void,
    size: usize,
) -> isize {
    call(|| {
        // SAFETY: as the header says.
        let message = unsafe { bytes(message, size) }?;
        stream_of(stream)?.stream.send_message_part(message, true).map(count)
    })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn prp_recv_message(
    stream: *mut StreamPtr,
    buffer: *mut c_void,
    size: usize,
    state: *mut c_int,
) -> isize {
    call(|| {
        place("state", state)?;
        // SAFETY: as the header says.
        let buffer = unsafe { room(buffer, size) }?;
        let (filled, found) = stream_of(stream)?.recv_message(buffer)?;
        // SAFETY: as the header says, and the place was checked.
        unsafe { put(state, found) };
        Ok(count(filled))
    })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn prp_recv_message_new(
    stream: *mut StreamPtr,
    message: *mut *mut c_void,
    size: *mut usize,
) -> c_int {
    call(|| {
        place("message", message)?;
        place("size", size)?;
        // SAFETY: as the header says, and the places were checked.
        unsafe {
            put(message, null_mut());
            put(size, 0);
        }
        let Some(found) = stream_of(stream)?.recv_message_new()? else { return Ok(0) };
        // SAFETY: as above.
        unsafe {
            put(size, found.len());
            put(message, found.into_raw().cast());
        }
        Ok(1)
    })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn prp_wait_delivered(stream: *mut StreamPtr) -> c_int {
    call(|| stream_of(stream)?.stream.wait_delivered().map(|()| 0))
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn prp_shutdown(stream: *mut StreamPtr, how: c_int) -> c_int {
    call(|| stream_of(stream)?.shutdown(how).map(|()| 0))
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn prp_close(stream: *mut StreamPtr) -> c_int {
    call(|| if stream.is_null() { Ok(0) } else { STREAMS.get().remove(stream.addr()).map(|_| 0) })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn prp_local_address(
    stream: *const StreamPtr,
    address: *mut Address,
) -> c_int {
    call(|| {
        place("address", address)?;
        // SAFETY: as the header says, and the place was checked.
        unsafe { put(address, stream_of(stream)?.stream.local_addr()?.into()) };
        Ok(0)
    })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn prp_peer_address(
    stream: *const StreamPtr,
    address: *mut Address,
) -> c_int {
    call(|| {
        place("address", address)?;
        // SAFETY: as the header says, and the place was checked.
        unsafe { put(address, stream_of(stream)?.stream.peer_addr()?.into()) };
        Ok(0)
    })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn prp_stream_set(
    stream: *mut StreamPtr,
    option: c_int,
    value: i64,
) -> c_int {
    call(|| stream_of(stream)?.set(option, value).map(|()| 0))
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn prp_stream_get(
    stream: *const StreamPtr,
    option: c_int,
    value: *mut i64,
) -> c_int {
    call(|| {
        place("value", value)?;
        // SAFETY: as the header says, and the place was checked.
        unsafe { put(value, stream_of(stream)?.value(option)?) };
        Ok(0)
    })
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn prp_fd(stream: *mut StreamPtr) -> c_int {
    call(|| stream_of(stream)?.fd())
}

#[unsafe(no_mangle)]
pub(super) unsafe extern "C" fn prp_stream_stats(
    stream: *const StreamPtr,
    stats: *mut StreamStats,
    size: usize,
) -> isize {
    call(|| {
        place("stats", stats)?;
        // SAFETY: as the header says, and the place was checked.
        unsafe { put_part(stats, size, &stream_of(stream)?.stats()?) };
        Ok(count(size_of::<StreamStats>()))
    })
}
