use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use prp_proto::key::{Mode, Secret};
use tempfile::tempdir;

use super::*;

fn write(path: &Path, keys: &KeyFile, mode: u32) {
    fs::write(path, keys.reveal().as_bytes()).unwrap();
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn keys() -> KeyFile {
    KeyFile::new(Mode::Seal, 1, Secret::new([7; 32]))
}

fn at(path: &Path, is_named: bool) -> KeyWatch {
    KeyWatch { path: path.to_owned(), is_named, seen: None }
}

#[test]
fn read__a_named_file_has_to_be_there() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("key");
    assert!(at(&path, false).read().unwrap().is_none());
    let error = at(&path, true).read().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.to_string().contains("prp key new"), "{error}");
    assert!(at(Path::new(""), true).read().unwrap_err().to_string().contains("PRP_KEY"));
    write(&path, &keys(), 0o600);
    assert_eq!(at(&path, true).read().unwrap().unwrap().used().id(), 1);
}

/// Not only one that someone has named: who cannot read what there is has no key, and must not
/// speak without one.
#[test]
fn read__a_file_that_others_can_read_or_that_has_a_mistake_is_an_error() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("key");
    for mode in [0o604, 0o620, 0o644, 0o601] {
        write(&path, &keys(), mode);
        let error = at(&path, false).read().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied);
        assert!(error.to_string().contains(&format!("{mode:03o}")), "{error}");
    }
    fs::write(&path, "mode seal\nkey 1 abcd\n").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    let error = at(&path, false).read().unwrap_err().to_string();
    assert!(error.contains(":2:7: ") && !error.contains("abcd"), "{error}");
    assert!(at(folder.path(), false).read().is_err());
}

#[test]
fn read_again__once_for_each_change_and_never_what_is_wrong() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("key");
    let mut watch = at(&path, false);
    assert!(watch.read().unwrap().is_none());
    assert!(watch.read_again().is_none());
    write(&path, &keys(), 0o600);
    assert!(watch.read_again().is_some());
    assert!(watch.read_again().is_none(), "it has not changed");

    let mut more = keys();
    more.add(Secret::new([8; 32])).unwrap();
    let other = folder.path().join("other");
    write(&other, &more, 0o644);
    fs::rename(&other, &path).unwrap();
    assert!(watch.read_again().is_none(), "others can read it");
    fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    assert_eq!(watch.read_again().unwrap().keys().len(), 2, "it is mended");
    fs::remove_file(&path).unwrap();
    assert!(watch.read_again().is_none());
}
