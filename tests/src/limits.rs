//! The resource limits that a shell and systemd can set, for programs that go on working with each,
//! or say what is missing.

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};

use crate::topology::Node;

/// Bytes of a MiB.
const MIB: u64 = 1 << 20;

/// Returns options of prlimit(1), and values that are less than a program uses to have. In `as` and
/// `data` they begin where no program starts.
pub fn limits() -> impl Iterator<Item = (&'static str, u64)> {
    let several: [(&str, &[u64]); 15] = [
        ("core", &[0]),
        ("cpu", &[1, 2]),
        ("fsize", &[0, 100, 100_000]),
        ("locks", &[0]),
        ("memlock", &[0, 65_536]),
        ("msgqueue", &[0]),
        ("nice", &[0]),
        ("nofile", &[0, 3, 4, 5, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 28, 32, 64]),
        ("nproc", &[0, 1]),
        ("rss", &[0]),
        ("rtprio", &[0]),
        ("rttime", &[1, 1000]),
        ("sigpending", &[0]),
        ("stack", &[98_304, 131_072, 262_144, 524_288, MIB]),
        ("data", &[0]),
    ];
    let several = several.into_iter();
    let several = several.flat_map(|(name, values)| values.iter().map(move |value| (name, *value)));
    let memory = ["as", "data"].into_iter().flat_map(|name| {
        let values = (1..=20).map(|n| n * MIB).chain((11..=32).map(|n| n * 2 * MIB));
        values.map(move |value| (name, value))
    });
    several.chain(memory)
}

/// Returns what runs `program` of `node` with a limit. Capabilities that lift limits are given up.
pub fn limited(node: &Node<'_>, (name, value): (&str, u64), program: &str) -> Command {
    let mut command = node.command("setpriv");
    command.args(["--bounding-set", "-sys_resource", "--inh-caps", "-sys_resource"]);
    command.arg("prlimit").arg(format!("--{name}={value}:{value}")).arg(program);
    command
}

/// Whether the loader can start `program` at all with this limit: what fails before it begins is
/// the kernel's and the loader's business.
pub fn can_start(node: &Node<'_>, limit: (&str, u64), program: &str) -> bool {
    is_enough(limit, limited(node, limit, program).arg("--version"))
}

/// As [`can_start`], of a program that may take no `--version`: the loader loads what it needs with
/// some memory to spare, and runs nothing of it (ld.so(8)).
pub fn can_load(node: &Node<'_>, limit: (&str, u64), program: &str) -> bool {
    let limit =
        if is_of_memory(limit) { (limit.0, limit.1.saturating_sub(MIB / 4)) } else { limit };
    let mut command = limited(node, limit, "env");
    is_enough(limit, command.args(["LD_TRACE_LOADED_OBJECTS=1", program]))
}

/// Whether a limit of memory lets `command` succeed; other limits let everything start.
fn is_enough(limit: (&str, u64), command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null());
    !is_of_memory(limit) || command.status().is_ok_and(|status| status.success())
}

/// Whether a limit is one of memory.
pub fn is_of_memory((name, _): (&str, u64)) -> bool {
    ["as", "data"].contains(&name)
}

/// Expect: the program has ended by itself, and if it has failed it has said why.
///
/// # Panics
/// If not.
pub fn is_explained(what: &str, status: ExitStatus, stderr: &str) {
    let loader = stderr.contains("error while loading shared libraries");
    let is_said = loader || stderr.lines().any(|line| line.starts_with("prp"));
    assert!(
        status.signal().is_none() && (status.success() || is_said) && !stderr.contains("panicked"),
        "{what}: {status}: {stderr}"
    );
}
