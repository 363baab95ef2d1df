//! The roll call: where the ranks are, and whether any of them can go on.

use std::time::{Duration, Instant};

use prp_mpi::control::{Frame, Topic};

use super::{HUNG, Job, Rank};
use crate::rank_report::{self, Answers};

/// How long ranks may take to answer; those that do not are named as such.
const ANSWERS: Duration = Duration::from_millis(500);

/// After this time ranks that all wait are asked again: if nothing has happened to any of them
/// meanwhile, nothing will.
const AGAIN: Duration = Duration::from_secs(2);

/// The roll calls of a job.
#[derive(Debug, Default)]
pub(super) struct Roll {
    in_progress: Option<RollCall>,
    /// When all are asked again, and what they have said when all of them waited.
    again: Option<(Instant, Answers)>,
    /// What each rank did in the last report.
    shown: Vec<String>,
}

/// A roll call that was begun.
#[derive(Debug)]
struct RollCall {
    begun: Instant,
    /// Whether a rank has waited for longer than the limit: else the user has asked.
    is_for_limit: bool,
    /// What the ranks have said the time before, when all of them waited.
    before: Option<Answers>,
    answers: Answers,
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
    /// Asks all ranks where they are. `is_for_limit`: one of them has waited for too long.
    pub(super) fn ask_ranks(&mut self, is_for_limit: bool) {
        if !(is_for_limit && self.roll.again.is_some()) {
            self.begin_roll(is_for_limit, None);
        }
    }

    fn begin_roll(&mut self, is_for_limit: bool, before: Option<Answers>) {
        if self.roll.in_progress.is_none() && !self.ending.has_begun() {
            let (begun, answers) = (Instant::now(), Answers::new());
            self.roll.in_progress = Some(RollCall { begun, is_for_limit, before, answers });
            self.send_all(&Frame::new(Topic::RollCall, 0, []));
        }
    }

    /// Asks again when it is time, and reports once all have answered that can.
    pub(super) fn attend_roll(&mut self) {
        if self.roll.in_progress.is_none()
            && let Some((_, before)) = self.roll.again.take_if(|again| again.0 <= Instant::now())
        {
            self.begin_roll(true, Some(before));
        }
        let expected = self.ranks.iter().filter(|r| r.has_begun && !r.has_ended).count();
        let is_over =
            |call: &mut RollCall| call.answers.len() >= expected || call.begun.elapsed() >= ANSWERS;
        if let Some(call) = self.roll.in_progress.take_if(is_over) {
            self.finish_roll(call);
        }
    }

    fn finish_roll(&mut self, call: RollCall) {
        let RollCall { is_for_limit, before, mut answers, .. } = call;
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
        match before {
            _ if !is_for_limit => self.show(&answers),
            _ if !going_on.is_empty() => {
                let ranks = rank_report::spans(&going_on);
                let text = format!("ranks {ranks} do not wait for others: the job goes on");
                self.show_changed(&answers, &text);
            }
            None => self.roll.again = Some((Instant::now() + AGAIN, answers)),
            Some(before) if rank_report::has_moved(&before, &answers) => {
                let text = "messages still come, or a thread computes: the job goes on";
                self.show_changed(&answers, text);
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

    /// Shows where the ranks are, and what follows from it, unless that was shown before: ranks
    /// that wait for longer ask again and again.
    fn show_changed(&mut self, answers: &Answers, text: &str) {
        if self.roll.shown != rank_report::places(answers) {
            self.show(answers);
            self.printer.report(text);
        }
    }
}
