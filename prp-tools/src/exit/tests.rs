use std::time::Duration;

use super::*;

fn conn(kind: ErrorKind, error: ConnError) -> io::Error {
    io::Error::new(kind, error)
}

#[test]
fn network__codes_tell_causes_apart() {
    let table = [
        (ErrorKind::ConnectionRefused, Code::Refused),
        (ErrorKind::TimedOut, Code::TimedOut),
        (ErrorKind::NotFound, Code::NoWay),
        (ErrorKind::HostUnreachable, Code::NoWay),
        (ErrorKind::PermissionDenied, Code::NotPermitted),
        (ErrorKind::ConnectionReset, Code::Failed),
        (ErrorKind::InvalidData, Code::Failed),
    ];
    for (kind, code) in table {
        assert_eq!(Failure::network("3:80", &kind.into()).code, code, "{kind}");
    }
}

#[test]
fn network__says_what_why_and_the_mend() {
    let waited = Duration::from_secs(2);
    let error = conn(ErrorKind::TimedOut, ConnError::TimedOut { waited });
    assert_eq!(
        Failure::network("3:80", &error).text,
        "3:80: no answer from the peer for 2s; is that node up, and does its prphosts have this \
         machine?"
    );
    let error = conn(ErrorKind::Unsupported, ConnError::NoCommonPolicy);
    assert!(Failure::network("3:80", &error).text.ends_with("the same --reliability"));
}

#[test]
fn local__has_the_code_for_failures_of_any_kind() {
    let error = ErrorKind::NotFound.into();
    assert_eq!(Failure::local("standard output", &error).code, Code::Failed);
}

#[test]
fn help__names_every_code() {
    for code in [Code::Failed, Code::Refused, Code::TimedOut, Code::NoWay, Code::NotPermitted] {
        assert!(HELP.contains(&format!("\n  {}  ", code as u8)), "{code:?}");
    }
}
