//! What `prp-check` says to arguments that choose nothing.

#![allow(non_snake_case, reason = "tests are named function__case")]

use std::process::Command;

/// Whether `arguments` are refused, with a list that has `name` in it.
fn lists(arguments: [&str; 3], name: &str) {
    let output = Command::new(env!("CARGO_BIN_EXE_prp-check")).args(arguments).output().unwrap();
    let (stdout, stderr) = (String::from_utf8(output.stdout), String::from_utf8(output.stderr));
    assert_eq!((stdout.as_deref(), output.status.code()), (Ok(""), Some(2)));
    let stderr = stderr.unwrap();
    assert!(stderr.contains(arguments[2]) && stderr.contains(name), "{stderr}");
}

#[test]
fn explore__lists_the_scenes_where_none_is_chosen() {
    lists(["explore", "--scene", "no such scene"], prp_check::explore::Scene::SMOKE[0].name);
}

#[test]
fn mutants__lists_the_mutations_where_none_is_chosen() {
    lists(["mutants", "--name", "no such mutation"], "TIME-WAIT never ends");
}
