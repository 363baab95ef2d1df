//! `prp run enable` and `disable` in the folders of a system that does not run. Nothing here needs
//! a privilege.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::{TempDir, tempdir};

/// The folders of a system with prp.
struct Root(TempDir);

/// The file of the unit `a`, and the drop-in that is made for it.
const UNIT: &str = "usr/lib/systemd/system/a.service";
const DROP_IN: &str = "etc/systemd/system/a.service.d/prp-run.conf";

impl Root {
    /// One with the unit `a`, whose section [Service] has these lines.
    fn new(lines: &str) -> Self {
        let root = Self(tempdir().expect("a temporary folder"));
        root.write("usr/bin/prp", "");
        root.write(UNIT, &format!("[Unit]\nDescription=a\n\n[Service]\n{lines}\n"));
        root
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("room");
        fs::write(path, text).expect("room");
    }

    /// The settings of the drop-in, without comments; none if it is not there.
    fn drop_in(&self) -> Vec<String> {
        let text = fs::read_to_string(self.path(DROP_IN)).unwrap_or_default();
        text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
    }

    /// Code, standard output, standard error of `prp run` with the first word, this system and the
    /// other words.
    fn run(&self, command: &str, words: &[&str]) -> (Option<i32>, String, String) {
        run(
            Path::new("/"),
            &[&[command, "--root", self.0.path().to_str().expect("text")], words].concat(),
        )
    }
}

/// Runs `prp run` with `words` in `folder`.
fn run(folder: &Path, words: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_prp"))
        .arg("run")
        .args(words)
        .current_dir(folder)
        .env("PATH", format!("{}:/usr/bin:/bin", folder.display()))
        .stdin(Stdio::null())
        .output()
        .expect("the program can be run");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn enable__has_all_commands_start_by_prp_run() {
    let root = Root::new("Type=oneshot\nExecStart=-/bin/a $B ; /bin/c\nExecStart=@/bin/d e f\n");
    let (code, out, err) = root.run("enable", &["a"]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert!(out.contains(DROP_IN) && out.contains("a.service runs by prp run"), "{out}");
    assert_eq!(
        root.drop_in(),
        [
            "[Service]",
            "ExecStart=",
            "ExecStart=-/usr/bin/prp run -- /bin/a $B",
            "ExecStart=/usr/bin/prp run -- /bin/c",
            "ExecStart=/usr/bin/prp run --argv0 e -- /bin/d f",
        ]
    );
}

#[test]
fn enable__again_takes_other_options() {
    let root = Root::new("ExecStart=/bin/a");
    let options = ["--require", "--seccomp", "--listen", "prp", "--network", "10.1.0.0/16"];
    let more = ["--loopback", "self", "--hosts", "/etc/a b", "a"];
    assert_eq!(root.run("enable", &[&options[..], &more].concat()).0, Some(0));
    let line = "ExecStart=/usr/bin/prp run --require --seccomp --loopback self --network \
                10.1.0.0/16 --listen prp --hosts \"/etc/a b\" -- /bin/a";
    assert_eq!(root.drop_in()[2], line);
    assert_eq!(root.run("enable", &["--listen", "tcp", "a.service"]).0, Some(0));
    assert_eq!(root.drop_in()[2], "ExecStart=/usr/bin/prp run --listen tcp -- /bin/a");
}

#[test]
fn enable__writes_a_drop_in_that_systemd_takes() {
    let root = Root::new("ExecStart=-/bin/true \"a b\" ${C} %n");
    assert_eq!(root.run("enable", &["--hosts", "/etc/a b%c\"d", "a"]).0, Some(0));
    root.write("bin/true", "");
    for file in ["usr/bin/prp", "bin/true"] {
        fs::set_permissions(root.path(file), fs::Permissions::from_mode(0o755)).expect("ours");
    }
    let checked = Command::new("systemd-analyze")
        .args(["verify", "--man=no", "--recursive-errors=no"])
        .arg(format!("--root={}", root.0.path().display()))
        .arg("a.service")
        .output();
    // Not everywhere there.
    let Ok(checked) = checked else { return };
    let said = String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success() && !said.contains("prp-run.conf"), "{said}");
}

#[test]
fn disable__leaves_the_system_as_it_was() {
    let root = Root::new("ExecStart=/bin/a");
    assert_eq!(root.run("enable", &["a"]).0, Some(0));
    let (code, out, err) = root.run("disable", &["a"]);
    assert_eq!((code, err.as_str()), (Some(0), ""));
    assert!(out.contains("a.service runs without prp run"), "{out}");
    assert!(!root.path(DROP_IN).parent().expect("a folder").exists());
    // Expect: what others have put there stays.
    let other = "etc/systemd/system/a.service.d/other.conf";
    root.write(other, "[Service]\nUser=root\n");
    assert_eq!(root.run("enable", &["a"]).0, Some(0));
    // The unit may be gone by then.
    fs::remove_file(root.path(UNIT)).expect("it is there");
    assert_eq!(root.run("disable", &["a"]).0, Some(0));
    assert!(root.path(other).exists() && root.drop_in().is_empty());
    let (code, _, err) = root.run("disable", &["a"]);
    assert_eq!(code, Some(1));
    assert!(err.contains("a.service does not run by prp run"), "{err}");
}

#[test]
fn enable__names_the_line_that_stands_against_it() {
    let root = Root::new("ExecStart=/bin/a\nPrivateNetwork=yes\nKillMode=mixed");
    let (code, _, err) = root.run("enable", &["a"]);
    assert_eq!((code, root.drop_in()), (Some(1), vec![]));
    let place = format!("{}:6: PrivateNetwork=yes: ", root.path(UNIT).display());
    assert!(err.contains(&place) && err.contains("systemctl edit a.service"), "{err}");
    let (code, _, err) = root.run("enable", &["--force", "a"]);
    assert_eq!((code, root.drop_in().len()), (Some(0), 3));
    // Expect: as well as what is no reason to do without.
    assert!(err.contains(&place) && err.contains("KillMode=mixed"), "{err}");
}

#[test]
fn enable__looks_into_prphosts_for_what_is_needed() {
    let root = Root::new("ExecStart=/bin/a\nUser=nobody");
    root.write("etc/prphosts", "self 1\n1 udp:127.0.0.1\n2 udp:127.0.0.2\n");
    assert_eq!(root.run("enable", &["a"]).0, Some(0));
    root.write("etc/prphosts", "self 1\n1 02:00:00:00:00:01 eth0\n2 02:00:00:00:00:02 eth0\n");
    let (code, _, err) = root.run("enable", &["a"]);
    assert_eq!(code, Some(1));
    assert!(err.contains("User=nobody: packet sockets need CAP_NET_RAW"), "{err}");
}

#[test]
fn enable__says_what_is_wrong() {
    let root = Root::new("ExecStop=/bin/a");
    let said = |words: &[&str], part: &str| {
        let (code, out, err) = root.run("enable", words);
        assert!(code != Some(0) && err.contains(part), "{words:?}: {out}{err}");
    };
    said(&["a"], "it has no ExecStart=");
    said(&["b"], "no unit b.service");
    said(&["a.timer"], "a timer runs no program");
    said(&["--hosts", "-", "a"], "name a file");
    root.write(UNIT, "[Service]\nExecStart=/bin/a\n");
    let later = "etc/systemd/system/a.service.d/zz.conf";
    root.write(later, "[Service]\nExecStart=\nExecStart=/bin/b\n");
    said(&["a"], "zz.conf:3: ExecStart=/bin/b: comes after prp-run.conf");
    fs::remove_file(root.path(later)).expect("it is there");
    root.write(DROP_IN, "[Service]\nUser=root\n");
    said(&["a"], "prp-run.conf: is not of `prp run enable`");
    assert!(root.run("disable", &["a"]).2.contains("is not of `prp run enable`"));
    assert_eq!(root.drop_in(), ["[Service]", "User=root"]);
    fs::remove_file(root.path("usr/bin/prp")).expect("it is there");
    said(&["a"], "install PRP there first");
    // Expect: a system that does not run has to be named. Where systemd runs, the unit is unknown.
    let (code, _, err) = run(Path::new("/"), &["enable", "no-such-unit"]);
    assert_eq!(code, Some(1));
    assert!(err.contains("--root DIR") || err.contains("no unit no-such-unit"), "{err}");
}

/// Without its second command line a unit would start nothing.
#[test]
fn enable__that_cannot_write_all_leaves_what_was_there() {
    let root = Root::new("ExecStart=/bin/a");
    let enable = |words: &str| {
        let line = format!("ulimit -f 0; exec \"$0\" run enable --root \"$1\" {words} a");
        let mut command = Command::new("sh");
        command.args(["-c", &line, env!("CARGO_BIN_EXE_prp")]).arg(root.0.path());
        command.stdin(Stdio::null()).output().expect("a shell")
    };
    for before in [false, true] {
        if before {
            assert_eq!(root.run("enable", &["--require", "a"]).0, Some(0));
        }
        let kept = root.drop_in();
        let output = enable("--seccomp");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1) && said.contains(DROP_IN), "{said}");
        assert_eq!(root.drop_in(), kept);
        let folder = root.path(DROP_IN);
        let left = fs::read_dir(folder.parent().expect("a folder")).expect("it is there");
        assert_eq!(left.count(), usize::from(before));
    }
}

/// Programs of those names run, too.
#[test]
fn run__of_a_program_called_enable() {
    let folder = tempdir().expect("a temporary folder");
    let program = folder.path().join("enable");
    fs::write(&program, "#!/bin/sh\necho \"ran $*\"\n").expect("room");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("ours");
    let place = folder.path();
    for words in [&["--off", "--", "enable", "a"][..], &["--off", "./enable", "a"]] {
        assert_eq!(run(place, words).1, "ran a\n", "{words:?}");
    }
    assert_eq!(run(place, &["--off", "sh", "enable", "disable"]).1, "ran disable\n");
    assert_eq!(run(place, &["--off", "echo", "enable"]).1, "enable\n");
    // Expect: options in front are those of a run.
    let (code, _, err) = run(place, &["--require", "enable", "a"]);
    assert_eq!(code, Some(2));
    assert!(err.contains("prp run enable --require UNIT"), "{err}");
    // Expect: no other word is taken.
    assert_eq!(run(place, &["--off", "help"]).0, Some(1));
    let named = run(place, &["--off", "--argv0", "-name", "sh", "-c", "echo $0"]);
    assert_eq!(named.1, "-name\n", "{}", named.2);
}
