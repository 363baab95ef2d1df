//! Every key that a command of `prp` prints with `--json` is declared in `prp-tools/json.d.ts` with
//! its type, and no other is.
#![allow(non_snake_case, reason = "tests are named function__case")]

mod declarations;
mod schema;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use prp_tests::program;
use prp_tests::router::Router;
use prp_tests::scratch::TempFile;
use prp_tests::topology::{Node, Topology};
use prp_tests::wait;
use serde_json::Value;
use tempfile::TempDir;

use schema::schemas;

prp_tests::main! {
    light:
        json__keys_are_those_declared,
        compare__every_form_of_a_declaration;
}

const ROUTED: &str = env!("CARGO_BIN_EXE_routed");

/// The prp command in the folder of these tests' programs.
fn prp() -> PathBuf {
    program::prp(ROUTED)
}

/// A process that runs, killed when dropped.
struct Running(Child);

impl Running {
    fn start(node: &Node<'_>, words: &[&str]) -> Self {
        let mut command = node.command(prp());
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Self(command.spawn().expect("topo runs"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// What commands have printed, by the name of the command.
#[derive(Default)]
struct Printed(BTreeMap<String, Vec<Value>>);

impl Printed {
    /// Adds what `program`, which runs prp, prints for `name` with `words` and `--json`.
    fn run(&mut self, mut program: Command, name: &str, words: &[&str]) {
        program.args(name.split(' ')).args(words);
        let is_file = name.starts_with("perf");
        program.args(if is_file { &["--json", "-"][..] } else { &["--json"] });
        let output = program.stdin(Stdio::null()).output().expect("it runs");
        let why = String::from_utf8_lossy(&output.stderr);
        assert!(!output.stdout.is_empty(), "{program:?}: {why}");
        self.add(name, &output.stdout);
    }

    fn add(&mut self, name: &str, text: &[u8]) {
        let values = serde_json::Deserializer::from_slice(text).into_iter();
        let values = values.map(|value| value.unwrap_or_else(|e| panic!("{name}: {e}")));
        self.0.entry(format!("prp {name}")).or_default().extend(values);
    }
}

/// Commands with `--json`, by their manual pages, which are made from the same definitions.
fn commands() -> BTreeSet<String> {
    let folder = TempDir::new().expect("a folder");
    let made = Command::new(prp()).args(["generate", "man"]).arg(folder.path()).status();
    assert!(made.is_ok_and(|status| status.success()));
    let files = fs::read_dir(folder.path()).expect("it is there");
    let pages = files.map(|file| file.expect("a file").path());
    let pages: Vec<_> =
        pages.filter(|page| page.extension().is_some_and(|end| end == "1")).collect();
    let name =
        |page: &PathBuf| page.file_stem().expect("a name").to_str().expect("text").to_owned();
    let names: BTreeSet<_> = pages.iter().map(name).collect();
    let has_json = |page: &&PathBuf| {
        let text = fs::read_to_string(page).expect("a page");
        // Its line among the options, and not one of an example.
        text.lines().any(|line| line.starts_with("\\fB") && line.contains("\\-\\-json\\fR"))
    };
    let is_leaf = |name: &String| !names.iter().any(|other| other.starts_with(&format!("{name}-")));
    let with_json = pages.iter().filter(has_json).map(name).filter(is_leaf);
    with_json.map(|name| name.replace('-', " ")).collect()
}

fn json__keys_are_those_declared() {
    let mut printed = Printed::default();
    let of_underlay = |underlay| {
        let mut printed = Printed::default();
        of_nodes(&Topology::up("pair", ["--underlay", underlay]), &mut printed);
        printed
    };
    std::thread::scope(|scope| {
        let threads =
            ["ethernet", "udp"].map(|underlay| scope.spawn(move || of_underlay(underlay)));
        of_models(&mut printed);
        of_keys(&mut printed);
        for thread in threads {
            let other = thread.join().unwrap_or_else(|why| std::panic::resume_unwind(why));
            other
                .0
                .into_iter()
                .for_each(|(name, all)| printed.0.entry(name).or_default().extend(all));
        }
    });
    let ran: BTreeSet<_> = printed.0.keys().cloned().collect();
    assert_eq!(ran, commands(), "this test runs every command with --json");
    let mut schemas = schemas();
    assert_eq!(schemas.keys().cloned().collect::<BTreeSet<_>>(), ran, "the commands declared");
    let mut wrong = Vec::new();
    for (name, schema) in &mut schemas {
        let faults: BTreeSet<_> =
            printed.0[name].iter().flat_map(|value| schema.compare(value)).collect();
        wrong.extend(faults.into_iter().chain(schema.unseen()).map(|why| format!("{name}: {why}")));
    }
    assert!(wrong.is_empty(), "prp-tools/json.d.ts:\n{}", wrong.join("\n"));
}

fn compare__every_form_of_a_declaration() {
    schema::forms();
}

/// Commands that need a network.
fn of_nodes(topology: &Topology, printed: &mut Printed) {
    let (one, two) = (topology.node(1), topology.node(2));
    of_routers(&one, &two, printed);
    of_prphosts(&one, printed);
    of_connections(&one, &two, printed);
    of_measurements(&one, &two, printed);
}

/// Commands that ask routers, or that routers answer.
fn of_routers(one: &Node<'_>, two: &Node<'_>, printed: &mut Printed) {
    let hosts = TempFile::new(one.hosts() + "9 via 2\n");
    let _routers =
        [Router::run(one.command_with_hosts(hosts.path(), ROUTED)), Router::start(two, ROUTED)];
    let mut run = |name: &str, words: &[&str]| printed.run(one.command(prp()), name, words);
    run("ping", &["-c", "2", "-i", "0.01", "2"]);
    run("ping", &["-q", "-c", "2", "-i", "0.01", "2"]);
    run("ping", &["-c", "1", "--all"]);
    run("trace", &["-q", "1", "2"]);
    run("doctor", &["2"]);
    for what in ["status", "routes", "neighbours", "counters", "metrics"] {
        run(&format!("routed {what}"), &[]);
    }
    // A reload that changes a route.
    hosts.replace(one.hosts() + "9 via 2 metric 5\n");
    run("routed reload", &["--dry-run"]);
    of_captures(one, printed);
}

/// Commands that read prphosts.
fn of_prphosts(one: &Node<'_>, printed: &mut Printed) {
    let mut run = |name: &str, words: &[&str]| printed.run(one.command(prp()), name, words);
    run("hosts check", &[]);
    run("hosts resolve", &["node2"]);
    let twice = one.hosts() + "9 02:00:00:00:00:02 eth0\n8 02:00:00:00:00:02 eth0\n";
    let twice = TempFile::new(twice);
    run("hosts check", &[twice.path().to_str().expect("text")]);
    let mistake = TempFile::new("1 here\n");
    for name in ["hosts check", "doctor"] {
        printed.run(one.command_with_hosts(mistake.path(), prp()), name, &[]);
    }
}

/// Commands that show the cluster's key.
fn of_keys(printed: &mut Printed) {
    let key = TempFile::new(format!("mode seal\nnode 3 sign\nkey 1 {} use\n", "0f".repeat(32)));
    let path = key.path().to_str().expect("text");
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("it is ours");
    printed.run(Command::new(prp()), "key list", &[path]);
    let node_key = TempFile::new(format!("key {}\n", "0e".repeat(32)));
    let path = node_key.path().to_str().expect("text");
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("it is ours");
    printed.run(Command::new(prp()), "key node list", &[path]);
}

/// Commands that show connections.
fn of_connections(one: &Node<'_>, two: &Node<'_>, printed: &mut Printed) {
    let _server = Running::start(two, &["cat", "-lk", "7000", "-e", "cat >/dev/null"]);
    wait::until("a server", || {
        let mut scan = one.command(prp());
        scan.args(["cat", "-z", "2", "7000"]).stderr(Stdio::null());
        scan.status().expect("topo runs").success().then_some(())
    });
    let _client = Running::start(one, &["cat", "2", "7000"]);
    wait::until("a connection", || {
        let mut stat = one.command(prp());
        let output = stat.args(["stat", "-H", "state", "estab"]).output().expect("topo runs");
        (!output.stdout.is_empty()).then_some(())
    });
    printed.run(one.command(prp()), "stat", &[]);
    printed.run(two.command(prp()), "stat", &["-a"]);
    printed.run(one.command(prp()), "top", &["-d", "0.1", "-n", "2"]);
}

/// The packets of a ping.
fn of_captures(one: &Node<'_>, printed: &mut Printed) {
    let mut dump = one.command(prp());
    dump.args(["dump", "-i", "eth0", "-c", "4", "--json"]);
    let mut dump = dump.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("topo runs");
    wait::until("four packets", || {
        one.command(prp()).args(["ping", "-q", "-c", "2", "-i", "0.01", "2"]).output().ok()?;
        dump.try_wait().expect("a child")
    });
    printed.add("dump", &dump.wait_with_output().expect("a child").stdout);
}

fn of_measurements(one: &Node<'_>, two: &Node<'_>, printed: &mut Printed) {
    let _servers = [one, two].map(|node| Running::start(node, &["perf", "serve"]));
    for node in ["1", "2"] {
        wait::until("a server", || {
            let mut scan = one.command(prp());
            scan.args(["cat", "-z", node, "5210"]).stderr(Stdio::null());
            scan.status().expect("topo runs").success().then_some(())
        });
    }
    printed.run(one.command(prp()), "perf mesh", &["-t", "0.05", "-q"]);
    printed.run(one.command(prp()), "perf stream", &["-t", "0.05", "-P", "2", "-q", "2"]);
    let commands: [(&str, &[&str]); 4] = [
        ("latency", &["-t", "0.05", "--vs", "tcp"]),
        ("stream", &["-t", "0.05", "-i", "0.02"]),
        ("connect", &["-c", "4"]),
        ("sweep", &["-t", "0.1"]),
    ];
    for (what, words) in commands {
        let words = [words, &["--rounds", "2", "-q", "2"]].concat();
        printed.run(one.command(prp()), &format!("perf {what}"), &words);
    }
    for words in [["--beside", "1"], ["--think", "1ms"]] {
        let words = [&words[..], &["-t", "0.05", "-q", "2"]].concat();
        printed.run(one.command(prp()), "perf latency", &words);
    }
}

/// Commands that compute.
fn of_models(printed: &mut Printed) {
    let folder = TempDir::new().expect("a folder");
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).expect("a file");
        path
    };
    let times: String = (0..40).map(measurement).collect();
    let sizes = file("sizes.csv", &format!("bytes,seconds\n{times}"));
    let graph = file("graph.toml", GRAPH);
    let mut run = |name: &str, files: &[&Path], words: &[&str]| {
        let mut command = Command::new(prp());
        command.args(name.split(' ')).args(files).args(words).arg("--json");
        let output = command.output().expect("it runs");
        let why = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command:?}: {why}");
        printed.add(name, &output.stdout);
    };
    for name in ["model fit", "model explain", "model compare"] {
        run(name, &[&sizes], &["--resamples", "0"]);
    }
    run("model fit", &[&sizes], &["--resamples", "0", "--model", "prp"]);
    run("model compare", &[&sizes, Path::new("--graph"), &graph], &[]);
    run("model predict", &[&sizes], &["--model", "linear", "--size", "64", "--resamples", "0"]);
    run("model predict", &[&graph], &["--size", "64"]);
    run("model predict", &[&graph], &["--size", "64", "--processors", "1"]);
    run("model reduce", &[&graph], &[]);
    let gains: [&[&str]; 3] = [
        &["--software", "5", "--hardware", "5"],
        &["--software", "2..10", "--machine", "H1=5,0.2"],
        &["--lambda", "100"],
    ];
    gains.into_iter().for_each(|words| run("model gain", &[], words));
}

/// A line of measurements with a break.
fn measurement(n: u32) -> String {
    let bytes = n % 20 * 100;
    let step = if bytes > 900 { 20e-6 } else { 0.0 };
    let seconds = 20e-6 + step + f64::from(bytes) * 10e-9 + f64::from(n % 7) * 1e-8;
    format!("{bytes},{seconds:e}\n")
}

const GRAPH: &str = "\
primitive = \"non-preemptive\"\n\
ordered = true\n\
[[block]]\nname = \"W\"\na = 1e-4\nb = 1e-6\ncopies = 2\n\
[[message]]\nname = \"m\"\nfrom = \"1\"\nto = \"2\"\nvia = [\"W0\", \"W1\"]\n";
