//! Whether polling has been paying.

use std::time::Duration;

use super::settings::WaitSettings;
use super::tuning::{FAILED_POLLS, LONG_POLLS, LONGEST_RETRY_WAITS, RETRY_WAITS};

/// What earlier waits tell about polling.
#[derive(Copy, Clone, Debug)]
pub(super) struct PollHistory {
    failed_polls: u32,
    skipped_waits: u32,
    /// Waits without polling before it is tried again.
    retry_waits: u32,
    /// Waits that still may poll for the budget of a retry.
    long_polls: u32,
}

impl Default for PollHistory {
    fn default() -> Self {
        Self { failed_polls: 0, skipped_waits: 0, retry_waits: RETRY_WAITS, long_polls: 0 }
    }
}

impl PollHistory {
    /// How long to poll this time.
    pub(super) fn budget(&mut self, settings: &WaitSettings) -> Duration {
        let is_patient = settings.retry_budget > settings.budget;
        if self.long_polls > 0 && is_patient {
            return settings.retry_budget;
        }
        if self.failed_polls < FAILED_POLLS {
            return settings.budget;
        }
        self.skipped_waits += 1;
        if self.skipped_waits < self.retry_waits {
            return Duration::ZERO;
        }
        self.skipped_waits = 0;
        if is_patient {
            self.retry_waits = LONGEST_RETRY_WAITS.min(2 * self.retry_waits);
            self.long_polls = LONG_POLLS;
        }
        settings.retry_budget
    }

    /// A wait that polled as `settings` say was over after this time, or not before its budget was.
    pub(super) fn note(&mut self, settings: &WaitSettings, paid_after: Option<Duration>) {
        match paid_after {
            // Long waits are only worth it if they make the next ones short.
            Some(after) if self.long_polls > 0 && after > settings.budget => self.long_polls -= 1,
            Some(_) => *self = Self::default(),
            None => {
                self.failed_polls = self.failed_polls.saturating_add(1);
                self.long_polls /= 2;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::waiting::tuning::{BUDGET, PATIENT_BUDGET, RETRY_BUDGET};

    const ADAPTIVE: WaitSettings = WaitSettings::ADAPTIVE;
    const PATIENT: WaitSettings = WaitSettings::PATIENT;

    /// Polling has failed often enough not to be tried.
    fn failed() -> PollHistory {
        PollHistory { failed_polls: FAILED_POLLS, ..PollHistory::default() }
    }

    #[test]
    fn budget__adaptive_gives_up_when_polling_finds_nothing_and_comes_back() {
        let mut record = PollHistory::default();
        for _ in 0..FAILED_POLLS {
            assert_eq!(record.budget(&ADAPTIVE), BUDGET);
            record.note(&ADAPTIVE, None);
        }
        let tried = (0..RETRY_WAITS).filter(|_| !record.budget(&ADAPTIVE).is_zero()).count();
        assert_eq!(tried, 1);
        record.note(&ADAPTIVE, Some(Duration::ZERO));
        assert_eq!(record.budget(&ADAPTIVE), BUDGET);
        assert_eq!(record.budget(&PATIENT), PATIENT_BUDGET);
    }

    /// Waits until polling is tried again, which fails as often as it is tried then.
    fn waits_until_retry(record: &mut PollHistory, settings: &WaitSettings) -> u32 {
        let skipped = (1..).find(|_| !record.budget(settings).is_zero());
        record.note(settings, None);
        while record.long_polls > 0 {
            assert_eq!(record.budget(settings), RETRY_BUDGET);
            record.note(settings, None);
        }
        skipped.expect("a number")
    }

    #[test]
    fn budget__long_polls_that_do_not_pay_are_tried_less_and_less() {
        let mut record = failed();
        let waits = [(); 5].map(|()| waits_until_retry(&mut record, &PATIENT));
        assert_eq!(waits, [32, 64, 128, 256, 256]);
        record.note(&PATIENT, Some(Duration::ZERO));
        assert_eq!(record.budget(&PATIENT), PATIENT_BUDGET);
        // Short ones cost little: a conversation that begins after a pause is to be noticed soon.
        let mut record = failed();
        let waits = [(); 3].map(|()| waits_until_retry(&mut record, &ADAPTIVE));
        assert_eq!(waits, [32; 3]);
    }

    #[test]
    fn budget__patient_is_tried_for_long_waits_that_get_shorter() {
        let long = Some(RETRY_BUDGET / 2);
        // They stay long: it was tried some times, and rarely from then on.
        let mut record = failed();
        while record.budget(&PATIENT).is_zero() {}
        for _ in 0..LONG_POLLS {
            assert_eq!(record.budget(&PATIENT), RETRY_BUDGET);
            record.note(&PATIENT, long);
        }
        assert_eq!(record.budget(&PATIENT), Duration::ZERO);
        // They get shorter: the usual budget is enough again.
        while record.budget(&PATIENT).is_zero() {}
        record.note(&PATIENT, long);
        assert_eq!(record.budget(&PATIENT), RETRY_BUDGET);
        record.note(&PATIENT, Some(PATIENT_BUDGET));
        assert_eq!(record.budget(&PATIENT), PATIENT_BUDGET);
    }
}
