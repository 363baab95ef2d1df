//! `prp-capi-install`: links libprp.so.0, and installs it with libprp_socket.so.0, header, manual
//! pages, and what pkg-config, CMake and Fortran need.
#![deny(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "they panic where nothing can be written"
)]

use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fs, io};

/// The version script of the library.
const VERSION_SCRIPT: &str = include_str!(concat!(env!("OUT_DIR"), "/prp.map"));

/// Manual pages: name, text.
const PAGES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/pages.rs"));

/// The number in the library's soname.
const ABI: &str = "0";

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What is installed of a build: the archive of libprp, and the library of the socket family, which
/// is the one that `prp run` preloads.
const BUILT: [&str; 2] = ["libprp.a", "libprp_run_preload.so"];

const HELP: &str = "\
usage: prp-capi-install [--prefix DIR] [--libdir DIR] [--destdir DIR]

Installs libprp.so.0, libprp.a, libprp_socket.so.0, prp.h, the Fortran module, manual pages, and the
files of pkg-config and CMake. libprp.a and libprp_run_preload.so must be in the folder of this
program, where `cargo build -p prp-capi -p prp-run-preload` puts all three.

  --prefix DIR   where the files will be used (/usr/local)
  --libdir DIR   where libraries are (PREFIX/lib)
  --destdir DIR  a folder to put in front of all paths, for packages
";

/// Where files go.
struct Places {
    prefix: String,
    libdir: String,
    destdir: String,
}

impl Places {
    fn of_arguments() -> Result<Self, String> {
        let (mut prefix, mut libdir, mut destdir) = ("/usr/local".to_owned(), None, String::new());
        let mut words = env::args().skip(1);
        while let Some(word) = words.next() {
            let mut value =
                || words.next().ok_or_else(|| format!("{word} needs a folder\n\n{HELP}"));
            match word.as_str() {
                "--prefix" => prefix = value()?,
                "--libdir" => libdir = Some(value()?),
                "--destdir" => destdir = value()?,
                "-h" | "--help" => return Err(HELP.to_owned()),
                _ => return Err(format!("no option {word}\n\n{HELP}")),
            }
        }
        let libdir = libdir.unwrap_or_else(|| format!("{prefix}/lib"));
        if ![&prefix, &libdir].iter().all(|path| path.starts_with('/')) {
            return Err(format!("{prefix}, {libdir}: not a path from the root"));
        }
        Ok(Self { prefix, libdir, destdir })
    }

    /// The path of a file to be written, whose folder is made.
    fn make(&self, path: &str) -> io::Result<PathBuf> {
        let path = PathBuf::from(format!("{}{path}", self.destdir));
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        Ok(path)
    }

    fn write(&self, path: &str, text: &str) -> io::Result<()> {
        fs::write(self.make(path)?, text)
    }

    /// `text` with the paths and versions in it.
    fn fill(&self, text: &str) -> String {
        text.replace("@PREFIX@", &self.prefix)
            .replace("@LIBDIR@", &self.libdir)
            .replace("@VERSION@", VERSION)
            .replace("@ABI@", ABI)
    }

    fn install(&self, [archive, socket_library]: [&Path; 2]) -> io::Result<()> {
        let Self { prefix, libdir, .. } = self;
        let installed = self.make(&format!("{libdir}/libprp_socket.so.{VERSION}"))?;
        // Programs that run with the one before keep that.
        remove(&installed)?;
        fs::copy(socket_library, installed)?;
        self.link_names("libprp_socket.so")?;
        let pc = self.fill(include_str!("../files/prp_socket.pc.in"));
        self.write(&format!("{libdir}/pkgconfig/prp_socket.pc"), &pc)?;
        fs::copy(archive, self.make(&format!("{libdir}/libprp.a"))?)?;
        self.link(archive)?;
        self.write(&format!("{prefix}/include/prp.h"), include_str!("../include/prp.h"))?;
        let fortran = include_str!(concat!(env!("OUT_DIR"), "/prp.f90"));
        self.write(&format!("{prefix}/share/prp/prp.f90"), fortran)?;
        let pc = self.fill(include_str!("../files/prp.pc.in"));
        self.write(&format!("{libdir}/pkgconfig/prp.pc"), &pc)?;
        let cmake = self.fill(include_str!("../files/prp-config.cmake.in"));
        self.write(&format!("{libdir}/cmake/prp/prp-config.cmake"), &cmake)?;
        let cmake = self.fill(include_str!("../files/prp-config-version.cmake.in"));
        self.write(&format!("{libdir}/cmake/prp/prp-config-version.cmake"), &cmake)?;
        for (name, page) in PAGES {
            self.write(&format!("{prefix}/share/man/man3/{name}"), page)?;
        }
        Ok(())
    }

    /// Links the shared library from the archive. It stays loaded once it is: its threads run in
    /// it.
    fn link(&self, archive: &Path) -> io::Result<()> {
        let full = self.make(&format!("{}/libprp.so.{VERSION}", self.libdir))?;
        let script = full.with_file_name(".prp.map");
        fs::write(&script, VERSION_SCRIPT)?;
        let mut cc = Command::new(env::var_os("CC").unwrap_or_else(|| "cc".into()));
        cc.arg("-shared").arg("-o").arg(&full).arg(format!("-Wl,-soname,libprp.so.{ABI}"));
        cc.arg(format!("-Wl,--version-script={}", script.display()));
        cc.args(["-Wl,--gc-sections", "-Wl,-z,nodelete", "-Wl,-z,defs", "-Wl,-z,relro,-z,now"]);
        cc.args(["-Wl,--whole-archive"]).arg(archive).args(["-Wl,--no-whole-archive"]);
        cc.args(["-Wl,--as-needed", "-lgcc_s", "-lpthread", "-lm", "-ldl", "-lc"]);
        let status = cc.status().map_err(|e| io::Error::new(e.kind(), format!("{cc:?}: {e}")))?;
        fs::remove_file(&script)?;
        if !status.success() {
            return Err(io::Error::other(format!("{cc:?}: {status}")));
        }
        self.link_names("libprp.so")
    }

    /// Gives the library `name` its names for the dynamic linker and the compiler's.
    fn link_names(&self, name: &str) -> io::Result<()> {
        let soname = format!("{name}.{ABI}");
        for (link, target) in [(&*soname, format!("{name}.{VERSION}")), (name, soname.clone())] {
            let link = self.make(&format!("{}/{link}", self.libdir))?;
            remove(&link)?;
            symlink(target, link)?;
        }
        Ok(())
    }
}

/// Removes a file, if it is there.
fn remove(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

fn main() -> ExitCode {
    let places = match Places::of_arguments() {
        Ok(places) => places,
        Err(text) if text == HELP => {
            return match io::stdout().write_all(HELP.as_bytes()) {
                Err(e) if e.kind() != io::ErrorKind::BrokenPipe => ExitCode::FAILURE,
                _ => ExitCode::SUCCESS,
            };
        }
        Err(text) => {
            let _ = writeln!(io::stderr(), "prp-capi-install: {}", text.trim_end());
            return ExitCode::from(2);
        }
    };
    let program = env::current_exe().unwrap_or_default();
    let built = BUILT.map(|name| program.with_file_name(name));
    if let Some(missing) = built.iter().find(|file| !file.exists()) {
        let _ = writeln!(
            io::stderr(),
            "prp-capi-install: no {}: cargo build -p prp-capi -p prp-run-preload makes it",
            missing.display()
        );
        return ExitCode::FAILURE;
    }
    if let Err(e) = places.install(built.each_ref().map(PathBuf::as_path)) {
        let _ = writeln!(io::stderr(), "prp-capi-install: {e}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
