//! Topologies of network namespaces, one for each test that needs one.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use prp_proto::plan::Plan;

use crate::cleanup;
use crate::scratch::TempFile;

/// Where this crate is.
const HERE: &str = env!("CARGO_MANIFEST_DIR");

/// A topology that is up, under a name that nothing else uses. Goes down when dropped, with
/// everything that still runs on its nodes.
#[derive(Debug)]
pub struct Topology {
    instance: String,
    /// By node, where it is another one than `topo` has written.
    hosts: BTreeMap<u8, TempFile>,
}

/// The state of a link.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum Link {
    /// Carries frames.
    Up,
    /// Carries nothing; both ends know.
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
    /// With what `topo` printed, if it does not come up.
    pub fn ethernet_then_udp() -> (Self, [TempFile; 3]) {
        let topology = Self::up("chain", ["3", "--carrier", "both"]);
        let [one, two] = [1, 2].map(|node| topology.node(node).field("mac"));
        let hosts = [
            format!("1 {one} eth0\n2 {two} eth0\n3 via 2\n"),
            format!("1 {one} eth0\n2 {two} eth0, udp:10.99.0.2\n3 udp:10.99.0.3\n"),
            "1 via 2\n2 udp:10.99.0.2\n3 udp:10.99.0.3\n".to_owned(),
        ];
        (topology, hosts.map(TempFile::new))
    }

    /// As [`Self::pair`], with words such as `--mtu 9000`.
    ///
    /// # Panics
    /// With what `topo` printed, if it does not come up.
    pub fn pair_with<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        Self::try_pair(words).unwrap_or_else(|error| panic!("topo up: {error}"))
    }

    /// As [`Self::pair_with`], with what `topo` printed if it does not come up.
    ///
    /// # Errors
    /// What `topo` printed.
    pub fn try_pair<'a>(words: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        Self::try_up("pair", words, &[])
    }

    /// Two nodes with a faulty wire between them: the program `wire`, and words such as
    /// `--loss 1%`.
    ///
    /// # Panics
    /// With what `topo` printed, if it does not come up.
    pub fn faulty<'a>(wire: &str, words: impl IntoIterator<Item = &'a str>) -> Self {
        let words = ["--loss", "0%"].into_iter().chain(words);
        Self::try_up("pair", words, &[("PRP_WIRE", wire)])
            .unwrap_or_else(|error| panic!("topo up: {error}"))
    }

    /// The topology called `name`, with words such as its size.
    ///
    /// # Panics
    /// With what `topo` printed, if it does not come up.
    pub fn up<'a>(name: &str, words: impl IntoIterator<Item = &'a str>) -> Self {
        Self::try_up(name, words, &[]).unwrap_or_else(|error| panic!("topo up {name}: {error}"))
    }

    /// As [`Self::up`], with `nodes` nodes whose packets routers of PRP forward, over UDP as well.
    ///
    /// # Panics
    /// With what `topo` printed, if it does not come up.
    pub fn routed<'a>(name: &str, words: impl IntoIterator<Item = &'a str>, nodes: u8) -> Self {
        let mut topology = Self::up(name, words.into_iter().chain(["--carrier", "ethernet"]));
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
        let plan = plan(name, &words).map(|plan| TempFile::new(plan.to_string()));
        // Tests start routers of their own, each when it wants them.
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

    /// Whether it lives in a user namespace of its own.
    pub fn is_rootless(&self) -> bool {
        !self.node(1).field("path").starts_with("/run/netns/")
    }

    /// Sets the devices of `node` up or down.
    ///
    /// # Panics
    /// With what `topo` printed, if it fails.
    pub fn link(&self, node: u8, to: Link) {
        let to = if to == Link::Up { "up" } else { "down" };
        self.topo(["link", &node.to_string(), to]);
    }

    /// What `topo` prints for `words`.
    ///
    /// # Panics
    /// With what it printed, if it fails.
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

    /// A command that runs `program` on this node. The process it starts is the program itself, so
    /// signals reach it.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = topo(&self.topology.instance);
        command.args(["exec", &self.number.to_string(), "--"]).stdin(Stdio::null());
        if let Some(hosts) = self.topology.hosts.get(&self.number) {
            command.arg("env").arg(setting("PRP_HOSTS", hosts.path()));
        }
        command.arg(program);
        command
    }

    /// As [`Self::command`], for a program that SIGINT ends: shells have what they run in the
    /// background ignore it, tests and their children included.
    pub fn interruptible(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = self.command("env");
        command.arg("--default-signal=INT").arg(program);
        command
    }

    /// As [`Self::command`], with another prphosts than the node's own.
    pub fn command_with_hosts(&self, hosts: &Path, program: impl AsRef<OsStr>) -> Command {
        self.command_with("PRP_HOSTS", hosts, program)
    }

    /// As [`Self::command`], with the environment variable `name` naming `path`.
    pub fn command_with(&self, name: &str, path: &Path, program: impl AsRef<OsStr>) -> Command {
        // `topo exec` sets variables itself, so they are changed after that.
        let mut command = self.command("env");
        command.arg(setting(name, path)).arg(program);
        command
    }

    /// What `program` prints when run on this node.
    ///
    /// # Panics
    /// If it fails.
    pub fn run(&self, program: &str, args: &[&str]) -> String {
        let mut command = self.command(program);
        let output = command.args(args).output().expect("topo runs");
        assert!(output.status.success(), "{command:?}: {}", both(&output));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The text of the prphosts this node has.
    pub fn hosts(&self) -> String {
        self.run("sh", &["-c", "cat \"$PRP_HOSTS\""])
    }

    /// A field of this node's first device, as `topo list --json` has it.
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

/// Whether topologies have UDP addresses alone, as `netns-scripts/test` wants it of some files in a
/// second run.
pub fn is_over_udp() -> bool {
    std::env::var_os("PRP_CARRIER").is_some_and(|carrier| carrier == "udp")
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

/// The plan of the topology called `name` whose size is the first of `words`, so that `topo` need
/// not ask the `prp` command, which another package makes. `topo` itself has that of a pair.
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

/// What `env` takes to set a variable to a path.
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
