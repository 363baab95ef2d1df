//! Buffers of Python objects, and bytes objects that are filled in place.

use std::mem::MaybeUninit;
use std::slice;

use pyo3::exceptions::PyValueError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

unsafe extern "C" {
    /// Of Python's stable ABI; pyo3 does not declare it.
    fn _PyBytes_Resize(bytes: *mut *mut ffi::PyObject, size: ffi::Py_ssize_t) -> std::ffi::c_int;
}

/// The bytes of an object with the buffer protocol, which stay where they are while this lives.
pub(crate) struct Buffer(Box<ffi::Py_buffer>);

// SAFETY: the fields are plain data, and Python's memory stays in place until the buffer is
// released, which `drop` does with the interpreter attached.
unsafe impl Send for Buffer {}
// SAFETY: as for `Send`.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// The contiguous bytes of `object`, for reading.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::with(object, ffi::PyBUF_SIMPLE)
    }

    /// The contiguous bytes of `object`, for writing.
    pub(crate) fn writable(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        Self::with(object, ffi::PyBUF_WRITABLE)
    }

    fn with(object: &Bound<'_, PyAny>, flags: std::ffi::c_int) -> PyResult<Self> {
        let mut view = Box::new(MaybeUninit::<ffi::Py_buffer>::zeroed());
        // SAFETY: the object is alive, and the view is a place for one; it does not move, since it
        // is boxed.
        if unsafe { ffi::PyObject_GetBuffer(object.as_ptr(), view.as_mut_ptr(), flags) } < 0 {
            return Err(PyErr::fetch(object.py()));
        }
        // SAFETY: the call has filled it.
        Ok(Self(unsafe { view.assume_init() }))
    }

    /// The bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        if self.0.len == 0 {
            return &[];
        }
        // SAFETY: Python keeps `len` bytes at `buf` in place until the buffer is released. Another
        // Python thread may write to them meanwhile, as it may during `socket.send`: then it is
        // unspecified which bytes are sent, and no more, since each is only copied.
        unsafe { slice::from_raw_parts(self.0.buf.cast(), self.0.len.unsigned_abs()) }
    }

    /// The bytes, to be written to.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        if self.0.len == 0 {
            return &mut [];
        }
        // SAFETY: as for `bytes`; the buffer was asked for as writable.
        unsafe { slice::from_raw_parts_mut(self.0.buf.cast(), self.0.len.unsigned_abs()) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        Python::attach(|_| {
            // SAFETY: it was filled by `PyObject_GetBuffer`, and is released once.
            unsafe { ffi::PyBuffer_Release(&raw mut *self.0) };
        });
    }
}

/// A bytes object in the making, which nothing else has yet.
pub(crate) struct Filling {
    object: Py<PyAny>,
    size: usize,
}

impl Filling {
    /// Room for `size` bytes.
    pub(crate) fn new(py: Python<'_>, size: usize) -> PyResult<Self> {
        let len = isize::try_from(size).map_err(|_| PyValueError::new_err("too many bytes"))?;
        // SAFETY: a null pointer asks for a fresh object without content.
        let object = unsafe { ffi::PyBytes_FromStringAndSize(std::ptr::null(), len) };
        // SAFETY: it is null with an error set, or a new reference.
        let object = unsafe { Bound::from_owned_ptr_or_err(py, object) }?.unbind();
        let mut filling = Self { object, size };
        filling.room().fill(0);
        Ok(filling)
    }

    /// The room.
    pub(crate) fn room(&mut self) -> &mut [u8] {
        if self.size == 0 {
            // The object of no bytes is shared.
            return &mut [];
        }
        // SAFETY: the object has `size` bytes, and this is its only reference, so that nothing
        // reads or writes them.
        unsafe {
            let start = ffi::PyBytes_AsString(self.object.as_ptr());
            slice::from_raw_parts_mut(start.cast(), self.size)
        }
    }

    /// The object, with its first `filled` bytes.
    pub(crate) fn finish(self, py: Python<'_>, filled: usize) -> PyResult<Bound<'_, PyAny>> {
        if filled == self.size {
            return Ok(self.object.into_bound(py));
        }
        if filled == 0 {
            return Ok(PyBytes::new(py, &[]).into_any());
        }
        let mut object = self.object.into_ptr();
        // SAFETY: this is the only reference. On failure the call drops it and sets it to null.
        unsafe {
            _PyBytes_Resize(&raw mut object, filled.cast_signed());
            Bound::from_owned_ptr_or_err(py, object)
        }
    }
}
