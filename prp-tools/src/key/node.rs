//! `prp key node`: the private keys of this node.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use prp_key::{NodeKey, NodeKeyFile, NodeSecret};
use prp_node::printable_path;
use serde::Serialize;

use crate::exit::{Code, Failure, help};
use crate::print::{notice, print_json, print_line};

use super::{file, random_secret, refused};

#[derive(Debug, Subcommand)]
pub(super) enum NodeCommand {
    /// Make a file with a private key of this node, or add one to it.
    ///
    /// Prints the public key. The file has two private keys while one takes the place of the other.
    #[command(after_help = help("\
  prp key node new
  prp key node new alpha.key
"))]
    New {
        /// The file [default: $PRP_NODE_KEY, else /etc/prpnodekey]
        file: Option<PathBuf>,
    },
    /// Print the public keys.
    #[command(after_help = help("\
  prp key node list
  prp key node list alpha.key --json
"))]
    List {
        /// The file [default: $PRP_NODE_KEY, else /etc/prpnodekey]
        file: Option<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove the private key that belongs to a public one.
    #[command(allow_missing_positional = true, after_help = help("\
  prp key node drop 8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a
"))]
    Drop {
        /// The file [default: $PRP_NODE_KEY, else /etc/prpnodekey]
        file: Option<PathBuf>,
        /// The public key
        #[arg(value_parser = public)]
        key: NodeKey,
    },
}

fn public(text: &str) -> Result<NodeKey, &'static str> {
    text.parse().map_err(|_| "expected a public key of 64 hexadecimal digits")
}

/// A node key file, for programs.
#[derive(Debug, Serialize)]
struct Listed {
    file: String,
    /// Public keys.
    keys: Vec<String>,
}

/// Runs `prp key node`.
pub(super) fn run(command: &NodeCommand) -> Result<(), Failure> {
    match command {
        NodeCommand::New { file } => new(&path_or_default(file.as_deref())),
        NodeCommand::List { file, json } => list(&path_or_default(file.as_deref()), *json),
        NodeCommand::Drop { file, key } => {
            let path = path_or_default(file.as_deref());
            let mut keys = read(&path)?;
            if keys.drop_key(*key).map_err(|e| refused(&path, e))? {
                file::replace(&path, &keys.reveal())?;
            }
            print_line(format!("{}: has no key {key} any more", printable_path(&path)))
        }
    }
}

fn path_or_default(named: Option<&Path>) -> PathBuf {
    named.map_or_else(prp_node::key::node_path, Path::to_owned)
}

fn read_if_there(path: &Path) -> Result<Option<NodeKeyFile>, Failure> {
    prp_node::key::read_node(path).map_err(|e| Failure::new(Code::Failed, e.to_string()))
}

fn read(path: &Path) -> Result<NodeKeyFile, Failure> {
    let missing = || {
        let shown = printable_path(path);
        let text = format!("{shown}: there is no such file; `prp key node new` makes one");
        Failure::new(Code::Failed, text)
    };
    read_if_there(path)?.ok_or_else(missing)
}

fn new(path: &Path) -> Result<(), Failure> {
    let secret = random_secret()?;
    let key = match read_if_there(path)? {
        None => {
            let keys = NodeKeyFile::new(secret);
            file::create(path, &keys.reveal())?;
            keys.secrets().map(NodeSecret::key).next()
        }
        Some(mut keys) => {
            let key = keys.add(secret).map_err(|e| refused(path, e))?;
            file::replace(path, &keys.reveal())?;
            Some(key)
        }
    };
    print_line(key.map(|key| format!("key={key}")).unwrap_or_default())?;
    notice("write this on the line of this node in prphosts, on all nodes");
    Ok(())
}

fn list(path: &Path, json: bool) -> Result<(), Failure> {
    let keys = read(path)?;
    let keys: Vec<_> = keys.secrets().map(|secret| secret.key().to_string()).collect();
    if json {
        return print_json(&Listed { file: printable_path(path), keys }, false);
    }
    keys.iter().try_for_each(|key| print_line(format!("key={key}")))
}
