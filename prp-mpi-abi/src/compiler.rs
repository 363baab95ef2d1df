//! `prp-mpicc`: the C compiler, with the header of the standard ABI and the library beside this
//! program.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fs};

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
            let _ = writeln!(io::stderr(), "prp-mpicc: {e}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> io::Result<ExitCode> {
    // Names of files need not be text.
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    let printed = match arguments.first().and_then(|first| first.to_str()) {
        Some("--functions") => Some(FUNCTIONS),
        Some("--rust") => Some(DECLARATIONS),
        _ => None,
    };
    if let Some(text) = printed {
        return match io::stdout().write_all(text.as_bytes()) {
            // Its reader has what it wants.
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
            outcome => outcome.map(|()| ExitCode::SUCCESS),
        };
    }
    let folder = prepare()?;
    let (include, library) = (folder.join("include"), folder.join("lib"));
    let compiler = env::var_os("PRP_MPI_CC").unwrap_or_else(|| "cc".into());
    let shown = arguments.iter().find_map(|word| Shown::of(word));
    let stops_before = ["-c", "-E", "-S", "-M", "-MM"];
    let links = !arguments.iter().any(|a| stops_before.iter().any(|stop| a == stop));
    let compile = [joined("-I", &include)];
    let link = [joined("-L", &library), joined("-Wl,-rpath,", &library), "-lmpi_abi".into()];
    let given = arguments.into_iter().filter(|word| Shown::of(word).is_none());
    let Some(shown) = shown else {
        let link = link.into_iter().filter(|_| links);
        return Err(Command::new(compiler).args(compile).args(given).args(link).exec());
    };
    let compiler = shown.with_compiler.then_some(compiler);
    let compile = compile.into_iter().chain(given).filter(|_| shown.compiles);
    let link = link.into_iter().filter(|_| shown.links && (links || !shown.compiles));
    let words: Vec<_> = compiler.into_iter().chain(compile).chain(link).collect();
    let mut line = words.join(OsStr::new(" ")).into_encoded_bytes();
    line.push(b'\n');
    io::stdout().write_all(&line)?;
    Ok(ExitCode::SUCCESS)
}

/// The parts of the compiler's command that are printed in place of running it.
struct Shown {
    with_compiler: bool,
    compiles: bool,
    links: bool,
}

impl Shown {
    /// Returns what `word` asks for: in the words of MPICH and of Open MPI, which build systems
    /// try.
    fn of(word: &OsStr) -> Option<Self> {
        let word = word.to_str()?;
        let (with_compiler, compiles, links) = match word.strip_prefix('-')?.trim_start_matches('-')
        {
            "show" | "showme" => (true, true, true),
            "compile_info" => (true, true, false),
            "link_info" => (true, false, true),
            "showme:compile" => (false, true, false),
            "showme:link" => (false, false, true),
            _ => return None,
        };
        Some(Self { with_compiler, compiles, links })
    }
}

/// An option with the folder that it names.
fn joined(option: &str, folder: &Path) -> OsString {
    let mut word = OsString::from(option);
    word.push(folder);
    word
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
