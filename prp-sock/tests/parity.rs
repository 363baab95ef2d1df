//! Streams, listeners and halves have what std's and tokio's have, with the same shape: a program
//! changes its imports and compiles. What they do not have is listed here, with its reason.
//!
//! The compiler checks that TCP's types and ours both fit `parity/surface.rs`. The tests check that
//! this file names every public method there is, by the sources of std and tokio.
#![allow(non_snake_case, reason = "tests are named function__case")]
#![allow(dead_code, unreachable_pub, reason = "the compiler checks functions that nobody calls")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const SURFACE: &str = include_str!("parity/surface.rs");

/// What the surface needs of both stacks.
mod common {
    pub(crate) use std::fmt::{Debug, Display};
    pub(crate) use std::future::Future;
    pub(crate) use std::hash::Hash;
    pub(crate) use std::io::{self, IoSlice, IoSliceMut, Read, Write};
    pub(crate) use std::net::Shutdown;
    pub(crate) use std::os::fd::{AsFd, AsRawFd};
    pub(crate) use std::panic::{RefUnwindSafe, UnwindSafe};
    pub(crate) use std::str::FromStr;
    pub(crate) use std::task::{Context, Poll};
    pub(crate) use std::time::Duration;

    pub(crate) use bytes::BufMut;
    pub(crate) use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf, Ready};

    /// A future that a runtime with several threads takes.
    pub trait Task<T>: Future<Output = io::Result<T>> + Send {}
    impl<T, F: Future<Output = io::Result<T>> + Send> Task<T> for F {}
}

/// TCP's types.
mod tcp {
    use std::net::{SocketAddr as Addr, TcpListener as Listener, TcpStream as Stream};

    use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf, ReadHalf, ReuniteError, WriteHalf};
    use tokio::net::{TcpListener as AsyncListener, TcpStream as AsyncStream};

    use super::common::*;

    include!("parity/surface.rs");
}

/// Ours.
mod prp {
    use prp_sock::tokio::{
        OwnedReadHalf, OwnedWriteHalf, PrpListener as AsyncListener, PrpStream as AsyncStream,
        ReadHalf, ReuniteError, WriteHalf,
    };
    use prp_sock::{PrpAddr as Addr, PrpListener as Listener, PrpStream as Stream};

    use super::common::*;

    include!("parity/surface.rs");
}

/// A type of TCP's, where its source is, and what is said of it here.
struct Type {
    name: &'static str,
    source: Source,
    /// The modules of the surface that call its methods.
    modules: &'static [&'static str],
    /// Methods there is no counterpart of, and why.
    absent: &'static [(&'static str, &'static str)],
}

/// A source, by its name in its library.
#[derive(Copy, Clone)]
enum Source {
    Std(&'static str),
    Tokio(&'static str),
}

const QUICKACK: &str =
    "when acknowledgements are sent is the protocol's to say (SPEC.md), not an option's";
const IPV6: &str = "deprecated, and of IP only";

const TYPES: [Type; 8] = [
    Type {
        name: "TcpStream",
        source: Source::Std("net/tcp.rs"),
        modules: &["stream"],
        absent: &[],
    },
    Type {
        name: "TcpListener",
        source: Source::Std("net/tcp.rs"),
        modules: &["listener"],
        absent: &[("only_v6", IPV6), ("set_only_v6", IPV6)],
    },
    Type {
        name: "TcpStream",
        source: Source::Tokio("net/tcp/stream.rs"),
        modules: &["async_stream"],
        absent: &[("quickack", QUICKACK), ("set_quickack", QUICKACK)],
    },
    Type {
        name: "TcpListener",
        source: Source::Tokio("net/tcp/listener.rs"),
        modules: &["async_listener"],
        absent: &[],
    },
    Type {
        name: "ReadHalf<'_>",
        source: Source::Tokio("net/tcp/split.rs"),
        modules: &["read_half"],
        absent: &[],
    },
    Type {
        name: "WriteHalf<'_>",
        source: Source::Tokio("net/tcp/split.rs"),
        modules: &["write_half"],
        absent: &[],
    },
    Type {
        name: "OwnedReadHalf",
        source: Source::Tokio("net/tcp/split_owned.rs"),
        modules: &["read_half", "owned_halves"],
        absent: &[],
    },
    Type {
        name: "OwnedWriteHalf",
        source: Source::Tokio("net/tcp/split_owned.rs"),
        modules: &["write_half", "owned_halves"],
        absent: &[],
    },
];

/// Types and traits there is no counterpart of, and why. Nothing checks this list but its readers.
pub const ABSENT: &[(&str, &str)] = &[
    ("tokio::net::TcpSocket", "`Builder` has the settings of a stream or listener to be made"),
    ("tokio::net::lookup_host", "`Resolver` and `ToPrpAddrs` look names up, in prphosts"),
    (
        "std::os::linux::net::TcpStreamExt",
        "quickack and deferaccept are options of the kernel's TCP",
    ),
    (
        "IntoRawFd, FromRawFd, From<OwnedFd>, Into<OwnedFd>, Into<Stdio>",
        "the kernel has no descriptor that the data pass through: `AsFd` gives one to wait on",
    ),
];

/// The methods of the surface's `module`.
fn covered(module: &str) -> BTreeSet<&'static str> {
    let head = format!("mod {module} {{");
    let halves = format!("macro_rules! {module} {{");
    let start = SURFACE.find(&head).or_else(|| SURFACE.find(&halves)).expect(module);
    let body = &SURFACE[start..];
    let end = body.find("\n}\n").expect("a module has an end");
    methods(&body[..end]).collect()
}

/// The public functions in `text`, but those that are not stable.
fn methods(text: &str) -> impl Iterator<Item = &str> {
    let mut unstable = false;
    text.lines().filter_map(move |line| {
        let line = line.trim_start();
        unstable |= line.starts_with("#[unstable") || line.starts_with("unstable(");
        let line = line.strip_prefix("pub ")?;
        let line = line.strip_prefix("const ").unwrap_or(line);
        let line = line.strip_prefix("async ").unwrap_or(line);
        let name = line.strip_prefix("fn ")?.split(['(', '<']).next()?;
        (!std::mem::take(&mut unstable)).then_some(name)
    })
}

/// What is between braces after `impl NAME`, for all of them.
fn implementations(text: &str, name: &str) -> String {
    let mut found = String::new();
    let head = format!("\nimpl {name} {{\n");
    let mut rest = text;
    while let Some(at) = rest.find(&head) {
        rest = &rest[at + head.len()..];
        let end = rest.find("\n}").unwrap_or(rest.len());
        found.push_str(&rest[..end]);
        found.push('\n');
        rest = &rest[end..];
    }
    found
}

fn output(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// std's source: it comes with rustup's component rust-src, or Debian's package of that name.
fn std_source() -> Option<PathBuf> {
    let sysroot = output("rustc", &["--print", "sysroot"])?;
    let rustup = Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library/std/src");
    let debian = fs::read_dir("/usr/src").ok().into_iter().flatten().flatten();
    let debian = debian.map(|entry| entry.path().join("library/std/src"));
    std::iter::once(rustup).chain(debian).find(|path| path.join("net/tcp.rs").is_file())
}

/// tokio's source, which cargo has built this test with; none where there is no cargo any more.
fn tokio_source() -> Option<PathBuf> {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let host = output("rustc", &["--print", "host-tuple"])?;
    // Packages for other systems need not have been fetched.
    let args = ["metadata", "--offline", "--format-version", "1", "--manifest-path", manifest];
    let text = output(env!("CARGO"), &[&args[..], &["--filter-platform", host.trim()]].concat())?;
    let folders = text.split('"').filter_map(|word| word.strip_suffix("/Cargo.toml"));
    let mut tokio = folders.filter(|folder| {
        let name = folder.rsplit('/').next().and_then(|name| name.strip_prefix("tokio-"));
        name.is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit()))
    });
    Some(Path::new(tokio.next().expect("tokio is among the dependencies")).join("src"))
}

#[test]
fn surface__has_every_public_method_or_a_reason() {
    let (std_source, tokio_source) = (std_source(), tokio_source());
    for (source, name) in [(&std_source, "std's"), (&tokio_source, "tokio's")] {
        if source.is_none() {
            println!("SKIPPED in part: {name} source is not here (rust-src, cargo)");
        }
    }
    for Type { name, source, modules, absent } in &TYPES {
        let path = match source {
            Source::Std(file) => std_source.as_ref().map(|path| path.join(file)),
            Source::Tokio(file) => tokio_source.as_ref().map(|path| path.join(file)),
        };
        let Some(path) = path else { continue };
        let text = fs::read_to_string(&path).expect("a source can be read");
        let body = implementations(&text, name);
        let there: BTreeSet<_> = methods(&body).collect();
        assert!(there.len() > 5, "{name}: {there:?} in {}", path.display());
        let covered: BTreeSet<_> = modules.iter().flat_map(|module| covered(module)).collect();
        let excused: BTreeSet<_> = absent.iter().map(|(method, _)| *method).collect();
        let missing: Vec<_> =
            there.iter().filter(|m| !covered.contains(*m) && !excused.contains(*m)).collect();
        assert!(missing.is_empty(), "{name} of {}: not here: {missing:?}", path.display());
        // Expect: a reason for nothing that is there.
        assert!(covered.is_disjoint(&excused), "{name}: {excused:?}");
    }
}

#[test]
fn surface__calls_what_it_names() {
    for module in TYPES.iter().flat_map(|t| t.modules) {
        assert!(covered(module).len() > 2, "{module}");
    }
    for method in methods(SURFACE).filter(|m| !matches!(*m, "hold" | "fields")) {
        let method = method.strip_suffix("_from_write").unwrap_or(method);
        assert!(SURFACE.contains(&format!("::{method}(")), "{method}");
    }
}
