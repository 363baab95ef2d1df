//! Streams.

use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsRawFd, RawFd};

use parking_lot::Mutex;
use prp_node::fork::PerProcess;
use prp_sock::{Awaited, PrpStream, Reliability, wait_any};

use crate::error_number::{self, explained, invalid};
use crate::handle_table::{HandleKind, HandleTable};
use crate::option;
use crate::settings::{Settings, StreamSettings};
use crate::sys::export as names;
use crate::sys::memory::Memory;

/// All streams of this process that have a handle.
pub(crate) static STREAMS: PerProcess<HandleTable<Stream>> =
    PerProcess::new(|| HandleTable::new(HandleKind::Stream));

/// What `prp_stream` stands for.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) stream: PrpStream,
    pub(crate) settings: Mutex<StreamSettings>,
    /// What had come when a call for more than that gave up: for the next call that receives.
    pub(crate) begun: Mutex<Option<Memory>>,
}

impl Stream {
    /// A stream that was made with `settings`.
    pub(crate) fn new(stream: PrpStream, settings: StreamSettings) -> io::Result<Self> {
        settings.apply(&stream)?;
        Ok(Self { stream, settings: Mutex::new(settings), begun: Mutex::new(None) })
    }

    /// Connects to `address`.
    pub(crate) fn connect(address: &str, settings: &Settings) -> io::Result<Self> {
        let stream = settings.builder().connect_nonblocking(address)?;
        if !settings.streams.nonblocking {
            // Not by a call that goes on after signals: a program may want to end the wait.
            wait_any(&mut [Awaited::write(&stream)], None, None)?;
            if let Some(error) = stream.take_error()? {
                let text = format!("connect to {address}: {error}");
                return Err(explained(error_number::of(&error), text));
            }
        }
        Self::new(stream, settings.streams)
    }

    /// Sends from `parts`; how many bytes were taken.
    pub(crate) fn send(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        match parts {
            [only] => (&self.stream).write(only),
            several => (&self.stream).write_vectored(several),
        }
    }

    /// Sends all of `data`, and goes on after signals.
    pub(crate) fn send_all(&self, data: &[u8]) -> io::Result<()> {
        (&self.stream).write_all(data)
    }

    /// Receives into `parts`.
    pub(crate) fn recv(&self, parts: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        let first = parts.iter_mut().find(|part| !part.is_empty());
        let begun = first.map_or(0, |part| self.take_begun(part));
        if begun > 0 {
            return Ok(begun);
        }
        match parts {
            [only] => (&self.stream).read(only),
            several => (&self.stream).read_vectored(several),
        }
    }

    /// Copies what a call for bytes would receive into `buffer`, and leaves it there.
    pub(crate) fn peek(&self, buffer: &mut [u8]) -> io::Result<usize> {
        if let Some(message) = &*self.begun.lock() {
            return Ok(message.copy_to(buffer));
        }
        self.stream.peek(buffer)
    }

    /// Receives until `buffer` is full or the stream ends, and goes on after signals. What has come
    /// is kept for the next call that receives if this one gives up.
    pub(crate) fn recv_all(&self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = self.take_begun(buffer);
        while filled < buffer.len() {
            match (&self.stream).read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => {
                    self.keep_begun(&buffer[..filled])?;
                    return Err(e);
                }
            }
        }
        Ok(filled)
    }

    /// The number of the error that the stream ended with, once.
    pub(crate) fn take_error(&self) -> io::Result<i32> {
        Ok(self.stream.take_error()?.map_or(0, |error| crate::last_error::keep(&error)))
    }

    /// Ends one direction or both.
    pub(crate) fn shutdown(&self, how: i32) -> io::Result<()> {
        self.stream.shutdown(match how {
            names::PRP_SHUT_RD => Shutdown::Read,
            names::PRP_SHUT_WR => Shutdown::Write,
            names::PRP_SHUT_RDWR => Shutdown::Both,
            _ => return Err(invalid(format!("how is {how}, and none of PRP_SHUT_*"))),
        })
    }

    /// Sets an option.
    pub(crate) fn set(&self, name: i32, value: i64) -> io::Result<()> {
        let mut settings = self.settings.lock();
        let mut changed = *settings;
        let unknown = || option::unknown(name, "not of a stream that is there already");
        if !changed.set(name, value)? {
            return Err(unknown());
        }
        match name {
            names::PRP_OPT_USER_TIMEOUT => self.stream.set_user_timeout(changed.user_timeout)?,
            names::PRP_OPT_KEEPALIVE_IDLE
            | names::PRP_OPT_KEEPALIVE_INTERVAL
            | names::PRP_OPT_KEEPALIVE_PROBES => self.stream.set_keepalive(changed.probes())?,
            _ if StreamSettings::applies(name) => changed.apply(&self.stream)?,
            _ => return Err(unknown()),
        }
        *settings = changed;
        Ok(())
    }

    /// The value of an option.
    pub(crate) fn value(&self, name: i32) -> io::Result<i64> {
        if let Some(value) = self.settings.lock().value(name) {
            return Ok(value);
        }
        Ok(match name {
            names::PRP_OPT_TTL => self.stream.ttl()?.into(),
            names::PRP_OPT_MAX_SEGMENT => self.stream.terms()?.mss.into(),
            names::PRP_OPT_CRC => self.stream.terms()?.crc.into(),
            names::PRP_OPT_RELIABILITY => match self.stream.terms()?.reliability {
                Reliability::Detect => names::PRP_DETECT.into(),
                Reliability::GoBackN => names::PRP_GO_BACK_N.into(),
                Reliability::SelectiveRepeat => names::PRP_SELECTIVE_REPEAT.into(),
                other => {
                    let message = format!("no number for the policy {other}");
                    return Err(io::Error::new(io::ErrorKind::Unsupported, message));
                }
            },
            _ => return Err(option::unknown(name, "not of a stream")),
        })
    }

    /// The descriptor that shows what the stream is ready for.
    pub(crate) fn fd(&self) -> io::Result<RawFd> {
        Ok(self.stream.readiness()?.as_raw_fd())
    }
}
