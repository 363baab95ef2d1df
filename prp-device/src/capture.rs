//! A socket that sees what all devices of this machine send and receive. Feature `raw`.

mod limit;
mod mirrors;

use std::io;
use std::mem;
use std::num::NonZeroU32;
use std::ops::RangeInclusive;
use std::os::fd::AsFd;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::stat::fstat;
use prp_node::mirror::MirrorListener;
use prp_proto::hosts::Tag;
use socket2::{Domain, Protocol, SockFilter, Socket, Type};

use crate::sys::capture_ring::{CaptureRing, RETIRE};
use crate::sys::packet;
use limit::Limit;
use mirrors::{MirrorServer, MirrorSource};

/// How often to poll, in milliseconds, whether processes have copied frames: no process wakes the
/// thread that waits for them. Their memory has room for those of 20 ms.
const POLL_EVERY: u8 = 4;

/// A frame that has passed a device.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct CapturedFrame<'a> {
    /// Since the beginning of 1970, UTC.
    pub time: Duration,
    /// The kernel's number of the device.
    pub device: u32,
    /// It leaves by the device; else it has come in.
    pub is_outgoing: bool,
    /// Its tag, if the kernel has taken one off.
    pub tag: Tag,
    /// From the Ethernet header on, without a VLAN's tag that the kernel has taken off, as far as
    /// it was captured.
    pub bytes: &'a [u8],
    /// How many bytes it has.
    pub len: usize,
}

/// How many bytes are captured.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub struct CaptureLengths {
    /// Of a frame of the EtherType.
    pub frame: u32,
    /// Of a frame with a datagram, which may be a GSO batch of packets.
    pub datagram: u32,
}

/// A packet socket at all devices, with a ring that the kernel fills in blocks: what the socket
/// costs a frame is a copy, and a call for each block.
///
/// Processes that send past all packet sockets, by AF_XDP, copy their frames for it.
#[derive(Debug)]
pub struct CaptureSocket {
    socket: Socket,
    ring: CaptureRing,
    /// Where those processes ask; none if that name is taken: they do without AF_XDP then.
    server: Option<MirrorServer>,
    mirrors: Vec<MirrorSource>,
    limit: Option<Limit>,
    /// Frames that were not copied in time, or not taken.
    lost: u64,
}

impl CaptureSocket {
    /// Bytes that no frame exceeds: the largest MTU, and room for headers.
    pub const LONGEST: u32 = 1 << 17;

    /// Of frames of `ethertype`, and of UDP datagrams between `ports`: the first bytes of each, at
    /// most as many as `lengths` says.
    ///
    /// It takes at most `limit` frames a second of those that the packet socket sees, and as many
    /// of those that processes copy; in the second after few frames twice as many. What is not
    /// taken counts as lost. Where more come, the packet socket sees none for some milliseconds,
    /// again and again, and nobody counts those ([`Self::take_paused`]): frames that it sees cost
    /// the processes that send and receive them, whether they are taken or not.
    ///
    /// # Errors
    /// No CAP_NET_RAW; no memory for the ring.
    pub fn open(
        ethertype: u16,
        ports: RangeInclusive<u16>,
        lengths: CaptureLengths,
        limit: Option<NonZeroU32>,
    ) -> io::Result<Self> {
        // Of no protocol: nothing comes before the filter and the ring are there.
        let socket = Socket::new(Domain::PACKET, Type::RAW, Some(Protocol::from(0)))?;
        socket.attach_filter(&only(ethertype, &ports, lengths))?;
        let ring = CaptureRing::new(socket.as_fd())?;
        see_all(&socket)?;
        let frames = limit.map_or(u64::MAX, |limit| limit.get().into());
        let start = |listener| MirrorServer::start(listener, lengths.frame as usize, frames);
        let server = MirrorListener::bind(fstat(&socket)?.st_ino).and_then(start).ok();
        let limit = limit.map(Limit::new);
        Ok(Self { socket, ring, server, mirrors: Vec::new(), limit, lost: 0 })
    }

    /// Waits for frames, and hands some of them to `take`, those of the kernel and of a process in
    /// the order of their times. The kernel fills a block, or lets go of it some milliseconds after
    /// its first frame. Waiting may end without a frame.
    ///
    /// # Errors
    /// What `poll` fails with, or `bind` after a pause.
    pub fn receive(&mut self, take: &mut dyn FnMut(&CapturedFrame<'_>)) -> io::Result<()> {
        self.take_new();
        self.end_pause()?;
        if self.take_block(take) {
            return Ok(());
        }
        let timeout = self.timeout();
        let socket = self.socket.as_fd();
        let server = self.server.as_ref().map_or(socket, AsFd::as_fd);
        let mut fds = [socket, server].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
        match poll(&mut fds, timeout) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(e) => return Err(e.into()),
        }
        self.take_new();
        if !self.take_block(take) && !self.mirrors.is_empty() {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            // A block that the kernel still fills may have earlier frames than later ones here.
            let until = now.saturating_sub(2 * RETIRE);
            self.mirrors.iter_mut().for_each(|mirror| mirror.empty(until, take));
            self.give_back();
            for mut mirror in self.mirrors.extract_if(.., |mirror| mirror.has_ended()) {
                mirror.empty(Duration::MAX, take);
                self.lost += mirror.take_lost();
                self.server.iter().for_each(MirrorServer::forget_one);
            }
        }
        Ok(())
    }

    /// Hands the frames of a block to `take`, if there is one, and before each what processes have
    /// copied that left earlier; whether there was one.
    fn take_block(&mut self, take: &mut dyn FnMut(&CapturedFrame<'_>)) -> bool {
        let Self { ring, mirrors, limit, lost, .. } = self;
        let now = limit.as_ref().map(Limit::now).unwrap_or_default();
        let lost_before = *lost;
        let was_there = ring.take_block(&mut |frame| {
            mirrors.iter_mut().for_each(|mirror| mirror.empty(frame.time, take));
            if limit.as_mut().is_none_or(|limit| limit.take_captured(now)) {
                take(frame);
            } else {
                *lost += 1;
            }
        });
        if *lost > lost_before {
            self.begin_pause();
        }
        self.give_back();
        was_there
    }

    /// How long to wait at most, so that copies are taken and a pause ends.
    fn timeout(&self) -> PollTimeout {
        let copies = (!self.mirrors.is_empty()).then(|| Duration::from_millis(POLL_EVERY.into()));
        let pause = self.limit.as_ref().and_then(|limit| limit.pause_left(limit.now()));
        // Not before the pause is over: `poll` counts milliseconds.
        let pause = pause.map(|left| left + Duration::from_millis(1));
        let first = copies.into_iter().chain(pause).min();
        first.map_or(PollTimeout::NONE, |time| time.try_into().unwrap_or(PollTimeout::MAX))
    }

    /// The kernel knows nothing of the socket for a while. A filter would not do: for each frame
    /// that is sent the kernel makes a copy before the filter, and for each that comes it calls it.
    fn begin_pause(&mut self) {
        if self.limit.as_mut().is_some_and(|limit| limit.begin_pause(limit.now())) {
            // Without that the limit holds all the same, at a price.
            let _ = packet::bind(self.socket.as_fd(), 0, packet::NO_FRAMES);
        }
    }

    /// And again, once it is over.
    fn end_pause(&mut self) -> io::Result<()> {
        if self.limit.as_mut().is_some_and(|limit| limit.end_pause(limit.now())) {
            see_all(&self.socket)?;
        }
        Ok(())
    }

    /// Lets processes copy as many frames more as the limit allows.
    fn give_back(&mut self) {
        let Self { mirrors, limit, .. } = self;
        let now = limit.as_ref().map(Limit::now).unwrap_or_default();
        for mirror in mirrors {
            mirror.give_back(|| limit.as_mut().is_none_or(|limit| limit.take_copied(now)));
        }
    }

    /// Processes that have come copy their frames from now on.
    fn take_new(&mut self) {
        let Self { server, mirrors, .. } = self;
        mirrors.extend(server.iter().flat_map(MirrorServer::take_new));
    }

    /// Frames that were lost since this was last called: the ring was full, or the limit reached.
    ///
    /// # Errors
    /// What `getsockopt` fails with.
    pub fn take_dropped(&mut self) -> io::Result<u64> {
        let copied = self.mirrors.iter_mut().map(|mirror| mirror.take_lost()).sum::<u64>();
        let lost = mem::take(&mut self.lost) + copied;
        Ok(lost + u64::from(packet::dropped(self.socket.as_fd())?))
    }

    /// How long the packet socket saw no frame since this was last called, because the limit was
    /// reached.
    pub fn take_paused(&mut self) -> Duration {
        self.limit.as_mut().map(|limit| limit.take_paused(limit.now())).unwrap_or_default()
    }
}

/// From now on a socket sees what all devices send and receive.
fn see_all(socket: &Socket) -> io::Result<()> {
    // Only sockets for all protocols see what is sent as well. No device: all of them.
    packet::bind(socket.as_fd(), 0, libc::ETH_P_ALL as u16)
}

/// A program of the kernel's that lets the first bytes pass of frames of `ethertype` and of UDP
/// datagrams between `ports`, and no others. IPv6's extension headers, which no PRP node sends,
/// hide a datagram.
fn only(ethertype: u16, ports: &RangeInclusive<u16>, lengths: CaptureLengths) -> Vec<SockFilter> {
    const BYTE: u16 = 0x30;
    const HALF: u16 = 0x28;
    /// Behind the index.
    const HALF_AT: u16 = 0x48;
    /// The index becomes the length of an IPv4 header.
    const IPV4_LEN: u16 = 0xb1;
    const INDEX: u16 = 0x01;
    const JUMP: u16 = 0x05;
    const EQUAL: u16 = 0x15;
    const GREATER: u16 = 0x25;
    const AT_LEAST: u16 = 0x35;
    const ANY_BIT: u16 = 0x45;
    const RETURN: u16 = 0x06;
    const IPV4: u32 = libc::ETH_P_IP as u32;
    const IPV6: u32 = libc::ETH_P_IPV6 as u32;
    const UDP: u32 = libc::IPPROTO_UDP as u32;
    const VLAN: u32 = libc::ETH_P_8021Q as u32;
    /// Bytes of a tag.
    const TAG: u32 = 4;
    /// The bits of an IPv4 header that say how far behind the first fragment this one is.
    const FRAGMENT: u32 = 0x1fff;
    let (first, last) = (u32::from(*ports.start()), u32::from(*ports.end()));
    let step = SockFilter::new;
    // A jump has two distances: the steps it skips if it holds, and those it skips if it does not.
    // From a step at N it is FRAME - N - 1 steps to the one that lets a frame pass, and DROP - N -
    // 1 to the last one.
    const DROP: u8 = 23;
    const FRAME: u8 = 24;
    const TAGGED: u8 = 25;
    vec![
        step(HALF, 0, 0, 12),
        step(EQUAL, FRAME - 2, 0, ethertype.into()),
        // What leaves has its tag still.
        step(EQUAL, 0, 2, VLAN),
        step(HALF, 0, 0, 16),
        step(EQUAL, TAGGED - 5, DROP - 5, ethertype.into()),
        step(EQUAL, 0, 6, IPV4),
        step(BYTE, 0, 0, 23),
        step(EQUAL, 0, DROP - 8, UDP),
        step(HALF, 0, 0, 20),
        step(ANY_BIT, DROP - 10, 0, FRAGMENT),
        step(IPV4_LEN, 0, 0, 14),
        step(JUMP, 0, 0, 4),
        step(EQUAL, 0, DROP - 13, IPV6),
        step(BYTE, 0, 0, 20),
        step(EQUAL, 0, DROP - 15, UDP),
        step(INDEX, 0, 0, 40),
        step(HALF_AT, 0, 0, 14),
        step(AT_LEAST, 0, DROP - 18, first),
        step(GREATER, DROP - 19, 0, last),
        step(HALF_AT, 0, 0, 16),
        step(AT_LEAST, 0, DROP - 21, first),
        step(GREATER, DROP - 22, 0, last),
        step(RETURN, 0, 0, lengths.datagram),
        step(RETURN, 0, 0, 0),
        step(RETURN, 0, 0, lengths.frame),
        step(RETURN, 0, 0, lengths.frame.saturating_add(TAG)),
    ]
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixDatagram;

    use super::*;

    const ETHERTYPE: u16 = 0x88b5;

    /// A datagram of IPv4 (`ip` is 4) or IPv6 with a protocol and ports.
    fn datagram(ip: u8, protocol: u8, [from, to]: [u16; 2]) -> Vec<u8> {
        let mut frame = vec![0; 14];
        let mut header = if ip == 4 { vec![0; 24] } else { vec![0; 40] };
        // Four bytes of options.
        header[0] = if ip == 4 { 0x46 } else { 0x60 };
        header[if ip == 4 { 9 } else { 6 }] = protocol;
        frame[12..].copy_from_slice(&if ip == 4 { [0x08, 0] } else { [0x86, 0xdd] });
        frame.extend(header);
        [from, to, 8, 0].iter().for_each(|number| frame.extend(number.to_be_bytes()));
        frame
    }

    /// Run by the kernel, as for a packet socket.
    #[test]
    fn only__frames_and_datagrams_of_the_ports() {
        let (sender, receiver) = UnixDatagram::pair().expect("sockets");
        let lengths = CaptureLengths { frame: 50, datagram: 40 };
        let filter = only(ETHERTYPE, &(5230..=5357), lengths);
        socket2::SockRef::from(&receiver).attach_filter(&filter).expect("a filter");
        let mut fragment = datagram(4, 17, [5230, 5230]);
        fragment[21] = 1;
        let mut ours = vec![0; 60];
        ours[12..14].copy_from_slice(&ETHERTYPE.to_be_bytes());
        let tagged = |ethertype: u16| {
            let mut frame = vec![0; 64];
            frame[12..14].copy_from_slice(&[0x81, 0]);
            frame[16..18].copy_from_slice(&ethertype.to_be_bytes());
            frame
        };
        let cases = [
            (50, ours),
            (54, tagged(ETHERTYPE)),
            (0, tagged(0x0800)),
            (40, datagram(4, 17, [5230, 5357])),
            (40, datagram(6, 17, [5357, 5230])),
            (0, datagram(4, 6, [5230, 5230])),
            (0, datagram(6, 6, [5230, 5230])),
            (0, datagram(4, 17, [5229, 5230])),
            (0, datagram(4, 17, [5230, 5229])),
            (0, datagram(6, 17, [5358, 5230])),
            (0, datagram(6, 17, [5230, 5358])),
            (0, fragment),
            (0, vec![0; 60]),
            (0, vec![0; 3]),
        ];
        receiver.set_nonblocking(true).expect("it is a socket");
        for (number, (passes, frame)) in cases.iter().enumerate() {
            // It may say that no reader takes this.
            let _ = sender.send(frame);
            let mut room = [0; 100];
            let came = receiver.recv(&mut room).ok().map(|len| &room[..len]);
            assert_eq!(came, (*passes > 0).then(|| &frame[..*passes]), "case {number}");
        }
    }
}
