//! `prp run`: programs of TCP as they are, with their connections to nodes over PRP.

mod explain;
mod filter;
mod holder;
mod init;
mod options;
mod service;
mod supervise;

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::os::unix::process::CommandExt;
use std::path::{self, Path, PathBuf};
use std::process::{self, Command};
use std::sync::Arc;
use std::{env, io};

use clap::Args;
use nix::unistd::geteuid;
use prp_node::{environment, printable_path};
use prp_run::{Mapping, Settings, VARIABLE};
use prp_sock::Resolver;

use crate::exit::{Code, Failure, help};
use crate::hosts;
use crate::print::{notice, print_line};
use crate::sys::detach::detach;
use crate::sys::{inherited, seccomp};
use explain::{Reason, Verdict};
use holder::Holder;
use options::Options;
use service::ServiceCommand;
use supervise::Shown;

/// The file of the library that is preloaded.
const LIBRARY: &str = "libprp_run_preload.so";

/// Where packages put it, from the folder of the program.
const PACKAGED: &str = "../lib/prp";

/// The variable with the file that a line is appended to for each process.
const REPORT: &str = "PRP_RUN_REPORT";

/// The dynamic linker's list of libraries to load before those of the program.
const PRELOAD: &str = "LD_PRELOAD";

/// Run a program with its TCP connections to nodes over PRP.
///
/// The program is neither changed nor built again. Names of prphosts are names of hosts for it, and
/// a listener at all addresses serves PRP and TCP. Connections to addresses that are no node's go
/// over TCP as always. With PRP_RUN_REPORT=FILE a line of JSON is appended to FILE for each process
/// that has ended: how many connections it had, and how many bytes went over PRP.
#[derive(Debug, Args)]
#[command(subcommand_negates_reqs = true, disable_help_subcommand = true)]
#[command(after_help = help("\
  prp run python3 -m http.server 8080         on node gamma
  prp run curl http://gamma:8080/             on any other
  prp run --require redis-cli -h gamma        over PRP, or not at all
  prp run --explain redis-server              can it be carried?
  prp run --seccomp ./start.sh                with the programs of Go that it starts
  prp run enable redis-server                 the service, from its next start on
"))]
pub(crate) struct RunArgs {
    #[command(flatten)]
    options: Options,
    /// Run the program as without this command
    #[arg(long, group = "policy")]
    off: bool,
    /// Say whether the program's connections can go over PRP, and do not start it
    #[arg(long)]
    explain: bool,
    /// Start a holder for the sockets of AF_PRPF of the calling program, and print what it needs
    #[arg(long, hide = true, conflicts_with = "command")]
    hold: bool,
    /// The name that the program is given as its own, in place of PROGRAM
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    argv0: Option<OsString>,
    #[command(subcommand)]
    service: Option<ServiceCommand>,
    /// The program and its arguments
    #[arg(required_unless_present = "hold", trailing_var_arg = true, allow_hyphen_values = true)]
    #[arg(value_name = "PROGRAM")]
    command: Vec<OsString>,
}

/// Runs `prp run`.
pub(crate) fn run(args: &RunArgs) -> Result<(), Failure> {
    if args.hold {
        // What is said is said on a program's standard error: one line.
        let settings = hold(args, true).map_err(|failure| {
            let line = failure.text().lines().next().unwrap_or_default().to_owned();
            Failure::new(Code::Failed, line)
        })?;
        return print_line(settings);
    }
    if let Some(command) = &args.service {
        if args.off || args.explain || args.argv0.is_some() || !args.options.words().is_empty() {
            let text = "options go behind the word: prp run enable --require UNIT; or, for a program \
                        of that name: prp run --require -- enable";
            return Err(Failure::new(Code::Usage, text));
        }
        return service::run(command);
    }
    let program = args.command.first().cloned().unwrap_or_default();
    // Whatever follows the program is its own, so that the parser takes all for words of it.
    if program.as_encoded_bytes().starts_with(b"-") {
        let text = format!("unexpected argument '{}'; try '--help'", program.display());
        return Err(Failure::new(Code::Usage, text));
    }
    let verdict = match explain::examine(&program) {
        Verdict::Preload | Verdict::Unknown if args.options.seccomp => {
            Verdict::Seccomp(Reason::Asked)
        }
        verdict => verdict,
    };
    if args.explain {
        return print_line(format_args!("{}: {verdict}", program.display()));
    }
    if args.off {
        return start(args, None);
    }
    let prepared = match verdict {
        Verdict::Preload | Verdict::Unknown => prepare_preload(args),
        Verdict::Seccomp(_) => prepare_seccomp(args),
        ref verdict => {
            let text = format!("{}: {verdict}", program.display());
            Err(Failure::new(Code::Failed, text))
        }
    };
    match prepared {
        Ok(prepared) => start(args, Some(prepared)),
        Err(failure) if args.options.require => Err(failure),
        Err(failure) => {
            // One line: what failed, and not all that could be mended.
            let text = failure.text().lines().next().unwrap_or_default().to_owned();
            notice(format_args!("{text}: without PRP"));
            start(args, None)
        }
    }
}

/// What a program needs that has a holder.
struct Prepared {
    settings: Settings,
    place: Place,
}

/// How the holder learns of a program's calls.
enum Place {
    /// By the library at this path.
    Preload(PathBuf),
    /// From the kernel.
    Seccomp(Shown),
}

/// Starts the holder, once there is a library for the program.
fn prepare_preload(args: &RunArgs) -> Result<Prepared, Failure> {
    let place = Place::Preload(library()?);
    Ok(Prepared { settings: hold(args, args.options.require)?, place })
}

/// Starts the holder, and has the kernel show the calls of this process.
fn prepare_seccomp(args: &RunArgs) -> Result<Prepared, Failure> {
    supervise::check()?;
    let settings = hold(args, true)?;
    let place = Place::Seccomp(supervise::begin(&settings)?);
    Ok(Prepared { settings, place })
}

/// Starts the holder, and waits until it has begun if it `is_awaited`. A program that may do
/// without one does not wait: the holder says itself that it could not begin.
fn hold(args: &RunArgs, is_awaited: bool) -> Result<Settings, Failure> {
    let hosts = hosts::path_or_default(args.options.hosts.as_deref());
    let hosts = path::absolute(&hosts).map_err(|e| Failure::reading(&hosts, &e))?;
    let file = hosts::load(&hosts)?;
    let local = Resolver::by(file.clone()).and_then(|resolver| resolver.local_node());
    let local = local.map_err(|e| Failure::new(Code::Failed, e.to_string()))?;
    let loopback =
        args.options.loopback.as_ref().map(|name| hosts::find(&file, name)).transpose()?;
    let report = environment::path(REPORT)
        .map(|file| path::absolute(&file).map_err(|e| Failure::writing(&file, &e)))
        .transpose()?;
    let (mut session, mut token) = ([0; 8], [0; prp_run::TOKEN_SIZE]);
    getrandom::fill(&mut session)
        .and_then(|()| getrandom::fill(&mut token))
        .map_err(|e| Failure::new(Code::Failed, format!("random numbers: {e}")))?;
    let settings = Settings {
        session: u64::from_ne_bytes(session),
        token,
        user: geteuid().as_raw(),
        node: local.number(),
        mapping: Mapping {
            network: args.options.network,
            loopback: loopback.map(|node| node.number()),
        },
        listen: args.options.protocols(),
        is_required: args.options.require,
        is_reported: report.is_some(),
        is_tcp_carried: !args.hold,
    };
    let failed = |e| Failure::local("the holder of connections", &e);
    holder::check_buffers().map_err(failed)?;
    let socket = SocketAddr::from_abstract_name(settings.socket_name())
        .and_then(|name| UnixListener::bind_addr(&name))
        .map_err(failed)?;
    // Nobody else says it where nobody waits.
    let tell = |e: &io::Error| {
        if !is_awaited {
            notice(format_args!("{}: without PRP", holder::unstarted(e)));
        }
    };
    // Requests wait in the socket until the holder is there.
    if let Some(socket) = detach(OwnedFd::from(socket), tell).map_err(failed)? {
        let begun = Holder::new(settings, hosts, report).map(Arc::new).and_then(Holder::begin);
        match begun {
            Ok(holder) => holder.serve(&UnixListener::from(socket)),
            Err(e) => {
                tell(&e);
                process::exit(1);
            }
        }
    }
    if is_awaited {
        holder::check_start(&settings).map_err(failed)?;
    }
    Ok(settings)
}

/// Finds the library that is preloaded.
fn library() -> Result<PathBuf, Failure> {
    let program = env::current_exe().map_err(|e| Failure::local("this program", &e))?;
    let folder = program.parent().unwrap_or_else(|| Path::new("/"));
    let places = [folder.join(LIBRARY), folder.join(PACKAGED).join(LIBRARY)];
    let found = places.iter().find(|place| place.exists()).cloned().ok_or_else(|| {
        let [beside, packaged] = places.each_ref().map(printable_path);
        let text = format!("no library at {beside} or {packaged}; install or build it there");
        Failure::new(Code::Failed, text)
    });
    found.and_then(preloadable)
}

/// Returns `library` if the dynamic linker can be told of it: spaces and colons end a path there.
fn preloadable(library: PathBuf) -> Result<PathBuf, Failure> {
    if !library.as_os_str().as_encoded_bytes().iter().any(|byte| b" :".contains(byte)) {
        return Ok(library);
    }
    let text = format!(
        "{}: {PRELOAD} takes no path with a space or a colon; install PRP in a folder without",
        printable_path(&library)
    );
    Err(Failure::new(Code::Failed, text))
}

/// Becomes the program.
fn start(args: &RunArgs, prepared: Option<Prepared>) -> Result<(), Failure> {
    let (program, words) = args.command.split_first().unwrap_or_else(|| unreachable!("required"));
    let mut command = Command::new(program);
    command.args(words);
    if let Some(name) = &args.argv0 {
        command.arg0(name);
    }
    inherited::hand_down(&mut command);
    let has_holder = prepared.is_some();
    match prepared {
        None => {}
        Some(Prepared { settings, place: Place::Preload(library) }) => {
            let mut preload = library.into_os_string();
            if let Some(others) = env::var_os(PRELOAD).filter(|others| !others.is_empty()) {
                preload.push(":");
                preload.push(others);
            }
            command.env(PRELOAD, preload).env(VARIABLE, settings.to_string());
        }
        Some(Prepared { settings, place: Place::Seccomp(shown) }) => {
            let holder = shown.hand_over(&settings)?;
            seccomp::admit(&mut command, holder);
        }
    }
    let error = if has_holder && init::is_first() {
        match init::supervise(&mut command) {
            Ok(status) => process::exit(status),
            Err(e) => e,
        }
    } else {
        command.exec()
    };
    Err(Failure::local(program.display(), &error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preloadable__refuses_paths_that_the_linker_splits() {
        let path = PathBuf::from("/usr/lib/prp/libprp_run_preload.so");
        assert_eq!(preloadable(path.clone()).ok(), Some(path));
        for path in ["/home/a b/lib.so", "/srv/a:b/lib.so"] {
            let failure = preloadable(path.into()).expect_err("it is split");
            assert!(failure.text().starts_with(path), "{}", failure.text());
        }
    }
}
