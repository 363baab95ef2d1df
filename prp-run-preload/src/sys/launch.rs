//! Starting a holder, for a program that `prp run` has not started: its first socket of `AF_PRPF`
//! does that. Programs that it forks or executes have the same holder.

use std::ffi::{CStr, c_int, c_void};
use std::io::Write;
use std::mem::zeroed;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};

use prp_run::Settings;

use super::call::{self, Errno};
use super::{child, process};

/// Where the program is, from the folder of this library: beside it where both are built, and in
/// `bin` of what both are installed to.
const PLACES: [&str; 3] = ["prp", "../bin/prp", "../../bin/prp"];

/// The program, where the path leads to it.
const NAME: &CStr = c"prp";

/// What is said if the program is not found.
const NOT_FOUND: &[u8] =
    b"libprp_socket: no program prp beside the library, in its bin or in the path: install it\n";

/// Bytes of the settings, at most, as text.
const ROOM: usize = 512;

/// Bytes of a path, with its end.
const PATH: usize = libc::PATH_MAX as usize;

/// Standard output.
const OUT: c_int = libc::STDOUT_FILENO;

/// Standard error.
const ERR: c_int = libc::STDERR_FILENO;

/// Whether it was said why there is no holder: that is said once.
static WAS_SAID: AtomicBool = AtomicBool::new(false);

/// Starts a holder for this process and those to come of it.
///
/// # Errors
/// `ENETDOWN` if there is none; standard error has the reason.
pub(super) fn start() -> Result<(), Errno> {
    let mut text = [0; ROOM];
    launch(&mut text[..ROOM - 1])?;
    // The end of the line ends the string.
    if let Some(end) = text.iter().position(|byte| *byte == b'\n') {
        text[end] = 0;
    }
    let text = CStr::from_bytes_until_nul(&text).unwrap_or_default();
    let Some(settings) = text.to_str().ok().and_then(|text| text.parse::<Settings>().ok()) else {
        WAS_SAID.store(true, Ordering::Relaxed);
        return Err(libc::ENETDOWN);
    };
    process::begin(settings, text);
    Ok(())
}

/// Has the program start a holder, and reads what it prints.
fn launch(text: &mut [u8]) -> Result<(), Errno> {
    let folder = folder();
    let [from, to] = child::pipe()?;
    // Above what the child has as its standard output.
    let to = child::move_above(to, ERR + 1)?;
    let is_quiet = WAS_SAID.load(Ordering::Relaxed);
    let (program, all) = (Program { folder, to: &to, is_quiet }, u64::MAX);
    // No handler of the program runs in the child.
    let before = child::signal_mask(all)?;
    // SAFETY: the child makes system calls and looks at the environment, and ends in `begin`.
    let child = match unsafe { child::clone() } {
        Ok(0) => program.begin(before),
        child => child,
    };
    let _ = child::signal_mask(before);
    let child = child?;
    drop(to);
    let mut len = 0;
    // Not until the end of file: a child of another thread may have the pipe open as well.
    while len < text.len() && !text[..len].contains(&b'\n') {
        match call::read(&from, &mut text[len..]) {
            Ok(0) => break,
            Ok(count) => len += count,
            Err(libc::EINTR) => {}
            Err(_) => break,
        }
    }
    child::wait(child);
    Ok(())
}

/// The folder of this library, as the dynamic linker has found it.
fn folder() -> &'static [u8] {
    // SAFETY: all zeros is a value of this type.
    let mut found: libc::Dl_info = unsafe { zeroed() };
    let own = folder as fn() -> &'static [u8] as *const c_void;
    // SAFETY: the address is this function's.
    let is_found = unsafe { libc::dladdr(own, &raw mut found) } != 0;
    if !is_found || found.dli_fname.is_null() {
        return b"";
    }
    // SAFETY: the linker's string, which it keeps for as long as this library is loaded.
    let path = unsafe { CStr::from_ptr(found.dli_fname) }.to_bytes();
    path.iter().rposition(|byte| *byte == b'/').map_or(b"", |end| &path[..=end])
}

/// What the child becomes.
struct Program<'a> {
    folder: &'static [u8],
    to: &'a OwnedFd,
    is_quiet: bool,
}

impl Program<'_> {
    /// Has another process become the program, and ends this one. To execute a program is to become
    /// a child whose end its parent hears of, but nobody's is no child of the caller.
    fn begin(&self, mask: u64) -> ! {
        // SAFETY: as for this process, which has one thread.
        match unsafe { child::clone() } {
            Ok(0) => self.become_it(mask),
            _ => child::exit(0),
        }
    }

    /// Becomes the program in this process, whose signals get the mask `mask`.
    fn become_it(&self, mask: u64) -> ! {
        let said = if self.is_quiet { call::open(c"/dev/null").ok() } else { None };
        if let Some(null) = &said {
            let _ = call::dup3(null, ERR, 0);
        }
        if call::dup3(self.to, OUT, 0).is_ok() && child::signal_mask(mask).is_ok() {
            // A relative one was of the folder that the program was started in.
            if self.folder.starts_with(b"/") {
                for place in PLACES {
                    self.execute(&[self.folder, place.as_bytes()]);
                }
            }
            self.execute_of_path();
            child::write(ERR, NOT_FOUND);
        }
        child::exit(127)
    }

    /// Executes the program in a folder of the path. A program with privileges that its user does
    /// not have lets no user say what it executes.
    fn execute_of_path(&self) {
        // SAFETY: this process has one thread.
        let Some(path) = (unsafe { process::variable(c"PATH") }) else { return };
        for folder in
            path.to_bytes().split(|byte| *byte == b':').filter(|folder| folder.starts_with(b"/"))
        {
            self.execute(&[folder, b"/", NAME.to_bytes()]);
        }
    }

    /// Executes the file whose path has these parts. Returns if there is none.
    fn execute(&self, parts: &[&[u8]]) {
        let mut path = [0; PATH];
        let mut room = &mut path[..PATH - 1];
        if parts.iter().any(|part| room.write_all(part).is_err()) {
            return;
        }
        let Ok(path) = CStr::from_bytes_until_nul(&path) else { return };
        child::execute(path, [NAME, c"run", c"--hold"]);
    }
}
