//! `prp key` as people and scripts use it. Nothing here needs a privilege.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::{TempDir, tempdir};

/// A folder with a key file.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempdir().expect("a temporary folder"))
    }

    fn path(&self) -> std::path::PathBuf {
        self.0.path().join("key")
    }

    fn node_path(&self) -> std::path::PathBuf {
        self.0.path().join("node")
    }

    /// Code, standard output, standard error of `prp key` with the words and, by the environment,
    /// this file. Neither output has a secret of the file.
    fn run(&self, words: &[&str]) -> (Option<i32>, String, String) {
        let secrets = self.secrets();
        let output = Command::new(env!("CARGO_BIN_EXE_prp"))
            .arg("key")
            .args(words)
            .env("PRP_KEY", self.path())
            .env("PRP_NODE_KEY", self.node_path())
            .stdin(Stdio::null())
            .output()
            .expect("the program can be run");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        for secret in secrets.iter().chain(&self.secrets()) {
            assert!(!out.contains(secret) && !err.contains(secret), "{words:?}: {out}{err}");
        }
        (output.status.code(), out, err)
    }

    fn secrets(&self) -> Vec<String> {
        let mut found = secrets(&self.path());
        found.extend(secrets(&self.node_path()));
        found
    }

    fn list(&self) -> Value {
        let (code, out, err) = self.run(&["list", "--json"]);
        assert_eq!(code, Some(0), "{err}");
        serde_json::from_str(&out).expect("JSON")
    }

    /// The ids, and the one in use.
    fn ids(&self) -> (Vec<u64>, u64) {
        let listed = self.list();
        let keys = listed["keys"].as_array().expect("a list");
        let id = |key: &Value| key["id"].as_u64().expect("a number");
        let used: Vec<_> = keys.iter().filter(|key| key["in_use"] == true).map(id).collect();
        assert_eq!(used.len(), 1, "{listed}");
        (keys.iter().map(id).collect(), used[0])
    }
}

/// The secrets in the file, and their halves.
fn secrets(path: &Path) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap_or_default();
    let words = text.split_whitespace().filter(|word| word.len() == 64);
    words.flat_map(|word| [word[..32].to_owned(), word[32..].to_owned()]).collect()
}

#[test]
fn new__makes_a_file_that_only_the_user_can_read() {
    for (words, mode) in [
        (&["new"][..], "seal"),
        (&["new", "--mode", "sign"], "sign"),
        (&["new", "--mode", "seal"], "seal"),
    ] {
        let place = Place::new();
        let (code, out, err) = place.run(words);
        assert_eq!(code, Some(0), "{err}");
        assert!(out.contains("key 1") && err.contains("copy the file"), "{out}{err}");
        let about = fs::metadata(place.path()).expect("it is there");
        assert_eq!(about.mode() & 0o777, 0o600);
        let listed = place.list();
        assert_eq!((&listed["mode"], place.ids()), (&Value::from(mode), (vec![1], 1)));
        assert_eq!(secrets(&place.path()).len(), 2);
    }
}

#[test]
fn new__two_files_have_different_secrets() {
    let (one, two) = (Place::new(), Place::new());
    assert_eq!((one.run(&["new"]).0, two.run(&["new"]).0), (Some(0), Some(0)));
    assert_ne!(secrets(&one.path()), secrets(&two.path()));
    assert_ne!(one.list()["keys"][0]["fingerprint"], two.list()["keys"][0]["fingerprint"]);
    // A copy has the same fingerprint.
    fs::copy(one.path(), two.path()).expect("room");
    assert_eq!(one.list()["keys"], two.list()["keys"]);
}

#[test]
fn rotation__a_secret_is_added_used_and_dropped() {
    let place = Place::new();
    let path = place.path().display().to_string();
    assert_eq!(place.run(&["new", &path]).0, Some(0));
    assert_eq!(place.run(&["drop", "1"]).0, Some(1), "the one in use");
    assert_eq!(place.run(&["new"]).0, Some(0));
    assert_eq!(place.ids(), (vec![1, 2], 1));
    assert_eq!(place.run(&["use", "3"]).0, Some(1), "there is none");
    assert_eq!(place.ids(), (vec![1, 2], 1));
    assert_eq!(place.run(&["use", &path, "2"]).0, Some(0));
    assert_eq!(place.run(&["use", "2"]).0, Some(0), "again");
    assert_eq!(place.ids(), (vec![1, 2], 2));
    assert_eq!(place.run(&["drop", &path, "1"]).0, Some(0));
    assert_eq!(place.run(&["drop", "1"]).0, Some(0), "again");
    assert_eq!(place.ids(), (vec![2], 2));
    assert_eq!((place.run(&["new"]).0, place.run(&["new"]).0), (Some(0), Some(0)));
    let (code, _, err) = place.run(&["new"]);
    assert!(code == Some(1) && err.contains("drop one first"), "{err}");
    assert_eq!(place.ids(), (vec![2, 3, 4], 2));
    assert_eq!(fs::metadata(place.path()).expect("it is there").mode() & 0o777, 0o600);
}

/// PRP-KEY-20 and 24: what is printed belongs to the private key, of which there are two while one
/// takes the place of the other.
#[test]
fn node__a_private_key_is_made_and_replaced() {
    let place = Place::new();
    let (code, out, err) = place.run(&["node", "list"]);
    assert!(code == Some(1) && out.is_empty() && err.contains("prp key node new"), "{err}");
    let made = |words: &[&str]| {
        let (code, out, err) = place.run(words);
        assert!(code == Some(0) && err.contains("prphosts"), "{out}{err}");
        out.trim().strip_prefix("key=").expect("as in prphosts").to_owned()
    };
    let old = made(&["node", "new"]);
    assert_eq!(fs::metadata(place.node_path()).expect("it is there").mode() & 0o777, 0o600);
    assert_eq!(place.run(&["node", "drop", &old]).0, Some(1), "the only one");
    let new = made(&["node", "new"]);
    assert_eq!(place.run(&["node", "list"]).1, format!("key={old}\nkey={new}\n"));
    assert_eq!(place.run(&["node", "new"]).0, Some(1), "no third");
    for _ in 0..2 {
        assert_eq!(place.run(&["node", "drop", &old]).0, Some(0));
    }
    let (_, out, _) = place.run(&["node", "list", "--json"]);
    let listed: Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!(listed["keys"], Value::from(vec![new]));
    assert_eq!(place.run(&["node", "drop", "12"]).0, Some(2));
}

#[test]
fn mistakes__leave_the_file_and_are_told() {
    let place = Place::new();
    for words in [&["list"][..], &["use", "1"], &["drop", "1"]] {
        let (code, out, err) = place.run(words);
        assert!(code == Some(1) && out.is_empty() && err.contains("prp key new"), "{err}");
    }
    for words in [&["new", "--mode", "off"][..], &["use"], &["drop"], &["use", "x"], &[]] {
        assert_eq!(place.run(words).0, Some(2), "{words:?}");
    }
    assert!(!place.path().exists());
    assert_eq!(place.run(&["new"]).0, Some(0));
    let before = fs::read(place.path()).expect("it is there");
    let (code, _, err) = place.run(&["new", "--mode", "sign"]);
    assert!(code == Some(2) && err.contains("mode seal"), "{err}");
    assert_eq!(fs::read(place.path()).expect("it is there"), before);
    let wrong = place.path().display().to_string() + "/below";
    assert_eq!(place.run(&["new", &wrong]).0, Some(1));
}
