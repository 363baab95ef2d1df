//! The command line.

use std::ffi::OsString;
use std::{env, fs, io};

use clap::Parser;

/// Starts the ranks of an MPI program.
#[derive(Debug, Parser)]
#[command(version, about)]
pub(crate) struct Arguments {
    /// Ranks; one for each node unless said otherwise
    #[arg(short = 'n', long = "np")]
    pub(crate) ranks: Option<usize>,
    /// File of nodes, one a line, with the number of ranks behind the name if it is not one for all
    #[arg(long)]
    pub(crate) hostfile: Option<String>,
    /// Nodes, separated by commas; without any all ranks are here
    #[arg(long, value_delimiter = ',')]
    pub(crate) node: Vec<String>,
    /// Command that runs another on a node, with {node} and {command}
    #[arg(long, default_value = "ssh {node} {command}")]
    pub(crate) launch: String,
    /// Rank 0 reads nothing: standard input is left to others, as to a loop of a shell
    #[arg(long)]
    pub(crate) no_stdin: bool,
    /// Puts the rank before each line of output
    #[arg(long)]
    pub(crate) label: bool,
    /// Runs as the agent of a node, which prp-mpirun starts itself
    #[arg(long, hide = true)]
    pub(crate) agent: bool,
    /// The program and its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) program: Vec<OsString>,
}

/// A node and what it runs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Node {
    /// Its name, as the user has written it; none is this machine without a network.
    pub(crate) name: Option<String>,
    /// Ranks on it.
    pub(crate) ranks: usize,
}

/// The most ranks of a job.
const MOST_RANKS: usize = 1 << 16;

impl Arguments {
    /// Reads the words of this process; ends it where `--help` asks for that, or they are wrong.
    ///
    /// # Errors
    /// `InvalidInput` where `mpiexec` of others would take the words, in another meaning.
    pub(crate) fn read() -> io::Result<Self> {
        Ok(Self::parse_from(words(env::args_os().collect())?))
    }

    /// The nodes, and how many ranks each has: in blocks, the first ones one more if it does not
    /// come out even.
    pub(crate) fn nodes(&self) -> io::Result<Vec<Node>> {
        let mut named: Vec<(String, usize)> =
            self.node.iter().map(|name| (name.clone(), 0)).collect();
        if let Some(path) = &self.hostfile {
            let text = fs::read_to_string(path)
                .map_err(|e| io::Error::new(e.kind(), format!("{path}: {e}")))?;
            named.extend(parse_hostfile(&text).map_err(invalid)?);
        }
        if named.is_empty() {
            if let Some(path) = &self.hostfile {
                return Err(invalid(format!("{path} names no node")));
            }
            let ranks = self.ranks.unwrap_or(1);
            check_ranks(ranks)?;
            return Ok(vec![Node { name: None, ranks }]);
        }
        let fixed = named.iter().fold(0_usize, |sum, (_, n)| sum.saturating_add(*n));
        let open = named.iter().filter(|(_, n)| *n == 0).count();
        let ranks = self.ranks.unwrap_or_else(|| fixed.saturating_add(open));
        check_ranks(ranks)?;
        if ranks < named.len() {
            return Err(invalid(format!("{ranks} ranks are too few for {} nodes", named.len())));
        }
        let rest = ranks.saturating_sub(fixed);
        if open == 0 && ranks != fixed {
            return Err(invalid(format!("the hostfile has {fixed} ranks, and -n says {ranks}")));
        }
        let mut seen = 0;
        let nodes = named.into_iter().map(|(name, n)| {
            let ranks = if n > 0 {
                n
            } else {
                seen += 1;
                rest / open + usize::from(seen <= rest % open)
            };
            Node { name: Some(name), ranks }
        });
        Ok(nodes.collect())
    }
}

fn invalid(text: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, text.into())
}

/// Some number of ranks, as many as can be named.
fn check_ranks(ranks: usize) -> io::Result<()> {
    match ranks {
        0 => Err(invalid("a job has one rank at least")),
        1..=MOST_RANKS => Ok(()),
        _ => Err(invalid(format!("{ranks} ranks: a job has {MOST_RANKS} at most"))),
    }
}

/// The words with those that only `mpiexec` of others has in the place of our own.
///
/// # Errors
/// `InvalidInput` if the program would get words that are meant for the launcher.
fn words(mut all: Vec<OsString>) -> io::Result<Vec<OsString>> {
    const WITH_VALUE: [&str; 5] = ["-n", "--np", "--hostfile", "--node", "--launch"];
    const ALONE: [&str; 7] =
        ["--label", "--no-stdin", "--agent", "--help", "--version", "-h", "-V"];
    let mut at = 1;
    while let Some(word) = all.get_mut(at) {
        if *word == "-np" {
            *word = "--np".into();
        } else if let Some(number) = word.to_str().and_then(|text| text.strip_prefix("-n"))
            && number.starts_with(|c: char| c.is_ascii_digit())
        {
            *word = format!("--np={number}").into();
        }
        let Some(text) = word.to_str().filter(|text| text.starts_with('-')) else { break };
        if text == "--" {
            return Ok(all);
        }
        let name = text.split('=').next().unwrap_or_default();
        if !WITH_VALUE.contains(&name) && !ALONE.contains(&name) {
            return Err(invalid(format!("no option '{text}': see --help")));
        }
        at += if WITH_VALUE.contains(&text) { 2 } else { 1 };
    }
    if all.iter().skip(at).any(|word| word == ":") {
        let text = "several programs, separated by ':', are not supported: start one that does what \
                    its rank says (a program with the argument ':' stands behind '--')";
        return Err(invalid(text));
    }
    Ok(all)
}

/// Nodes and their ranks, 0 where the file does not say. Blanks and a missing newline at the end
/// mean nothing.
fn parse_hostfile(text: &str) -> Result<Vec<(String, usize)>, String> {
    let mut nodes = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        let mut words = line.split_whitespace();
        let Some(name) = words.next() else { continue };
        let ranks = match words.next() {
            None => 0,
            Some(word) => {
                word.trim_start_matches("slots=").parse().ok().filter(|n| *n > 0).ok_or_else(
                    || format!("line {} of the hostfile: {word} is no number of ranks", number + 1),
                )?
            }
        };
        nodes.push((name.to_owned(), ranks));
    }
    Ok(nodes)
}

#[cfg(test)]
mod tests;
