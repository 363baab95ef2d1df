use super::*;

const QUICK: Duration = Duration::from_nanos(200);
const LONG_PAUSE: Duration = Duration::from_millis(1);

/// A program whose time passes as the test says.
struct Program {
    bursts: Bursts,
    now: Instant,
}

impl Program {
    fn new() -> Self {
        Self { bursts: Bursts::new(), now: Instant::now() }
    }

    /// Begins `messages` messages, and computes for `gap` after each. Which of them may wait.
    fn begin(&mut self, messages: usize, gap: Duration) -> Vec<bool> {
        let begin = |_| {
            let may_wait = self.bursts.begin(|| self.now);
            self.now += gap;
            may_wait
        };
        (0..messages).map(begin).collect()
    }

    /// The same, and then waits for something.
    fn burst(&mut self, messages: usize, gap: Duration) -> Vec<bool> {
        let may_wait = self.begin(messages, gap);
        self.bursts.end(|| self.now);
        may_wait
    }

    /// Bursts of two until the first message of one waits.
    fn bursts_until_one_waits(&mut self) -> u32 {
        let mut bursts = 0;
        while !self.burst(2, QUICK)[0] {
            bursts += 1;
        }
        bursts
    }
}

#[test]
fn begin__lets_all_but_the_last_message_wait_once_bursts_repeat() {
    let mut program = Program::new();
    let until = (1..100).find(|_| program.burst(3, QUICK)[0]);
    assert!((4..8).contains(&until.unwrap()), "{until:?}");
    assert_eq!(program.burst(3, QUICK), [true, true, false]);
}

#[test]
fn begin__lets_no_message_wait_that_is_alone() {
    let mut program = Program::new();
    for _ in 0..100 {
        assert_eq!(program.burst(1, QUICK), [false]);
    }
}

#[test]
fn begin__reads_no_clock_for_messages_alone() {
    let mut bursts = Bursts::new();
    for _ in 0..100 {
        assert!(!bursts.begin(|| unreachable!("the clock was read")));
        bursts.sent(|| unreachable!("the clock was read"));
        bursts.end(|| unreachable!("the clock was read"));
    }
}

#[test]
fn begin__lets_no_message_wait_where_the_program_computes_between_them() {
    let mut program = Program::new();
    for _ in 0..1000 {
        assert_eq!(program.burst(2, Duration::from_nanos(SAVED as u64 + 1)), [false; 2]);
    }
}

#[test]
fn begin__lets_no_message_wait_where_the_program_computes_after_shorter_bursts() {
    let mut program = Program::new();
    let mut waited = 0;
    for _ in 0..1000 {
        program.burst(2, QUICK);
        waited += usize::from(program.burst(1, LONG_PAUSE)[0]);
    }
    assert_eq!(waited, 0);
}

#[test]
fn begin__lets_messages_of_bursts_wait_that_differ_but_are_quick() {
    let mut program = Program::new();
    program.bursts_until_one_waits();
    for _ in 0..100 {
        assert_eq!(program.burst(3, QUICK), [true, false, false]);
        assert_eq!(program.burst(2, QUICK), [true, true]);
    }
}

#[test]
fn begin__lets_messages_wait_in_vain_no_longer_than_they_have_saved() {
    let mut program = Program::new();
    for _ in 0..10_000 {
        program.burst(2, QUICK);
    }
    let begun = program.now;
    while program.burst(2, Duration::from_micros(10))[0] {}
    assert!(program.now - begun < Duration::from_nanos(3 * MAX_BALANCE as u64));
}

#[test]
fn begin__lets_messages_wait_again_after_an_interrupt() {
    let mut program = Program::new();
    for _ in 0..100 {
        program.burst(2, QUICK);
    }
    program.burst(2, Duration::from_micros(20));
    assert_eq!(program.burst(2, QUICK), [true, false]);
}

#[test]
fn sent__leaves_the_time_out_that_sending_took() {
    let mut program = Program::new();
    let mut waits = false;
    for _ in 0..20 {
        waits |= program.begin(1, LONG_PAUSE)[0];
        if !waits {
            program.bursts.sent(|| program.now);
        }
        program.burst(1, QUICK);
    }
    assert!(waits);
}

#[test]
fn is_overdue__is_true_at_the_second_check() {
    let mut program = Program::new();
    program.bursts_until_one_waits();
    assert_eq!(program.begin(1, LONG_PAUSE), [true]);
    assert!(!program.bursts.is_overdue(|| program.now));
    assert!(program.bursts.is_overdue(|| program.now));
    assert!(!program.bursts.is_overdue(|| program.now), "it was sent");
}

#[test]
fn is_overdue__counts_checks_of_one_burst_only() {
    let mut program = Program::new();
    for _ in 0..100 {
        program.burst(2, QUICK);
    }
    for _ in 0..10 {
        assert_eq!(program.begin(1, QUICK), [true]);
        assert!(!program.bursts.is_overdue(|| program.now));
        assert_eq!(program.burst(1, QUICK), [false]);
    }
}

#[test]
fn is_overdue__takes_the_time_from_the_account() {
    let mut program = Program::new();
    program.bursts_until_one_waits();
    program.begin(1, LONG_PAUSE);
    program.bursts.is_overdue(|| program.now);
    program.bursts.is_overdue(|| program.now);
    program.burst(1, QUICK);
    assert!(program.bursts_until_one_waits() > 500);
}
