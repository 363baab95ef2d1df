//! A thread that sleeps until a frame arrives is woken, and loses no frame.

use std::hint::spin_loop;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use prp_device::KernelDevice;
use prp_tests::seed::{self, Dice};

use crate::link::{Link, Source, TIMEOUT, next, number, run_on_processor, waits};

/// Sleeps until there is a frame to receive; whether there is one.
fn sleep(on: BorrowedFd<'_>, timeout: PollTimeout) -> bool {
    let mut set = [PollFd::new(on, PollFlags::POLLIN)];
    poll(&mut set, timeout).expect("it works") > 0
}

fn patience() -> PollTimeout {
    TIMEOUT.try_into().expect("so much")
}

pub(crate) fn disable__tells_of_a_frame_that_waits() {
    let mut link = Link::open();
    for _ in 0..3 {
        link.enable();
        assert!(!link.tcx_rx.disable(), "none waits");
        link.enable();
        link.send(2);
        assert!(link.tcx_rx.disable());
        assert_eq!(link.receive(1), 1);
        assert!(link.tcx_rx.disable(), "one is left");
        link.receive_all();
        assert!(!link.tcx_rx.disable());
    }
}

pub(crate) fn disable__has_the_next_frame_wake_a_sleeping_thread() {
    let mut link = Link::open();
    for _ in 0..100 {
        link.enable();
        link.send(1);
        assert!(!sleep(link.to.as_fd(), PollTimeout::ZERO), "this one wakes nobody");
        link.receive_all();
        assert!(!link.tcx_rx.disable());
        link.send(1);
        assert!(sleep(link.to.as_fd(), patience()), "nobody is woken");
        link.receive_all();
    }
}

const FRAMES: u32 = 20_000;

/// Sends frames one by one, with occasional pauses in which the receiver goes to sleep. Sometimes
/// it waits until all frames have been `received`, so that no later frame wakes the receiver
/// instead.
fn send_alone(from: &mut Source, first: u32, received: &AtomicU32, mut dice: Dice) {
    for number in first..first + FRAMES {
        from.send(&[from.frame(number)]);
        let pause = dice.pick(&[0, 0, 100, 1000, 10_000]);
        (0..pause).for_each(|_| spin_loop());
        let deadline = Instant::now() + 2 * TIMEOUT;
        while pause == 100 && received.load(Ordering::Relaxed) <= number {
            if Instant::now() > deadline {
                return;
            }
            std::thread::yield_now();
        }
    }
}

/// The receiving thread goes to sleep as the engine does, at any point of a frame's path.
pub(crate) fn sleeper__gets_every_frame_once_and_in_order() {
    let seed = seed::of("sleeper__gets_every_frame_once_and_in_order");
    let mut link = Link::open();
    let (first, address) = (link.sent, link.from.to);
    let Link { from, to, tcx_rx, .. } = &mut link;
    to.take_tcx_rx();
    let (mut received, mut doubled, mut sleeps) = (first, 0, 0);
    let all = AtomicU32::new(first);
    std::thread::scope(|scope| {
        scope.spawn(|| send_alone(from, first, &all, seed::generator(seed)));
        run_on_processor(true);
        let mut dice = seed::generator(seed + 1);
        while received < first + FRAMES {
            let mut take = |f: &[u8]| {
                // Sleeps are counted, so that the test continues until there were enough.
                if received > first && number(f) == received - 1 {
                    doubled += 1;
                } else {
                    next(address, &mut received)(f);
                }
            };
            if to.receive_frames(64, &mut take).expect("they can be had").frames > 0 {
                all.store(received, Ordering::Relaxed);
                continue;
            }
            tcx_rx.enable(!waits(to));
            let polls = dice.pick(&[0, 1, 10, 100, 10_000]);
            if (0..polls).any(|_| waits(to)) || tcx_rx.disable() {
                continue;
            }
            assert!(sleep(to.as_fd(), patience()), "nobody is woken by frame {received}");
            sleeps += 1;
        }
    });
    let by_tcx_rx = to.take_tcx_rx();
    println!("{by_tcx_rx} frames by the tcx receive path, {sleeps} sleeps");
    assert!(by_tcx_rx > 0 && by_tcx_rx < u64::from(FRAMES) && sleeps > 0, "by both");
    assert_eq!(doubled, 0, "frames that came twice");
    let more = to.receive_frames(64, &mut next(address, &mut received)).expect("they can be had");
    assert_eq!(more.frames, 0);
}
