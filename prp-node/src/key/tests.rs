use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use prp_proto::key::{Mode, NodeKeyFile, NodeSecret, Secret};
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
    let node_path = path.with_extension("node");
    KeyWatch { path: path.to_owned(), is_named, node_path, seen: None }
}

/// A prphosts in `folder`, with `options` on the line of node 1.
fn hosts(folder: &Path, options: &str) -> HostsFile {
    let path = folder.join("prphosts");
    let text = format!("1 udp:127.0.0.1 {options}\n2 udp:127.0.0.2 key={}\n", node_key(2));
    fs::write(&path, text).unwrap();
    HostsFile::load(&path).unwrap()
}

fn node_key(n: u8) -> String {
    NodeSecret::new(&Secret::new([n; 32])).key().to_string()
}

const NODE: NodeId = NodeId::new(1).unwrap();

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
fn followed(watch: &mut KeyWatch, hosts: &HostsFile) -> io::Result<Option<Keyring>> {
    let mut read = None;
    watch.follow(hosts, NODE, |keys| {
        read = Some(keys);
        Ok(())
    })?;
    Ok(read)
}

#[test]
fn follow__once_for_each_change() {
    let folder = tempdir().unwrap();
    let (path, hosts) = (folder.path().join("key"), hosts(folder.path(), ""));
    let mut watch = at(&path, false);
    assert!(watch.keyring(&hosts, NODE).unwrap().is_none());
    assert!(followed(&mut watch, &hosts).unwrap().is_none());
    write(&path, &keys(), 0o600);
    assert!(followed(&mut watch, &hosts).unwrap().is_some());
    assert!(followed(&mut watch, &hosts).unwrap().is_none(), "it has not changed");

    let mut more = keys();
    let id = more.add(Secret::new([8; 32])).unwrap();
    more.use_key(id).unwrap();
    let other = folder.path().join("other");
    write(&other, &more, 0o644);
    fs::rename(&other, &path).unwrap();
    for _ in 0..2 {
        let error = followed(&mut watch, &hosts).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PermissionDenied, "others can read it");
    }
    fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    assert_eq!(followed(&mut watch, &hosts).unwrap().unwrap().used_id(), id, "it is mended");
    fs::remove_file(&path).unwrap();
    assert!(followed(&mut watch, &hosts).unwrap().is_none());
}

/// Without random bytes, for example, there is no key to begin with: the next call has it.
#[test]
fn follow__what_was_not_put_in_force_is_read_once_more() {
    let folder = tempdir().unwrap();
    let (path, hosts) = (folder.path().join("key"), hosts(folder.path(), ""));
    let mut watch = at(&path, false);
    assert!(watch.keyring(&hosts, NODE).unwrap().is_none());
    write(&path, &keys(), 0o600);
    assert!(watch.follow(&hosts, NODE, |_| Err(ErrorKind::WouldBlock.into())).is_err());
    assert!(followed(&mut watch, &hosts).unwrap().is_some());
}

/// A process that began without a key must learn that there is one, which it cannot have.
#[test]
fn follow__a_file_that_is_wrong_from_the_beginning_is_an_error() {
    let folder = tempdir().unwrap();
    let (path, hosts) = (folder.path().join("key"), hosts(folder.path(), ""));
    let mut watch = at(&path, false);
    assert!(watch.keyring(&hosts, NODE).unwrap().is_none());
    fs::write(&path, "mode seal\nkey 1 abcd\n").unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    assert_eq!(followed(&mut watch, &hosts).unwrap_err().kind(), ErrorKind::InvalidData);
}

/// PRP-KEY-20: a node with a key on its line needs a private key of it, and no other node does.
#[test]
fn keyring__of_a_node_with_a_key() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("key");
    write(&path, &keys(), 0o600);
    let without = hosts(folder.path(), "");
    let ring = at(&path, true).keyring(&without, NODE).unwrap().unwrap();
    assert!(!ring.has_node_keys(2));

    let with = hosts(folder.path(), &format!("key={}", node_key(1)));
    let mut watch = at(&path, true);
    let kind_and_text = |e: io::Error| (e.kind(), e.to_string());
    let fails = |watch: &mut KeyWatch| watch.keyring(&with, NODE).map(drop).map_err(kind_and_text);
    let (kind, text) = fails(&mut watch).unwrap_err();
    assert!(kind == ErrorKind::NotFound && text.contains("prp key node new"), "{text}");
    let node_path = watch.node_path().to_owned();
    let write_node = |n: u8, mode: u32| {
        let text = NodeKeyFile::new(Secret::new([n; 32])).reveal();
        fs::write(&node_path, text.as_bytes()).unwrap();
        fs::set_permissions(&node_path, Permissions::from_mode(mode)).unwrap();
    };
    write_node(9, 0o600);
    let (kind, text) = fails(&mut watch).unwrap_err();
    assert!(kind == ErrorKind::InvalidData && text.contains("the line of node 1"), "{text}");
    write_node(1, 0o644);
    assert_eq!(fails(&mut watch).unwrap_err().0, ErrorKind::PermissionDenied);
    write_node(1, 0o640);
    let ring = watch.keyring(&with, NODE).unwrap().unwrap();
    assert!(ring.has_node_keys(1) && ring.has_node_keys(2) && !ring.has_node_keys(3));
}

/// PRP-KEY-24: a change of prphosts, or of the node's file, is one of the keys.
#[test]
fn follow__prphosts_and_the_node_s_file() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("key");
    write(&path, &keys(), 0o600);
    let mut watch = at(&path, true);
    let without = hosts(folder.path(), "");
    assert!(watch.keyring(&without, NODE).unwrap().is_some());
    let with = hosts(folder.path(), &format!("key={}", node_key(1)));
    assert!(followed(&mut watch, &with).is_err(), "there is no private key yet");
    let text = NodeKeyFile::new(Secret::new([1; 32])).reveal();
    fs::write(watch.node_path(), text.as_bytes()).unwrap();
    fs::set_permissions(watch.node_path(), Permissions::from_mode(0o600)).unwrap();
    assert!(followed(&mut watch, &with).unwrap().is_some_and(|ring| ring.has_node_keys(2)));
    assert!(followed(&mut watch, &with).unwrap().is_none());
    assert!(followed(&mut watch, &without).unwrap().is_some_and(|ring| !ring.has_node_keys(2)));
}
