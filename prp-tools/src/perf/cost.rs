//! What a measurement costs each end: processor time, wake-ups, and how many frames each of these
//! is for.

use serde::Serialize;

use super::control::Outcome;
use super::report::Figure;

/// What each end spends for a unit of work: 10^9 bytes, or a message one way.
#[derive(Debug, Serialize)]
pub(super) struct Cost {
    pub(super) client: EndCost,
    pub(super) server: EndCost,
}

/// What one end spends for a unit of work.
#[derive(Debug, Serialize)]
pub(super) struct EndCost {
    /// Processor seconds.
    pub(super) cpu_s: Figure,
    /// Times that a thread of the process slept until something woke it.
    pub(super) wake_ups: f64,
    /// Frames sent and received for each of those; `None` if it never slept.
    pub(super) frames_per_wake_up: Option<f64>,
}

/// What rounds of one transport add up to.
#[derive(Debug, Default)]
pub(super) struct CostSum {
    work: f64,
    client: EndSum,
    server: EndSum,
}

/// What one end has spent.
#[derive(Debug, Default)]
struct EndSum {
    /// Processor seconds for a unit of work, of each round.
    cpu: Vec<f64>,
    wake_ups: u64,
    frames: u64,
}

impl CostSum {
    /// Adds a round that did `work`.
    pub(super) fn add(&mut self, work: f64, client: &Outcome, server: &Outcome) {
        if work <= 0.0 {
            return;
        }
        self.work += work;
        for (sum, new) in [(&mut self.client, client), (&mut self.server, server)] {
            sum.cpu.push(new.cpu.total() / work);
            sum.wake_ups += new.wake_ups;
            sum.frames += new.frames.sent + new.frames.received;
        }
    }

    /// What they add up to; `None` if nothing was done.
    pub(super) fn finish(self) -> Option<Cost> {
        let Self { work, client, server } = self;
        (work > 0.0).then(|| Cost { client: client.by(work), server: server.by(work) })
    }
}

impl EndSum {
    fn by(self, work: f64) -> EndCost {
        let frames = (self.wake_ups > 0).then(|| self.frames as f64 / self.wake_ups as f64);
        EndCost {
            cpu_s: Figure::of(self.cpu),
            wake_ups: self.wake_ups as f64 / work,
            frames_per_wake_up: frames,
        }
    }
}

impl Cost {
    /// How often each end is woken by `unit` of work, for people.
    pub(super) fn wake_ups_text(&self, unit: &str) -> String {
        let text = |name: &str, end: &EndCost| {
            let frames = end.frames_per_wake_up.map(|n| format!(", {n:.1} frames each"));
            let decimals = if end.wake_ups < 100.0 { 2 } else { 0 };
            format!("{name} {:.decimals$}{}", end.wake_ups, frames.unwrap_or_default())
        };
        let (client, server) = (text("client", &self.client), text("server", &self.server));
        format!("woken for {unit}: {client}; {server}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perf::control::Frames;
    use crate::perf::usage::Usage;

    fn outcome(user: f64, wake_ups: u64, sent: u64) -> Outcome {
        let frames = Frames { sent, received: 10 };
        let cpu = Usage { user, system: 1.0 };
        Outcome { cpu, wake_ups, frames, ..Outcome::default() }
    }

    #[test]
    fn finish__divides_by_the_work_of_each_round_and_of_all() {
        let mut sum = CostSum::default();
        sum.add(1.0, &outcome(1.0, 300, 500), &outcome(0.0, 0, 0));
        sum.add(3.0, &outcome(2.0, 200, 480), &outcome(0.0, 0, 0));
        // A round in which nothing arrived says nothing.
        sum.add(0.0, &outcome(9.0, 9, 9), &outcome(0.0, 0, 0));
        let cost = sum.finish().expect("work");
        assert_eq!(cost.client.cpu_s.rounds, [2.0, 1.0]);
        assert_eq!((cost.client.wake_ups, cost.client.frames_per_wake_up), (125.0, Some(2.0)));
        assert_eq!((cost.server.wake_ups, cost.server.frames_per_wake_up), (0.0, None));
        let text = "woken for a gigabyte: client 125, 2.0 frames each; server 0.00";
        assert_eq!(cost.wake_ups_text("a gigabyte"), text);
        assert!(CostSum::default().finish().is_none());
    }
}
