use std::error::Error;
use std::path::Path;
use std::time::Duration;

use prp_proto::addr::Port;
use prp_proto::seq::Seq;

use super::*;

/// What becomes of each cause: its kind, and the code a TCP program finds.
fn causes() -> [(ConnError, ErrorKind, Option<i32>); 12] {
    let gap = ConnError::Gap { expected: Seq::new(1), received: Seq::new(3) };
    let timed_out = ConnError::TimedOut { waited: Duration::from_nanos(2_500_000_001) };
    let too_large = ConnError::TooLarge { waited: Duration::from_secs(60), segment: 1480 };
    [
        (too_large, ErrorKind::TimedOut, Some(libc::ETIMEDOUT)),
        (ConnError::Refused, ErrorKind::ConnectionRefused, Some(libc::ECONNREFUSED)),
        (ConnError::Reset, ErrorKind::ConnectionReset, Some(libc::ECONNRESET)),
        (ConnError::PeerClosed, ErrorKind::BrokenPipe, Some(libc::EPIPE)),
        (gap, ErrorKind::InvalidData, None),
        (ConnError::PeerGap, ErrorKind::ConnectionAborted, Some(libc::ECONNABORTED)),
        (timed_out, ErrorKind::TimedOut, Some(libc::ETIMEDOUT)),
        (ConnError::NoRoute(NodeId::MIN), ErrorKind::HostUnreachable, Some(libc::EHOSTUNREACH)),
        (
            ConnError::NoOnwardRoute { node: NodeId::MIN, router: NodeId::MIN },
            ErrorKind::HostUnreachable,
            Some(libc::EHOSTUNREACH),
        ),
        (ConnError::ClassicPeer, ErrorKind::Unsupported, None),
        (ConnError::NoCommonPolicy, ErrorKind::Unsupported, None),
        (ConnError::Aborted, ErrorKind::ConnectionAborted, Some(libc::ECONNABORTED)),
    ]
}

fn code_of(error: &io::Error) -> Option<i32> {
    let source = error.source().and_then(|e| e.downcast_ref::<io::Error>());
    error.raw_os_error().or_else(|| source?.raw_os_error())
}

#[test]
fn conn__kinds_and_codes_are_those_a_tcp_program_expects() {
    for (cause, kind, code) in causes() {
        let error = conn(cause);
        assert_eq!(error.kind(), kind, "{cause}");
        assert_eq!(code_of(&error), code, "{cause}");
        assert_eq!(conn_error(&error), Some(cause));
    }
    // Expect: a code where the system's words are enough.
    assert_eq!(conn(ConnError::Reset).raw_os_error(), Some(libc::ECONNRESET));
    assert_eq!(conn(ConnError::PeerClosed).raw_os_error(), Some(libc::EPIPE));
}

#[test]
fn connecting__says_where_to_and_shows_it_in_debug() {
    let peer = PrpAddr::new(NodeId::MIN, Port::new(80));
    for (cause, kind, code) in causes() {
        let error = connecting(cause, peer);
        assert_eq!((error.kind(), code_of(&error)), (kind, code), "{cause}");
        assert_eq!(conn_error(&error), Some(cause));
        assert_eq!(error.to_string(), format!("connect to 1:80: {cause}"));
        assert!(format!("{error:?}").contains(&error.to_string()), "{error:?}");
    }
    let in_use = in_use(peer);
    assert_eq!((in_use.kind(), code_of(&in_use)), (ErrorKind::AddrInUse, Some(libc::EADDRINUSE)));
    assert!(format!("{in_use:?}").contains("1:80 is in use"), "{in_use:?}");
}

#[test]
fn connecting__has_the_kernels_words_where_this_machine_does_not_send() {
    let peer = PrpAddr::new(NodeId::MIN, Port::new(80));
    let not_sent = |code, waited| connecting(ConnError::NotSent { code, waited }, peer);
    let words = |code| io::Error::from_raw_os_error(code).to_string();
    let table = [
        (libc::ENETUNREACH, ErrorKind::NetworkUnreachable),
        (libc::EHOSTUNREACH, ErrorKind::HostUnreachable),
        (libc::EACCES, ErrorKind::PermissionDenied),
        (libc::EAFNOSUPPORT, ErrorKind::NetworkUnreachable),
    ];
    for (code, kind) in table {
        let error = not_sent(code, None);
        assert_eq!((error.kind(), error_number(&error)), (kind, code));
        let text = error.to_string();
        assert!(text.contains("this machine refuses") && text.contains(&words(code)), "{text}");
    }
    // One that might have passed: it is the end of the time that ends the connection.
    let error = not_sent(libc::EPERM, Some(Duration::from_secs(15)));
    assert_eq!((error.kind(), error_number(&error)), (ErrorKind::TimedOut, libc::ETIMEDOUT));
    let text = error.to_string();
    assert!(text.contains("15.0 s") && text.contains(&words(libc::EPERM)), "{text}");
}

#[test]
fn by_hosts__says_which_node_is_not_there() {
    let peer = PrpAddr::new(NodeId::MIN, Port::new(80));
    let error = connect(ConnectError::NoRoute(NodeId::MIN), peer);
    let error = by_hosts(error, Path::new("/etc/prphosts"));
    assert_eq!(error.to_string(), "connect to 1:80: no node 1 in /etc/prphosts");
    let error = by_hosts(would_block(), Path::new("/etc/prphosts"));
    assert_eq!(error.raw_os_error(), Some(libc::EAGAIN));
}

#[test]
fn error_number__code_that_of_the_source_or_by_the_kind() {
    for (cause, _, code) in causes() {
        let expected = code.unwrap_or(match cause {
            ConnError::Gap { .. } => libc::EBADMSG,
            _ => libc::EPROTONOSUPPORT,
        });
        assert_eq!(error_number(&conn(cause)), expected, "{cause}");
    }
    let in_use = in_use(PrpAddr::new(NodeId::MIN, Port::new(80)));
    assert_eq!(error_number(&in_use), libc::EADDRINUSE);
    let table = [
        (io::Error::new(ErrorKind::NotFound, "no node"), libc::ENOENT),
        (ErrorKind::UnexpectedEof.into(), libc::ENODATA),
        (io::Error::other("odd"), libc::EIO),
    ];
    for (error, number) in table {
        assert_eq!(error_number(&error), number, "{error}");
    }
}

#[test]
fn codes__are_those_of_kernel_sockets() {
    let table = [
        (read(ReadError::Blocked), libc::EAGAIN),
        (write(WriteError::Blocked), libc::EAGAIN),
        (write(WriteError::Closed), libc::EPIPE),
        (write(WriteError::NoMemory), libc::ENOMEM),
        (wait(WaitError::TimedOut), libc::EAGAIN),
        (wait(WaitError::Interrupted), libc::EINTR),
        (not_connected(), libc::ENOTCONN),
    ];
    for (error, code) in table {
        assert_eq!(error.raw_os_error(), Some(code), "{error}");
    }
}
