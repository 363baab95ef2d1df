//! The terminal while it is a screen. Whatever ends the program, it is what it was before: a key,
//! a signal, a failure or a panic.

use std::sync::{Arc, Mutex, PoisonError};
use std::{io, panic};

use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::{DefaultTerminal, Frame, Terminal};

/// The screen, which a thread that waits for signals may close, too.
#[derive(Clone, Debug)]
pub(super) struct Screen {
    /// None, once it is closed.
    terminal: Arc<Mutex<Option<DefaultTerminal>>>,
}

impl Screen {
    /// Takes the terminal at standard output: without lines of input, and with another screen in
    /// place of what is there. A panic gives it back.
    ///
    /// # Errors
    /// There is no terminal.
    pub(super) fn open() -> io::Result<Self> {
        let previous_hook = panic::take_hook();
        panic::set_hook(Box::new(move |what| {
            restore();
            previous_hook(what);
        }));
        let terminal = take().inspect_err(|_| restore())?;
        Ok(Self { terminal: Arc::new(Mutex::new(Some(terminal))) })
    }

    /// Draws by `draw`, in the size that the terminal has now.
    ///
    /// # Errors
    /// The terminal takes nothing.
    pub(super) fn draw(&self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        let mut terminal = self.terminal.lock().unwrap_or_else(PoisonError::into_inner);
        // Closed by a signal, which ends the program in a moment.
        let Some(terminal) = terminal.as_mut() else { return Ok(()) };
        terminal.draw(draw).map(|_| ())
    }

    /// Gives the terminal back.
    pub(super) fn close(&self) {
        if self.terminal.lock().unwrap_or_else(PoisonError::into_inner).take().is_some() {
            restore();
        }
    }
}

fn take() -> io::Result<DefaultTerminal> {
    enable_raw_mode()?;
    execute!(io::stdout(), EnterAlternateScreen)?;
    Terminal::new(CrosstermBackend::new(io::stdout()))
}

/// Where the terminal is gone, that is no loss.
fn restore() {
    let _ = disable_raw_mode();
    let _ = execute!(io::stdout(), LeaveAlternateScreen, Show);
}

#[cfg(test)]
mod tests;
