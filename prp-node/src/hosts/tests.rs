use std::fs;

use tempfile::tempdir;

use super::*;

#[test]
fn load__has_place_cause_and_fix_apart() {
    let folder = tempdir().expect("a temporary folder");
    let path = folder.path().join("a; b");
    let missing = HostsFile::load(&path).expect_err("no file");
    let fix = "write one (see etc/prphosts) or name another";
    let [explanation] = ExplainedError::within(&missing) else { panic!("{missing:?}") };
    assert_eq!(explanation.file.as_deref(), Some(&*path));
    assert_eq!((explanation.line, explanation.fix.as_deref()), (None, Some(fix)));
    assert!(explanation.cause.starts_with("No such file"), "{}", explanation.cause);
    assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    let text = format!("{}: {}; {fix}", path.display(), explanation.cause);
    assert_eq!(missing.to_string(), text);
}

#[test]
fn load__of_mistakes_has_the_place_of_each() {
    let folder = tempdir().expect("a temporary folder");
    let path = folder.path().join("prphosts");
    fs::write(&path, "1 here\n".repeat(25)).expect("room");
    let error = HostsFile::load(&path).expect_err("mistakes");
    let explanations = ExplainedError::within(&error);
    assert_eq!((error.kind(), explanations.len()), (io::ErrorKind::InvalidData, 21));
    let first = &explanations[0];
    assert_eq!((first.line, first.column), (Some(1), Some(3)));
    assert!(first.cause.starts_with("expected ") && first.cause.contains("\"here\""), "{first}");
    // The text is that of the mistakes in the file.
    let bytes = fs::read(&path).expect("it is there");
    let errors = Hosts::parse(&bytes).expect_err("mistakes");
    assert_eq!(error.to_string(), errors.in_file(&path.display().to_string()).to_string());
}
