use super::*;

fn incast(controller: Controller, kib: usize, seed: u64) -> Finding {
    let queue = QueueLimit::Bytes(kib * 1024);
    let experiment = Experiment { seed, controller, senders: 32, queue, ..Experiment::default() };
    experiment.run().unwrap()
}

/// Thirty-two senders to one receiver over a switch that queues 21 full frames for it, or 43, or
/// 87: the receiver's cable stays full, and every sender gets a share of it.
#[test]
fn incast__full_and_fair() {
    for (kib, seed) in [(32, 1), (32, 3), (32, 5), (64, 1), (64, 6), (128, 1)] {
        let found = incast(Controller::default(), kib, seed);
        assert!(found.share >= 0.9, "{kib} KiB, seed {seed}: {found:?}");
        assert!(found.fairness >= 0.9, "{kib} KiB, seed {seed}: {found:?}");
    }
}

fn lossy(controller: Controller, loss: u32) -> Finding {
    let experiment = Experiment {
        controller,
        loss,
        delay: Duration::from_micros(50),
        span: Duration::from_millis(500),
        ..Experiment::default()
    };
    experiment.run().unwrap()
}

/// Frames lost at random, 0.1, 1 and 5 %, cost little more than themselves; to a controller that
/// takes every loss for congestion they cost half of the link.
#[test]
fn loss__costs_what_is_lost() {
    for (loss, least) in [(0, 0.99), (1_000, 0.98), (10_000, 0.96), (50_000, 0.88)] {
        let found = lossy(Controller::default(), loss);
        assert!(found.share >= least, "{loss} in a million: {found:?}");
    }
    let blind = lossy(Controller::Aimd, 50_000);
    assert!(blind.share < 0.7, "the experiment tells controllers apart: {blind:?}");
}

#[test]
fn run__the_same_twice() {
    let once = || {
        let queue = QueueLimit::Bytes(64 * 1024);
        let span = Duration::from_millis(50);
        Experiment { senders: 4, queue, loss: 1000, span, ..Experiment::default() }.run()
    };
    assert_eq!(once(), once());
}
