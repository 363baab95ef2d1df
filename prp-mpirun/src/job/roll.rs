//! The roll call: where the ranks are, and whether any of them can go on.

use std::time::{Duration, Instant};

use prp_mpi::control::{Frame, Topic};

use super::{HUNG, Job, Rank};
use crate::rank_report::{self, Answers};

/// How long ranks may take to answer; those that do not are named as such.
const ANSWERS: Duration = Duration::from_millis(500);

/// Why ranks are asked.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) enum Reason {
    /// The user wants to know.
    User,
    /// A rank will have waited for longer than the limit after this time. If nothing happens to any
    /// rank meanwhile, nothing will.
    Nearly(Duration),
    /// A rank has. All are asked again after this time, unless they were asked before the limit.
    Limit(Duration),
}

/// The roll calls of a job.
#[derive(Debug, Default)]
pub(super) struct Roll {
    in_progress: Option<RollCall>,
    /// What all ranks have said when all of them waited.
    again: Option<Again>,
    /// What each rank did in the last report.
    shown: Vec<String>,
}

/// A roll call that was begun.
#[derive(Debug)]
struct RollCall {
    begun: Instant,
    reason: Reason,
    /// What the ranks have said the time before, when all of them waited.
    before: Option<Answers>,
    answers: Answers,
}

/// All ranks are asked again.
#[derive(Debug)]
struct Again {
    at: Instant,
    reason: Reason,
    before: Answers,
}

impl Roll {
    /// A rank has answered.
    pub(super) fn note(&mut self, rank: usize, answer: String) {
        if let Some(call) = &mut self.in_progress {
            call.answers.insert(rank, answer);
        }
    }
}

impl Job<'_> {
    /// Asks all ranks where they are, unless that was begun already.
    pub(super) fn ask_ranks(&mut self, reason: Reason) {
        let Roll { in_progress, again, .. } = &mut self.roll;
        let begun = in_progress.as_mut().map(|call| &mut call.reason);
        let begun = begun.or_else(|| again.as_mut().map(|again| &mut again.reason));
        match (begun, reason) {
            (None, _) | (Some(_), Reason::User) => self.begin_roll(reason, None),
            // What was found before the limit counts.
            (Some(begun @ Reason::Nearly(_)), Reason::Limit(_)) => *begun = reason,
            (Some(_), _) => {}
        }
    }

    fn begin_roll(&mut self, reason: Reason, before: Option<Answers>) {
        if self.roll.in_progress.is_none() && !self.ending.has_begun() {
            let (begun, answers) = (Instant::now(), Answers::new());
            self.roll.in_progress = Some(RollCall { begun, reason, before, answers });
            self.send_all(&Frame::new(Topic::RollCall, 0, []));
        }
    }

    /// Asks again when it is time, and reports once all have answered that can.
    pub(super) fn attend_roll(&mut self) {
        if self.roll.in_progress.is_none()
            && let Some(again) = self.roll.again.take_if(|again| again.at <= Instant::now())
        {
            self.begin_roll(again.reason, Some(again.before));
        }
        let expected = self.ranks.iter().filter(|r| r.has_begun && !r.has_ended).count();
        let is_over =
            |call: &mut RollCall| call.answers.len() >= expected || call.begun.elapsed() >= ANSWERS;
        if let Some(call) = self.roll.in_progress.take_if(is_over) {
            self.finish_roll(call);
        }
    }

    fn finish_roll(&mut self, call: RollCall) {
        let RollCall { reason, before, mut answers, .. } = call;
        for (rank, state) in self.ranks.iter().enumerate() {
            answers.entry(rank).or_insert_with(|| {
                let text = match state {
                    Rank { has_ended: true, .. } => rank_report::ENDED,
                    Rank { has_begun: false, .. } => "has not called MPI_Init",
                    _ => "does not answer",
                };
                text.to_owned()
            });
        }
        let going_on = rank_report::going_on(&answers);
        let (Reason::Nearly(quiet) | Reason::Limit(quiet)) = reason else {
            return self.show(&answers);
        };
        match before {
            _ if !going_on.is_empty() => {
                let ranks = rank_report::spans(&going_on);
                let text = format!("ranks {ranks} do not wait for others: the job goes on");
                self.show_changed(reason, &answers, &text);
            }
            None => {
                let at = Instant::now() + quiet;
                self.roll.again = Some(Again { at, reason, before: answers });
            }
            Some(before) if rank_report::has_moved(&before, &answers, quiet) => {
                let text = "messages still come, or a thread computes: the job goes on";
                self.show_changed(reason, &answers, text);
            }
            Some(_) => {
                self.show(&answers);
                self.fail(HUNG, "the ranks wait for each other: the job ends");
            }
        }
    }

    fn show(&mut self, answers: &Answers) {
        let report = rank_report::report(answers);
        self.printer.report(&format!("where the ranks are:\n{}", report.trim_end()));
        self.roll.shown = rank_report::places(answers);
    }

    /// Shows where the ranks are beyond the limit, and what follows from it, unless that was shown
    /// before: ranks that wait for longer ask again and again.
    fn show_changed(&mut self, reason: Reason, answers: &Answers, text: &str) {
        if matches!(reason, Reason::Limit(_)) && self.roll.shown != rank_report::places(answers) {
            self.show(answers);
            self.printer.report(text);
        }
    }
}
