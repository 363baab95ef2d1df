//! `prp-mpicc`: the C compiler, with the header of the standard ABI and the library beside this
//! program.

use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fs, io};

/// The header, made from the standard's constants and functions.
const HEADER: &str = include_str!(concat!(env!("OUT_DIR"), "/mpi.h"));

/// The functions of the ABI, with which are implemented.
const FUNCTIONS: &str = include_str!(concat!(env!("OUT_DIR"), "/functions.txt"));

/// The declarations for Rust, from the same lists.
const DECLARATIONS: &str = include_str!(concat!(env!("OUT_DIR"), "/mpi.rs"));

/// The library's own name, and the one that a linker searches for.
const LIBRARY: [&str; 2] = ["libmpi_abi.so.1", "libmpi_abi.so"];

fn main() -> ExitCode {
    match run() {
        Ok(never) => never,
        Err(e) => {
            eprintln!("prp-mpicc: {e}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> io::Result<ExitCode> {
    if env::args().nth(1).as_deref() == Some("--functions") {
        print!("{FUNCTIONS}");
        return Ok(ExitCode::SUCCESS);
    }
    if env::args().nth(1).as_deref() == Some("--rust") {
        print!("{DECLARATIONS}");
        return Ok(ExitCode::SUCCESS);
    }
    let folder = prepare()?;
    let (include, library) = (folder.join("include"), folder.join("lib"));
    let compiler = env::var("PRP_MPI_CC").unwrap_or_else(|_| "cc".into());
    let arguments: Vec<String> = env::args().skip(1).collect();
    let only_shows = arguments.iter().any(|a| matches!(a.as_str(), "-show" | "--show"));
    let links = !arguments.iter().any(|a| matches!(a.as_str(), "-c" | "-E" | "-S" | "-M" | "-MM"));
    let mut words = vec![format!("-I{}", include.display())];
    words.extend(arguments.into_iter().filter(|a| !matches!(a.as_str(), "-show" | "--show")));
    if links {
        let library = library.display();
        words.extend([format!("-L{library}"), format!("-Wl,-rpath,{library}"), "-lmpi_abi".into()]);
    }
    if only_shows {
        println!("{compiler} {}", words.join(" "));
        return Ok(ExitCode::SUCCESS);
    }
    Err(Command::new(compiler).args(words).exec())
}

/// A folder with the header and the library under both names: beside this program, or the user's
/// own.
fn prepare() -> io::Result<PathBuf> {
    let program = env::current_exe()?;
    let beside = program.parent().ok_or(io::ErrorKind::NotFound)?;
    let found = LIBRARY.map(|name| beside.join(name)).into_iter().find(|p| p.exists());
    let found = found.ok_or_else(|| {
        let text = format!("no {} in {}", LIBRARY[1], beside.display());
        io::Error::new(io::ErrorKind::NotFound, text)
    })?;
    let cache = env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| env::var_os("HOME").map(|home| Path::new(&home).join(".cache")));
    let places = [Some(beside.join("prp-mpi")), cache.map(|c| c.join("prp-mpi"))];
    let mut outcome = Err(io::ErrorKind::NotFound.into());
    for place in places.into_iter().flatten() {
        outcome = fill(&place, &found).map(|()| place);
        if outcome.is_ok() {
            break;
        }
    }
    outcome
}

fn fill(folder: &Path, library: &Path) -> io::Result<()> {
    let (include, lib) = (folder.join("include"), folder.join("lib"));
    fs::create_dir_all(&include)?;
    fs::create_dir_all(&lib)?;
    let header = include.join("mpi.h");
    if fs::read_to_string(&header).ok().as_deref() != Some(HEADER) {
        // Another compiler may read it at this moment.
        let fresh = include.join(format!(".mpi.h.{}", std::process::id()));
        fs::write(&fresh, HEADER)?;
        fs::rename(fresh, header)?;
    }
    for name in LIBRARY {
        let link = lib.join(name);
        if fs::read_link(&link).ok().as_deref() != Some(library) {
            let fresh = lib.join(format!(".{name}.{}", std::process::id()));
            symlink(library, &fresh)?;
            fs::rename(fresh, link)?;
        }
    }
    Ok(())
}
