//! Frames as they pass this machine's devices.

use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prp_device::raw::{CaptureLengths, CaptureSocket};
use prp_device::{DeviceState, device_states};
use prp_node::counted;
use prp_proto::hosts::{Tag, UNIX_DEVICE};

use super::decode::ProtocolNumbers;
use super::packet::Packet;

/// What was not read.
#[derive(Debug, Default)]
pub(super) struct SkippedPackets {
    frames: AtomicU64,
    /// How long none was looked at, in nanoseconds: nobody knows how many passed.
    nanos: AtomicU64,
}

impl SkippedPackets {
    /// What to say of it at the end of a capture that took the time `long`, with this limit of
    /// frames a second.
    pub(super) fn summary(&self, long: Duration, limit: Option<NonZeroU32>) -> String {
        let frames = self.frames.load(Ordering::Relaxed);
        let (frames, were) = (counted(frames, "frame"), if frames == 1 { "was" } else { "were" });
        let mut text = format!("{frames} {were} lost before they could be read");
        let Some(limit) = limit else { return text };
        text += &format!(", or exceeded {limit} a second (--rate)");
        let nanos = Duration::from_nanos(self.nanos.load(Ordering::Relaxed));
        if !nanos.is_zero() {
            // It has all of a pause from its beginning on.
            let (nanos, long) = (nanos.min(long).as_secs_f64(), long.as_secs_f64());
            text +=
                &format!("; for {nanos:.2} of {long:.2} s frames were left out and not counted");
        }
        text
    }
}

/// A socket at all devices.
#[derive(Debug)]
pub(super) struct Live {
    socket: CaptureSocket,
    /// Names of devices by number, and whether each is the loopback device.
    devices: HashMap<u32, (String, bool)>,
    /// The only ones that are wanted, if there are any.
    wanted: Vec<String>,
    left_out: Arc<SkippedPackets>,
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
        numbers: &ProtocolNumbers,
        wanted: &[String],
        lengths: CaptureLengths,
        limit: Option<NonZeroU32>,
    ) -> io::Result<Self> {
        let states = device_states()?;
        for name in wanted {
            if name == UNIX_DEVICE {
                let text = "unix: packets between the processes of one machine go by Unix sockets, \
                            which cross no device: they cannot be captured";
                return Err(io::Error::new(ErrorKind::Unsupported, text));
            }
            if !states.iter().any(|state| state.name == *name) {
                let names: Vec<_> = states.iter().map(|state| state.name.as_str()).collect();
                let text = format!("{name}: no such device; there are {}", names.join(", "));
                return Err(io::Error::new(ErrorKind::NotFound, text));
            }
        }
        let socket = CaptureSocket::open(numbers.ethertype, numbers.udp_ports(), lengths, limit)?;
        Ok(Self {
            socket,
            devices: named(states).collect(),
            wanted: wanted.to_owned(),
            left_out: Arc::default(),
            packet: Packet::default(),
        })
    }

    /// What was not read so far.
    pub(super) fn left_out(&self) -> Arc<SkippedPackets> {
        self.left_out.clone()
    }

    /// Waits for frames, and hands those that are wanted to `take`.
    ///
    /// # Errors
    /// What receiving fails with.
    pub(super) fn receive(&mut self, take: &mut dyn FnMut(&Packet)) -> io::Result<()> {
        let Self { socket, devices, wanted, left_out, packet } = self;
        socket.receive(&mut |frame| {
            // A device that has come since they were listed, one that was made again for example.
            if !devices.contains_key(&frame.device) {
                devices.extend(named(device_states().unwrap_or_default()));
            }
            let (name, loopback) = devices.entry(frame.device).or_default();
            let is_wanted = wanted.is_empty() || wanted.contains(name);
            // What the loopback device sends comes in at once, and is shown then.
            if is_wanted && !(*loopback && frame.is_outgoing) {
                packet.set(frame.time, name, frame.bytes, frame.len);
                if packet.tag == Tag::default() {
                    packet.tag = frame.tag;
                }
                take(packet);
            }
        })?;
        left_out.frames.fetch_add(socket.take_dropped()?, Ordering::Relaxed);
        left_out.nanos.fetch_add(socket.take_paused().as_nanos() as u64, Ordering::Relaxed);
        Ok(())
    }
}

/// The names of devices by number, and whether each is the loopback device.
fn named(states: Vec<DeviceState>) -> impl Iterator<Item = (u32, (String, bool))> {
    states.into_iter().map(|state| (state.index, (state.name, state.loopback)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary__has_the_time_without_a_count() {
        let left_out = SkippedPackets { frames: AtomicU64::new(7), ..SkippedPackets::default() };
        let long = Duration::from_millis(3100);
        let lost = "7 frames were lost before they could be read";
        assert_eq!(left_out.summary(long, None), lost);
        let limit = NonZeroU32::new(50);
        let exceeded = format!("{lost}, or exceeded 50 a second (--rate)");
        assert_eq!(left_out.summary(long, limit), exceeded);
        left_out.nanos.store(2_340_000_000, Ordering::Relaxed);
        assert_eq!(
            left_out.summary(long, limit),
            format!("{exceeded}; for 2.34 of 3.10 s frames were left out and not counted")
        );
    }
}
