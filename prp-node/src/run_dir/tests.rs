use std::io::Write;

use nix::unistd::geteuid;

use super::*;

const TIMEOUT: Duration = Duration::from_secs(5);

fn node(number: u16) -> NodeId {
    NodeId::new(number).expect("it is one")
}

/// A directory that only this user may write to.
fn dir() -> (tempfile::TempDir, RunDir) {
    let temporary = tempfile::tempdir().unwrap();
    let dir = RunDir::at(temporary.path().join("run"));
    dir.prepare().unwrap();
    (temporary, dir)
}

#[test]
fn connect__reaches_the_service_of_its_node() {
    let (_temporary, dir) = dir();
    let control = ServiceListener::bind(&dir, node(1), Service::Control).unwrap();
    let _registry = ServiceListener::bind(&dir, node(1), Service::Registry).unwrap();
    let mut link = dir.connect(node(1), Service::Control, TIMEOUT).unwrap();
    link.write_all(b"?").unwrap();
    let (_, user) = control.accept().unwrap();
    assert_eq!(user, geteuid().as_raw());
    assert_eq!(control.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    for (other, service) in [(2, Service::Control), (3, Service::Registry)] {
        let none = dir.connect(node(other), service, TIMEOUT).unwrap_err();
        assert_eq!(none.kind(), ErrorKind::NotFound);
    }
}

#[test]
fn bind__one_daemon_a_node_and_what_one_left_is_no_obstacle() {
    let (_temporary, dir) = dir();
    let first = ServiceListener::bind(&dir, node(1), Service::Control).unwrap();
    let second = ServiceListener::bind(&dir, node(1), Service::Control).unwrap_err();
    assert_eq!(second.kind(), ErrorKind::AddrInUse);
    assert!(second.to_string().contains("runs already"), "{second}");
    assert_eq!(dir.nodes(), [node(1)]);
    let path = dir.socket(node(1), Service::Control);
    drop(first);
    assert_eq!(dir.nodes(), []);
    // As a daemon that was killed, or may not remove it, leaves it.
    drop(UnixListener::bind(&path).unwrap());
    ServiceListener::bind(&dir, node(1), Service::Control).unwrap();
}

#[test]
fn check__says_what_is_wrong_with_a_directory() {
    let (temporary, dir) = dir();
    std::fs::set_permissions(dir.path(), Permissions::from_mode(0o777)).unwrap();
    let error = dir.connect(node(1), Service::Control, TIMEOUT).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::PermissionDenied);
    assert!(error.to_string().contains("other users may write to it"), "{error}");
    let link = temporary.path().join("link");
    std::fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink(dir.path(), &link).unwrap();
    let error = RunDir::at(link).check().unwrap_err().to_string();
    assert!(error.contains("it is no directory"), "{error}");
    let missing = RunDir::at(temporary.path().join("missing")).check().unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound);
}

/// As root, with files of another user: the owner of the directory could put a socket there.
#[test]
fn check__a_directory_of_another_user_is_not_believed() {
    if !geteuid().is_root() {
        return;
    }
    let (_temporary, dir) = dir();
    let listener = ServiceListener::bind(&dir, node(1), Service::Registry).unwrap();
    if std::os::unix::fs::chown(dir.path(), Some(12_345), None).is_err() {
        return; // a user namespace with one user
    }
    let error = dir.connect(node(1), Service::Registry, TIMEOUT).unwrap_err();
    assert!(error.to_string().contains("user 12345 owns it"), "{error}");
    assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock, "nobody came");
}

#[test]
fn connect__waits_no_longer_than_its_timeout_for_a_full_queue() {
    let (_temporary, dir) = dir();
    let listener = ServiceListener::bind(&dir, node(1), Service::Registry).unwrap();
    let patience = Duration::from_millis(20);
    let mut waiting = Vec::new();
    let full = loop {
        match dir.connect(node(1), Service::Registry, patience) {
            Ok(link) => waiting.push(link),
            Err(e) => break e,
        }
    };
    assert_eq!(full.kind(), ErrorKind::WouldBlock);
    assert!(waiting.len() <= BACKLOG as usize + 1);
    listener.accept().unwrap();
    dir.connect(node(1), Service::Registry, patience).unwrap();
}

/// Where the kernel refuses them no process can have the daemon close what takes long to close.
#[test]
fn accept__no_descriptors_of_strangers() {
    use nix::sys::socket::{ControlMessage, MsgFlags, sendmsg};
    use std::os::fd::AsRawFd;
    let (_temporary, dir) = dir();
    let listener = ServiceListener::bind(&dir, node(1), Service::Registry).unwrap();
    if !listener.refuses_descriptors() {
        return;
    }
    let link = dir.connect(node(1), Service::Registry, TIMEOUT).unwrap();
    let fds = [link.as_raw_fd()];
    let send = || {
        let rights = [ControlMessage::ScmRights(&fds)];
        let bytes = [io::IoSlice::new(b"x")];
        sendmsg::<()>(link.as_raw_fd(), &bytes, &rights, MsgFlags::empty(), None)
    };
    assert_eq!(send(), Err(nix::Error::EPERM), "before it is accepted");
    let (_accepted, _) = listener.accept().unwrap();
    assert_eq!(send(), Err(nix::Error::EPERM), "after it is accepted");
}
