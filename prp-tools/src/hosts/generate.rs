//! `prp hosts generate`: each node's prphosts for a network of a common shape.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use prp_node::printable_path;
use prp_proto::plan::Plan;

use crate::argument::any;
use crate::exit::{Code, Failure, help};

/// Where to write, and what.
#[derive(Debug, Args)]
pub(crate) struct HostsGenerateArgs {
    #[command(subcommand)]
    shape: Shape,
    /// The folder to write into, as prphosts.1, prphosts.2, ...
    #[arg(long, value_name = "DIR", global = true, conflicts_with = "node")]
    out: Option<PathBuf>,
    /// Print the prphosts of this node
    #[arg(long, value_name = "NUMBER", global = true, value_parser = any::<u16>)]
    node: Option<u16>,
    /// Print all links and the prphosts of all nodes, as netns-scripts/topo takes them
    #[arg(long, global = true, conflicts_with_all = ["out", "node", "udp"])]
    plan: bool,
    /// UDP addresses, of which node 1 has this one and the others the following: all nodes reach
    /// each other by the IP network, whatever the shape, and have the same prphosts
    #[arg(long, value_name = "ADDRESS", global = true, value_parser = ip)]
    udp: Option<IpAddr>,
}

/// The shapes there are.
#[derive(Copy, Clone, Debug, Subcommand)]
enum Shape {
    /// Nodes in a row
    #[command(after_help = help("  prp hosts generate chain 5 --out hosts\n"))]
    Chain {
        /// How many
        #[arg(value_parser = any::<u16>)]
        nodes: u16,
    },
    /// Nodes around a switch
    #[command(after_help = help("  prp hosts generate star 5 --out hosts\n"))]
    Star {
        /// How many
        #[arg(value_parser = any::<u16>)]
        nodes: u16,
    },
    /// A chain whose ends are linked too
    #[command(after_help = help("  prp hosts generate ring 5 --out hosts\n"))]
    Ring {
        /// How many
        #[arg(value_parser = any::<u16>)]
        nodes: u16,
    },
    /// The corners of a cube, which differ in one bit from those they are linked to
    #[command(after_help = help("  prp hosts generate hypercube 3 --out hosts\n"))]
    Hypercube {
        /// Of how many dimensions
        #[arg(value_parser = any::<u16>)]
        dimensions: u16,
    },
    /// A root, its children, and theirs
    #[command(after_help = help("  prp hosts generate tree 2 3 --out hosts\n"))]
    Tree {
        /// How many children a node has
        #[arg(value_parser = any::<u16>)]
        children: u16,
        /// How many levels below the root
        #[arg(value_parser = any::<u16>)]
        depth: u16,
    },
}

fn ip(text: &str) -> Result<IpAddr, &'static str> {
    text.parse().map_err(|_| "expected an IP address such as 10.0.0.1")
}

/// Runs it; what to print.
pub(super) fn run(args: &HostsGenerateArgs) -> Result<String, Failure> {
    let plan = match args.shape {
        Shape::Chain { nodes } => Plan::chain(nodes),
        Shape::Star { nodes } => Plan::star(nodes),
        Shape::Ring { nodes } => Plan::ring(nodes),
        Shape::Hypercube { dimensions } => Plan::hypercube(dimensions),
        Shape::Tree { children, depth } => Plan::tree(children, depth),
    };
    let plan = plan.map_err(|e| Failure::new(Code::Usage, e.to_string()))?;
    if args.plan {
        return Ok(plan.to_string().trim_end().to_owned());
    }
    let over_udp = args.udp.map(|first| over_udp(plan.nodes(), first)).transpose()?;
    let hosts = |node| over_udp.clone().unwrap_or_else(|| plan.hosts(node));
    match (&args.out, args.node) {
        (Some(folder), _) => write_all(plan.nodes(), hosts, folder),
        (None, Some(node)) if (1..=plan.nodes()).contains(&node) => {
            Ok(hosts(node).trim_end().to_owned())
        }
        (None, Some(node)) => {
            let text = format!("no node {node}: there are 1 to {}", plan.nodes());
            Err(Failure::new(Code::Unreachable, text))
        }
        (None, None) => {
            let text =
                "say where to: --out DIR for all nodes, --node NUMBER to print one, --plan for all";
            Err(Failure::new(Code::Usage, text))
        }
    }
}

/// The prphosts of every node of an IP network, the first of which has the address `first`.
fn over_udp(nodes: u16, first: IpAddr) -> Result<String, Failure> {
    let address = |node: u16| match first {
        IpAddr::V4(ip) => {
            let bits = ip.to_bits().checked_add(u32::from(node) - 1)?;
            Some(IpAddr::V4(bits.into()))
        }
        IpAddr::V6(ip) => {
            let bits = ip.to_bits().checked_add(u128::from(node) - 1)?;
            Some(IpAddr::V6(bits.into()))
        }
    };
    let line = |node| match address(node)? {
        IpAddr::V4(ip) => Some(format!("{node} udp:{ip} node{node}\n")),
        IpAddr::V6(ip) => Some(format!("{node} udp:[{ip}] node{node}\n")),
    };
    let lines: Option<String> = (1..=nodes).map(line).collect();
    lines.ok_or_else(|| {
        Failure::new(Code::Failed, format!("{nodes} addresses from {first} on: too many"))
    })
}

fn write_all(last: u16, hosts: impl Fn(u16) -> String, folder: &Path) -> Result<String, Failure> {
    // Only the last part of its name: another one that is not there may be misspelt.
    match std::fs::create_dir(folder) {
        Err(e) if !folder.is_dir() => return Err(Failure::writing(folder, &e)),
        _ => {}
    }
    for node in 1..=last {
        let path = folder.join(format!("prphosts.{node}"));
        std::fs::write(&path, hosts(node)).map_err(|e| Failure::writing(&path, &e))?;
    }
    Ok(format!("{0}/prphosts.1 to {0}/prphosts.{last}", printable_path(folder)))
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use tempfile::tempdir;

    use super::*;

    #[derive(Debug, Parser)]
    struct Words {
        #[command(flatten)]
        generate: HostsGenerateArgs,
    }

    fn generate(words: &[&str]) -> Result<String, Failure> {
        let words = [&["generate"], words].concat();
        run(&Words::parse_from(words).generate)
    }

    #[test]
    fn generate__prints_one_or_writes_all() {
        let printed = generate(&["chain", "2", "--node", "1"]).expect("it exists");
        assert!(printed.starts_with("1 02:00:00:00:00:01 eth0 node1\n2 "), "{printed}");
        let printed = generate(&["chain", "3", "--plan"]).expect("it exists");
        assert!(printed.starts_with("link 1 eth0 02:00:00:00:00:01 2 "), "{printed}");
        assert!(printed.ends_with("\nhosts 3 3 02:00:00:00:01:03 eth0 node3"), "{printed}");
        for wrong in [&["chain", "2"][..], &["chain", "2", "--node", "3"], &["ring", "99"]] {
            generate(wrong).expect_err("it cannot be done");
        }
    }

    #[test]
    fn generate__over_udp_addresses_follow_each_other() {
        let words = ["star", "3", "--udp", "10.0.0.255", "--node", "2"];
        let expected = "1 udp:10.0.0.255 node1\n2 udp:10.0.1.0 node2\n3 udp:10.0.1.1 node3";
        assert_eq!(generate(&words).expect("it exists"), expected);
        generate(&["star", "3", "--udp", "255.255.255.254", "--node", "1"])
            .expect_err("there is no third address");
    }

    #[test]
    fn generate__what_is_written_is_found_right() {
        let shapes = [
            &["ring", "5"][..],
            &["hypercube", "3"],
            &["tree", "2", "2"],
            &["star", "4"],
            &["star", "4", "--udp", "10.0.0.1"],
            &["chain", "3", "--udp", "fd00::1"],
        ];
        for words in shapes {
            let folder = tempdir().expect("a temporary folder");
            let out = folder.path().to_str().expect("a plain name");
            let message = generate(&[words, &["--out", out]].concat()).expect("it is written");
            assert!(message.starts_with(out), "{message}");
            let report = prp_routed::check::cluster(folder.path());
            assert!(report.ok && report.summary.contains("reach each other"), "{report:?}");
        }
    }
}
