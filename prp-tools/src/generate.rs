//! `prp generate`: manual pages and shell completions, from the definitions of the arguments.

mod node_names;

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, Command, Subcommand};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::exit::{Code, Failure, help};

/// The shells that Debian's users have; others can be had from the same definitions.
const SHELLS: [Shell; 3] = [Shell::Bash, Shell::Zsh, Shell::Fish];

/// The manual page of the file that all programs read.
const PRPHOSTS: (&str, &str) = ("prphosts.5", include_str!("../man/prphosts.5"));

/// What follows in each page: it is the same for all programs.
const COMMON: &str = r#".SH ENVIRONMENT
.TP
.B PRP_HOSTS
The prphosts in place of /etc/prphosts. A program with file capabilities ignores it.
.TP
.B PRP_NODE
The number of this node, where prphosts does not tell.
.TP
.B PRP_KEY
The file with the key of the cluster, in place of /etc/prpkey.
.TP
.B PRP_NODE_KEY
The file with the private keys of this node, in place of /etc/prpnodekey.
.TP
.B PRP_RUN_DIR
The folder with the sockets of prp\-routed in place of /run/prp.
.TP
.B PRP_FAST_PATHS
.B off
has all frames pass the packet sockets.
.SH FILES
.TP
.I /etc/prphosts
The nodes and the next hops to them.
.TP
.I /run/prp
The sockets of prp\-routed.
.SH SEE ALSO
"#;

/// The pages that a reader may want beside one, with their sections.
const OTHERS: [(&str, u8); 5] =
    [("prp", 1), ("prp-doctor", 1), ("prp-hosts", 1), ("prp-routed", 8), ("prphosts", 5)];

/// Write manual pages or shell completions of prp and prp-routed, for packages.
#[derive(Debug, Args)]
#[command(after_help = help("\
  prp generate man target/man                    prp.1, prp-cat.1, ..., prp-routed.8, prphosts.5
  prp generate completions target/completions    prp.bash, _prp, prp.fish, ...
"))]
pub(crate) struct GenerateArgs {
    #[command(subcommand)]
    what: Artifact,
}

#[derive(Debug, Subcommand)]
enum Artifact {
    /// Manual pages, one for each command
    #[command(after_help = help("  prp generate man target/man\n"))]
    Man {
        /// Where they are written to; made if it is not there
        folder: PathBuf,
    },
    /// Completions for bash, zsh and fish
    #[command(after_help = help("  prp generate completions target/completions\n"))]
    Completions {
        /// Where they are written to; made if it is not there
        folder: PathBuf,
    },
}

/// Runs `prp generate`, with the definition of prp itself.
pub(crate) fn run(args: &GenerateArgs, prp: Command) -> Result<(), Failure> {
    let (Artifact::Man { folder } | Artifact::Completions { folder }) = &args.what;
    if folder.as_os_str() == "-" {
        let text = "-: several files are made: name a folder, or `./-` for one of that name";
        return Err(Failure::new(Code::Usage, text));
    }
    // The section of what only an administrator runs is 8.
    let programs = [(prp, "1"), (prp_routed::cli::command(), "8")];
    let (folder, done) = match &args.what {
        Artifact::Man { folder } => (folder, man(folder, programs)),
        Artifact::Completions { folder } => (folder, completions(folder, programs)),
    };
    done.map_err(|e| Failure::writing(folder, &e))
}

fn man(folder: &Path, programs: [(Command, &str); 2]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let (name, text) = PRPHOSTS;
    fs::write(folder.join(name), text)?;
    for (mut command, section) in programs {
        // `help` would have a page for every command once more.
        command = command.disable_help_subcommand(true);
        // Gives each command its whole name.
        command.build();
        pages(folder, &command, section)?;
    }
    Ok(())
}

/// The page of a command and those of its subcommands.
fn pages(folder: &Path, command: &Command, section: &str) -> io::Result<()> {
    let man = Man::new(command.clone()).section(section);
    let name = man.get_filename();
    let mut page = File::create(folder.join(&name))?;
    man.render(&mut page)?;
    writeln!(page, "{COMMON}{}", see_also(&name))?;
    command.get_subcommands().try_for_each(|inner| pages(folder, inner, section))
}

/// The others than the page in the file `name`, as a page refers to them.
fn see_also(name: &str) -> String {
    let others = OTHERS.iter().filter(|(other, section)| format!("{other}.{section}") != name);
    let others =
        others.map(|(other, section)| format!(".BR {} ({section})", other.replace('-', "\\-")));
    others.collect::<Vec<_>>().join(",\n")
}

/// The commands below `program` that take nodes as words of their own, as the words that lead to
/// them.
fn node_takers(program: &Command) -> Vec<Vec<String>> {
    fn below(command: &Command, path: &[String], takers: &mut Vec<Vec<String>>) {
        for inner in command.get_subcommands() {
            let path = [path, &[inner.get_name().to_owned()]].concat();
            let takes_node = inner.get_positionals().any(|arg| {
                arg.get_value_names().is_some_and(|names| names.iter().any(|name| name == "NODE"))
            });
            if takes_node {
                takers.push(path.clone());
            }
            below(inner, &path, takers);
        }
    }
    let mut takers = Vec::new();
    below(program, &[], &mut takers);
    takers
}

fn completions(folder: &Path, programs: [(Command, &str); 2]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for (mut command, _) in programs {
        let name = command.get_name().to_owned();
        let takers = node_takers(&command);
        for shell in SHELLS {
            let file = clap_complete::generate_to(shell, &mut command, &name, folder)?;
            if !takers.is_empty() {
                let script = fs::read_to_string(&file)?;
                fs::write(file, node_names::complete(shell, &script, &takers))?;
            }
        }
    }
    Ok(())
}
