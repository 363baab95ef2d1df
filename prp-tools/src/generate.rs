//! `prp generate`: manual pages and shell completions, from the definitions of the arguments.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, Command, Subcommand};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::exit::{Failure, help};

/// The shells that Debian's users have; others can be had from the same definitions.
const SHELLS: [Shell; 3] = [Shell::Bash, Shell::Zsh, Shell::Fish];

/// Write manual pages or shell completions of prp and prp-routed, for packages.
#[derive(Debug, Args)]
#[command(after_help = help("\
  prp generate man target/man                    prp.1, prp-cat.1, ..., prp-routed.8
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
    man.render(&mut File::create(folder.join(man.get_filename()))?)?;
    command.get_subcommands().try_for_each(|inner| pages(folder, inner, section))
}

fn completions(folder: &Path, programs: [(Command, &str); 2]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for (mut command, _) in programs {
        let name = command.get_name().to_owned();
        for shell in SHELLS {
            clap_complete::generate_to(shell, &mut command, &name, folder)?;
        }
    }
    Ok(())
}
