//! Messages of a stream.

use std::io::ErrorKind;

use prp_sock::PrpStream;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error::{cut_short, too_long};
use crate::stream::Stream;

/// Room for the first part of a message.
const FIRST_ROOM: usize = 64 * 1024;

impl Stream {
    /// Sends the bytes as one message; how many were taken.
    pub(crate) fn send_as_message(&self, py: Python<'_>, bytes: &[u8]) -> PyResult<usize> {
        let mut sent = self.call(py, |stream| stream.send_message_part(bytes, true))?;
        while sent < bytes.len() && self.state.lock().timeout.is_none() {
            // A signal has cut it short.
            py.check_signals()?;
            sent += self.call(py, |stream| stream.send_message_part(&bytes[sent..], true))?;
        }
        Ok(sent)
    }

    /// Receives a message whole; None at the end of the stream.
    pub(crate) fn receive_message<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let (limit, mut message) = {
            let mut state = self.state.lock();
            (state.max_message, std::mem::take(&mut state.begun))
        };
        let mut filled = message.len();
        message.resize(filled.max(FIRST_ROOM.min(limit)), 0);
        loop {
            if filled == message.len() {
                message.resize((filled * 2).min(limit), 0);
            }
            // Without room only the end of the message may follow.
            let room = &mut message[filled..];
            match self.call(py, |stream| stream.recv_message_part(room)) {
                Ok(None) if filled == 0 => return Ok(None),
                Ok(None) => return Err(cut_short()),
                Ok(Some(part)) if part.end => {
                    let bytes = PyBytes::new(py, &message[..filled + part.len]);
                    return Ok(Some(bytes.into_any()));
                }
                Ok(Some(_)) if filled == limit => return Err(too_long(limit)),
                Ok(Some(part)) => filled += part.len,
                Err(e) => {
                    message.truncate(filled);
                    self.state.lock().begun = message;
                    return Err(e);
                }
            }
        }
    }

    /// Receives a message, or as much of it as there is room for: how many bytes, and whether the
    /// message ends with them; None at the end of the stream.
    pub(crate) fn receive_message_into(
        &self,
        py: Python<'_>,
        room: &mut [u8],
    ) -> PyResult<Option<(usize, bool)>> {
        let mut filled = self.copy_begun(room, true);
        while filled < room.len() {
            let receive = |stream: &PrpStream| match stream.recv_message_part(&mut room[filled..]) {
                // The next call goes on.
                Err(e) if filled > 0 && e.kind() == ErrorKind::WouldBlock => Ok(None),
                part => part,
            };
            match self.call(py, receive) {
                Ok(None) if filled == 0 => return Ok(None),
                Ok(Some(part)) => {
                    filled += part.len;
                    if part.end {
                        return Ok(Some((filled, true)));
                    }
                }
                // The next call returns the end again.
                Ok(None) => break,
                // An error is told once: after it the stream would seem to have ended.
                Err(e) => {
                    self.state.lock().begun = room[..filled].to_vec();
                    return Err(e);
                }
            }
        }
        Ok(Some((filled, false)))
    }
}
