use std::os::unix::fs::symlink;

use prp_key::{Mode, Secret};
use tempfile::tempdir;

use super::*;

fn keys() -> KeyFile {
    KeyFile::new(Mode::Seal, 1, Secret::new([7; 32]))
}

fn rights(path: &Path) -> u32 {
    fs::metadata(path).unwrap().mode() & RIGHTS
}

#[test]
fn create__only_the_user_can_read_it_and_none_is_overwritten() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("key");
    create(&path, &keys().reveal()).unwrap();
    assert_eq!(rights(&path), 0o600);
    assert_eq!(read(&path).unwrap().used().id(), 1);
    let before = fs::read(&path).unwrap();
    let other = KeyFile::new(Mode::Seal, 2, Secret::new([8; 32]));
    assert!(create(&path, &other.reveal()).unwrap_err().text().contains("exists"));
    assert_eq!(fs::read(&path).unwrap(), before);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left beside it");
}

#[test]
fn replace__keeps_rights_and_links() {
    let folder = tempdir().unwrap();
    let (path, link) = (folder.path().join("key"), folder.path().join("link"));
    create(&path, &keys().reveal()).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    symlink("key", &link).unwrap();
    let mut changed = read(&link).unwrap();
    let id = changed.add(Secret::new([8; 32])).unwrap();
    changed.use_key(id).unwrap();
    replace(&link, &changed.reveal()).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!((rights(&path), read(&path).unwrap().used().id()), (0o640, id));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing is left beside it");
}

#[test]
fn read__a_file_that_others_can_read_or_change_is_refused() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("key");
    create(&path, &keys().reveal()).unwrap();
    for (mode, is_fine) in [
        (0o600, true),
        (0o400, true),
        (0o640, true),
        (0o604, false),
        (0o620, false),
        (0o602, false),
        (0o601, false),
        (0o644, false),
    ] {
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        let done = read(&path);
        assert_eq!(done.is_ok(), is_fine, "{mode:o}: {done:?}");
        if let Err(e) = done {
            assert!(e.text().contains(&format!("{mode:03o}")), "{}", e.text());
        }
    }
}

#[test]
fn read__what_is_no_file_or_has_a_mistake_is_named() {
    let folder = tempdir().unwrap();
    assert!(read(folder.path()).unwrap_err().text().contains("no regular file"));
    let path = folder.path().join("key");
    assert!(read(&path).unwrap_err().text().contains("prp key new"));
    fs::write(&path, "mode seal\nkey 1 abcd\n").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    let text = read(&path).unwrap_err().text().to_owned();
    let place = format!("{}:2:7: expected a secret", path.display());
    assert!(text.starts_with(&place) && !text.contains("abcd"), "{text}");
}
