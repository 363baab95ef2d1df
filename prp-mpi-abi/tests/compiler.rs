//! What `prp-mpicc` prints.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};
use std::{env, fs, io};

fn compiler(argument: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prp-mpicc"));
    command.arg(argument);
    command
}

/// A row for each function; the form with large counts is in the row of the other.
fn table() -> String {
    let Output { stdout, .. } = compiler("--functions").output().expect("prp-mpicc runs");
    let list = String::from_utf8(stdout).expect("text");
    let all: BTreeMap<&str, &str> = list
        .lines()
        .filter_map(|l| l.split_once(' ').map(|(there, f)| (f.trim(), there)))
        .collect();
    let mut rows = "| function | implemented |\n| --- | --- |\n".to_owned();
    for (function, there) in &all {
        let is_large = |f: &str, other: &str| {
            f.strip_suffix("_c") == Some(other) && all.get(f) == all.get(other)
        };
        if function.strip_suffix("_c").is_some_and(|other| is_large(function, other)) {
            continue;
        }
        let large = format!("{function}_c");
        let pair = is_large(&large, function).then(|| format!(", `{large}`"));
        rows += &format!("| `{function}`{} | {there} |\n", pair.unwrap_or_default());
    }
    rows
}

#[test]
fn functions__the_book_has_all() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/mpi-functions.md");
    let page = fs::read_to_string(&path).expect("the page can be read");
    let text = page.split("| function |").next().unwrap_or_default();
    let expected = text.to_owned() + &table();
    if env::var_os("UPDATE").is_some() {
        fs::write(&path, expected).expect("the page can be written");
        return;
    }
    assert!(
        page == expected,
        "UPDATE=1 cargo test -p prp-mpi-abi --test compiler writes the table"
    );
}

/// Build systems ask in the words of MPICH or of Open MPI.
#[test]
fn show__prints_what_compiles_and_links() {
    let shown = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prp-mpicc"));
        let Output { status, stdout, stderr } =
            command.args(words).env("PRP_MPI_CC", "cc1").output().expect("prp-mpicc runs");
        assert!(status.success(), "{words:?}: {}", String::from_utf8_lossy(&stderr));
        let line = String::from_utf8(stdout).expect("text");
        // Of options with folders what comes before the folder.
        let kind = |word: &str| word.split('/').next().unwrap_or_default().to_owned();
        line.split_whitespace().map(kind).collect::<Vec<_>>().join(" ")
    };
    let all = "cc1 -I -L -Wl,-rpath, -lmpi_abi";
    assert_eq!(shown(&["-show"]), all);
    assert_eq!(shown(&["--showme"]), all);
    assert_eq!(shown(&["-show", "a.c", "-O2"]), "cc1 -I a.c -O2 -L -Wl,-rpath, -lmpi_abi");
    assert_eq!(shown(&["-c", "a.c", "-show"]), "cc1 -I -c a.c");
    assert_eq!(shown(&["-compile_info"]), "cc1 -I");
    assert_eq!(shown(&["-link_info"]), "cc1 -L -Wl,-rpath, -lmpi_abi");
    assert_eq!(shown(&["-showme:compile"]), "-I");
    assert_eq!(shown(&["--showme:link"]), "-L -Wl,-rpath, -lmpi_abi");
}

#[test]
fn print__a_reader_that_has_enough_is_no_error() {
    let (reader, writer) = io::pipe().expect("a pipe");
    drop(reader);
    let Output { status, stderr, .. } =
        compiler("--rust").stdout(writer).output().expect("prp-mpicc runs");
    assert_eq!(String::from_utf8_lossy(&stderr), "");
    assert!(status.success(), "{status}");
}
