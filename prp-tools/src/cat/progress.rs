//! How far a transfer is, for a user who watches standard error.

use std::sync::atomic::{AtomicU64, Ordering};

use indicatif::{DecimalBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How often the display changes: often enough to seem alive, seldom enough to read.
const REDRAWS_PER_SECOND: u8 = 10;

/// While it is known how much there is to send.
const SENDING: &str = "{decimal_bytes:>9} of {decimal_total_bytes} [{wide_bar}] {percent:>3}%  \
                       {decimal_bytes_per_sec}  ETA {eta}";
/// While it is not.
const OPEN_END: &str = "{spinner} {msg}  {decimal_bytes_per_sec}  {elapsed}";

/// Bytes that have gone in each direction.
#[derive(Debug, Default)]
pub(super) struct Counts {
    sent: AtomicU64,
    received: AtomicU64,
}

impl Counts {
    pub(super) fn add_sent(&self, n: usize) {
        self.sent.fetch_add(n as u64, Ordering::Relaxed);
    }

    pub(super) fn add_received(&self, n: usize) {
        self.received.fetch_add(n as u64, Ordering::Relaxed);
    }

    pub(super) fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    pub(super) fn received(&self) -> u64 {
        self.received.load(Ordering::Relaxed)
    }
}

/// A line at the bottom of the terminal, or nothing.
#[derive(Debug)]
pub(super) struct Progress {
    bar: ProgressBar,
    /// Standard output is a terminal too: the line must be gone before anything is written there.
    shares_terminal: bool,
}

impl Progress {
    /// A line that is not shown.
    pub(super) fn hidden() -> Self {
        Self { bar: ProgressBar::hidden(), shares_terminal: false }
    }

    /// A line on standard error; `to_send` are the bytes there are to send, if that is known.
    pub(super) fn visible(to_send: Option<u64>, shares_terminal: bool) -> Self {
        let target = ProgressDrawTarget::stderr_with_hz(REDRAWS_PER_SECOND);
        // With nothing to send, what matters is what comes.
        let to_send = to_send.filter(|n| *n > 0);
        let bar = ProgressBar::with_draw_target(to_send, target);
        bar.set_style(style(if to_send.is_some() { SENDING } else { OPEN_END }));
        Self { bar, shares_terminal }
    }

    /// Shows what has gone in each direction.
    pub(super) fn show(&self, counts: &Counts) {
        if self.bar.is_hidden() {
            return;
        }
        let (sent, received) = (counts.sent(), counts.received());
        if self.bar.length().is_some_and(|to_send| sent >= to_send) {
            // All is sent; what remains to be seen is what comes back.
            self.bar.unset_length();
            self.bar.set_style(style(OPEN_END));
        }
        match self.bar.length() {
            Some(_) => self.bar.set_position(sent),
            None => {
                self.bar.set_message(transferred(sent, received));
                self.bar.set_position(sent + received);
            }
        }
        self.bar.tick();
    }

    /// Leaves the terminal to standard output if they share one.
    pub(super) fn yield_terminal(&self) {
        if self.shares_terminal && !self.bar.is_finished() {
            self.end();
        }
    }

    /// Takes the line away for good.
    pub(super) fn end(&self) {
        self.bar.finish_and_clear();
        self.bar.set_draw_target(ProgressDrawTarget::hidden());
    }
}

fn style(template: &str) -> ProgressStyle {
    // The templates are constants, which the tests have seen parse.
    let style = ProgressStyle::with_template(template);
    style
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ")
        .tick_chars("|/-\\ ")
}

fn transferred(sent: u64, received: u64) -> String {
    match (sent, received) {
        (_, 0) => format!("sent {}", DecimalBytes(sent)),
        (0, _) => format!("received {}", DecimalBytes(received)),
        _ => format!("sent {}, received {}", DecimalBytes(sent), DecimalBytes(received)),
    }
}

#[cfg(test)]
mod tests;
