//! Frames as they pass this machine's devices.

use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use prp_device::device_states;
use prp_device::raw::{CaptureLengths, CaptureSocket};

use super::carried::Numbers;
use super::packet::Packet;

/// A socket at all devices.
#[derive(Debug)]
pub(super) struct Live {
    socket: CaptureSocket,
    /// Names of devices by number, and whether each is the loopback device.
    devices: HashMap<u32, (String, bool)>,
    /// The only ones that are wanted, if there are any.
    wanted: Vec<String>,
    dropped: Arc<AtomicU64>,
    /// The frame that is shown: its memory serves for all of them.
    packet: Packet,
}

impl Live {
    /// Of frames that may carry `numbers`, at the `wanted` devices or at all: the first bytes of
    /// each, at most as many as `lengths` says, and as many a second as `limit` says.
    ///
    /// # Errors
    /// No CAP_NET_RAW; a device is not there.
    pub(super) fn open(
        numbers: &Numbers,
        wanted: &[String],
        lengths: CaptureLengths,
        limit: Option<NonZeroU32>,
    ) -> io::Result<Self> {
        let states = device_states()?;
        for name in wanted {
            if !states.iter().any(|state| state.name == *name) {
                let text = format!("{name}: no such device on this machine");
                return Err(io::Error::new(ErrorKind::NotFound, text));
            }
        }
        let socket = CaptureSocket::open(numbers.ethertype, numbers.udp_ports(), lengths, limit)?;
        let devices = states.into_iter().map(|s| (s.index, (s.name, s.loopback)));
        Ok(Self {
            socket,
            devices: devices.collect(),
            wanted: wanted.to_owned(),
            dropped: Arc::default(),
            packet: Packet::default(),
        })
    }

    /// How many frames were lost since they were not read in time.
    pub(super) fn dropped(&self) -> Arc<AtomicU64> {
        self.dropped.clone()
    }

    /// Waits for frames, and hands those that are wanted to `take`.
    ///
    /// # Errors
    /// What receiving fails with.
    pub(super) fn receive(&mut self, take: &mut dyn FnMut(&Packet)) -> io::Result<()> {
        let Self { socket, devices, wanted, dropped, packet } = self;
        socket.receive(&mut |frame| {
            let unknown = (String::new(), false);
            let (name, loopback) = devices.get(&frame.device).unwrap_or(&unknown);
            let is_wanted = wanted.is_empty() || wanted.contains(name);
            // What the loopback device sends comes in at once, and is shown then.
            if is_wanted && !(*loopback && frame.is_outgoing) {
                packet.set(frame.time, name, frame.bytes, frame.len);
                take(packet);
            }
        })?;
        dropped.fetch_add(socket.take_dropped()?, Ordering::Relaxed);
        Ok(())
    }
}
