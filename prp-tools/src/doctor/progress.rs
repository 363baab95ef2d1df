//! What is being examined, for a user who watches standard error.

use std::fmt::Display;

use indicatif::{ProgressBar, ProgressStyle};

/// A line at the bottom of the terminal; nothing where standard error is none.
#[derive(Debug)]
pub(super) struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// A line that is still empty.
    pub(super) fn new() -> Self {
        let bar = ProgressBar::new_spinner();
        // The template is a constant.
        let style = ProgressStyle::with_template("{msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        Self { bar }
    }

    /// Says that `what` is examined now.
    pub(super) fn show(&self, what: impl Display) {
        if !self.bar.is_hidden() {
            self.bar.set_message(format!("examining {what}"));
            self.bar.tick();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
