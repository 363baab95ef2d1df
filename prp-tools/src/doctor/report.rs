//! A file for a bug report: what was found, and what it was found in. It has no payload.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};
use std::{env, io};

use prp_device::{CardSettings, DeviceState, device_chains, device_states};
use prp_node::{RunDir, printable, printable_path};
use prp_routed::control::ask;
use prp_routed::report::Question;

use crate::exit::{Code, Failure};
use crate::print::json;
use crate::stat::{ANSWER_TIMEOUT, Snapshot};

/// What the kernel says of itself and of its network.
const KERNEL: [&str; 3] =
    ["/proc/version", "/proc/thread-self/net/dev", "/proc/thread-self/net/ptype"];

/// What is asked of each router.
const QUESTIONS: [(&str, Question); 4] = [
    ("status", Question::Status),
    ("routes", Question::Routes),
    ("neighbours", Question::Neighbours),
    ("counters", Question::Counters),
];

/// The text of the report: `found`, and what there is by the prphosts at `hosts`.
pub(super) fn text(hosts: &Path, found: &str) -> String {
    let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let mut text = format!("prp {}, {time} seconds after 1970\n", env!("CARGO_PKG_VERSION"));
    let mut section = |title: &str, body: &str| {
        // Writing to memory does not fail.
        let _ = write!(text, "\n== {title}\n{}\n", body.trim_end());
    };
    section("findings", found);
    section("environment", &environment());
    section(&printable_path(hosts), &file(hosts));
    section("devices", &devices());
    KERNEL.iter().for_each(|path| section(path, &file(Path::new(path))));
    section("prp stat --json", &of_result(Snapshot::take(ANSWER_TIMEOUT).map(|s| json(&s, true))));
    let dir = RunDir::in_force();
    for node in dir.running() {
        for (word, question) in &QUESTIONS {
            let answer = ask(&dir, node, question).map(|answer| json(&answer, true));
            section(&format!("prp routed --node {node} --json {word}"), &of_result(answer));
        }
    }
    text
}

/// Writes it to a file that is not there yet.
pub(super) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let written = File::create_new(path).and_then(|mut file| {
        file.write_all(crate::print::printable(text).as_bytes())?;
        file.sync_all()
    });
    written.map_err(|e| match e.kind() {
        ErrorKind::AlreadyExists => {
            let text = format!("{}: it is there; name another file", printable_path(path));
            Failure::new(Code::Failed, text)
        }
        _ => Failure::writing(path, &e),
    })
}

/// The variables of this project.
fn environment() -> String {
    let ours = env::vars_os().filter_map(|(name, value)| {
        let name = name.to_str().filter(|name| name.starts_with("PRP_"))?.to_owned();
        Some(format!("{name}={}\n", printable(value.as_encoded_bytes())))
    });
    ours.collect()
}

/// The text of a file, or why there is none.
fn file(path: &Path) -> String {
    fs::read(path)
        .map_or_else(|e| e.to_string(), |bytes| String::from_utf8_lossy(&bytes).into_owned())
}

fn of_result(result: io::Result<Result<String, Failure>>) -> String {
    match result {
        Ok(Ok(text)) => text,
        Ok(Err(failure)) => failure.text().to_owned(),
        Err(e) => e.to_string(),
    }
}

/// The devices, a line each, and the chains of nftables at them.
fn devices() -> String {
    let mut text = match device_states() {
        Ok(states) => states.iter().map(device).collect(),
        Err(e) => e.to_string(),
    };
    for chain in device_chains().unwrap_or_default() {
        let _ = writeln!(text, "{chain:?}");
    }
    text
}

fn device(state: &DeviceState) -> String {
    let DeviceState { name, index, mac, up, link_up, mtu, qdisc, kind, master, .. } = state;
    let word = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".into());
    let state = match (up, link_up) {
        (true, true) => "up",
        (true, false) => "no link",
        (false, _) => "down",
    };
    let master = master.map_or_else(|| "-".into(), |index| index.to_string());
    let (kind, qdisc) = (word(kind), word(qdisc));
    let settings = CardSettings::of(name).unwrap_or_default();
    format!(
        "{index}: {name} {mac} {state} mtu {mtu} qdisc {qdisc} kind {kind} master {master} \
         {settings:?}\n"
    )
}
