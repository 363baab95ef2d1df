//! Frames of plain packet sockets: PRP without its protocol. The bytes are copied from and to the
//! application's memory as PRP does, the frames have the size of PRP's, and a window keeps the
//! receiving ring from overflowing; but nothing is sent again, and what arrives is not checked.

use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use prp_device::raw::RawSocket;
use prp_sock::{HostsFile, NodeId};

use super::control::{Amount, Frames};
use super::first_hop::FirstHop;
use super::transport::WaitMode;
use header::{Header, RawFrameKind};

mod header;

/// The second EtherType for local experiments (IEEE 802); PRP has the first.
const ETHERTYPE: u16 = 0x88b6;

/// Bytes in flight: 0.3 MB stay in a second-level cache. With the bounds below these are
/// 64, 32 and 8 frames at an MTU of 1500, 9000 and 65535.
const WINDOW_BYTES: usize = 288 * 1024;

/// Frames in flight: the receiving ring has twice as many slots.
const WINDOW_FRAMES: (usize, usize) = (8, 64);

/// Frames sent with one system call, at most.
const BATCH: usize = 32;

/// Frames received before anything else is checked.
const BURST: usize = 64;

/// After this long without an answer what is in flight counts as lost.
const STALL: Duration = Duration::from_millis(20);

/// After this long without a frame the other end counts as gone.
const GONE: Duration = Duration::from_secs(5);

/// How long an adaptive wait spins before it sleeps, as PRP's.
const SPIN: Duration = Duration::from_micros(20);

/// One end of a leg.
#[derive(Debug)]
pub(super) struct RawLink {
    socket: RawSocket,
    /// Source, destination and leg of every frame.
    header: Header,
    wait: WaitMode,
    /// Payload bytes of a full frame.
    segment: usize,
    window: u32,
    /// Data frames sent, and how many of them the other end is known to have.
    sent: u32,
    credited: u32,
    /// Data frames that have come: up to which number, how many and how many bytes.
    reached: u32,
    frames: u64,
    bytes: u64,
    /// Up to which number the other end knows.
    announced: u32,
    /// The other end has announced that it is over.
    over: bool,
    /// Frames the device or a full ring has lost.
    lost: u64,
    /// What an application would have sent and received.
    memory: Vec<u8>,
}

impl RawLink {
    /// An end of leg number `leg` between this node and `node`, a neighbour.
    ///
    /// # Errors
    /// `Unsupported` if it is no neighbour, and as opening the socket.
    pub(super) fn open(
        hosts: &HostsFile,
        node: NodeId,
        leg: u32,
        wait: WaitMode,
    ) -> io::Result<Self> {
        let hop = FirstHop::toward(hosts, node)?;
        if !hop.direct {
            let message = format!("node {node} is no neighbour: raw frames do not cross routers");
            return Err(io::Error::new(ErrorKind::Unsupported, message));
        }
        let socket = RawSocket::open_tagged(&hop.device, ETHERTYPE, hop.tag)?;
        let header = Header::new(hop.mac, socket.mac(), ETHERTYPE, leg);
        // A multiple of four, as PRP's segments.
        let segment = (socket.mtu() as usize - header::OWN_LEN) & !3;
        let window = (WINDOW_BYTES / segment).clamp(WINDOW_FRAMES.0, WINDOW_FRAMES.1);
        Ok(Self {
            socket,
            header,
            wait,
            segment,
            window: window as u32,
            sent: 0,
            credited: 0,
            reached: 0,
            frames: 0,
            bytes: 0,
            announced: 0,
            over: false,
            lost: 0,
            memory: vec![0x5a; 1 << 20],
        })
    }

    /// Payload bytes received.
    pub(super) fn received(&self) -> u64 {
        self.bytes
    }

    /// Frames with payload.
    pub(super) fn data_frames(&self) -> Frames {
        Frames { sent: self.sent.into(), received: self.frames }
    }

    /// Frames known to be lost.
    pub(super) fn lost(&self) -> u64 {
        self.lost
    }

    /// Bytes in a full frame after its headers.
    pub(super) fn segment(&self) -> usize {
        self.segment
    }

    /// Frames of a message.
    fn frames_of(&self, size: usize) -> u32 {
        size.div_ceil(self.segment).max(1) as u32
    }

    /// Sends back each message of `size` bytes until the other end has had enough.
    ///
    /// # Errors
    /// `TimedOut` if the other end is gone, and those of the socket.
    pub(super) fn echo(&mut self, size: usize) -> io::Result<()> {
        let frames = self.frames_of(size);
        let mut next = frames;
        loop {
            self.receive_until(|link| link.over || link.reached == next, GONE)?;
            if self.over {
                return Ok(());
            }
            self.send_message(size)?;
            next = next.wrapping_add(frames);
        }
    }

    /// Sends and receives one message; how long that took.
    ///
    /// # Errors
    /// `TimedOut` if a frame was lost, and those of the socket.
    pub(super) fn round_trip(&mut self, size: usize) -> io::Result<Duration> {
        let want = self.reached.wrapping_add(self.frames_of(size));
        let begun = Instant::now();
        self.send_message(size)?;
        self.receive_until(|link| link.reached == want, GONE)?;
        // A peer that has answered has had all of it.
        self.credited = self.sent;
        Ok(begun.elapsed())
    }

    fn send_message(&mut self, size: usize) -> io::Result<()> {
        let mut left = size;
        loop {
            left -= self.send_some(left)?;
            if left == 0 {
                return Ok(());
            }
        }
    }

    /// Sends as much, and says that it is over; counts in `sent` meanwhile.
    ///
    /// # Errors
    /// Those of the socket.
    pub(super) fn source(&mut self, amount: Amount, sent: &AtomicU64) -> io::Result<()> {
        let begun = Instant::now();
        let mut done = 0;
        loop {
            let next = match amount {
                Amount::Seconds(s) if begun.elapsed().as_secs_f64() >= s => 0,
                Amount::Seconds(_) => self.memory.len(),
                Amount::Bytes(n) => self.memory.len().min((n - done) as usize),
            };
            if next == 0 {
                return self.finish();
            }
            let n = self.send_some(next)? as u64;
            done += n;
            sent.fetch_add(n, Ordering::Relaxed);
        }
    }

    /// Receives until the other end says that it is over.
    ///
    /// # Errors
    /// `TimedOut` if it is gone, and those of the socket.
    pub(super) fn sink(&mut self) -> io::Result<()> {
        self.receive_until(|link| link.over, GONE)
    }

    /// Tells the other end that it is over, until that answers or the time is up.
    ///
    /// # Errors
    /// Those of the socket.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        let begun = Instant::now();
        while !self.over && begun.elapsed() < GONE {
            self.send_control(RawFrameKind::End)?;
            match self.receive_until(|link| link.over, STALL) {
                Err(e) if e.kind() == ErrorKind::TimedOut => {}
                done => return done,
            }
        }
        Ok(())
    }

    /// Sends a batch of at most `max` bytes when the window allows it; how many.
    fn send_some(&mut self, max: usize) -> io::Result<usize> {
        let window = self.window;
        let has_room = |link: &Self| link.sent.wrapping_sub(link.credited) < window;
        match self.receive_until(has_room, STALL) {
            // Lost, as far as this end can tell.
            Err(e) if e.kind() == ErrorKind::TimedOut => self.credited = self.sent,
            done => done?,
        }
        let room = (window - self.sent.wrapping_sub(self.credited)) as usize;
        let count = room.min(BATCH).min(self.frames_of(max) as usize);
        let headers: [_; BATCH] = std::array::from_fn(|i| {
            self.header.bytes(RawFrameKind::Data, self.sent.wrapping_add(i as u32 + 1))
        });
        let bytes = max.min(count * self.segment);
        let payload = &self.memory[..bytes];
        let mut gone = 0;
        while gone < count {
            let piece = |i: usize| {
                let start = (i * self.segment).min(bytes);
                &payload[start..(start + self.segment).min(bytes)]
            };
            let mut frames = (gone..count).map(|i| [&headers[i][..], piece(i), &[], &[]]);
            let (n, lost) = self.socket.send(&mut frames)?;
            if n == 0 {
                // A queue on the path is full; it empties at the rate of the link.
                thread::yield_now();
            }
            gone += n;
            self.lost += lost as u64;
        }
        self.sent = self.sent.wrapping_add(count as u32);
        Ok(bytes)
    }

    fn send_control(&mut self, kind: RawFrameKind) -> io::Result<()> {
        let header = self.header.bytes(kind, self.reached);
        self.announced = self.reached;
        self.socket.send(&mut std::iter::once([&header[..], &[], &[], &[]])).map(drop)
    }

    /// Receives until `done`, giving credit meanwhile.
    ///
    /// # Errors
    /// `TimedOut` after `patience` without a frame, and those of the socket.
    fn receive_until(
        &mut self,
        done: impl Fn(&Self) -> bool,
        patience: Duration,
    ) -> io::Result<()> {
        // The clock is not read before there is something to wait for.
        let mut since = None;
        while !done(self) {
            if self.receive_some()? > 0 {
                since = None;
                continue;
            }
            let waited = since.get_or_insert_with(Instant::now).elapsed();
            if waited >= patience {
                return Err(ErrorKind::TimedOut.into());
            }
            match self.wait {
                WaitMode::Spin => std::hint::spin_loop(),
                WaitMode::Adaptive if waited < SPIN => thread::yield_now(),
                WaitMode::Adaptive | WaitMode::Block => self.socket.sleep(patience - waited)?,
            }
        }
        Ok(())
    }

    /// Takes in what is there; how many frames.
    fn receive_some(&mut self) -> io::Result<u32> {
        let Self { socket, header, memory, segment, .. } = self;
        let (mut reached, mut credited, mut over) = (self.reached, self.credited, self.over);
        let (mut frames, mut bytes) = (0, 0);
        // Fills the memory as an application fills a buffer of a megabyte, from its beginning again
        // and again.
        let mut at = self.bytes as usize % (memory.len() - *segment);
        let received = socket.receive(BURST, &mut |frame| {
            let Some((kind, number, payload)) = header.parse(frame) else { return };
            match kind {
                RawFrameKind::Data => {
                    reached = number;
                    frames += 1;
                    bytes += payload.len() as u64;
                    memory[at..at + payload.len()].copy_from_slice(payload);
                    at = (at + payload.len()) % (memory.len() - *segment);
                }
                RawFrameKind::Credit => credited = number,
                RawFrameKind::End => over = true,
            }
        })?;
        (self.reached, self.credited) = (reached, credited);
        self.lost += u64::from(received.lost);
        self.frames += frames;
        self.bytes += bytes;
        if over && !self.over {
            // Twice, as no end asks again once the leg is over here.
            self.over = true;
            self.send_control(RawFrameKind::End)?;
            self.send_control(RawFrameKind::End)?;
        } else if self.reached.wrapping_sub(self.announced) >= self.window / 4 {
            self.send_control(RawFrameKind::Credit)?;
        }
        Ok(received.frames)
    }
}
