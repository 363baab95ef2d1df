//! `prp top`: the connections of this node, live: rates, latency, queues and losses.

mod rates;
mod screen;
mod text;
mod view;

use std::io::{self, IsTerminal};
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;
use ratatui::Frame;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::argument::{number, seconds};
use crate::exit::{Code, Failure, help};
use crate::hosts::names::Names;
use crate::print::{print_json, print_line};
use crate::signals::Signals;
use crate::stat::{ANSWER_TIMEOUT, ConnectionFilter, Snapshot};
use rates::{Rates, Sample};
use screen::Screen;
use view::{Sort, View};

/// Watch the connections of this node, live: rates, round-trip times, queues and losses.
///
/// FILTER is as of `prp stat`, and so is what a user sees: root all processes, others their own.
/// Keys: q or Ctrl-C ends it, s sorts by the next column, arrows and page keys scroll.
#[derive(Debug, Args)]
#[command(after_help = help("\
  prp top                               live, until q
  prp top -o rtt dst beta               connections to node beta, the slowest first
  prp top --once                        one block of text, for a report
  prp top -b -d 10 >log                 a block every 10 seconds, until Ctrl-C
  prp top --json -n 5                   five times, an object a line
"))]
pub(crate) struct TopArgs {
    /// Which connections, in the words of `prp stat`
    #[arg(value_name = "FILTER")]
    filter: Vec<String>,
    /// Seconds between two samples
    #[arg(short, long, value_name = "SECS", value_parser = delay, default_value = "1")]
    delay: Duration,
    /// End after this number of samples
    #[arg(short = 'n', long, value_name = "N", value_parser = number::<u64>(1..=u64::MAX))]
    count: Option<u64>,
    /// Print text, a block for each sample, and read no keys
    #[arg(short, long)]
    batch: bool,
    /// One block of text: as -b -n 1
    #[arg(long, conflicts_with = "count")]
    once: bool,
    /// An object a line as JSON
    #[arg(long, conflicts_with = "batch")]
    json: bool,
    /// What the first connections have most of
    #[arg(short = 'o', long, value_enum, default_value_t = Sort::Rate)]
    sort: Sort,
    /// Names of nodes, from prphosts
    #[arg(short, long)]
    resolve: bool,
}

/// The shortest time between two samples: processes write what they have no more often.
const SHORTEST: Duration = Duration::from_millis(100);

/// The time before the second sample, which is the first with rates: users do not like to wait for
/// it.
const BEFORE_RATES: Duration = Duration::from_millis(250);

/// A time between two samples, in seconds.
fn delay(text: &str) -> Result<Duration, String> {
    let delay = seconds(text)?;
    if delay < SHORTEST {
        return Err("expected a number of seconds of at least 0.1".into());
    }
    Ok(delay)
}

/// Runs `prp top`.
pub(crate) fn run(args: &TopArgs) -> Result<(), Failure> {
    let filter = ConnectionFilter::parse(&args.filter, false, false)?;
    let view = View { sort: args.sort, first_row: 0, names: Names::load(args.resolve) };
    let count = if args.once { Some(1) } else { args.count };
    if args.json || args.batch || args.once {
        return print(args, &filter, &view, count);
    }
    if !io::stdout().is_terminal() {
        let text = "standard output is no terminal: `prp top -b` prints text, --json objects";
        return Err(Failure::new(Code::Usage, text));
    }
    let signals = Signals::watch().map_err(|e| Failure::local("waiting for signals", &e))?;
    let screen = Screen::open().map_err(|e| failed(&e))?;
    let closing = screen.clone();
    signals.set_listener(move |_| closing.close());
    let ended = watch(args.delay, &filter, view, count, &screen);
    screen.close();
    signals.clear_listener();
    ended
}

fn failed(error: &io::Error) -> Failure {
    Failure::local("the terminal", error)
}

/// A sample of all processes.
fn take_sample(rates: &mut Rates, filter: &ConnectionFilter) -> Result<Sample, Failure> {
    let snapshot = Snapshot::take(ANSWER_TIMEOUT).map_err(|e| Failure::local("/proc", &e))?;
    Ok(rates.sample(&snapshot, Instant::now(), |connection| filter.takes(connection)))
}

/// Prints, in place of a screen. The first block has rates, too: it comes after one delay.
fn print(
    args: &TopArgs,
    filter: &ConnectionFilter,
    view: &View,
    count: Option<u64>,
) -> Result<(), Failure> {
    let mut rates = Rates::default();
    take_sample(&mut rates, filter)?;
    let mut blocks = 0;
    while count.is_none_or(|count| blocks < count) {
        thread::sleep(args.delay);
        let mut sample = take_sample(&mut rates, filter)?;
        view.sort.apply(&mut sample.connections);
        if args.json {
            print_json(&sample, false)?;
        } else {
            let gap = if blocks == 0 { "" } else { "\n" };
            print_line(format_args!("{gap}{}", text::block(&sample, view)))?;
        }
        blocks += 1;
    }
    Ok(())
}

/// Shows one sample after another, until a key ends it.
fn watch(
    delay: Duration,
    filter: &ConnectionFilter,
    mut view: View,
    count: Option<u64>,
    screen: &Screen,
) -> Result<(), Failure> {
    let mut rates = Rates::default();
    let mut samples = 0_u64;
    while count.is_none_or(|count| samples < count) {
        let mut sample = take_sample(&mut rates, filter)?;
        samples += 1;
        let pause = if samples == 1 { delay.min(BEFORE_RATES) } else { delay };
        if !show(&mut sample, &mut view, Instant::now() + pause, screen)? {
            break;
        }
    }
    Ok(())
}

/// Shows `sample` until then, and does what keys say; whether to go on.
fn show(
    sample: &mut Sample,
    view: &mut View,
    until: Instant,
    screen: &Screen,
) -> Result<bool, Failure> {
    loop {
        view.sort.apply(&mut sample.connections);
        let mut page = 0;
        let draw = |frame: &mut Frame<'_>| {
            page = view.draw(sample, frame.area(), frame.buffer_mut());
        };
        screen.draw(draw).map_err(|e| failed(&e))?;
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || !event::poll(left).map_err(|e| failed(&e))? {
            return Ok(true);
        }
        // Anything else, a new size for one, is a reason to draw again.
        if let Event::Key(key) = event::read().map_err(|e| failed(&e))?
            && key.kind == KeyEventKind::Press
            && !press(key, view, page, sample.connections.len())
        {
            return Ok(false);
        }
    }
}

/// Does what a key says; whether to go on. `page` of `rows` rows are shown.
fn press(key: KeyEvent, view: &mut View, page: usize, rows: usize) -> bool {
    let to = match key.code {
        KeyCode::Char('q') | KeyCode::Esc => return false,
        // The terminal makes no signal of it while it hands over keys.
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return false,
        KeyCode::Char('s') => {
            view.sort = view.sort.next();
            0
        }
        KeyCode::Up => view.first_row.saturating_sub(1),
        KeyCode::Down => view.first_row + 1,
        KeyCode::PageUp => view.first_row.saturating_sub(page),
        KeyCode::PageDown => view.first_row + page,
        KeyCode::Home => 0,
        KeyCode::End => rows,
        _ => view.first_row,
    };
    view.first_row = to.min(rows.saturating_sub(page));
    true
}

#[cfg(test)]
mod tests;
