//! The two devices of a wire, and the frames between them.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Instant;

use super::end::End;
use super::{Counters, DelayLine, Impairment, Settings};

/// Frames per system call for receiving and sending, to spread its cost.
const BATCH: usize = 32;

/// Two devices. Frames that one receives, the other sends.
#[derive(Debug)]
pub struct Link {
    ends: [End; 2],
    /// The impairment from end 0 to end 1, and the one back.
    impairments: [Impairment; 2],
    /// The delay from end 0 to end 1, and the one back.
    delays: [DelayLine; 2],
    passed: Vec<Vec<u8>>,
    out: Vec<Vec<u8>>,
}

impl Link {
    /// A wire between two devices, or places among Unix sockets. `number` distinguishes it from
    /// others with the same seed.
    ///
    /// # Errors
    /// There is no such device, or this process may not open it.
    pub fn open(devices: [&str; 2], settings: &Settings, number: u64) -> io::Result<Self> {
        let [a, b] = devices;
        let ends = [End::open(a)?, End::open(b)?];
        // Each direction has its own random numbers. Otherwise all would lose the same frames.
        let seed =
            |direction| settings.seed.wrapping_mul(1_000_003).wrapping_add(2 * number + direction);
        let impairments = [0, 1].map(|direction| Impairment::new(settings.faults, seed(direction)));
        let delays = [0, 1].map(|direction| DelayLine::new(!seed(direction)));
        let [passed, out] = [(); 2].map(|()| Vec::with_capacity(2 * BATCH));
        let mut link = Self { ends, impairments, delays, passed, out };
        link.set(settings);
        Ok(link)
    }

    /// Changes the faults and the delay.
    pub fn set(&mut self, settings: &Settings) {
        self.impairments.iter_mut().for_each(|impairment| impairment.set_faults(settings.faults));
        for (direction, delay) in self.delays.iter_mut().enumerate() {
            delay.set(settings.delay.0[direction], settings.jitter.0[direction]);
        }
    }

    /// Forwards the frames that have arrived, in both directions; whether there were any.
    ///
    /// # Errors
    /// A device is gone.
    pub fn poll(&mut self) -> io::Result<bool> {
        let mut any = false;
        for direction in [0, 1] {
            let Self { ends, impairments, delays, passed, out } = self;
            let now = Instant::now();
            let (impairment, delay) = (&mut impairments[direction], &mut delays[direction]);
            let received =
                ends[direction].receive(BATCH, &mut |frame| impairment.pass(frame, now, passed))?;
            impairment.release(now, passed);
            passed.drain(..).for_each(|frame| delay.push(frame, now));
            delay.release(now, out);
            any |= received.frames > 0 || !out.is_empty();
            impairment.note_overruns(received.lost.into());
            let mut sent = 0;
            while sent < out.len() {
                match ends[1 - direction].send(&out[sent..]) {
                    // A full device is full for a short time only, and the senders wait meanwhile.
                    Ok((0, _)) => std::thread::yield_now(),
                    Ok((done, lost)) => {
                        sent += done;
                        impairment.note_overruns(lost as u64);
                    }
                    // The frame is larger than the other device's MTU.
                    Err(_) => {
                        sent += 1;
                        impairment.note_overruns(1);
                    }
                }
            }
            out.clear();
        }
        Ok(any)
    }

    /// The time at which the next frame that waits is sent at the latest.
    pub fn next(&self) -> Option<Instant> {
        let late = self.impairments.iter().filter_map(Impairment::next);
        late.chain(self.delays.iter().filter_map(DelayLine::next)).min()
    }

    /// The descriptors to poll.
    pub fn fds(&self) -> [BorrowedFd<'_>; 2] {
        [self.ends[0].fd(), self.ends[1].fd()]
    }

    /// The counters of each direction.
    pub fn counters(&self) -> [Counters; 2] {
        [self.impairments[0].counters(), self.impairments[1].counters()]
    }
}
