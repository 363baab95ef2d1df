//! `garbage DEVICE MAC SEED blunt|sharp` sends malformed frames to MAC: random bytes, and random
//! headers under PRP's EtherType. With `sharp` it also sends to the port in use (80), and replays
//! captured frames with a few bits changed. It reads `start` and `stop` from its standard input,
//! and answers `stop` with the number of frames that it sent.

use std::io::{self, BufRead, ErrorKind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use pnet::datalink::{
    self, Channel, Config, DataLinkReceiver, DataLinkSender, MacAddr, NetworkInterface,
};
use prp_tests::seed::{Dice, generator};

static STOP: AtomicBool = AtomicBool::new(false);
static SENT: AtomicU64 = AtomicU64::new(0);

/// The Ethernet header and the headers of PRP.
const HEADERS: usize = 30;

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [device, mac, seed, kind] = &words[..] else { return Err(ErrorKind::InvalidInput.into()) };
    let device = datalink::interfaces().into_iter().find(|d| d.name == *device);
    let device = device.ok_or(ErrorKind::NotFound)?;
    let target = mac.parse().map_err(io::Error::other)?;
    let dice = generator(seed.parse().map_err(io::Error::other)?);
    let mut idle = Some(Garbage::new(&device, target, dice, kind == "sharp")?);
    let mut busy = None;
    for line in io::stdin().lock().lines() {
        if line? == "start" {
            busy = idle.take().map(|garbage| std::thread::spawn(move || garbage.run()));
            println!("ok");
        } else {
            STOP.store(true, Ordering::Relaxed);
            if let Some(thread) = busy.take() {
                thread.join().map_err(|_| ErrorKind::Other)?;
            }
            println!("ok {}", SENT.load(Ordering::Relaxed));
        }
    }
    Ok(())
}

struct Garbage {
    to: Box<dyn DataLinkSender>,
    from: Box<dyn DataLinkReceiver>,
    dice: Dice,
    target: [u8; 6],
    own: [u8; 6],
    sharp: bool,
    /// A captured frame.
    seen: Vec<u8>,
}

impl Garbage {
    fn new(
        device: &NetworkInterface,
        target: MacAddr,
        dice: Dice,
        sharp: bool,
    ) -> io::Result<Self> {
        let config = Config { read_timeout: Some(Duration::from_micros(200)), ..Config::default() };
        let Channel::Ethernet(to, from) = datalink::channel(device, config)? else {
            return Err(ErrorKind::Unsupported.into());
        };
        let own = device.mac.ok_or(ErrorKind::NotFound)?.octets();
        Ok(Self { to, from, dice, target: target.octets(), own, sharp, seen: Vec::new() })
    }

    fn run(mut self) {
        while !STOP.load(Ordering::Relaxed) {
            if let Ok(frame) = self.from.next() {
                self.seen.clear();
                self.seen.extend_from_slice(frame);
            }
            for _ in 0..8 {
                let frame = self.frame();
                // An error means that the device's queue is full.
                if matches!(self.to.send_to(&frame, None), Some(Ok(()))) {
                    SENT.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }

    fn frame(&mut self) -> Vec<u8> {
        let mut frame = match self.dice.below(3) {
            0 if self.sharp && self.seen.len() >= HEADERS => self.mutated(),
            1 => self.headers(),
            _ => self.noise(),
        };
        frame[..6].copy_from_slice(&self.target);
        frame
    }

    /// Random bytes of any length.
    fn noise(&mut self) -> Vec<u8> {
        let mut frame = vec![0; 14 + self.dice.below(1500)];
        self.dice.fill(&mut frame);
        frame
    }

    /// The right addresses and EtherType, followed by random headers.
    fn headers(&mut self) -> Vec<u8> {
        let mut frame = self.noise();
        frame.resize(frame.len().max(HEADERS), 0);
        frame[6..12].copy_from_slice(&self.own);
        frame[12..14].copy_from_slice(&[0x88, 0xb5]);
        frame[14..18].copy_from_slice(&[0, 1, 0, 2]);
        match self.dice.below(2) {
            0 if self.sharp => frame[20..22].copy_from_slice(&[0, 80]),
            // Never a valid frame: without a checksum the receiver could not distinguish it from a
            // real one.
            _ => frame[20] |= 0x80,
        }
        frame
    }

    /// A captured frame with a few bits of its headers changed.
    fn mutated(&mut self) -> Vec<u8> {
        let mut frame = self.seen.clone();
        frame[6..12].copy_from_slice(&self.own);
        for _ in 0..=self.dice.below(4) {
            let at = 14 + self.dice.below(HEADERS - 14);
            frame[at] ^= 1 << self.dice.below(8);
        }
        frame
    }
}
