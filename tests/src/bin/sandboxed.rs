//! `sandboxed UNIT PROGRAM ARGUMENTS...` runs a program with the system calls that a systemd unit
//! allows. Any other call kills it, whatever error the unit sets, so that no call goes unnoticed.
//! Calls that it can do without return an error.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::Write;
use std::os::unix::process::CommandExt;
use std::process::Command;

use seccompiler::{BpfMap, BpfProgram, TargetArch, apply_filter, compile_from_json};

/// Calls that the program can do without: bpf(2), for forwarding in the kernel, and those for
/// several packets at a time.
const TRIED: [&str; 3] = ["bpf", "sendmmsg", "recvmmsg"];

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let unit = std::fs::read_to_string(args.next().ok_or("which unit?")?)?;
    let program = args.next().ok_or("which program?")?;
    let mut allowed = allowed(&unit)?;
    for call in TRIED {
        if allowed.insert(call.to_owned()) {
            apply_filter(&compile(&rule(call), ["\"allow\"", "{\"errno\": 1}"])?)?;
        }
    }
    apply_filter(&filter(&allowed)?)?;
    Err(Command::new(program).args(args).exec().into())
}

/// The calls that the unit's lines allow: the first line sets them, later lines add calls or, after
/// `~`, remove them (systemd.exec(5)).
fn allowed(unit: &str) -> Result<BTreeSet<String>, Box<dyn Error>> {
    let mut allowed = expand("@default")?;
    for line in unit.lines().filter_map(|line| line.strip_prefix("SystemCallFilter=")) {
        let (line, adds) = line.strip_prefix('~').map_or((line, true), |rest| (rest, false));
        for word in line.split_whitespace() {
            let calls = expand(word)?;
            if adds {
                allowed.extend(calls);
            } else {
                allowed.retain(|call| !calls.contains(call));
            }
        }
    }
    Ok(allowed)
}

/// The calls of a set, or the one call of that name.
fn expand(word: &str) -> Result<BTreeSet<String>, Box<dyn Error>> {
    if !word.starts_with('@') {
        return Ok(BTreeSet::from([word.to_owned()]));
    }
    let output = Command::new("systemd-analyze").args(["syscall-filter", word]).output()?;
    let text = String::from_utf8(output.stdout)?;
    let mut calls = BTreeSet::new();
    // The name of the set, a comment, and its members.
    let entries = text.lines().skip(1).map(str::trim).filter(|line| !line.is_empty());
    for entry in entries.filter(|line| !line.starts_with('#')) {
        calls.extend(expand(entry)?);
    }
    Ok(calls)
}

fn filter(calls: &BTreeSet<String>) -> Result<BpfProgram, Box<dyn Error>> {
    let mut rules = String::new();
    // Some calls exist on other processors only.
    for call in calls.iter().filter(|call| compile(&rule(call), STRICT).is_ok()) {
        let comma = if rules.is_empty() { "" } else { "," };
        write!(rules, "{comma}{}", rule(call))?;
    }
    compile(&rules, STRICT)
}

fn rule(call: &str) -> String {
    format!("{{\"syscall\": \"{call}\"}}")
}

/// The action for other calls, and for the calls in the list.
const STRICT: [&str; 2] = ["\"kill_process\"", "\"allow\""];

fn compile(rules: &str, [others, named]: [&str; 2]) -> Result<BpfProgram, Box<dyn Error>> {
    let actions = format!("\"mismatch_action\": {others}, \"match_action\": {named}");
    let text = format!("{{\"all\": {{{actions}, \"filter\": [{rules}]}}}}");
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let mut compiled: BpfMap = compile_from_json(text.as_bytes(), arch)?;
    compiled.remove("all").ok_or_else(|| "no filter".into())
}
