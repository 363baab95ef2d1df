//! Streams.

use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsRawFd, RawFd};
use std::time::Duration;

use parking_lot::Mutex;
use prp_sock::{Awaited, PrpAddr, PrpStream, wait_any};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::error::{closed, raised, timed_out};
use crate::handle::Handle;
use crate::settings::{builder, max_message, seconds};
use crate::sys::buffer::{Buffer, Filling};

/// As `socket.MSG_PEEK`.
const MSG_PEEK: i32 = 2;

/// A connection to another process: the methods of `socket.socket`, and messages.
#[pyclass(frozen, weakref, module = "parmaprp")]
pub(crate) struct Stream {
    pub(crate) state: Mutex<State>,
}

pub(crate) struct State {
    stream: Option<Handle>,
    /// None waits for ever, zero does not wait.
    pub(crate) timeout: Option<Duration>,
    pub(crate) max_message: usize,
    /// What had come of a message when the wait for its rest ended.
    pub(crate) begun: Vec<u8>,
    /// Files of `makefile` that are open, for which the stream outlives `close`.
    files: usize,
    closed: bool,
}

/// Calls `f` without Python's lock until it is not interrupted, or a handler of a signal raises.
pub(crate) fn waiting<T: Send>(
    py: Python<'_>,
    mut f: impl FnMut() -> io::Result<T> + Send,
) -> PyResult<io::Result<T>> {
    loop {
        match py.detach(&mut f) {
            Err(e) if e.kind() == ErrorKind::Interrupted => py.check_signals()?,
            result => return Ok(result),
        }
    }
}

/// A node and a port, as Python has addresses.
pub(crate) fn pair(addr: PrpAddr) -> (u16, u16) {
    (addr.node.number(), addr.port.number())
}

/// Connects to `address`: "3:80", "gamma:80", or a node and a port. `timeout` bounds the wait for
/// the answer, and each call of the stream afterwards. With a timeout of 0 or blocking=False it
/// does not wait: the stream can be written to when the answer has come, and take_error() has it.
#[pyfunction]
#[pyo3(signature = (address, timeout=None, *, blocking=true, **options))]
pub(crate) fn connect(
    py: Python<'_>,
    #[pyo3(from_py_with = crate::settings::address)] address: String,
    timeout: Option<f64>,
    blocking: bool,
    options: Option<&Bound<'_, PyDict>>,
) -> PyResult<Stream> {
    let mut builder = builder(options)?;
    let timeout = timeout.map(seconds).transpose()?;
    let blocking = blocking && timeout.is_none_or(|timeout| !timeout.is_zero());
    if let Some(timeout) = timeout.filter(|timeout| !timeout.is_zero()) {
        builder = builder.connect_timeout(timeout);
    }
    let named = |e: &io::Error| {
        let text = format!("connect to {address}: {e}");
        let number = prp_sock::error_number(e);
        PyOSError::new_err((number, text))
    };
    let stream = py.detach(|| builder.connect_nonblocking(&*address)).map_err(|e| raised(&e))?;
    let stream = Handle::new(stream);
    if blocking {
        waiting(py, || wait_any(&mut [Awaited::write(&stream)], None, None))?
            .map_err(|e| raised(&e))?;
        if let Some(error) = stream.take_error().map_err(|e| raised(&e))? {
            return Err(named(&error));
        }
    }
    let made = Stream::new(stream, max_message(options)?);
    let timeout = if blocking { timeout } else { Some(Duration::ZERO) };
    made.set_timeout(timeout)?;
    Ok(made)
}

impl Stream {
    pub(crate) fn new(stream: Handle, max_message: usize) -> Self {
        let state = State {
            stream: Some(stream),
            timeout: None,
            max_message,
            begun: Vec::new(),
            files: 0,
            closed: false,
        };
        Self { state: Mutex::new(state) }
    }

    /// The stream, for a call without Python's lock: `close` in another thread does not end it.
    pub(crate) fn handle(&self) -> PyResult<Handle> {
        self.with(PrpStream::try_clone).map(Handle::new)
    }

    /// Calls `f`, which does not wait.
    fn with<T>(&self, f: impl FnOnce(&PrpStream) -> io::Result<T>) -> PyResult<T> {
        let state = self.state.lock();
        let stream = state.stream.as_ref().ok_or_else(|| closed("stream"))?;
        f(stream).map_err(|e| raised(&e))
    }

    fn set_timeout(&self, timeout: Option<Duration>) -> PyResult<()> {
        let mut state = self.state.lock();
        let stream = state.stream.as_ref().ok_or_else(|| closed("stream"))?;
        let bounded = timeout.filter(|timeout| !timeout.is_zero());
        let set = || {
            stream.set_nonblocking(timeout.is_some_and(|timeout| timeout.is_zero()))?;
            stream.set_read_timeout(bounded)?;
            stream.set_write_timeout(bounded)
        };
        set().map_err(|e| raised(&e))?;
        state.timeout = timeout;
        Ok(())
    }

    /// The error of a call: a timeout is one of Python's own kind.
    fn failed(&self, error: &io::Error) -> PyErr {
        let bounded = self.state.lock().timeout.is_some_and(|timeout| !timeout.is_zero());
        if error.kind() == ErrorKind::WouldBlock && bounded { timed_out() } else { raised(error) }
    }

    pub(crate) fn call<T: Send>(
        &self,
        py: Python<'_>,
        mut f: impl FnMut(&PrpStream) -> io::Result<T> + Send,
    ) -> PyResult<T> {
        let mut handle = self.handle()?;
        let call = || {
            let result = f(&handle);
            if !result.as_ref().is_err_and(|e| e.kind() == ErrorKind::Interrupted) {
                // Here, where Python's lock is released anyway.
                handle.let_go();
            }
            result
        };
        waiting(py, call)?.map_err(|e| self.failed(&e))
    }

    /// Copies what had come of a message into `room`; how many bytes. With `takes` they are gone.
    pub(crate) fn copy_begun(&self, room: &mut [u8], takes: bool) -> usize {
        let begun = &mut self.state.lock().begun;
        let len = begun.len().min(room.len());
        room[..len].copy_from_slice(&begun[..len]);
        if takes {
            begun.drain(..len);
        }
        len
    }

    fn receive(&self, py: Python<'_>, room: &mut [u8], flags: i32) -> PyResult<usize> {
        let begun = self.copy_begun(room, flags != MSG_PEEK);
        if begun > 0 {
            return Ok(begun);
        }
        match flags {
            0 => self.call(py, |mut stream| stream.read(room)),
            MSG_PEEK => self.call(py, |stream| stream.peek(room)),
            _ => Err(PyValueError::new_err(format!("flags {flags}: MSG_PEEK is the only one"))),
        }
    }
}

fn no_flags(flags: i32) -> PyResult<()> {
    if flags == 0 { Ok(()) } else { Err(PyValueError::new_err("there are no flags for sending")) }
}

#[pymethods]
impl Stream {
    /// Receives at most `bufsize` bytes; none at the end of the stream.
    #[pyo3(signature = (bufsize, flags=0, /))]
    fn recv<'py>(
        &self,
        py: Python<'py>,
        bufsize: usize,
        flags: i32,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut filling = Filling::new(py, bufsize)?;
        let filled = self.receive(py, filling.room(), flags)?;
        filling.finish(py, filled)
    }

    /// Receives into a buffer; how many bytes.
    #[pyo3(signature = (buffer, nbytes=0, flags=0))]
    fn recv_into(
        &self,
        py: Python<'_>,
        buffer: &Bound<'_, PyAny>,
        nbytes: usize,
        flags: i32,
    ) -> PyResult<usize> {
        let mut buffer = Buffer::writable(buffer)?;
        let bytes = buffer.bytes_mut();
        if nbytes > bytes.len() {
            return Err(PyValueError::new_err("buffer too small for requested bytes"));
        }
        let room = if nbytes == 0 { bytes.len() } else { nbytes };
        self.receive(py, &mut bytes[..room], flags)
    }

    /// Sends some of the bytes; how many were taken.
    #[pyo3(signature = (data, flags=0, /))]
    fn send(&self, py: Python<'_>, data: &Bound<'_, PyAny>, flags: i32) -> PyResult<usize> {
        no_flags(flags)?;
        let data = Buffer::of(data)?;
        self.call(py, |mut stream| stream.write(data.bytes()))
    }

    /// Sends all of the bytes.
    #[pyo3(signature = (data, flags=0, /))]
    fn sendall(&self, py: Python<'_>, data: &Bound<'_, PyAny>, flags: i32) -> PyResult<()> {
        no_flags(flags)?;
        let data = Buffer::of(data)?;
        let mut left = data.bytes();
        while !left.is_empty() {
            let taken = self.call(py, |mut stream| stream.write(left))?;
            left = &left[taken..];
            // One that has come meanwhile may have cut the call short.
            py.check_signals()?;
        }
        Ok(())
    }

    /// Sends from several buffers; how many bytes were taken.
    fn sendmsg(&self, py: Python<'_>, buffers: Vec<Bound<'_, PyAny>>) -> PyResult<usize> {
        let buffers = buffers.iter().map(Buffer::of).collect::<PyResult<Vec<_>>>()?;
        self.call(py, |mut stream| {
            let parts: Vec<_> = buffers.iter().map(|b| IoSlice::new(b.bytes())).collect();
            stream.write_vectored(&parts)
        })
    }

    /// Sends the bytes as one message; how many were taken. That is fewer than all only if the
    /// stream does not wait, or has a timeout: the rest, sent as a message, belongs to this one.
    fn send_message(&self, py: Python<'_>, message: &Bound<'_, PyAny>) -> PyResult<usize> {
        let message = Buffer::of(message)?;
        self.send_as_message(py, message.bytes())
    }

    /// Receives a message; None at the end of the stream. What has come of it when the time is over
    /// is kept for the next call.
    fn recv_message<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.receive_message(py)
    }

    /// Receives a message, or as much of it as the buffer has room for: how many bytes, and whether
    /// the message ends with them; None at the end of the stream.
    fn recv_message_into(
        &self,
        py: Python<'_>,
        buffer: &Bound<'_, PyAny>,
    ) -> PyResult<Option<(usize, bool)>> {
        let mut buffer = Buffer::writable(buffer)?;
        self.receive_message_into(py, buffer.bytes_mut())
    }

    /// Waits until the peer has acknowledged everything that was sent.
    fn wait_delivered(&self, py: Python<'_>) -> PyResult<()> {
        self.call(py, PrpStream::wait_delivered)
    }

    /// Ends one direction or both: SHUT_RD, SHUT_WR or SHUT_RDWR.
    fn shutdown(&self, py: Python<'_>, how: i32) -> PyResult<()> {
        let how = match how {
            0 => Shutdown::Read,
            1 => Shutdown::Write,
            2 => Shutdown::Both,
            _ => return Err(PyValueError::new_err(format!("{how}: none of SHUT_*"))),
        };
        self.call(py, |stream| stream.shutdown(how))
    }

    /// Closes the stream, once the files that makefile() has made are closed. What was sent is
    /// delivered in the background.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let stream = {
            let mut state = self.state.lock();
            state.closed = true;
            if state.files == 0 { state.stream.take() } else { None }
        };
        stream.map_or(Ok(()), |stream| stream.close(py))
    }

    /// A file over the stream is open.
    fn _hold(&self) {
        self.state.lock().files += 1;
    }

    /// A file over the stream was closed.
    fn _let_go(&self, py: Python<'_>) -> PyResult<()> {
        let stream = {
            let mut state = self.state.lock();
            state.files = state.files.saturating_sub(1);
            if state.closed && state.files == 0 { state.stream.take() } else { None }
        };
        stream.map_or(Ok(()), |stream| stream.close(py))
    }

    /// Resets the connection.
    fn abort(&self) -> PyResult<()> {
        let stream = {
            let mut state = self.state.lock();
            state.closed = true;
            state.stream.take()
        };
        let Some(stream) = stream else { return Ok(()) };
        stream.set_linger(Some(Duration::ZERO)).map_err(|e| raised(&e))
    }

    /// Longest wait in seconds; None for ever, 0 not at all.
    fn settimeout(&self, value: Option<f64>) -> PyResult<()> {
        self.set_timeout(value.map(seconds).transpose()?)
    }

    /// The timeout in seconds.
    fn gettimeout(&self) -> Option<f64> {
        self.state.lock().timeout.map(|timeout| timeout.as_secs_f64())
    }

    #[getter]
    fn timeout(&self) -> Option<f64> {
        self.gettimeout()
    }

    /// Whether calls wait.
    fn setblocking(&self, flag: bool) -> PyResult<()> {
        self.set_timeout(if flag { None } else { Some(Duration::ZERO) })
    }

    fn getblocking(&self) -> bool {
        self.state.lock().timeout.is_none_or(|timeout| !timeout.is_zero())
    }

    /// How close() ends the connection: None delivers in the background, 0 resets it, and for
    /// other times in seconds it waits for the peer to have everything.
    fn set_linger(&self, linger: Option<f64>) -> PyResult<()> {
        let linger = linger.map(seconds).transpose()?;
        self.with(|stream| stream.set_linger(linger))
    }

    /// Routers that a frame may cross.
    fn ttl(&self) -> PyResult<u32> {
        self.with(PrpStream::ttl)
    }

    /// Sets how many routers a frame may cross; PRP knows up to 15.
    fn set_ttl(&self, ttl: u32) -> PyResult<()> {
        self.with(|stream| stream.set_ttl(ttl))
    }

    /// A descriptor to wait on; the data do not pass through it. -1 once the stream is closed.
    fn fileno(&self) -> PyResult<RawFd> {
        let state = self.state.lock();
        let Some(stream) = &state.stream else { return Ok(-1) };
        Ok(stream.readiness().map_err(|e| raised(&e))?.as_raw_fd())
    }

    /// The address of the peer: node, port.
    fn getpeername(&self) -> PyResult<(u16, u16)> {
        self.with(PrpStream::peer_addr).map(pair)
    }

    /// The address of this end: node, port.
    fn getsockname(&self) -> PyResult<(u16, u16)> {
        self.with(PrpStream::local_addr).map(pair)
    }

    /// The error that the stream ended with, once, or None.
    fn take_error(&self) -> PyResult<Option<PyErr>> {
        let error = self.with(PrpStream::take_error)?;
        Ok(error.map(|error| raised(&error)))
    }

    /// Counters of the connection by their names.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = self.with(PrpStream::stats)?;
        let all = PyDict::new(py);
        for (name, count) in stats.counters() {
            all.set_item(name, count)?;
        }
        let drops = PyDict::new(py);
        for (reason, count) in stats.drops.occurred() {
            drops.set_item(reason.to_string(), count)?;
        }
        all.set_item("drops", drops)?;
        Ok(all)
    }

    /// What both ends agreed on.
    fn terms<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let terms = self.with(PrpStream::terms)?;
        let all = PyDict::new(py);
        all.set_item("max_segment", terms.mss)?;
        all.set_item("crc", terms.crc)?;
        all.set_item("reliability", terms.reliability.name())?;
        all.set_item("security", terms.security.to_string())?;
        all.set_item("key_id", terms.key)?;
        Ok(all)
    }

    /// A file object over the stream, as of `socket.socket.makefile`.
    #[pyo3(signature = (*arguments, **options))]
    fn makefile<'py>(
        slf: &Bound<'py, Self>,
        arguments: &Bound<'py, PyTuple>,
        options: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let make = slf.py().import("parmaprp._file")?.getattr("makefile")?;
        let mut all = vec![slf.clone().into_any()];
        all.extend(arguments.iter());
        make.call(PyTuple::new(slf.py(), all)?, options)
    }

    /// Whether close() was called.
    #[getter]
    fn closed(&self) -> bool {
        self.state.lock().closed
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.close(py)
    }

    fn __repr__(&self) -> String {
        let state = self.state.lock();
        let Some(stream) = &state.stream else { return "<parmaprp.Stream closed>".to_owned() };
        match (stream.local_addr(), stream.peer_addr()) {
            (Ok(local), Ok(peer)) => format!("<parmaprp.Stream {local} to {peer}>"),
            _ => "<parmaprp.Stream connecting>".to_owned(),
        }
    }
}
