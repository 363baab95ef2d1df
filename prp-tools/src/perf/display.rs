//! How a measurement gets on, for a user who watches standard error.

use std::io::{self, IsTerminal};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use super::Common;
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
        bytes: impl Fn() -> u64 + Sync,
        work: impl FnOnce() -> T,
    ) -> T {
        if self.bar.is_hidden() {
            return work();
        }
        thread::scope(|scope| {
            let (stop, stopped) = channel::<()>();
            let bytes = &bytes;
            scope.spawn(move || {
                let (mut then, mut before) = (Instant::now(), 0);
                while stopped.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                    let (now, count) = (Instant::now(), bytes());
                    let gbps = (count - before) as f64 * 8e-9 / (now - then).as_secs_f64();
                    self.bar.set_message(format!("{transport} {gbps:.2} Gbit/s"));
                    (then, before) = (now, count);
                }
            });
            let done = work();
            drop(stop);
            done
        })
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
