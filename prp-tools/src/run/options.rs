//! The options that a run has, on the command line and in a unit of systemd.

use std::ffi::OsString;
use std::path::{self, PathBuf};

use clap::{Args, ValueEnum};
use prp_run::{Network, Protocols};

use crate::argument::input_file;

/// How connections are carried.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// Have connections to nodes fail that cannot go over PRP
    #[arg(long, group = "policy")]
    pub(super) require: bool,
    /// Have connections to nodes go over TCP where PRP fails and TCP has a route (default)
    #[arg(long, group = "policy")]
    prefer: bool,
    /// Have the kernel show the calls of the program and of all that it starts, of Go or static too
    #[arg(long)]
    pub(super) seccomp: bool,
    /// Take 127.0.0.1 and ::1 for this node
    #[arg(long, value_name = "NODE")]
    pub(super) loopback: Option<String>,
    /// The IPv4 network whose addresses are nodes, with their numbers as host bits
    #[arg(long, value_name = "NETWORK", default_value_t = Network::PRIVATE)]
    pub(super) network: Network,
    /// What a listener at all addresses serves
    #[arg(long, value_name = "PROTOCOL", default_value = "both")]
    listen: Listen,
    /// The prphosts to use [default: $PRP_HOSTS, else /etc/prphosts]
    #[arg(long, value_name = "FILE", value_parser = input_file())]
    pub(super) hosts: Option<PathBuf>,
}

/// [`Protocols`] as an argument.
#[derive(Copy, Clone, Debug, Eq, PartialEq, ValueEnum)]
enum Listen {
    /// TCP and PRP
    Both,
    /// PRP only
    Prp,
    /// TCP only
    Tcp,
}

impl Options {
    /// Returns what listeners serve.
    pub(super) fn protocols(&self) -> Protocols {
        match self.listen {
            Listen::Both => Protocols::Both,
            Listen::Prp => Protocols::Prp,
            Listen::Tcp => Protocols::Tcp,
        }
    }

    /// Returns the words of a command line that stand for these options: none for the defaults.
    pub(super) fn words(&self) -> Vec<OsString> {
        let Self { require, prefer: _, seccomp, loopback, network, listen, hosts } = self;
        let mut words: Vec<OsString> = Vec::new();
        let mut add = |name: &str, value: Option<OsString>| {
            words.push(name.into());
            words.extend(value);
        };
        if *require {
            add("--require", None);
        }
        if *seccomp {
            add("--seccomp", None);
        }
        if let Some(node) = loopback {
            add("--loopback", Some(node.into()));
        }
        if *network != Network::PRIVATE {
            add("--network", Some(network.to_string().into()));
        }
        match listen {
            Listen::Both => {}
            Listen::Prp => add("--listen", Some("prp".into())),
            Listen::Tcp => add("--listen", Some("tcp".into())),
        }
        if let Some(file) = hosts {
            let whole = path::absolute(file).unwrap_or_else(|_| file.clone());
            add("--hosts", Some(whole.into()));
        }
        words
    }
}
