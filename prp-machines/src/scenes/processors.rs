//! Processors that are few, busy, or taken by real-time threads.

use crate::failure::Outcome;
use crate::lab::{Flow, Lab};
use crate::scenes::{Scene, Setup};

/// The scenes of this file.
pub(super) const SCENES: fn() -> Vec<Scene> = || {
    vec![
        Scene::new("fifo", "both ends as SCHED_FIFO on one processor", fifo).with_any_card(),
        Scene::new("busy", "two busy loops on each processor beside", busy).with_any_card(),
        Scene::new("one-processor", "streams, messages and UDP with one processor", one_processor)
            .with(Setup::OneProcessor)
            .with_any_card(),
        Scene::new("memory", "little memory, and most of that taken", memory)
            .with(Setup::SmallMemory)
            .with_any_card(),
    ]
};

fn fifo(lab: &mut Lab) -> Outcome {
    let under = "taskset -c 0 chrt --fifo 50";
    lab.flow(&Flow { under, ..Flow::of(1_000_000) })?;
    // The machine has answered meanwhile, and so do the threads of its kernel.
    lab.beside(1, "taskset -c 0 true").map(drop)
}

fn busy(lab: &mut Lab) -> Outcome {
    let _loops = lab.start(
        1,
        "for _ in 1 2 3 4; do (while :; do :; done) & done; wait",
        crate::lab::STEP * 4,
    )?;
    lab.transfer(1_000_000)
}

fn one_processor(lab: &mut Lab) -> Outcome {
    lab.transfer(2_000_000)?;
    lab.flow(&Flow { options: "--messages", ..Flow::of(1_000_000) })?;
    lab.use_udp("eth0")?;
    lab.transfer(1_000_000)
}

fn memory(lab: &mut Lab) -> Outcome {
    // Files in memory take what is available but for 24 MiB.
    lab.beside(
        1,
        "mount -t tmpfs -o size=100% tmpfs /mnt\n\
         free=$(awk '/MemAvailable/ {print int($2 / 1024)}' /proc/meminfo)\n\
         if ((free > 24)); then dd if=/dev/zero of=/mnt/file bs=1M count=$((free - 24)); fi",
    )?;
    lab.transfer(2_000_000)?;
    lab.flow(&Flow { options: "--messages", ..Flow::of(1_000_000) })?;
    lab.beside(1, "umount /mnt").map(drop)
}
