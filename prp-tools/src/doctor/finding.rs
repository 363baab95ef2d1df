//! One thing that was found.

use std::fmt;

use prp_routed::check;
use serde::Serialize;

/// How bad it is.
#[derive(Copy, Clone, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Severity {
    /// It keeps PRP from working.
    Fault,
    /// It costs speed, or may become a fault.
    Warning,
    /// A user may wonder about what comes of it.
    Note,
}

/// One thing that was found.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub(super) struct Finding {
    /// A word for programs.
    pub(super) kind: &'static str,
    pub(super) severity: Severity,
    /// What there is, and what comes of it.
    pub(super) cause: String,
    /// What to do about it.
    pub(super) fix: Option<String>,
}

impl Finding {
    fn new(kind: &'static str, severity: Severity, cause: String, fix: &str) -> Self {
        Self { kind, severity, cause, fix: Some(fix.to_owned()).filter(|fix| !fix.is_empty()) }
    }

    /// What keeps PRP from working.
    pub(super) fn fault(kind: &'static str, cause: impl Into<String>, fix: &str) -> Self {
        Self::new(kind, Severity::Fault, cause.into(), fix)
    }

    /// What costs speed.
    pub(super) fn warning(kind: &'static str, cause: impl Into<String>, fix: &str) -> Self {
        Self::new(kind, Severity::Warning, cause.into(), fix)
    }

    /// What a user may wonder about.
    pub(super) fn note(kind: &'static str, cause: impl Into<String>, fix: &str) -> Self {
        Self::new(kind, Severity::Note, cause.into(), fix)
    }

    /// What a check of prphosts has found.
    pub(super) fn of_check(kind: &'static str, severity: Severity, found: &check::Finding) -> Self {
        let cause = check::Finding { fix: None, ..found.clone() }.to_string();
        // What a mistake in a line says is what is expected there.
        let correct = || Some(format!("correct line {} of {}", found.line?, found.file));
        let fix = found.fix.clone().or_else(correct);
        Self::new(kind, severity, cause, &fix.unwrap_or_default())
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Fault => "fault",
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
        write!(f, "{severity}: {}", self.cause)?;
        self.fix.iter().try_for_each(|fix| write!(f, "\n    fix: {fix}"))
    }
}
