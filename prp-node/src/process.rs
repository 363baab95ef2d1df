//! Other processes of the machine, as the kernel shows them.

use std::fs;
use std::path::Path;

use crate::printable::printable;

/// Returns the name of a process's program, printable and without line breaks; nothing if there is
/// no such process.
pub fn program(pid: u32) -> String {
    program_in(Path::new(&format!("/proc/{pid}")))
}

/// As [`program`], of the process with this folder in `/proc`: by a descriptor of that it is the
/// same process, also where another one has its number by now.
pub(crate) fn program_in(folder: &Path) -> String {
    let name = fs::read(folder.join("comm")).unwrap_or_default();
    printable(name.strip_suffix(b"\n").unwrap_or(&name))
}

/// Returns whether a process is stopped: by a signal, or by a debugger.
pub fn is_stopped(pid: u32) -> bool {
    matches!(state(&fs::read(format!("/proc/{pid}/stat")).unwrap_or_default()), Some(b'T' | b't'))
}

/// The state of a process, by its `/proc/PID/stat`. The name of its program, in parentheses before
/// it, may have any bytes.
fn state(stat: &[u8]) -> Option<u8> {
    let name_end = stat.iter().rposition(|byte| *byte == b')')?;
    stat.get(name_end + 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state__is_behind_any_name() {
        assert_eq!(state(b"7 (a) b) T 1 7"), Some(b'T'));
        assert_eq!(state(b"7 (\xff T) S 1 7"), Some(b'S'));
        assert_eq!((state(b""), state(b"7 (a)")), (None, None));
        assert!(!is_stopped(std::process::id()));
    }

    #[test]
    fn program__of_this_process_has_a_name() {
        let name = program(std::process::id());
        assert!(!name.is_empty() && !name.contains('\n'), "{name:?}");
        assert_eq!(program(u32::MAX), "");
    }
}
