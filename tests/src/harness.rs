//! Runs the tests of one file. They have names and plain functions; a test fails by panicking.
//!
//! Not the harness of `#[test]`, because that one counts a test that could not run as passed, has
//! no deadline, and cannot run a whole file inside a namespace.

use std::any::Any;
use std::fs::File;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use nix::fcntl::{Flock, FlockArg};

use crate::{children, cleanup, privilege};

/// How long a test may take. One that takes longer has failed and loses its processes, and the
/// others go on.
const LIMIT: Duration = Duration::from_secs(150);

/// The load of a test on a small machine.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum Load {
    /// Other light tests may run at the same time.
    Light,
    /// Runs alone, also among the tests of other files and processes.
    Heavy,
}

/// One test.
#[derive(Copy, Clone, Debug)]
pub struct Test {
    name: &'static str,
    load: Load,
    body: fn(),
}

impl Test {
    /// The test `body`, called `name`.
    pub const fn new(name: &'static str, load: Load, body: fn()) -> Self {
        Self { name, load, body }
    }
}

/// Defines the `main` of a file with a list of its tests: `main! { heavy: a, b; light: c, d; }`.
/// The function `first` runs before all tests, and does not count in their time.
#[macro_export]
macro_rules! main {
    ($(first: $first:path;)? $(heavy: $($heavy:ident),+ $(,)?;)? $(light: $($light:ident),+ $(,)?;)?) => {
        fn main() -> std::process::ExitCode {
            use $crate::harness::{Load, Test};
            $($first();)?
            $crate::harness::run(&[
                $($(Test::new(stringify!($heavy), Load::Heavy, $heavy),)+)?
                $($(Test::new(stringify!($light), Load::Light, $light),)+)?
            ])
        }
    };
}

/// The payload of the panic of a test that cannot run.
struct Skip(String);

/// Ends the calling test as skipped.
pub fn skip(needs: impl Into<String>) -> ! {
    resume_unwind(Box::new(Skip(needs.into())))
}

/// Runs `tests` by the arguments of the command line, as `cargo test` passes them on.
pub fn run(tests: &[Test]) -> ExitCode {
    let arguments = Arguments::from_args();
    cleanup::take_down_leftovers();
    let code = libtest_mimic::run(&arguments, trials(tests, needs_nodes)).exit_code();
    cleanup::take_down_own();
    code
}

/// As [`run`], in a process that already runs on a node.
pub(crate) fn run_here(tests: &[Test]) -> ExitCode {
    libtest_mimic::run(&Arguments::from_args(), trials(tests, || None)).exit_code()
}

/// As [`run`], for tests that cannot run at all.
pub(crate) fn run_none(tests: &[Test], needs: &str) -> ExitCode {
    let needs = needs.to_owned();
    let trials = trials(tests, move || Some(needs.clone()));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn needs_nodes() -> Option<String> {
    privilege::missing().map(str::to_owned)
}

fn trials(
    tests: &[Test],
    missing: impl Fn() -> Option<String> + Clone + Send + 'static,
) -> Vec<Trial> {
    let trial = |test: &Test| {
        let (test, missing) = (*test, missing.clone());
        Trial::ignorable_test(test.name, move || {
            if let Some(needs) = missing() {
                return Ok(skipped(test.name, &needs));
            }
            let _lock = lock_for(test.load).map_err(|e| format!("the lock of heavy tests: {e}"))?;
            within_limit(&test)
        })
    };
    tests.iter().map(trial).collect()
}

fn skipped(name: &str, needs: &str) -> Completion {
    println!("SKIPPED: needs {needs}: {name}");
    Completion::ignored_with(format!("needs {needs}"))
}

/// Runs a test on a separate thread, so that a hanging test does not delay the others.
fn within_limit(test: &Test) -> Result<Completion, Failed> {
    let (done, wait) = channel();
    let Test { name, body, .. } = *test;
    let thread = std::thread::Builder::new().name(name.into()).spawn(move || {
        children::work_for(Some(name));
        let outcome = catch_unwind(AssertUnwindSafe(body));
        let _ = done.send(outcome);
    });
    thread.map_err(|e| format!("no thread for the test: {e}"))?;
    match wait.recv_timeout(LIMIT) {
        Ok(Ok(())) => Ok(Completion::Completed),
        Ok(Err(payload)) => match payload.downcast::<Skip>() {
            Ok(skip) => Ok(skipped(test.name, &skip.0)),
            Err(payload) => Err(text(&*payload).into()),
        },
        Err(RecvTimeoutError::Timeout) => {
            children::kill_those_of(name);
            Err(format!("still running after {LIMIT:?}").into())
        }
        Err(RecvTimeoutError::Disconnected) => Err("ended without an outcome".into()),
    }
}

/// The message of a panic.
fn text(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("panicked").to_owned()
}

/// Set to [`lock_path`] for processes inside a user namespace: there every user is root, and would
/// use root's file.
pub(crate) const LOCK: &str = "PRP_TESTS_LOCK";

/// The lock file of all tests of one user.
pub(crate) fn lock_path() -> PathBuf {
    let own = || format!("/tmp/prp-tests-{}.lock", nix::unistd::geteuid()).into();
    std::env::var_os(LOCK).map_or_else(own, PathBuf::from)
}

/// Waits for the lock of a test of this load: any number of light ones, or one heavy one.
fn lock_for(load: Load) -> io::Result<Flock<File>> {
    let file = File::options().create(true).append(true).open(lock_path())?;
    let how = match load {
        Load::Light => FlockArg::LockShared,
        Load::Heavy => FlockArg::LockExclusive,
    };
    Flock::lock(file, how).map_err(|(_, e)| e.into())
}
