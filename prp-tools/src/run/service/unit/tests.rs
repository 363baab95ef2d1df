use super::*;

impl Unit {
    /// Returns the unit called `name` whose file `a.service` has this text.
    pub(in crate::run::service) fn with(text: &str) -> Self {
        let settings = parse(text, Path::new("a.service"));
        Self { name: UnitName("a.service".to_owned()), settings }
    }
}

/// A system with these files; of those with a `>` in front the text is where a link leads.
fn system(files: &[(&str, &str)]) -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a folder");
    for (path, text) in files {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("room");
        match text.strip_prefix('>') {
            Some(target) => std::os::unix::fs::symlink(target, path).expect("room"),
            None => fs::write(path, text).expect("room"),
        }
    }
    root
}

/// The name that the unit has, and its commands with the numbers of their lines.
fn read(root: &tempfile::TempDir, name: &str) -> Result<(String, Vec<(String, usize)>), String> {
    let name = UnitName::parse(name)?;
    let unit = Unit::read(root.path(), &name, "prp-run.conf").map_err(|e| e.text().to_owned())?;
    let lines = unit.list("ExecStart").into_iter().map(|it| (it.value.clone(), it.line));
    Ok((unit.name.to_string(), lines.collect()))
}

fn one(name: &str, value: &str, line: usize) -> Result<(String, Vec<(String, usize)>), String> {
    Ok((name.to_owned(), vec![(value.to_owned(), line)]))
}

#[test]
fn parse__takes_only_services() {
    for (text, name) in [
        ("redis", "redis.service"),
        ("a.service", "a.service"),
        ("php8.2-fpm", "php8.2-fpm.service"),
        ("a@1", "a@1.service"),
    ] {
        assert_eq!(UnitName::parse(text), Ok(UnitName(name.to_owned())));
    }
    for text in ["", "a/b", "a b", "a.socket", "a.timer"] {
        UnitName::parse(text).expect_err(text);
    }
}

#[test]
fn read__the_file_that_comes_first() {
    let root = system(&[
        ("lib/systemd/system/a.service", "[Service]\nExecStart=/lib\n"),
        ("etc/systemd/system/a.service", "[Unit]\nExecStart=/no\n[Service]\n\nExecStart=/etc\n"),
        ("lib/systemd/system/t@.service", "[Service]\nExecStart=/t %i\n"),
    ]);
    assert_eq!(read(&root, "a"), one("a.service", "/etc", 5));
    assert_eq!(read(&root, "t@1"), one("t@1.service", "/t %i", 2));
    assert!(read(&root, "b").expect_err("none").contains("no unit b.service"));
}

#[test]
fn read__lines_that_go_on() {
    let text =
        "[Service]\n# ExecStart=/no\n;ExecStart=/no\nExecStart = /a \\\n# no\n  b\\\nc\nUser=x\n";
    let root = system(&[("usr/lib/systemd/system/a.service", text)]);
    assert_eq!(read(&root, "a"), one("a.service", "/a  b c", 4));
}

#[test]
fn read__an_alias_under_its_own_name() {
    let root = system(&[
        ("lib/systemd/system/ssh.service", "[Service]\nExecStart=/sshd\n"),
        ("etc/systemd/system/sshd.service", ">/lib/systemd/system/ssh.service"),
        ("etc/systemd/system/off.service", ">/dev/null"),
        ("etc/systemd/system/none.service", ""),
    ]);
    assert_eq!(read(&root, "sshd"), one("ssh.service", "/sshd", 2));
    for masked in ["off", "none"] {
        assert!(read(&root, masked).expect_err("masked").contains("unmask"));
    }
}

#[test]
fn read__drop_ins_in_their_order_but_for_its_own() {
    let root = system(&[
        ("lib/systemd/system/a-b.service", "[Service]\nExecStart=/a\nUser=one\n"),
        ("lib/systemd/system/a-.service.d/10.conf", "[Service]\nExecStart=\nExecStart=/group\n"),
        ("lib/systemd/system/a-b.service.d/20.conf", "[Service]\nExecStart=/vendor\n"),
        ("etc/systemd/system/a-b.service.d/20.conf", "[Service]\nExecStart=/admin\n"),
        ("etc/systemd/system/a-b.service.d/prp-run.conf", "[Service]\nExecStart=\nExecStart=/no\n"),
        ("run/systemd/system/service.d/30.conf", "[Service]\nUser=two\n"),
        ("etc/systemd/system/a-b.service.d/40.text", "[Service]\nExecStart=/no\n"),
    ]);
    let (_, lines) = read(&root, "a-b").expect("it is there");
    assert_eq!(lines, [("/group".to_owned(), 3), ("/admin".to_owned(), 2)]);
    let name = UnitName::parse("a-b").expect("a name");
    let unit = Unit::read(root.path(), &name, "prp-run.conf").expect("it is there");
    assert_eq!(unit.last("User").map(|it| it.value.as_str()), Some("two"));
    assert_eq!(unit.overriding("ExecStart", "20.conf"), None);
    assert_eq!(unit.overriding("ExecStart", "15.conf").map(|it| it.value.as_str()), Some("/admin"));
}
