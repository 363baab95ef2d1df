//! Finds std's own tests of `TcpStream` and `TcpListener` and adapts them to PRP, for
//! tests/std_tcp.rs; their names go to tests/c_programs.rs. The project has no copy of them: it
//! reads them from Debian's package rust-src, from rustup's component of that name, or from the
//! path in `RUST_STD_TCP_TESTS`.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

include!("std_tcp_table.rs");

const NAME: &str = "library/std/src/net/tcp/tests.rs";

fn main() {
    println!("cargo::rerun-if-env-changed=RUST_STD_TCP_TESTS");
    println!("cargo::rerun-if-changed=build.rs");
    // Without the tests nothing uses the modules that stand for std's.
    println!("cargo::rustc-check-cfg=cfg(std_tests)");
    println!("cargo::rerun-if-changed=std_tcp_table.rs");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let found = locate();
    let (text, names) = match &found {
        Some(path) => {
            println!("cargo::rerun-if-changed={}", path.display());
            println!("cargo::rustc-cfg=std_tests");
            let text = fs::read_to_string(path).expect("std's tests can be read");
            (adapt(&text, path), format!("&{:?}", kept(&test_names(&text)).collect::<Vec<_>>()))
        }
        None => {
            // The file is written when the package is installed. Cargo runs this program again as
            // long as it is missing.
            println!("cargo::rerun-if-changed=/var/lib/dpkg/info/rust-src.list");
            (listing("", &[], &[]), "&[]".to_owned())
        }
    };
    for (name, text) in [("std_tcp.rs", text), ("std_tcp_names.rs", names)] {
        fs::write(out.join(name), text).expect("OUT_DIR can be written");
    }
}

fn locate() -> Option<PathBuf> {
    if let Some(path) = env::var_os("RUST_STD_TCP_TESTS") {
        let path = PathBuf::from(path);
        assert!(path.is_file(), "RUST_STD_TCP_TESTS: no file {}", path.display());
        return Some(path);
    }
    let rustc = env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let sysroot = lines(rustc, &["--print", "sysroot"]);
    let by_rustup = sysroot.iter().map(|s| Path::new(s).join("lib/rustlib/src/rust").join(NAME));
    let by_debian = lines("dpkg", &["-L", "rust-src"]).into_iter().map(PathBuf::from);
    by_rustup.chain(by_debian).find(|path| path.ends_with(NAME) && path.is_file())
}

fn lines(program: impl AsRef<OsStr>, args: &[&str]) -> Vec<String> {
    let Ok(output) = Command::new(program).args(args).output() else { return Vec::new() };
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

/// The text to compile, and tables of its contents.
fn adapt(text: &str, path: &Path) -> String {
    let names = test_names(text);
    let mut adapted = text.to_owned();
    for (name, _) in EXCLUDED {
        remove(&mut adapted, name);
    }
    for (from, to, _) in REPLACED {
        adapted = adapted.replace(from, to);
    }
    // Without the harness of #[test], such functions would not be compiled.
    adapted = adapted.replace("#[test]\n", "");
    let unused = REPLACED.iter().map(|r| r.0).filter(|from| !text.contains(from));
    let unused: Vec<&str> = unused.collect();
    format!("{adapted}\n{}", listing(&path.display().to_string(), &names, &unused))
}

fn listing(source: &str, names: &[&str], unused: &[&str]) -> String {
    let tests: String = kept(names).map(|name| format!("    ({name:?}, {name}),\n")).collect();
    format!(
        "pub const SOURCE: &str = {source:?};\n\
         pub const NAMES: &[&str] = &{names:?};\n\
         pub const UNUSED: &[&str] = &{unused:?};\n\
         pub const TESTS: &[(&str, fn())] = &[\n{tests}];\n"
    )
}

/// The tests that are not left out.
fn kept<'a>(names: &'a [&str]) -> impl Iterator<Item = &'a str> {
    let is_excluded = |name: &str| EXCLUDED.iter().any(|(excluded, _)| *excluded == name);
    names.iter().copied().filter(move |name| !is_excluded(name))
}

/// The test functions, in the order of the text.
fn test_names(text: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut is_test = false;
    for line in text.lines() {
        is_test |= line == "#[test]";
        if let Some(rest) = line.strip_prefix("fn ")
            && std::mem::take(&mut is_test)
        {
            names.extend(rest.split('(').next());
        }
    }
    names
}

/// Removes the body of a function. A function at the left margin ends with the first closing brace
/// at the left margin.
fn remove(text: &mut String, name: &str) {
    let Some(start) = text.find(&format!("\nfn {name}()")) else { return };
    let open = text[start..].find("{\n").map(|at| start + at + 2);
    let close = text[start..].find("\n}\n").map(|at| start + at + 1);
    if let (Some(open), Some(close)) = (open, close) {
        text.replace_range(open..close, "");
    }
}
