//! The processes that tests have started. A test that takes too long loses its own, so that what it
//! leaves behind, such as ports, does not fail the tests after it.

use std::cell::Cell;
use std::io;
use std::process::{Child, ExitStatus};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;

/// How long processes that were killed may take to end.
const LIMIT: Duration = Duration::from_secs(10);

/// Those that run, or whose end nobody has seen yet, so that their numbers are theirs.
static RUNNING: Mutex<Vec<(TestName, Pid)>> = Mutex::new(Vec::new());

thread_local! {
    static TEST: Cell<TestName> = const { Cell::new(None) };
}

/// The name of the test that a thread works for.
pub(crate) type TestName = Option<&'static str>;

/// The test that the calling thread works for.
pub(crate) fn current_test() -> TestName {
    TEST.get()
}

/// Has the calling thread work for `test`.
pub(crate) fn work_for(test: TestName) {
    TEST.set(test);
}

fn running() -> MutexGuard<'static, Vec<(TestName, Pid)>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

fn pid(child: &Child) -> Pid {
    Pid::from_raw(child.id().cast_signed())
}

/// Notes `child` as a process of the current test.
pub(crate) fn note(child: &Child) {
    running().push((current_test(), pid(child)));
}

/// As [`Child::try_wait`], of a process that was noted.
pub(crate) fn try_wait(child: &mut Child) -> io::Result<Option<ExitStatus>> {
    let mut running = running();
    let ended = child.try_wait()?;
    if ended.is_some() {
        running.retain(|(_, noted)| *noted != pid(child));
    }
    Ok(ended)
}

/// As [`Child::wait`], of a process that was noted.
pub(crate) fn wait(child: &mut Child) -> io::Result<ExitStatus> {
    // Not with the lock: it may take long.
    let _ = waitid(Id::Pid(pid(child)), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT);
    let mut running = running();
    let ended = child.wait()?;
    running.retain(|(_, noted)| *noted != pid(child));
    Ok(ended)
}

/// Kills the processes of `test`, and waits for their end. Whoever started them sees it as well.
pub(crate) fn kill_those_of(test: &'static str) {
    let pids: Vec<_> = {
        let running = running();
        let own = running.iter().filter(|(owner, _)| *owner == Some(test)).map(|(_, pid)| *pid);
        own.inspect(|pid| _ = kill(*pid, Signal::SIGKILL)).collect()
    };
    let until = Instant::now() + LIMIT;
    let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT | WaitPidFlag::WNOHANG;
    for pid in pids {
        while waitid(Id::Pid(pid), flags) == Ok(WaitStatus::StillAlive) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn sleeper(test: &'static str) -> Child {
        work_for(Some(test));
        let child = Command::new("sleep").arg("1000").spawn().expect("sleep(1)");
        note(&child);
        child
    }

    #[test]
    fn kill_those_of__ends_the_processes_of_one_test() {
        let (mut slow, mut other) = (sleeper("slow"), sleeper("other"));
        kill_those_of("slow");
        assert!(try_wait(&mut slow).expect("a child").is_some());
        assert!(try_wait(&mut other).expect("a child").is_none());
        other.kill().expect("a child");
        wait(&mut other).expect("a child");
        let is_noted = |child: &Child| running().iter().any(|(_, noted)| *noted == pid(child));
        assert!(!is_noted(&slow) && !is_noted(&other));
    }
}
