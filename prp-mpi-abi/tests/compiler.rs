//! What `prp-mpicc` prints.
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};
use std::{fs, io};

fn compiler(argument: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_prp-mpicc"));
    command.arg(argument);
    command
}

/// All functions of the standard are listed, each once, and one that is left out is `no`.
#[test]
fn functions__of_the_standard_with_which_are_there() {
    let Output { stdout, .. } = compiler("--functions").output().expect("prp-mpicc runs");
    let list = String::from_utf8(stdout).expect("text");
    let rows: Vec<_> = list.lines().filter_map(|line| line.split_once(' ')).collect();
    let names: BTreeSet<_> = rows.iter().map(|(_, name)| name.trim()).collect();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("abi/functions.txt");
    let standard = fs::read_to_string(path).expect("the standard's list");
    let is_there = |name: &str| {
        let row = rows.iter().find(|(_, row)| row.trim() == name);
        row.map(|(there, _)| *there).unwrap_or_else(|| panic!("{name} is not listed"))
    };
    assert_eq!([rows.len(), names.len()], [list.lines().count(); 2]);
    for prototype in standard.lines().filter(|line| line.contains('(')) {
        let name = prototype.split('(').next().unwrap_or_default();
        is_there(name.rsplit([' ', '*']).next().unwrap_or_default());
    }
    let fortran = is_there("MPI_Abi_set_fortran_info");
    assert_eq!([is_there("MPI_Send"), fortran], ["yes", "no"]);
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
