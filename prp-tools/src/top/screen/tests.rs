use std::fs::File;
use std::io::Read;
use std::process::{Command, ExitStatus};
use std::thread;

use nix::pty::{Winsize, openpty};
use nix::sys::termios::{LocalFlags, tcgetattr};
use ratatui::text::Line;
use ratatui::widgets::Widget;

use super::*;

/// Runs the test `name` of this file at a terminal of its own: what it has written there, and how
/// it ended. The terminal has lines of input again.
fn at_a_terminal(name: &str) -> (String, ExitStatus) {
    let size = Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };
    let pty = openpty(Some(&size), None).expect("a terminal");
    let end = || pty.slave.try_clone().expect("descriptors");
    let mut master = File::from(pty.master);
    let reader = thread::spawn(move || {
        let mut all = Vec::new();
        // It ends with an error: no process has the other side open.
        let _ = master.read_to_end(&mut all);
        String::from_utf8_lossy(&all).into_owned()
    });
    let status = {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.args(["--ignored", "--nocapture", "--exact"]);
        command.arg(format!("top::screen::tests::{name}"));
        command.stdin(end()).stdout(end()).stderr(end()).status().expect("it runs")
    };
    let mode = tcgetattr(&pty.slave).expect("a terminal").local_flags;
    assert!(mode.contains(LocalFlags::ICANON | LocalFlags::ECHO), "{mode:?}");
    drop(pty.slave);
    (reader.join().expect("no panic"), status)
}

/// The words that take another screen, and those that give it back and show the cursor.
const TAKE: &str = "\u{1b}[?1049h";
const GIVE_BACK: &str = "\u{1b}[?1049l\u{1b}[?25h";

fn draw(screen: &Screen) {
    let drawn = screen.draw(|frame| Line::raw("drawn").render(frame.area(), frame.buffer_mut()));
    drawn.expect("a terminal");
}

#[test]
#[ignore = "close__gives_the_terminal_back runs it at a terminal"]
fn at_a_terminal__close() {
    let screen = Screen::open().expect("a terminal");
    draw(&screen);
    screen.close();
    screen.draw(|_| panic!("it is closed")).expect("no terminal");
    screen.close();
}

#[test]
fn close__gives_the_terminal_back() {
    let (output, status) = at_a_terminal("at_a_terminal__close");
    assert!(status.success(), "{output}");
    let (_, screen) = output.split_once(TAKE).expect("a screen");
    let (screen, after) = screen.split_once(GIVE_BACK).expect("the screen before");
    assert!(screen.contains("drawn") && !after.contains('\u{1b}'), "{output:?}");
}

#[test]
#[ignore = "panic__gives_the_terminal_back runs it at a terminal"]
fn at_a_terminal__panic() {
    let screen = Screen::open().expect("a terminal");
    let _of_signals = screen.clone();
    draw(&screen);
    let _ = screen.draw(|_| panic!("a reason"));
}

/// And then says why.
#[test]
fn panic__gives_the_terminal_back() {
    let (output, status) = at_a_terminal("at_a_terminal__panic");
    assert!(!status.success(), "{output}");
    let (_, after) = output.split_once(GIVE_BACK).expect("the screen before");
    assert!(after.contains("a reason"), "{output:?}");
}
