//! `prp run enable`, `prp run disable`: services of systemd, which do not inherit what a shell sets
//! for a program. A drop-in has the unit's commands start by `prp run`.

mod command_line;
mod obstacles;
mod unit;

use std::env;
use std::fs::{self, Permissions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{Args, Subcommand};
use prp_node::printable_path;
use prp_proto::hosts::HopTarget;
use tempfile::Builder;

use super::explain::{self, Verdict};
use super::options::Options;
use crate::exit::{Code, Failure, help};
use crate::hosts;
use crate::print::{notice, print_line};
use crate::sys::capability::has_capabilities;
use command_line::CommandLine;
use obstacles::Needs;
use unit::{Unit, UnitName};

/// The file of the drop-in.
const DROP_IN: &str = "prp-run.conf";

/// How a drop-in of this command begins.
const MARK: &str = "# Written by `prp run enable`";

/// There where systemd runs.
const RUNS: &str = "/run/systemd/system";

/// The setting with the commands.
const COMMANDS: &str = "ExecStart";

/// Where prp is in an image.
const PLACES: [&str; 2] = ["usr/bin/prp", "usr/local/bin/prp"];

/// The commands for services.
#[derive(Debug, Subcommand)]
pub(super) enum ServiceCommand {
    Enable(EnableArgs),
    Disable(DisableArgs),
}

/// Have a service of systemd run by `prp run`, from its next start on.
///
/// A drop-in of the unit, prp-run.conf, has its commands (ExecStart=) start by `prp run` with these
/// options; the unit's file stays as it is. What in the unit stands against PRP is named, with its
/// line and what to add, and nothing is written then.
#[derive(Debug, Args)]
#[command(after_help = help("\
  prp run enable redis-server                 then: systemctl restart redis-server
  prp run enable --require --listen prp memcached
  prp run enable --root /srv/image nginx      in a system that does not run
"))]
pub(super) struct EnableArgs {
    #[command(flatten)]
    options: Options,
    /// Write the drop-in whatever stands against it
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    service: Service,
}

/// Have a service of systemd run without `prp run` again.
#[derive(Debug, Args)]
#[command(after_help = help("  prp run disable redis-server\n"))]
pub(super) struct DisableArgs {
    #[command(flatten)]
    service: Service,
}

/// A service of a system.
#[derive(Debug, Args)]
struct Service {
    /// The system below this folder, such as an image, in place of the one that runs
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    /// The name of the service's unit, with or without `.service`
    #[arg(value_name = "UNIT", value_parser = UnitName::parse)]
    unit: UnitName,
}

/// Runs the command.
pub(super) fn run(command: &ServiceCommand) -> Result<(), Failure> {
    match command {
        ServiceCommand::Enable(args) => enable(args),
        ServiceCommand::Disable(args) => disable(args),
    }
}

fn enable(args: &EnableArgs) -> Result<(), Failure> {
    let EnableArgs { options, force, service } = args;
    if options.hosts.as_deref() == Some(Path::new("/dev/stdin")) {
        return Err(Failure::new(Code::Usage, "--hosts: name a file, which the service reads"));
    }
    let root = service.root()?;
    let unit = Unit::read(root, &service.unit, DROP_IN)?;
    let needs = service.needs(options)?;
    let commands = commands(&unit)?;
    let mut found = obstacles::obstacles(&unit, &needs);
    found.extend(commands.iter().filter_map(|command| uncarried(root, command)));
    if !found.is_empty() && !force {
        found.push(format!(
            "nothing is written; add what is missing by `systemctl edit {}`, below [Service], or \
             take --force",
            unit.name
        ));
        return Err(Failure::new(Code::Failed, found.join("\n")));
    }
    found.extend(obstacles::remarks(&unit, unit.name.has_socket(root)));
    found.iter().for_each(notice);
    let words = options.words();
    let mut text = format!("{MARK}: `prp run disable {}` removes it.\n", unit.name);
    text.push_str("[Service]\nExecStart=\n");
    for command in commands {
        text.push_str(&format!("{COMMANDS}={}\n", command.through(&needs.prp, &words)));
    }
    let file = write(&unit.name.drop_ins(root), &text)?;
    service.reload();
    print_line(format_args!("{}\n{}", printable_path(&file), service.next("by", &unit.name)))
}

fn disable(args: &DisableArgs) -> Result<(), Failure> {
    let service = &args.service;
    let root = service.root()?;
    // Of a unit that is no more the drop-in may still be there.
    let name = Unit::read(root, &service.unit, DROP_IN).map(|unit| unit.name);
    let name = name.unwrap_or_else(|_| service.unit.clone());
    let folder = name.drop_ins(root);
    let file = folder.join(DROP_IN);
    if !check_own(&file)? {
        let text = format!("{}: {name} does not run by prp run", printable_path(&file));
        return Err(Failure::new(Code::Failed, format!("no {text}")));
    }
    fs::remove_file(&file).map_err(|e| unwritten(&file, &e))?;
    // Others' drop-ins stay, and their folder.
    let _ = fs::remove_dir(&folder);
    service.reload();
    print_line(service.next("without", &name))
}

impl Service {
    /// Returns the root of the system.
    fn root(&self) -> Result<&Path, Failure> {
        match &self.root {
            Some(root) if root.is_dir() => Ok(root),
            Some(root) => Err(Failure::reading(root, &ErrorKind::NotADirectory.into())),
            None if Path::new(RUNS).is_dir() => Ok(Path::new("/")),
            None => {
                let text = "systemd does not run here; name the root of a system: --root DIR";
                Err(Failure::new(Code::Failed, text))
            }
        }
    }

    /// Finds what the unit is to start, and what that needs.
    fn needs(&self, options: &Options) -> Result<Needs, Failure> {
        let root = self.root()?;
        let prp = if self.root.is_none() {
            super::library()?;
            env::current_exe().map_err(|e| Failure::local("this program", &e))?
        } else {
            let place = PLACES.iter().find(|place| root.join(place).is_file());
            let place = place.ok_or_else(|| {
                let text = "no usr/bin/prp or usr/local/bin/prp; install PRP there first";
                Failure::new(Code::Failed, format!("{}: {text}", printable_path(root)))
            })?;
            Path::new("/").join(place)
        };
        let within = |path: &Path| root.join(path.strip_prefix("/").unwrap_or(path));
        let hosts = options.hosts.as_deref().unwrap_or_else(|| Path::new("/etc/prphosts"));
        // It may be written after this.
        let hosts = hosts::load(&within(hosts)).ok();
        let sends_frames = hosts.is_none_or(|file| {
            let mut hops = file.hosts().entries().flat_map(|entry| entry.hops());
            hops.any(|hop| matches!(hop.target, HopTarget::Direct { .. }))
        });
        let has_file_capability = has_capabilities(&within(&prp));
        Ok(Needs { prp, has_file_capability, sends_frames })
    }

    /// Has systemd read its units again, if it runs from them.
    fn reload(&self) {
        if self.root.is_some() {
            return;
        }
        let done = Command::new("systemctl").arg("daemon-reload").status();
        if !done.is_ok_and(|status| status.success()) {
            notice("systemd did not read the unit again; run `systemctl daemon-reload`");
        }
    }

    /// Says what is so, and what is to be done.
    fn next(&self, how: &str, name: &UnitName) -> String {
        let text = format!("{name} runs {how} prp run from its next start");
        if self.root.is_some() { text } else { format!("{text}: systemctl restart {name}") }
    }
}

/// Returns the commands that a unit starts.
fn commands(unit: &Unit) -> Result<Vec<CommandLine>, Failure> {
    if let Some(later) = unit.overriding(COMMANDS, DROP_IN) {
        let text =
            format!("{later}: comes after {DROP_IN} and would undo it; give it a name before");
        return Err(Failure::new(Code::Failed, text));
    }
    let lines = unit.list(COMMANDS);
    let commands: Vec<_> = lines.iter().flat_map(|it| CommandLine::parse(&it.value)).collect();
    if commands.is_empty() {
        let text = format!("{} starts no program: it has no {COMMANDS}=", unit.name);
        return Err(Failure::new(Code::Failed, text));
    }
    Ok(commands)
}

/// Says why the program of `command` cannot be carried, if it cannot.
fn uncarried(root: &Path, command: &CommandLine) -> Option<String> {
    let program = command.program();
    let file = root.join(program.strip_prefix('/')?);
    let verdict = explain::examine(file.as_os_str());
    matches!(verdict, Verdict::Privileged | Verdict::OtherMachine)
        .then(|| format!("{COMMANDS}={program}: {verdict}"))
}

/// Writes the drop-in in `folder` as a whole: a part of it would leave the unit without a command.
/// Returns its path.
fn write(folder: &Path, text: &str) -> Result<PathBuf, Failure> {
    let file = folder.join(DROP_IN);
    check_own(&file)?;
    fs::create_dir_all(folder).map_err(|e| unwritten(folder, &e))?;
    let written = || {
        let rights = Permissions::from_mode(0o644);
        let mut beside =
            Builder::new().prefix(".prp-run").permissions(rights).tempfile_in(folder)?;
        beside.write_all(text.as_bytes())?;
        beside.as_file().sync_all()?;
        beside.persist(&file).map_err(|e| e.error)
    };
    written().map_err(|e| unwritten(&file, &e))?;
    Ok(file)
}

/// Whether there is a drop-in of this command.
///
/// # Errors
/// It is another's.
fn check_own(file: &Path) -> Result<bool, Failure> {
    match fs::read_to_string(file) {
        Ok(text) if text.starts_with(MARK) => Ok(true),
        Ok(_) => {
            let text = "is not of `prp run enable`; rename or remove it";
            Err(Failure::new(Code::Failed, format!("{}: {text}", printable_path(file))))
        }
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(false),
        Err(e) => Err(Failure::reading(file, &e)),
    }
}

fn unwritten(file: &Path, error: &std::io::Error) -> Failure {
    if error.kind() == ErrorKind::PermissionDenied {
        let text = format!("{}: {error}; run it as root", printable_path(file));
        return Failure::new(Code::NotPermitted, text);
    }
    Failure::writing(file, error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unwritten__tells_who_may_write() {
        let failure = unwritten(Path::new("/etc/a"), &ErrorKind::PermissionDenied.into());
        assert!(failure.is(Code::NotPermitted) && failure.text().contains("as root"));
    }
}
