//! The files of a unit, read as systemd reads them: the unit's own and its drop-ins.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use prp_node::printable_path;

use crate::exit::{Code, Failure};

/// Where units are, from the root of a system (systemd.unit(5)). Of two files of one name the first
/// counts.
const FOLDERS: [&str; 13] = [
    "etc/systemd/system.control",
    "run/systemd/system.control",
    "run/systemd/transient",
    "run/systemd/generator.early",
    UNITS,
    "etc/systemd/system.attached",
    "run/systemd/system",
    "run/systemd/system.attached",
    "run/systemd/generator",
    "usr/local/lib/systemd/system",
    "usr/lib/systemd/system",
    "lib/systemd/system",
    "run/systemd/generator.late",
];

/// Where an administrator's are.
const UNITS: &str = "etc/systemd/system";

/// The kind of unit that has a program.
const SUFFIX: &str = ".service";

/// Links from one file to the next, at most.
const MOST_LINKS: usize = 8;

/// The name of a service's unit, with its suffix.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct UnitName(String);

impl UnitName {
    /// Returns the unit that a user means by `text`.
    ///
    /// # Errors
    /// It is not a service, or no name.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        const OTHERS: [&str; 10] = [
            "socket",
            "timer",
            "target",
            "mount",
            "automount",
            "path",
            "slice",
            "scope",
            "device",
            "swap",
        ];
        if text.is_empty() || text.contains('/') || text.contains(char::is_whitespace) {
            return Err("expected the name of a service, such as redis-server".to_owned());
        }
        match text.rsplit_once('.') {
            Some((_, kind)) if OTHERS.contains(&kind) => {
                Err(format!("expected a service, and a {kind} runs no program"))
            }
            Some((_, "service")) => Ok(Self(text.to_owned())),
            _ => Ok(Self(format!("{text}{SUFFIX}"))),
        }
    }

    /// Returns the folder of the administrator's drop-ins for the unit, in the system at `root`.
    pub(super) fn drop_ins(&self, root: &Path) -> PathBuf {
        root.join(UNITS).join(format!("{self}.d"))
    }

    /// Returns whether the system at `root` has a socket whose listening ends the unit is given.
    pub(super) fn has_socket(&self, root: &Path) -> bool {
        let socket = format!("{}.socket", self.stem());
        FOLDERS.iter().any(|folder| root.join(folder).join(&socket).symlink_metadata().is_ok())
    }

    /// Returns the name without the suffix.
    fn stem(&self) -> &str {
        self.0.strip_suffix(SUFFIX).unwrap_or(&self.0)
    }

    /// Returns the template that the unit is an instance of.
    fn template(&self) -> Option<String> {
        let (name, instance) = self.stem().split_once('@')?;
        (!instance.is_empty()).then(|| format!("{name}@{SUFFIX}"))
    }

    /// Returns the names whose drop-ins are the unit's as well, its own one first.
    fn with_drop_ins(&self) -> Vec<String> {
        let mut names = vec![self.0.clone()];
        names.extend(self.template());
        if !self.stem().contains('@') {
            let dashes = self.stem().match_indices('-').rev();
            let groups = dashes.map(|(at, _)| format!("{}{SUFFIX}", &self.stem()[..=at]));
            names.extend(groups.filter(|group| *group != self.0));
        }
        names.push("service".to_owned());
        names
    }
}

impl fmt::Display for UnitName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A line of a unit's section `[Service]`, with what continues it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Setting {
    key: String,
    pub(super) value: String,
    pub(super) file: PathBuf,
    line: usize,
}

impl Setting {
    /// Whether its value is that of a switch which is on.
    pub(super) fn is_on(&self) -> bool {
        let on = ["1", "yes", "y", "true", "t", "on"];
        on.iter().any(|word| word.eq_ignore_ascii_case(&self.value))
    }

    /// Whether its value is that of a switch which is off.
    pub(super) fn is_off(&self) -> bool {
        let off = ["0", "no", "n", "false", "f", "off"];
        off.iter().any(|word| word.eq_ignore_ascii_case(&self.value))
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, value, file, line } = self;
        write!(f, "{}:{line}: {key}={value}", printable_path(file))
    }
}

/// A service, as its files say.
#[derive(Debug)]
pub(super) struct Unit {
    pub(super) name: UnitName,
    settings: Vec<Setting>,
}

impl Unit {
    /// Reads the unit `name` of the system at `root`, but for the drop-in `own`.
    ///
    /// # Errors
    /// There is none, it is masked, or a file of it cannot be read.
    pub(super) fn read(root: &Path, name: &UnitName, own: &str) -> Result<Self, Failure> {
        let Some((name, file)) = find(root, name)? else {
            let text = format!(
                "no unit {name} in {}; `systemctl list-unit-files --type=service` has all names",
                printable_path(root.join(UNITS))
            );
            return Err(Failure::new(Code::Failed, text));
        };
        let mut files = vec![file];
        let own = name.drop_ins(root).join(own);
        files.extend(drop_ins(root, &name).into_values().filter(|file| *file != own));
        let mut settings = Vec::new();
        for file in files {
            let text = fs::read_to_string(&file).map_err(|e| Failure::reading(&file, &e))?;
            settings.extend(parse(&text, &file));
        }
        Ok(Self { name, settings })
    }

    /// Returns the settings `key` that are in force where each adds to those before: an empty one
    /// takes them back.
    pub(super) fn list(&self, key: &str) -> Vec<&Setting> {
        let mut found: Vec<_> = self.settings.iter().filter(|it| it.key == key).collect();
        let after = found.iter().rposition(|it| it.value.is_empty()).map_or(0, |at| at + 1);
        found.split_off(after)
    }

    /// Returns the line that has left nothing of the list `key`.
    pub(super) fn emptied(&self, key: &str) -> Option<&Setting> {
        self.settings.iter().rfind(|it| it.key == key).filter(|it| it.value.is_empty())
    }

    /// Returns the setting `key` that is in force where each replaces those before.
    pub(super) fn last(&self, key: &str) -> Option<&Setting> {
        let found = self.settings.iter().rev().find(|it| it.key == key);
        found.filter(|it| !it.value.is_empty())
    }

    /// Returns the setting `key` if it is a switch that is on.
    pub(super) fn switch(&self, key: &str) -> Option<&Setting> {
        self.last(key).filter(|it| it.is_on())
    }

    /// Returns the last line that sets `key` in a file whose drop-in comes after that called `own`.
    pub(super) fn overriding(&self, key: &str, own: &str) -> Option<&Setting> {
        // The unit's own file comes first, whatever it is called.
        let is_later = |it: &&Setting| {
            it.file.extension().is_some_and(|kind| kind == "conf")
                && it.file.file_name().is_some_and(|name| name > own)
        };
        self.settings.iter().rev().filter(|it| it.key == key).find(is_later)
    }
}

/// Finds the file of the unit `name`, and the name that it has there: another for an alias.
fn find(root: &Path, name: &UnitName) -> Result<Option<(UnitName, PathBuf)>, Failure> {
    for candidate in [Some(name.0.clone()), name.template()].into_iter().flatten() {
        for folder in FOLDERS {
            let file = root.join(folder).join(&candidate);
            if file.symlink_metadata().is_err() {
                continue;
            }
            let file = follow(root, file.clone()).map_err(|e| Failure::reading(&file, &e))?;
            let is_null = file == root.join("dev/null");
            if is_null || fs::metadata(&file).is_ok_and(|meta| meta.len() == 0) {
                let text = format!("{name} is masked; `systemctl unmask {name}` first");
                return Err(Failure::new(Code::Failed, text));
            }
            let own = file.file_name().and_then(|name| name.to_str());
            let own = own.filter(|own| own.ends_with(SUFFIX));
            let name = match own {
                // An instance keeps its name, whatever its template is called.
                Some(own) if name.template().is_none() => UnitName(own.to_owned()),
                _ => name.clone(),
            };
            return Ok(Some((name, file)));
        }
    }
    Ok(None)
}

/// Returns what the links at `file` lead to, within the system at `root`.
fn follow(root: &Path, mut file: PathBuf) -> io::Result<PathBuf> {
    for _ in 0..MOST_LINKS {
        let target = match fs::read_link(&file) {
            Ok(target) => target,
            Err(e) if e.kind() == ErrorKind::InvalidInput => return Ok(file),
            // /dev/null of an image.
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(file),
            Err(e) => return Err(e),
        };
        file = match target.strip_prefix("/") {
            Ok(below) => root.join(below),
            Err(_) => file.parent().unwrap_or(root).join(target),
        };
    }
    Err(io::Error::other("too many links"))
}

/// Returns the drop-ins of the unit `name` in the order in which they are read.
fn drop_ins(root: &Path, name: &UnitName) -> BTreeMap<OsString, PathBuf> {
    let mut found = BTreeMap::new();
    for owner in name.with_drop_ins() {
        for folder in FOLDERS {
            let Ok(files) = fs::read_dir(root.join(folder).join(format!("{owner}.d"))) else {
                continue;
            };
            for file in files.flatten().map(|entry| entry.path()) {
                let name = file.file_name().unwrap_or_default().to_owned();
                if file.extension().is_some_and(|kind| kind == "conf") {
                    found.entry(name).or_insert(file);
                }
            }
        }
    }
    found
}

/// Returns the settings of the section `[Service]` in `text`.
fn parse(text: &str, file: &Path) -> Vec<Setting> {
    let mut settings = Vec::new();
    let mut is_service = false;
    let mut lines = text.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let mut whole = line.trim().to_owned();
        if is_comment(&whole) {
            continue;
        }
        while let Some(begun) = whole.strip_suffix('\\') {
            // Comments in between are no part of it.
            let next = lines.find(|(_, line)| !is_comment(line.trim()));
            whole = format!("{begun} {}", next.map_or("", |(_, line)| line.trim()));
        }
        if whole.starts_with('[') {
            is_service = whole == "[Service]";
        } else if is_service && let Some((key, value)) = whole.split_once('=') {
            settings.push(Setting {
                key: key.trim().to_owned(),
                value: value.trim().to_owned(),
                file: file.to_owned(),
                line: at + 1,
            });
        }
    }
    settings
}

fn is_comment(line: &str) -> bool {
    line.starts_with(['#', ';'])
}

#[cfg(test)]
mod tests;
