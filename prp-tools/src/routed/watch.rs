//! Asking again and again, as watch(1) does: at a terminal in place, else one block after another.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use console::Term;

use crate::argument;
use crate::exit::Failure;
use crate::print::{print_line, printable, unwritten};

/// Seconds between two questions, unless the user says otherwise.
pub(super) const DEFAULT: &str = "1";

/// The least time between two questions, as watch(1) has it: the daemon forwards frames with the
/// same thread.
const MIN_INTERVAL: Duration = Duration::from_millis(100);

/// The longest.
const MAX_INTERVAL: Duration = Duration::from_secs(86_400);

/// A time between two questions, as an argument in seconds.
pub(super) fn interval(text: &str) -> Result<Duration, &'static str> {
    let interval =
        argument::seconds(text).ok().filter(|it| (MIN_INTERVAL..=MAX_INTERVAL).contains(it));
    interval.ok_or("expected a number of seconds from 0.1 to 86400")
}

/// Shows what `ask` says, every `interval`, until standard output is closed. What is for programs
/// (`plain`) has no times beside it.
///
/// # Errors
/// What `ask` fails with: the first time, and where no terminal shows it. At a terminal a user
/// waits for it to end.
pub(super) fn run(
    interval: Duration,
    plain: bool,
    ask: impl Fn() -> Result<String, Failure>,
) -> Result<(), Failure> {
    let screen = Term::stdout();
    let mut blocks = 0_u64;
    loop {
        let answer = ask();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        if !screen.is_term() {
            print_line(if plain { answer? } else { block(blocks, now, &answer?) })?;
        } else {
            let answer = match answer {
                Err(failure) if blocks > 0 => format!("prp: {}", printable(failure.text())),
                answer => answer?,
            };
            let (height, width) = screen.size();
            let head = format!("every {} s, at {}", interval.as_secs_f64(), time(now));
            let picture = picture(&format!("{head}\n\n{answer}"), height.into(), width.into());
            screen.write_str(&picture).and_then(|()| screen.flush()).map_err(|e| unwritten(&e))?;
        }
        blocks += 1;
        std::thread::sleep(interval);
    }
}

/// What is printed where there is no terminal: an empty line and the time separate one block from
/// the next.
fn block(number: u64, now: Duration, answer: &str) -> String {
    let gap = if number == 0 { "" } else { "\n" };
    format!("{gap}{}\n{answer}", time(now))
}

/// What puts `text` on a terminal of this size, in place of what is there. What has no room is left
/// out: it would scroll. The last line of the terminal is for the shell.
fn picture(text: &str, height: usize, width: usize) -> String {
    // Home.
    let mut picture = String::from("\x1b[H");
    for line in text.lines().take(height.saturating_sub(1)) {
        let line: String = line.chars().take(width).collect();
        // Up to its end.
        let _ = writeln!(picture, "{line}\x1b[K");
    }
    // All below.
    picture + "\x1b[J"
}

/// The time of day, `now` after the beginning of 1970.
fn time(now: Duration) -> String {
    let seconds = now.as_secs() % 86_400;
    let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
    format!("{hours:02}:{minutes:02}:{:02} UTC", seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval__takes_fractions_and_no_zero() {
        assert_eq!(interval("0.5"), Ok(Duration::from_millis(500)));
        assert_eq!(interval(DEFAULT), Ok(Duration::from_secs(1)));
        for text in ["0", "0.01", "-1", "soon", "1e9", "nan"] {
            assert!(interval(text).is_err(), "{text}");
        }
    }

    #[test]
    fn block__is_separate_from_the_one_before() {
        let at = Duration::from_secs(3 * 86_400 + 4 * 3600 + 5 * 60 + 6);
        assert_eq!(block(0, at, "a\nb"), "04:05:06 UTC\na\nb");
        assert_eq!(block(1, at, "a\nb"), "\n04:05:06 UTC\na\nb");
    }

    #[test]
    fn picture__fits_the_terminal_and_leaves_nothing_of_the_last_one() {
        let picture = picture("first line\nsecond\nthird", 3, 5);
        assert_eq!(picture, "\x1b[Hfirst\x1b[K\nsecon\x1b[K\n\x1b[J");
    }

    #[test]
    fn run__ends_where_no_process_waits_for_the_daemon() {
        let gone = || Err(Failure::new(crate::exit::Code::Failed, "none runs"));
        assert_eq!(run(MIN_INTERVAL, false, gone).expect_err("it is gone").text(), "none runs");
    }
}
