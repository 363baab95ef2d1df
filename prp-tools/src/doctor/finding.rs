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

/// Defines the kinds, and a list of them.
macro_rules! kinds {
    ($($kind:ident,)*) => {
        /// What it is about: a word for programs.
        #[derive(Copy, Clone, Debug, Eq, PartialEq, Serialize)]
        #[serde(rename_all = "snake_case")]
        pub(super) enum Kind {
            $($kind,)*
        }

        #[cfg(test)]
        impl Kind {
            const ALL: &[Self] = &[$(Self::$kind,)*];
        }
    };
}

kinds! {
    PrivilegeRaw,
    PrivilegeAdmin,
    PrivilegeBpf,
    Seccomp,
    Descriptors,
    Variable,
    Clock,
    FastPathsOff,
    Prphosts,
    Mtu,
    Qdisc,
    DeviceErrors,
    Filter,
    RingDrops,
    OneQueue,
    InterruptModeration,
    Eee,
    PauseFrames,
    Bond,
    Hypervisor,
    Governor,
    IdleStates,
    Wireless,
    Cloud,
    HalfDuplex,
    Speed,
    Ethertype,
    Vlan,
    NodePort,
    RunDir,
    NoRouter,
    RouterDrops,
    Router,
    RouterHosts,
    RouterSilent,
    ProcessSilent,
    PeerSilent,
    ProcessDrops,
    Overruns,
    TooBig,
    BadCrc,
    BadSource,
    Unsigned,
    UnknownKey,
    BadTag,
    KeyFile,
    NodeKey,
    RouterKey,
    NoKey,
    Repeats,
    Route,
    NoAnswer,
    NoRoute,
    Loop,
    NotSent,
    DuplicateNode,
    MtuHole,
    Loss,
    GsoBatchesLost,
    GsoBatchesRefused,
}

/// One thing that was found.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub(super) struct Finding {
    pub(super) kind: Kind,
    pub(super) severity: Severity,
    /// What there is, and what comes of it.
    pub(super) cause: String,
    /// What to do about it.
    pub(super) fix: Option<String>,
}

impl Finding {
    fn new(kind: Kind, severity: Severity, cause: String, fix: &str) -> Self {
        Self { kind, severity, cause, fix: Some(fix.to_owned()).filter(|fix| !fix.is_empty()) }
    }

    /// What keeps PRP from working.
    pub(super) fn fault(kind: Kind, cause: impl Into<String>, fix: &str) -> Self {
        Self::new(kind, Severity::Fault, cause.into(), fix)
    }

    /// What costs speed.
    pub(super) fn warning(kind: Kind, cause: impl Into<String>, fix: &str) -> Self {
        Self::new(kind, Severity::Warning, cause.into(), fix)
    }

    /// What a user may wonder about.
    pub(super) fn note(kind: Kind, cause: impl Into<String>, fix: &str) -> Self {
        Self::new(kind, Severity::Note, cause.into(), fix)
    }

    /// What a check of prphosts has found.
    pub(super) fn of_check(kind: Kind, severity: Severity, found: &check::Finding) -> Self {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The types of what is printed as JSON.
    const DECLARATIONS: &str = include_str!("../../json.d.ts");

    /// Kinds in the declarations.
    fn declared() -> Vec<&'static str> {
        let (_, kinds) = DECLARATIONS.split_once("type FindingKind =").expect("their type");
        let (kinds, _) = kinds.split_once("\n\n").expect("its end");
        let code = kinds.lines().filter_map(|line| line.split("//").next());
        code.flat_map(|line| line.split('"').skip(1).step_by(2)).collect()
    }

    #[test]
    fn kind__the_declarations_have_each_and_no_other() {
        let json = |kind| serde_json::to_value(kind).expect("JSON");
        let name = |kind| json(kind).as_str().expect("a word").to_owned();
        let mut kinds: Vec<_> = Kind::ALL.iter().map(name).collect();
        let mut declared = declared();
        kinds.sort_unstable();
        declared.sort_unstable();
        assert_eq!(kinds, declared);
    }
}
