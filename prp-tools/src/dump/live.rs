//! Frames as they pass this machine's devices.

use std::collections::HashMap;
use std::io::{self, ErrorKind, IoSliceMut};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use nix::cmsg_space;
use nix::libc;
use nix::sys::socket::{ControlMessageOwned, LinkAddr, MsgFlags, recvmsg, setsockopt, sockopt};
use nix::sys::time::TimeSpec;
use prp_device::device_states;
use socket2::{Domain, Protocol, SockFilter, Socket, Type};

use super::packet::Packet;

/// Bytes that wait to be read: 5,000 full frames of an MTU of 1500.
const BUFFER: usize = 8 << 20;

/// The longest frame: the largest MTU, and room for headers.
const LONGEST: usize = 1 << 17;

// From linux/if_packet.h: it leaves by this device.
const OUTGOING: u8 = 4;

/// A socket at all devices.
#[derive(Debug)]
pub(super) struct Live {
    socket: Socket,
    /// Names of devices by number, and whether each is the loopback device.
    devices: HashMap<usize, (String, bool)>,
    /// The only ones that are wanted, if there are any.
    wanted: Vec<String>,
    dropped: Arc<AtomicU64>,
    buffer: Vec<u8>,
}

impl Live {
    /// Of frames of `ethertype`, at the `wanted` devices or at all.
    ///
    /// # Errors
    /// No CAP_NET_RAW; a device is not there.
    pub(super) fn open(ethertype: u16, wanted: &[String]) -> io::Result<Self> {
        let states = device_states()?;
        for name in wanted {
            if !states.iter().any(|state| state.name == *name) {
                let text = format!("{name}: no such device on this machine");
                return Err(io::Error::new(ErrorKind::NotFound, text));
            }
        }
        // Only sockets for all protocols see what is sent as well.
        let all = i32::from((libc::ETH_P_ALL as u16).to_be());
        let socket = Socket::new(Domain::PACKET, Type::RAW, Some(Protocol::from(all)))?;
        socket.attach_filter(&only(ethertype))?;
        socket.set_recv_buffer_size(BUFFER)?;
        setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
        setsockopt(&socket, sockopt::RxqOvfl, &1)?;
        let devices = states.into_iter().map(|s| (s.index as usize, (s.name, s.loopback)));
        Ok(Self {
            socket,
            devices: devices.collect(),
            wanted: wanted.to_owned(),
            dropped: Arc::default(),
            buffer: vec![0; LONGEST],
        })
    }

    /// How many frames were lost since they were not read in time.
    pub(super) fn dropped(&self) -> Arc<AtomicU64> {
        self.dropped.clone()
    }

    /// The next frame, or none if it is not wanted.
    ///
    /// # Errors
    /// What receiving fails with.
    pub(super) fn next(&mut self) -> io::Result<Option<Packet>> {
        let mut space = cmsg_space!(TimeSpec, u32);
        let mut pieces = [IoSliceMut::new(&mut self.buffer)];
        let fd = self.socket.as_raw_fd();
        let message = recvmsg::<LinkAddr>(fd, &mut pieces, Some(&mut space), MsgFlags::empty());
        let message = match message {
            Err(nix::errno::Errno::EINTR) => return Ok(None),
            other => other?,
        };
        let mut time = Duration::ZERO;
        for control in message.cmsgs()? {
            match control {
                ControlMessageOwned::ScmTimestampns(at) => time = at.into(),
                ControlMessageOwned::RxqOvfl(n) => self.dropped.store(n.into(), Ordering::Relaxed),
                _ => {}
            }
        }
        let (len, from) = (message.bytes, message.address);
        let Some(from) = from else { return Ok(None) };
        let unknown = (String::new(), false);
        let (name, loopback) = self.devices.get(&from.ifindex()).unwrap_or(&unknown).clone();
        let is_wanted = self.wanted.is_empty() || self.wanted.contains(&name);
        // What the loopback device sends comes in at once, and is shown then.
        if !is_wanted || loopback && from.pkttype() == OUTGOING {
            return Ok(None);
        }
        Ok(Some(Packet::untagged(time, name, self.buffer[..len].to_vec())))
    }
}

/// A program of the kernel's that lets frames of `ethertype` pass whole, and no others.
fn only(ethertype: u16) -> [SockFilter; 4] {
    const LOAD_HALF_WORD: u16 = 0x28;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    [
        SockFilter::new(LOAD_HALF_WORD, 0, 0, 12),
        SockFilter::new(JUMP_IF_EQUAL, 0, 1, ethertype.into()),
        SockFilter::new(RETURN, 0, 0, LONGEST as u32),
        SockFilter::new(RETURN, 0, 0, 0),
    ]
}
