//! `prp hosts resolve`: what prphosts says of a node.

use std::path::PathBuf;

use clap::Args;
use prp_node::printable_path;
use prp_proto::hosts::{Entry, HopTarget};
use serde::Serialize;

use super::{find, load, path_or_default, unknown};
use crate::argument::input_file;
use crate::exit::{Code, Failure, help};
use crate::print::json;

/// Print the line of a node, found by name or number.
///
/// The line is in the form of prphosts: node number, next hops to it (hardware address and device,
/// or via which node), names, options. `self` and `localhost` stand for this machine.
#[derive(Debug, Args)]
#[command(after_help = help("\
  prp hosts resolve gamma
  prp hosts resolve self --json
"))]
pub(super) struct ResolveArgs {
    /// A name or number
    #[arg(value_name = "NODE")]
    name: String,
    /// The prphosts to search [default: $PRP_HOSTS, else /etc/prphosts]
    #[arg(long, value_name = "FILE", value_parser = input_file())]
    hosts: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A line, for programs.
#[derive(Debug, Serialize)]
struct ResolvedLine<'a> {
    node: u16,
    names: Vec<&'a str>,
    #[serde(rename = "next_hops")]
    hops: Vec<Hop<'a>>,
    mtu: Option<u32>,
    file: String,
    line: u32,
}

/// A hardware address and a device, a UDP address, or the node by which frames go.
#[derive(Debug, Default, Serialize)]
struct Hop<'a> {
    mac: Option<String>,
    device: Option<&'a str>,
    udp: Option<String>,
    unix: Option<&'a str>,
    via: Option<u16>,
    metric: u16,
}

/// Runs it; what to print.
pub(super) fn run(args: &ResolveArgs) -> Result<String, Failure> {
    let file = load(&path_or_default(args.hosts.as_deref()))?;
    let node = find(&file, &args.name)?;
    let entry = file.hosts().entry(node).ok_or_else(|| {
        let (cause, fix) = unknown(&file, &node.to_string());
        Failure::new(Code::Unreachable, format!("{cause}; {fix}"))
    })?;
    if !args.json {
        return Ok(entry.to_string());
    }
    let line = line(entry, printable_path(file.path()));
    json(&line, true)
}

fn line(entry: Entry<'_>, file: String) -> ResolvedLine<'_> {
    let hop_line = |target, metric| match target {
        HopTarget::Direct { mac, device } => {
            Hop { mac: Some(mac.to_string()), device: Some(device), metric, ..Hop::default() }
        }
        HopTarget::Udp(addr) => Hop { udp: Some(addr.to_string()), metric, ..Hop::default() },
        HopTarget::Unix(folder) => Hop { unix: Some(folder), metric, ..Hop::default() },
        HopTarget::Via(node) => Hop { via: Some(node.number()), metric, ..Hop::default() },
    };
    ResolvedLine {
        node: entry.node().number(),
        names: entry.names().collect(),
        hops: entry.hops().map(|hop| hop_line(hop.target, hop.metric)).collect(),
        mtu: entry.mtu(),
        file,
        line: entry.line(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use tempfile::NamedTempFile;

    use super::*;

    const CLUSTER: &str = "\
self 2
1  02:00:00:00:00:01 eth0  alpha
2  02:00:00:00:00:02 eth0  beta b.cluster  mtu=9000
9  via 2 metric 10, via 1 metric 20  epsilon
";

    fn resolved(name: &str, json: bool) -> Result<String, Failure> {
        let mut file = NamedTempFile::new().expect("a temporary file");
        file.write_all(CLUSTER.as_bytes()).expect("room for a few bytes");
        run(&ResolveArgs { name: name.into(), hosts: Some(file.path().to_owned()), json })
    }

    #[test]
    fn run__finds_names_and_numbers() {
        let beta = "2  02:00:00:00:00:02 eth0  beta b.cluster  mtu=9000";
        for name in ["beta", "B.Cluster", "2", "self"] {
            assert_eq!(resolved(name, false).as_deref(), Ok(beta), "{name}");
        }
        let epsilon = "9  via 2 metric 10, via 1 metric 20  epsilon";
        assert_eq!(resolved("epsilon", false).as_deref(), Ok(epsilon));
    }

    #[test]
    fn run__unknown_nodes_have_a_code_of_their_own() {
        for name in ["gamma", "77", "70000"] {
            let text = format!("{:?}", resolved(name, false).expect_err("no such node"));
            assert!(
                text.contains("Unreachable") && text.contains(&format!("no node {name} in ")),
                "{text}"
            );
        }
    }

    #[test]
    fn run__json_has_data() {
        let text = resolved("epsilon", true).expect("it is there");
        let line: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!((&line["node"], &line["line"]), (&9.into(), &4.into()));
        assert_eq!(
            (&line["names"][0], &line["mtu"]),
            (&"epsilon".into(), &serde_json::Value::Null)
        );
        assert_eq!(line["next_hops"][0]["via"], 2);
        assert_eq!(line["next_hops"][1]["metric"], 20);
        let text = resolved("1", true).expect("it is there");
        let line: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(line["next_hops"][0]["mac"], "02:00:00:00:00:01");
        assert_eq!(line["next_hops"][0]["device"], "eth0");
    }
}
