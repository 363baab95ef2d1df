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

/// The keys that `watch` puts in force, if it does.
fn reread(watch: &mut KeyWatch) -> io::Result<Option<KeyFile>> {
    let mut read = None;
    watch.read_again(|keys| {
        read = Some(keys);
        Ok(())
    })?;
    Ok(read)
}

#[test]
fn read_again__once_for_each_change() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("key");
    let mut watch = at(&path, false);
    assert!(watch.read().unwrap().is_none());
    assert!(reread(&mut watch).unwrap().is_none());
    write(&path, &keys(), 0o600);
    assert!(reread(&mut watch).unwrap().is_some());
    assert!(reread(&mut watch).unwrap().is_none(), "it has not changed");

    let mut more = keys();
    more.add(Secret::new([8; 32])).unwrap();
    let other = folder.path().join("other");
    write(&other, &more, 0o644);
    fs::rename(&other, &path).unwrap();
    for _ in 0..2 {
        let error = reread(&mut watch).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "others can read it");
    }
    fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    assert_eq!(reread(&mut watch).unwrap().unwrap().keys().len(), 2, "it is mended");
    fs::remove_file(&path).unwrap();
    assert!(reread(&mut watch).unwrap().is_none());
}

/// Without random bytes, for example, there is no key to begin with: the next call has it.
#[test]
fn read_again__what_was_not_put_in_force_is_read_once_more() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("key");
    let mut watch = at(&path, false);
    assert!(watch.read().unwrap().is_none());
    write(&path, &keys(), 0o600);
    assert!(watch.read_again(|_| Err(ErrorKind::WouldBlock.into())).is_err());
    assert!(reread(&mut watch).unwrap().is_some());
}

/// A process that began without a key must learn that there is one, which it cannot have.
#[test]
fn read_again__a_file_that_is_wrong_from_the_beginning_is_an_error() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("key");
    let mut watch = at(&path, false);
    assert!(watch.read().unwrap().is_none());
    fs::write(&path, "mode seal\nkey 1 abcd\n").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    assert_eq!(reread(&mut watch).unwrap_err().kind(), ErrorKind::InvalidData);
}
