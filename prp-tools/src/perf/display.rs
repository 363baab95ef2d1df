//! How a measurement gets on, for a user who watches standard error.

use std::io::{self, IsTerminal};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::Common;
use super::meter::{self, Progress};
use super::transport::Transport;

/// How often a rate is shown: it has to be read.
const INTERVAL: Duration = Duration::from_millis(250);

/// A line at the bottom of the terminal, or nothing.
#[derive(Debug)]
pub(super) struct Display {
    bar: ProgressBar,
}

impl Display {
    /// A line that counts `legs`.
    pub(super) fn new(common: &Common, legs: u64) -> Self {
        if common.quiet || !io::stderr().is_terminal() {
            return Self { bar: ProgressBar::hidden() };
        }
        let bar = ProgressBar::new(legs);
        // The template is a constant.
        let style = ProgressStyle::with_template("[{bar:20}] {pos}/{len}  {msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> "));
        Self { bar }
    }

    /// Shows nothing.
    #[cfg(test)]
    pub(super) fn hidden() -> Self {
        Self { bar: ProgressBar::hidden() }
    }

    /// A leg begins.
    pub(super) fn begin(&self, transport: Transport, what: &str) {
        self.bar.set_message(format!("{transport} {what}"));
    }

    /// It has ended, with this result.
    pub(super) fn end(&self, transport: Transport, result: &str) {
        self.bar.set_message(format!("{transport} {result}"));
        self.bar.inc(1);
    }

    /// Shows the rate at which what `bytes` gives grows while `work` goes on.
    pub(super) fn watch<T>(
        &self,
        transport: Transport,
        bytes: impl Fn() -> u64 + Send,
        work: impl FnOnce() -> T,
    ) -> T {
        if self.bar.is_hidden() {
            return work();
        }
        let show = |interval: meter::Interval| {
            self.bar.set_message(format!("{transport} {:.2} Gbit/s", interval.gbps));
        };
        let progress = move || Progress { bytes: bytes(), retransmitted: None };
        meter::watch(INTERVAL, progress, show, work)
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
