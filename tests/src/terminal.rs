//! A pseudoterminal for a program, and the text on its screen.

use std::fmt::{self, Display, Formatter};
use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use nix::pty::{Winsize, openpty};
use nix::sys::termios::{LocalFlags, tcgetattr};

use crate::topology::Node;
use crate::wait;

/// A program on a node, and its terminal.
pub struct Terminal {
    /// The process of the program itself, to which signals can be sent.
    pub child: Child,
    keyboard: File,
    end: OwnedFd,
    screen: Arc<Mutex<vt100::Parser>>,
}

impl Terminal {
    /// Runs `words` on `node` in a terminal of `rows` rows and `columns` columns. It is the
    /// controlling terminal of the program, which so receives SIGWINCH and the signals of keys.
    ///
    /// # Panics
    /// There is no terminal.
    pub fn run(node: &Node<'_>, words: &[&str], rows: u16, columns: u16) -> Self {
        let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
        let pty = openpty(Some(&size), None).expect("a terminal");
        let stdio = || Stdio::from(pty.slave.try_clone().expect("descriptors"));
        let mut command = node.command("setsid");
        command.args(["--ctty", "--wait"]).args(words).env("TERM", "xterm");
        command.stdin(stdio()).stdout(stdio()).stderr(stdio());
        let child = command.spawn().expect("topo runs");
        let keyboard = File::from(pty.master);
        let mut output = keyboard.try_clone().expect("descriptors");
        let screen = Arc::new(Mutex::new(vt100::Parser::new(cells(rows), cells(columns), 0)));
        let parser = screen.clone();
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            // The read fails once no process has the other side open.
            while let Ok(n) = output.read(&mut bytes) {
                parser.lock().unwrap_or_else(PoisonError::into_inner).process(&bytes[..n]);
            }
        });
        Self { child, keyboard, end: pty.slave, screen }
    }

    fn parser(&self) -> MutexGuard<'_, vt100::Parser> {
        self.screen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The text that is on the screen.
    pub fn screen(&self) -> String {
        self.parser().screen().contents()
    }

    /// Waits until `is_there` returns true for the text on the screen.
    ///
    /// # Panics
    /// It never does.
    pub fn wait_for(&self, is_there: impl Fn(&str) -> bool) {
        wait::until(self, || is_there(&self.screen()).then_some(()));
    }

    /// Presses keys.
    ///
    /// # Panics
    /// There is no terminal any more.
    pub fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("a terminal");
    }

    /// Changes the size of the terminal.
    ///
    /// # Panics
    /// stty fails.
    pub fn resize(&self, rows: u16, columns: u16) {
        self.parser().screen_mut().set_size(cells(rows), cells(columns));
        let mut stty = Command::new("stty");
        stty.args(["rows", &rows.to_string(), "cols", &columns.to_string()]);
        let end = self.end.try_clone().expect("descriptors");
        assert!(stty.stdin(end).status().expect("stty runs").success());
    }

    /// Waits for the end of the program.
    ///
    /// # Panics
    /// It does not end, or it has not restored the terminal: the alternate screen, a
    /// hidden cursor, raw mode, or no echo.
    pub fn finish(mut self) -> ExitStatus {
        let status = wait::until("the program's end", || self.child.try_wait().expect("a child"));
        let mode = tcgetattr(&self.end).expect("a terminal").local_flags;
        assert!(mode.contains(LocalFlags::ICANON | LocalFlags::ECHO), "{mode:?}");
        wait::until(format_args!("the screen that was there: {self}"), || {
            let parser = self.parser();
            let screen = parser.screen();
            (!screen.alternate_screen() && !screen.hide_cursor()).then_some(())
        });
        status
    }
}

/// The text on the screen.
impl Display for Terminal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "the screen to change:\n{}", self.screen())
    }
}

fn cells(n: u16) -> NonZeroU16 {
    NonZeroU16::new(n).expect("a size")
}
