//! `prp key`: the cluster's key file.

mod file;
mod node;

use std::env;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use prp_key::{Key, KeyFile, Mode, Secret};
use prp_node::printable_path;
use serde::Serialize;
use zeroize::Zeroizing;

use crate::argument::{any, named_file};
use crate::exit::{Code, Failure, help};
use crate::print::{notice, print_json, print_line};

/// The key file where none is named.
const DEFAULT_PATH: &str = "/etc/prpkey";

/// The id of a file's first key.
const FIRST_ID: u16 = 1;

const EXAMPLES: &str = "\
  prp key new /etc/prpkey          a file with a new secret, to be copied to all nodes
  prp key list                     which secrets the file in force has, by fingerprints
  prp key new                      another secret, for a change of keys
  prp key use 2                    once all nodes have the file
  prp key drop 1                   once all nodes use the other
  prp key node new                 a private key of this node, and its public one for prphosts
";

/// Make and change the cluster's key file.
///
/// Every process of the node that uses PRP reads /etc/prpkey, or the file that PRP_KEY names, and
/// none goes on without a key where there is one.
///
/// A file has up to three secrets, and one of them is in use. To change keys on a running cluster,
/// add one with new, copy the file to all nodes, use the new key on each, and drop the old one from
/// each. The file belongs to root or to its user, and others cannot read it. Comments in it are not
/// kept. No command prints a secret.
#[derive(Debug, Args)]
#[command(after_help = help(EXAMPLES))]
pub(crate) struct KeyArgs {
    #[command(subcommand)]
    command: KeyCommand,
}

#[derive(Debug, Subcommand)]
enum KeyCommand {
    /// Make a key file, or add a secret to one.
    ///
    /// The secret of a new file is in use. One that is added is not, before `prp key use`.
    #[command(after_help = help("\
  prp key new /etc/prpkey
  prp key new job.key --mode sign
"))]
    New {
        /// The file [default: $PRP_KEY, else /etc/prpkey]
        #[arg(value_parser = named_file())]
        file: Option<PathBuf>,
        /// How a new file has frames protected: sign authenticates them, seal encrypts as well
        /// [default: seal]
        #[arg(long, value_parser = mode)]
        mode: Option<Mode>,
    },
    /// Print the ids and fingerprints of the secrets, and the modes.
    ///
    /// Nodes whose secrets have the same fingerprints have the same secrets.
    #[command(after_help = help("\
  prp key list
  prp key list job.key --json
"))]
    List {
        /// The file [default: $PRP_KEY, else /etc/prpkey]
        #[arg(value_parser = named_file())]
        file: Option<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Use another secret of the file.
    #[command(allow_missing_positional = true, after_help = help("\
  prp key use 2
  prp key use job.key 2
"))]
    Use {
        /// The file [default: $PRP_KEY, else /etc/prpkey]
        #[arg(value_parser = named_file())]
        file: Option<PathBuf>,
        /// The id of the secret
        #[arg(value_parser = any::<u16>)]
        id: u16,
    },
    /// Remove a secret that is not in use.
    #[command(allow_missing_positional = true, after_help = help("\
  prp key drop 1
  prp key drop job.key 1
"))]
    Drop {
        /// The file [default: $PRP_KEY, else /etc/prpkey]
        #[arg(value_parser = named_file())]
        file: Option<PathBuf>,
        /// The id of the secret
        #[arg(value_parser = any::<u16>)]
        id: u16,
    },
    /// Make and list the private keys of this node, whose public ones are in prphosts.
    ///
    /// With them the cluster knows which node speaks, and not only that it is a member. The file
    /// belongs to root or to its user, and others cannot read it: whoever can speaks as this node.
    #[command(after_help = help("\
  prp key node new                 print key=..., for the line of this node in prphosts
"))]
    Node {
        #[command(subcommand)]
        command: node::NodeCommand,
    },
}

fn mode(text: &str) -> Result<Mode, &'static str> {
    text.parse().ok().filter(|mode| *mode != Mode::Off).ok_or("expected sign or seal")
}

/// A key file, for programs.
#[derive(Debug, Serialize)]
struct Listed {
    file: String,
    mode: String,
    nodes: Vec<ListedNode>,
    keys: Vec<ListedKey>,
}

/// A node with a mode of its own.
#[derive(Debug, Serialize)]
struct ListedNode {
    node: u16,
    mode: String,
}

/// A secret, without the secret.
#[derive(Debug, Serialize)]
struct ListedKey {
    id: u16,
    fingerprint: String,
    in_use: bool,
}

/// Runs `prp key`.
pub(crate) fn run(args: &KeyArgs) -> Result<(), Failure> {
    match &args.command {
        KeyCommand::New { file, mode } => new(&path_or_default(file.as_deref()), *mode),
        KeyCommand::List { file, json } => list(&path_or_default(file.as_deref()), *json),
        KeyCommand::Use { file, id } => {
            let path = path_or_default(file.as_deref());
            let mut keys = file::read(&path)?;
            keys.use_key(*id).map_err(|e| refused(&path, e))?;
            file::replace(&path, &keys.reveal())?;
            print_line(format!("{}: key {id} is in use", printable_path(&path)))
        }
        KeyCommand::Drop { file, id } => {
            let path = path_or_default(file.as_deref());
            let mut keys = file::read(&path)?;
            if keys.drop_key(*id).map_err(|e| refused(&path, e))? {
                file::replace(&path, &keys.reveal())?;
            }
            print_line(format!("{}: has no key {id} any more", printable_path(&path)))
        }
        KeyCommand::Node { command } => node::run(command),
    }
}

/// The key file in force, unless the user names another.
fn path_or_default(named: Option<&Path>) -> PathBuf {
    let in_force = || env::var_os("PRP_KEY").filter(|path| !path.is_empty()).map(PathBuf::from);
    named.map(Path::to_owned).or_else(in_force).unwrap_or_else(|| PathBuf::from(DEFAULT_PATH))
}

fn refused(path: &Path, why: prp_key::EditError) -> Failure {
    Failure::new(Code::Failed, format!("{}: {why}", printable_path(path)))
}

fn new(path: &Path, mode: Option<Mode>) -> Result<(), Failure> {
    let shown = printable_path(path);
    let secret = random_secret()?;
    let fingerprint = secret.fingerprint();
    let Some(mut keys) = file::read_if_there(path)? else {
        let mode = mode.unwrap_or(Mode::Seal);
        file::create(path, &KeyFile::new(mode, FIRST_ID, secret).reveal())?;
        print_line(format!("{shown}: key {FIRST_ID} ({fingerprint}) is in use, mode {mode}"))?;
        notice("copy the file to all nodes: those without it are not spoken to");
        return Ok(());
    };
    if let Some(mode) = mode.filter(|mode| *mode != keys.mode()) {
        let text = format!("{shown}: it has mode {}, not {mode}: edit that line", keys.mode());
        return Err(Failure::new(Code::Usage, text));
    }
    let id = keys.add(secret).map_err(|e| refused(path, e))?;
    file::replace(path, &keys.reveal())?;
    let used = keys.used().id();
    print_line(format!("{shown}: key {id} ({fingerprint}) is added; key {used} is in use"))?;
    notice(format!("copy the file to all nodes, and then `prp key use {id}` on each"));
    Ok(())
}

fn random_secret() -> Result<Secret, Failure> {
    let mut bytes = Zeroizing::new([0; 32]);
    getrandom::fill(&mut *bytes)
        .map_err(|e| Failure::new(Code::Failed, format!("no random bytes: {e}")))?;
    Ok(Secret::new(*bytes))
}

fn list(path: &Path, json: bool) -> Result<(), Failure> {
    let keys = file::read(path)?;
    let used = keys.used().id();
    let key = |key: &Key| ListedKey {
        id: key.id(),
        fingerprint: key.secret().fingerprint().to_string(),
        in_use: key.id() == used,
    };
    let node = |(node, mode): (u16, Mode)| ListedNode { node, mode: mode.to_string() };
    let listed = Listed {
        file: printable_path(path),
        mode: keys.mode().to_string(),
        nodes: keys.nodes().map(node).collect(),
        keys: keys.keys().iter().map(key).collect(),
    };
    if json {
        return print_json(&listed, false);
    }
    let mut text = format!("{}: mode {}", listed.file, listed.mode);
    for node in &listed.nodes {
        text.push_str(&format!("\nnode {}  {}", node.node, node.mode));
    }
    for key in &listed.keys {
        let used = if key.in_use { "  in use" } else { "" };
        text.push_str(&format!("\nkey {}  {}{used}", key.id, key.fingerprint));
    }
    print_line(text)
}
