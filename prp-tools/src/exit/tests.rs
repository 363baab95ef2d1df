use std::time::Duration;

use prp_sock::StreamError;

use super::*;
use crate::print::unwritten;

fn conn(error: ConnError) -> io::Error {
    StreamError::from(error).into()
}

#[test]
fn network__codes_distinguish_causes() {
    let table = [
        (ErrorKind::ConnectionRefused, Code::Refused),
        (ErrorKind::TimedOut, Code::TimedOut),
        (ErrorKind::NotFound, Code::Unreachable),
        (ErrorKind::HostUnreachable, Code::Unreachable),
        (ErrorKind::PermissionDenied, Code::NotPermitted),
        (ErrorKind::ConnectionReset, Code::Failed),
        (ErrorKind::InvalidData, Code::Failed),
    ];
    for (kind, code) in table {
        assert_eq!(Failure::network("3:80", &kind.into()).code, code, "{kind}");
    }
}

#[test]
fn network__says_what_why_and_the_fix() {
    let waited = Duration::from_nanos(60_584_693_361);
    let error = conn(ConnError::TimedOut { waited });
    // Expect: nothing of what keeps a first frame from being answered, which others were.
    assert_eq!(Failure::network("3:80", &error).text, "3:80: no answer from the peer for 60.6 s");
    let error = conn(ConnError::NoCommonPolicy);
    assert!(Failure::network("3:80", &error).text.ends_with("the same --reliability"));
    let error = io::Error::other("connect to 3:80: no node 3 in FILE: fix it");
    assert_eq!(Failure::network("gamma:80", &error).text, "gamma:80: no node 3 in FILE: fix it");
    let error = io::Error::from_raw_os_error(EMFILE);
    assert!(Failure::network("x", &error).text.contains("`ulimit -n"), "it has a fix");
    let error = io::Error::from_raw_os_error(EAFNOSUPPORT);
    assert!(Failure::network("3:80", &error).text.contains("AF_UNIX"));
}

#[test]
fn connecting__adds_likely_causes_where_no_node_has_answered() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let hosts = folder.path().join("prphosts");
    let text_of = |text: &str, kind: ErrorKind| {
        std::fs::write(&hosts, text).expect("room");
        let error = match kind {
            ErrorKind::TimedOut => conn(ConnError::TimedOut { waited: Duration::from_secs(2) }),
            kind => kind.into(),
        };
        Failure::connecting("3:80", &error, &hosts, "; is it on?").text
    };
    let here = "self 1\n1 02:00:00:00:01:01 lo\n";
    let timed_out = text_of(here, ErrorKind::TimedOut);
    assert_eq!(timed_out, "3:80: no answer from the peer for 2.0 s; is it on?");
    let lacking = "self 1\n1 02:00:00:00:01:01 test0\n";
    let timed_out = text_of(lacking, ErrorKind::TimedOut);
    let lines: Vec<_> = timed_out.lines().collect();
    assert_eq!(lines[0], "3:80: no answer from the peer for 2.0 s");
    assert!(lines[1].contains("this machine has no device test0"), "{timed_out}");
    assert_eq!(text_of(lacking, ErrorKind::ConnectionRefused).lines().count(), 1);
}

#[test]
fn local__has_the_code_for_failures_of_any_kind() {
    let error = ErrorKind::NotFound.into();
    assert_eq!(Failure::local("standard output", &error).code, Code::Failed);
}

#[test]
fn unwritten__a_closed_output_is_no_failure() {
    assert_eq!(unwritten(&ErrorKind::BrokenPipe.into()).code(), 0);
    assert_eq!(unwritten(&ErrorKind::StorageFull.into()).code(), 1);
}

#[test]
fn help__names_every_code() {
    for code in [Code::Failed, Code::Refused, Code::TimedOut, Code::Unreachable, Code::NotPermitted]
    {
        assert!(HELP.contains(&format!("\n  {}  ", code as u8)), "{code:?}");
    }
}
