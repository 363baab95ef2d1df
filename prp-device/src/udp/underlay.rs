//! UDP sockets as an underlay: datagrams in and out.

use std::io;
use std::mem;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use prp_proto::addr::LinkAddr;
use prp_proto::device::Capabilities;

use super::queue_peek::QueuePeek;
use super::{MAX_GSO_FRAMES, SMALL, Target, UdpDevice, gso_batch_length, probes_of};
use crate::sys::datagram::{RecvList, send_one};
use crate::{Packets, Peek, Received, Sent, Take, Underlay};

impl Underlay for UdpDevice {
    /// The number of `frames` includes datagrams of strangers.
    fn receive(&mut self, max: usize, take: &mut Take<'_>) -> io::Result<Received> {
        let mut datagrams = 0;
        loop {
            let wanted = self.expected;
            let got = match mem::take(&mut self.waiting) {
                0 => self.sockets.receive(&mut self.receiver, wanted, true)?,
                got => got,
            };
            for at in 0..got {
                datagrams += self.take_gso_batch(at, take);
            }
            // Most come alone: then what a call more would say can wait until the one that came has
            // been answered.
            self.expected = if got == wanted { 2 * wanted } else { got.max(1) }.min(RecvList::MAX);
            if got < wanted || got == 1 || datagrams >= max {
                return Ok(Received { frames: datagrams as u32, lost: mem::take(&mut self.lost) });
            }
        }
    }

    fn send(&mut self, packets: &mut Packets<'_, '_>) -> Sent {
        let Self { sockets, peers, sender, offload, counters, .. } = self;
        let mut loaded = sender.load(packets);
        let mut sent = Sent::default();
        let mut test = None;
        // A peer to which the kernel has just taken no GSO batch. Where it takes no single datagram
        // either, that was not about the GSO batch: the MTU has shrunk, or the own address is gone.
        let mut refused = None;
        while sent.done < loaded.len() {
            let (to, size) = loaded.datagram(sent.done);
            let (LinkAddr::Udp { peer, .. }, Some(target)) = (to, Target::of(sockets, peers, to))
            else {
                sent.done += 1;
                sent.lost += 1;
                continue;
            };
            let mut length = gso_batch_length(&loaded, sent.done, MAX_GSO_FRAMES);
            let could_be_gso_batch = length > 1;
            if refused == Some(peer) {
                length = 1;
            } else if could_be_gso_batch {
                let now = Instant::now();
                if !offload.is_on(peer, now) {
                    length = 1;
                }
                let id = offload.start_test(peer, (probes_of(size), size), now);
                test = id.map(|id| (to, size, id)).or(test);
            }
            let end = sent.done + length;
            let name = target.name.as_ref();
            match sockets.send(target.index, |fd| loaded.send(fd, name, sent.done..end)) {
                Ok(()) => {
                    if refused.take_if(|refused| *refused == peer).is_some() {
                        counters.gso_batches_refused += 1;
                        offload.refuse(peer, Instant::now());
                    }
                    counters.gso_batches_sent += u64::from(length > 1);
                    if could_be_gso_batch {
                        offload.note_sent(peer, length * size);
                    }
                    sent.done = end;
                }
                Err(e) => match e.raw_os_error() {
                    Some(libc::EAGAIN) => {
                        sockets.note_full(target.index);
                        sent.full = true;
                        break;
                    }
                    Some(libc::EINTR) => {}
                    // The kernel does not take this GSO batch: its datagrams leave alone, at once.
                    Some(libc::EIO | libc::EINVAL | libc::EMSGSIZE) if length > 1 => {
                        refused = Some(peer);
                    }
                    _ => {
                        let (address, own) = (target.address, target.own);
                        sent.refused = Some(sockets.refusal(own, address, &e));
                        break;
                    }
                },
            }
        }
        if let Some((to, size, id)) = test {
            self.send_test(to, size, id);
        }
        sent
    }

    fn send_one(&mut self, to: LinkAddr, pieces: [&[u8]; 4]) -> Sent {
        let is_whole = pieces[1..].iter().all(|piece| piece.is_empty());
        if (is_whole || pieces.iter().map(|piece| piece.len()).sum::<usize>() <= SMALL)
            && let Some(target) = Target::of(&self.sockets, &self.peers, to)
        {
            self.small.clear();
            let mut bytes = pieces[0];
            if !is_whole {
                pieces.iter().for_each(|piece| self.small.extend_from_slice(piece));
                bytes = &self.small;
            }
            let fd = self.sockets.socket(target.index).as_fd();
            if send_one(fd, target.name.as_ref(), bytes).is_ok() {
                return Sent { done: 1, ..Sent::default() };
            }
        }
        // It reports what is wrong.
        self.send(&mut std::iter::once((to, pieces)))
    }

    fn fd(&self, place: usize) -> Option<BorrowedFd<'_>> {
        self.fds().nth(place)
    }

    fn full(&self) -> usize {
        let full = self.sockets.full();
        self.sockets.fds().position(|(index, _)| Some(index) == full).unwrap_or(0)
    }

    fn peek(&self) -> Peek {
        Peek::Queue(QueuePeek { room: self.room, datagram: self.mtu as usize })
    }

    /// Receives what is there, mostly by one system call, for the next [`Self::receive`], unless
    /// that has been done. What is wrong with the socket that says.
    fn poll_once(&mut self) -> bool {
        if self.waiting > 0 {
            return true;
        }
        match self.sockets.receive(&mut self.receiver, self.expected, false) {
            Ok(got) => {
                self.waiting = got;
                got > 0
            }
            Err(_) => true,
        }
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::datagrams(self.mtu, self.gso_frames()).with_window(self.window())
    }

    fn take_errors(&mut self) {
        self.sockets.take_errors();
    }

    fn udp(&self) -> Option<&UdpDevice> {
        Some(self)
    }

    fn udp_mut(&mut self) -> Option<&mut UdpDevice> {
        Some(self)
    }
}
