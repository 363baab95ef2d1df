//! Topologies of network namespaces.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use prp_proto::plan::Plan;

use crate::cleanup;
use crate::scratch::TempFile;

/// The folder of this crate.
const HERE: &str = env!("CARGO_MANIFEST_DIR");

/// What has `topo` put the program `wire` into the links.
const FAULTS: [&str; 4] = ["--loss", "--dup", "--reorder", "--corrupt"];

/// A topology with a unique name. When it is dropped, it is taken down, and all processes on its
/// nodes are killed.
#[derive(Debug)]
pub struct Topology {
    instance: String,
    /// The prphosts of each node that does not use the one of `topo`.
    hosts: BTreeMap<u8, TempFile>,
}

/// The state of a link.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum Link {
    /// The link carries frames.
    Up,
    /// The link carries nothing, and both ends have no link.
    Down,
}

impl Topology {
    /// Two nodes and one link between them.
    pub fn pair() -> Self {
        Self::pair_with([])
    }

    /// Three nodes in a row with Ethernet from node 1 to node 2 and UDP from there to node 3, and
    /// the prphosts of each.
    ///
    /// # Panics
    /// If `topo` fails, with its output.
    pub fn ethernet_then_udp() -> (Self, [TempFile; 3]) {
        let topology = Self::up("chain", ["3", "--underlay", "both"]);
        let [one, two] = [1, 2].map(|node| topology.node(node).field("mac"));
        let hosts = [
            format!("1 {one} eth0\n2 {two} eth0\n3 via 2\n"),
            format!("1 {one} eth0\n2 {two} eth0, udp:10.99.0.2\n3 udp:10.99.0.3\n"),
            "1 via 2\n2 udp:10.99.0.2\n3 udp:10.99.0.3\n".to_owned(),
        ];
        (topology, hosts.map(TempFile::new))
    }

    /// As [`Self::pair`], with arguments such as `--mtu 9000`.
    ///
    /// # Panics
    /// With what `topo` printed, if it does not come up.
    pub fn pair_with<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        Self::try_pair(words).unwrap_or_else(|error| panic!("topo up: {error}"))
    }

    /// As [`Self::pair_with`], with the output of `topo` as error.
    ///
    /// # Errors
    /// The output of `topo`.
    pub fn try_pair<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        Self::try_up("pair", words, &[])
    }

    /// Two nodes joined by the program `wire`, with arguments such as `--loss 1%`.
    ///
    /// # Panics
    /// With what `topo` printed, if it does not come up.
    pub fn faulty<'a>(wire: &str, words: impl IntoIterator<Item = &'a str>) -> Self {
        let words = ["--loss", "0%"].into_iter().chain(words);
        Self::try_up("pair", words, &[("PRP_WIRE", wire)])
            .unwrap_or_else(|error| panic!("topo up: {error}"))
    }

    /// The topology `name`, with arguments such as its size.
    ///
    /// # Panics
    /// With what `topo` printed, if it does not come up.
    pub fn up<'a>(name: &str, words: impl IntoIterator<Item = &'a str>) -> Self {
        Self::try_up(name, words, &[]).unwrap_or_else(|error| panic!("topo up {name}: {error}"))
    }

    /// As [`Self::up`], with `nodes` nodes whose packets only routers of PRP forward, also over
    /// UDP.
    ///
    /// # Panics
    /// With what `topo` printed, if it does not come up.
    pub fn routed<'a>(name: &str, words: impl IntoIterator<Item = &'a str>, nodes: u8) -> Self {
        let mut topology = Self::up(name, words.into_iter().chain(["--underlay", "ethernet"]));
        if is_over_udp() {
            let hosts = |number| {
                let text = over_udp(&topology.node(number).hosts());
                (number, TempFile::new(text))
            };
            topology.hosts = (1..=nodes).map(hosts).collect();
        }
        topology
    }

    fn try_up<'a>(
        name: &str,
        words: impl IntoIterator<Item = &'a str>,
        environment: &[(&str, &str)],
    ) -> Result<Self, String> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let instance = cleanup::instance_name(std::process::id(), number);
        let mut command = topo(&instance);
        let words: Vec<&str> = words.into_iter().collect();
        // Otherwise `topo` would build it with optimisation, which takes a minute.
        let is_faulty = words.iter().any(|word| FAULTS.contains(word));
        assert!(!is_faulty || !environment.is_empty(), "a link with faults: Topology::faulty");
        let plan = plan(name, &words).map(|plan| TempFile::new(plan.to_string()));
        // Each test starts its routers itself.
        command.args(["up", name, "--no-routers"]).args(words);
        if let Some(file) = &plan {
            command.arg("--plan").arg(file.path());
        }
        command.envs(environment.iter().copied());
        let output = command.output();
        let output = output.map_err(|e| format!("{}: {e}", topo_path().display()))?;
        if !output.status.success() {
            return Err(both(&output));
        }
        cleanup::note_up(&instance);
        Ok(Self { instance, hosts: BTreeMap::new() })
    }

    /// Node `number`, from 1.
    pub const fn node(&self, number: u8) -> Node<'_> {
        Node { topology: self, number }
    }

    /// Whether it is in a user namespace.
    pub fn is_rootless(&self) -> bool {
        !self.node(1).field("path").starts_with("/run/netns/")
    }

    /// Sets the links of `node` up or down.
    ///
    /// # Panics
    /// With what `topo` printed, if it fails.
    pub fn link(&self, node: u8, to: Link) {
        let to = if to == Link::Up { "up" } else { "down" };
        self.topo(["link", &node.to_string(), to]);
    }

    /// Runs `topo` with `words`; returns its output.
    ///
    /// # Panics
    /// If it fails, with its output.
    pub fn topo<'a>(&self, words: impl IntoIterator<Item = &'a str>) -> String {
        let mut command = topo(&self.instance);
        let output = command.args(words).output().expect("topo runs");
        assert!(output.status.success(), "{command:?}: {}", both(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// A command for prp-mpirun that runs another on a node of this topology.
    pub fn launch_template(&self) -> String {
        let script = Path::new(HERE).join("../netns-scripts/topo");
        format!("{} -i {} exec {{node}} -- {{command}}", script.display(), self.instance)
    }
}

impl Drop for Topology {
    fn drop(&mut self) {
        cleanup::take_down(&self.instance);
    }
}

/// A node of a topology.
#[derive(Copy, Clone, Debug)]
pub struct Node<'a> {
    topology: &'a Topology,
    number: u8,
}

impl Node<'_> {
    /// Its number.
    pub const fn number(&self) -> u8 {
        self.number
    }

    /// A command that runs `program` on this node. The process that it starts is the program
    /// itself, so that it receives the signals.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = topo(&self.topology.instance);
        command.args(["exec", &self.number.to_string(), "--"]).stdin(Stdio::null());
        if let Some(hosts) = self.topology.hosts.get(&self.number) {
            command.arg("env").arg(setting("PRP_HOSTS", hosts.path()));
        }
        command.arg(program);
        command
    }

    /// As [`Self::command`], for a program that SIGINT must end. Shells make their background
    /// processes ignore it, and so tests and their children.
    pub fn interruptible(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = self.command("env");
        command.arg("--default-signal=INT").arg(program);
        command
    }

    /// As [`Self::command`], with a different prphosts.
    pub fn command_with_hosts(&self, hosts: &Path, program: impl AsRef<OsStr>) -> Command {
        self.command_with("PRP_HOSTS", hosts, program)
    }

    /// As [`Self::command`], with the environment variable `name` naming `path`.
    pub fn command_with(&self, name: &str, path: &Path, program: impl AsRef<OsStr>) -> Command {
        // `topo exec` sets variables itself, so `env` sets this one after it.
        let mut command = self.command("env");
        command.arg(setting(name, path)).arg(program);
        command
    }

    /// Runs `program` on this node; returns its output.
    ///
    /// # Panics
    /// If it fails.
    pub fn run(&self, program: &str, args: &[&str]) -> String {
        let mut command = self.command(program);
        let output = command.args(args).output().expect("topo runs");
        assert!(output.status.success(), "{command:?}: {}", both(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The text of this node's prphosts.
    pub fn hosts(&self) -> String {
        self.run("sh", &["-c", "cat \"$PRP_HOSTS\""])
    }

    /// A field of this node's first device in the output of `topo list --json`.
    ///
    /// # Panics
    /// If there is none of that name.
    pub fn field(&self, name: &str) -> String {
        let list = self.topology.topo(["list", "--json"]);
        let mine = format!("\"node\":\"{}\"", self.number);
        let row = list.lines().find(|row| row.contains(&mine)).expect("the node is listed");
        let key = format!("\"{name}\":\"");
        let (_, rest) = row.split_once(&key).unwrap_or_else(|| panic!("no {name} in {row}"));
        rest.split('"').next().unwrap_or_default().to_owned()
    }
}

/// Whether topologies have UDP addresses alone, with which `netns-scripts/test` runs some files a
/// second time.
pub fn is_over_udp() -> bool {
    std::env::var_os("PRP_UNDERLAY").is_some_and(|underlay| underlay == "udp")
}

/// A prphosts of `topo` with the UDP addresses of the nodes that have its hardware addresses, whose
/// last byte is the node's number.
fn over_udp(text: &str) -> String {
    let mut lines = String::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split(' ');
        while let Some(word) = words.next() {
            match word.strip_prefix("02:").and_then(|rest| rest.rsplit(':').next()) {
                Some(number) => {
                    let number = u8::from_str_radix(number, 16).expect("a byte");
                    let device = words.next().unwrap_or_default();
                    let comma = if device.ends_with(',') { "," } else { "" };
                    lines += &format!("udp:10.99.0.{number}{comma} ");
                }
                None => lines += &format!("{word} "),
            }
        }
        lines += "\n";
    }
    lines
}

/// The plan of the topology `name` whose size is the first of `words`. With it `topo` does not need
/// the `prp` command, which another package builds. `topo` itself has the plan of a pair.
fn plan(name: &str, words: &[&str]) -> Option<Plan> {
    let size = words.first()?.parse().ok()?;
    let plan = match name {
        "chain" => Plan::chain(size),
        "star" => Plan::star(size),
        "ring" => Plan::ring(size),
        "hypercube" => Plan::hypercube(size),
        _ => return None,
    };
    plan.ok()
}

/// The argument of `env` that sets a variable to a path.
fn setting(name: &str, path: &Path) -> OsString {
    let mut setting = OsString::from(format!("{name}="));
    setting.push(path);
    setting
}

/// The script that makes topologies.
pub(crate) fn topo_path() -> PathBuf {
    Path::new(HERE).join("../netns-scripts/topo")
}

fn topo(instance: &str) -> Command {
    let mut command = Command::new(topo_path());
    command.args(["-i", instance]);
    command
}

fn both(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8_lossy(&text).trim().to_owned()
}
