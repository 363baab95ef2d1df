//! What prphosts says by now, beside what is in force of it.

use std::io;
use std::path::Path;

use prp_node::HostsFile;
use prp_node::explained::ExplainedError;
use prp_node::hosts::FileVersion;

/// What came of the last reading of prphosts, whether it was put in force or only looked at.
#[derive(Debug)]
pub(super) struct LatestReading {
    version: Option<FileVersion>,
    outcome: Outcome,
}

/// How what was read stands to what is in force.
#[derive(Debug)]
enum Outcome {
    /// It says the same.
    InForce,
    /// It says something else, and nobody has had it put in force.
    Differs,
    /// It could not be read, or has a mistake.
    Wrong(Problem),
    /// It was right, and could not be put in force.
    Refused(Problem),
}

/// Why what was read is not in force.
#[derive(Debug)]
struct Problem {
    why: String,
    /// What to do about that, where it says so.
    fix: Option<String>,
}

impl LatestReading {
    /// That of `file`, which is in force.
    pub(super) fn new(file: &HostsFile) -> Self {
        Self { version: Some(file.version()), outcome: Outcome::InForce }
    }

    /// Returns whether the file at `path` has to be read to know what it says now.
    pub(super) fn is_outdated(&self, path: &Path) -> bool {
        // What made it wrong may be elsewhere: rights, a device.
        matches!(self.outcome, Outcome::Wrong(_)) || FileVersion::of(path).ok() != self.version
    }

    /// Notes that `version` is in force now.
    pub(super) fn put_in_force(&mut self, version: Option<FileVersion>) {
        *self = Self { version, outcome: Outcome::InForce };
    }

    /// Notes that `version` was right and could not be put in force.
    pub(super) fn refused(&mut self, version: Option<FileVersion>, error: &io::Error) {
        *self = Self { version, outcome: Outcome::Refused(Problem::new(error)) };
    }

    /// Notes that `version` is wrong.
    pub(super) fn wrong(&mut self, version: Option<FileVersion>, error: &io::Error) {
        *self = Self { version, outcome: Outcome::Wrong(Problem::new(error)) };
    }

    /// Notes that `version` is right, and whether it `differs` from what is in force.
    pub(super) fn right(&mut self, version: Option<FileVersion>, differs: bool) {
        if version == self.version && matches!(self.outcome, Outcome::Refused(_)) {
            return;
        }
        let outcome = if differs { Outcome::Differs } else { Outcome::InForce };
        *self = Self { version, outcome };
    }

    /// Returns whether it can be put in force, and would change something.
    pub(super) const fn differs(&self) -> bool {
        matches!(self.outcome, Outcome::Differs)
    }

    /// Returns why it is not in force, if something is wrong with it.
    pub(super) fn error(&self) -> Option<&str> {
        self.problem().map(|problem| &*problem.why)
    }

    /// Returns what to do about that, if it is not enough to correct the file and to read it again.
    pub(super) fn fix(&self) -> Option<&str> {
        self.problem()?.fix.as_deref()
    }

    const fn problem(&self) -> Option<&Problem> {
        match &self.outcome {
            Outcome::InForce | Outcome::Differs => None,
            Outcome::Wrong(problem) | Outcome::Refused(problem) => Some(problem),
        }
    }
}

impl Problem {
    fn new(error: &io::Error) -> Self {
        let fix = ExplainedError::within(error).iter().find_map(|it| it.fix.clone());
        Self { why: error.to_string(), fix }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use tempfile::NamedTempFile;

    use super::*;

    const GOOD: &str = "1 02:00:00:00:00:01 eth0\n";

    /// A file with `GOOD` that is in force.
    fn in_force() -> (NamedTempFile, LatestReading) {
        let mut file = NamedTempFile::new().expect("a temporary file");
        file.write_all(GOOD.as_bytes()).expect("room");
        let read = HostsFile::load(file.path()).expect("a right file");
        (file, LatestReading::new(&read))
    }

    fn version(file: &NamedTempFile) -> Option<FileVersion> {
        FileVersion::of(file.path()).ok()
    }

    /// What is said of it: whether it is wrong, and whether it differs.
    fn said(latest: &LatestReading) -> (Option<&str>, bool) {
        (latest.error(), latest.differs())
    }

    #[test]
    fn is_outdated__once_it_is_written_and_as_long_as_it_is_wrong() {
        let (mut file, mut latest) = in_force();
        assert!(!latest.is_outdated(file.path()));
        file.write_all(b"2 02:00:00:00:00:02 eth0\n").expect("room");
        assert!(latest.is_outdated(file.path()));
        latest.right(version(&file), true);
        assert_eq!((latest.is_outdated(file.path()), said(&latest)), (false, (None, true)));
        latest.wrong(version(&file), &io::Error::other("no"));
        assert_eq!((latest.is_outdated(file.path()), said(&latest)), (true, (Some("no"), false)));
        latest.right(version(&file), false);
        assert_eq!((latest.is_outdated(file.path()), said(&latest)), (false, (None, false)));
        // A file that is gone is looked for.
        let path = file.path().to_owned();
        drop(file);
        assert!(latest.is_outdated(&path));
    }

    #[test]
    fn right__what_was_refused_stays_so_until_another_version() {
        let (mut file, mut latest) = in_force();
        latest.refused(version(&file), &io::Error::other("no socket"));
        assert!(!latest.is_outdated(file.path()));
        latest.right(version(&file), true);
        assert_eq!(said(&latest), (Some("no socket"), false));
        file.write_all(b"\n").expect("room");
        latest.right(version(&file), true);
        assert_eq!(said(&latest), (None, true));
        latest.put_in_force(version(&file));
        assert_eq!(said(&latest), (None, false));
    }
}
