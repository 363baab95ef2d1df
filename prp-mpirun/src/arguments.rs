//! The command line.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;
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
    /// Ranks on each node that has no number of its own
    #[arg(long, value_name = "N")]
    pub(crate) per_node: Option<usize>,
    /// A variable for the ranks, which have this process's value where none is said; may be given
    /// several times
    #[arg(long = "env", value_name = "NAME[=VALUE]")]
    pub(crate) variables: Vec<OsString>,
    /// Ends the job after this number of seconds, with status 124
    #[arg(long, value_name = "SECS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
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

/// The most ranks of a job, with those that it spawns.
pub(crate) const MOST_RANKS: usize = 1 << 16;

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
        let mut named: Vec<(String, usize)> = self.node.iter().map(|word| node(word)).collect();
        if let Some(path) = &self.hostfile {
            let text = fs::read_to_string(path)
                .map_err(|e| io::Error::new(e.kind(), format!("{path}: {e}")))?;
            named.extend(parse_hostfile(&text).map_err(invalid)?);
        }
        if named.is_empty() {
            if let Some(path) = &self.hostfile {
                return Err(invalid(format!("{path} names no node")));
            }
            let ranks = self.ranks.or(self.per_node).unwrap_or(1);
            check_ranks(ranks)?;
            return Ok(vec![Node { name: None, ranks }]);
        }
        if let Some(per_node) = self.per_node {
            named = spread(named, per_node, self.ranks)?;
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

/// A node, and its ranks where they are behind a colon, as in `alpha:2`.
fn node(word: &str) -> (String, usize) {
    let counted = word.rsplit_once(':').and_then(|(name, n)| Some((name, n.parse().ok()?)));
    let (name, ranks) = counted.unwrap_or((word, 0));
    (name.to_owned(), ranks)
}

/// Gives nodes without a number of their own `per_node` ranks, up to `ranks` in all: the last one
/// may have less, and those behind it are left out.
fn spread(
    nodes: Vec<(String, usize)>,
    per_node: usize,
    ranks: Option<usize>,
) -> io::Result<Vec<(String, usize)>> {
    if per_node == 0 {
        return Err(invalid("a node has one rank at least"));
    }
    let Some(ranks) = ranks else {
        let counted = |(name, n)| (name, if n > 0 { n } else { per_node });
        return Ok(nodes.into_iter().map(counted).collect());
    };
    let mut left = ranks;
    let mut all = Vec::new();
    for (name, n) in nodes {
        let here = if n > 0 { n } else { per_node }.min(left);
        left -= here;
        if here > 0 {
            all.push((name, here));
        }
    }
    match left {
        0 => Ok(all),
        _ => Err(invalid(format!("{ranks} ranks: the nodes have room for {}", ranks - left))),
    }
}

/// A number of seconds.
fn seconds(text: &str) -> Result<Duration, &'static str> {
    let seconds = text.parse().ok().filter(|seconds| *seconds > 0.0);
    let seconds = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    seconds.ok_or("expected a number of seconds greater than 0")
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

/// What a word of the command line is, which may be one of another launcher's.
enum Meaning {
    /// An option with a value.
    Valued(&'static str),
    /// An option without.
    Flag(&'static str),
    /// A variable, in two words.
    Variable,
    /// What is so anyway.
    Nothing,
    /// Which processors ranks have, which only this value leaves as it is; and what to do else.
    Placement(&'static str, &'static str),
    /// It cannot be had; and what to do.
    Refused(&'static str),
}

/// The meaning of `name`: in our own words, those of MPICH, and those of Open MPI.
fn meaning(name: &str) -> Option<Meaning> {
    const UNBOUND: &str = "no rank is bound to processors: put taskset or numactl in front of the \
                           program";
    const BLOCKS: &str = "ranks are in blocks, as many on each node as --per-node says";
    const FOLDER: &str = "ranks work in the folder where prp-mpirun is started: \
                          (cd DIR && prp-mpirun ...)";
    Some(match name {
        "-n" | "-np" | "--np" => Meaning::Valued("--np"),
        "--hostfile" | "-hostfile" | "--machinefile" | "-machinefile" | "-f" => {
            Meaning::Valued("--hostfile")
        }
        "--node" | "-host" | "--host" | "-hosts" | "--hosts" | "-H" => Meaning::Valued("--node"),
        "--per-node" | "-ppn" | "-perhost" | "-N" | "-npernode" | "--npernode" => {
            Meaning::Valued("--per-node")
        }
        "--env" | "-x" => Meaning::Valued("--env"),
        "-env" | "-genv" => Meaning::Variable,
        "--launch" => Meaning::Valued("--launch"),
        "--timeout" | "-timeout" => Meaning::Valued("--timeout"),
        "--label" | "-l" | "-prepend-rank" | "-tag-output" | "--tag-output" => {
            Meaning::Flag("--label")
        }
        "--no-stdin" => Meaning::Flag("--no-stdin"),
        "--agent" => Meaning::Flag("--agent"),
        "--help" | "-h" => Meaning::Flag("--help"),
        "--version" | "-V" => Meaning::Flag("--version"),
        "-q" | "--quiet" | "-v" | "--verbose" | "-oversubscribe" | "--oversubscribe" => {
            Meaning::Nothing
        }
        "-bind-to" | "--bind-to" => Meaning::Placement("none", UNBOUND),
        "-map-by" | "--map-by" => Meaning::Placement("slot", BLOCKS),
        "-wdir" | "--wdir" | "-wd" => Meaning::Refused(FOLDER),
        _ => return None,
    })
}

/// The words with our own in the place of those of other launchers.
///
/// # Errors
/// `InvalidInput` if a word in front of the program has no meaning here, with what to do, or if the
/// program would get words that are meant for the launcher.
fn words(all: Vec<OsString>) -> io::Result<Vec<OsString>> {
    let mut rest = all.into_iter();
    let mut words: Vec<OsString> = rest.by_ref().take(1).collect();
    let mut rest = rest.peekable();
    while let Some(word) = rest.next_if(|word| word.as_bytes().starts_with(b"-")) {
        if word == "--" {
            words.push(word);
            words.extend(rest);
            return Ok(words);
        }
        let text = word.to_string_lossy();
        let (name, stated) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value.into())),
            None => match text.strip_prefix("-n") {
                Some(number) if number.starts_with(|c: char| c.is_ascii_digit()) => {
                    ("-n", Some(number.into()))
                }
                _ => (&*text, None),
            },
        };
        let mut stated: Option<OsString> = stated;
        let mut value = || {
            let value = stated.take().or_else(|| rest.next());
            value.ok_or_else(|| invalid(format!("{name} has no value: see --help")))
        };
        match meaning(name) {
            Some(Meaning::Valued(ours)) => words.push(joined(ours, &value()?)),
            Some(Meaning::Flag(ours)) => words.push(ours.into()),
            Some(Meaning::Nothing) => {}
            Some(Meaning::Variable) => {
                let mut variable = value()?;
                variable.push("=");
                variable.push(value()?);
                words.push(joined("--env", &variable));
            }
            Some(Meaning::Placement(as_it_is, instead)) => {
                let wanted = value()?;
                if wanted != as_it_is {
                    return Err(invalid(format!("{name} {}: {instead}", wanted.display())));
                }
            }
            Some(Meaning::Refused(instead)) => return Err(invalid(format!("{name}: {instead}"))),
            None => return Err(invalid(format!("no option '{text}': see --help"))),
        }
    }
    let program: Vec<OsString> = rest.collect();
    if program.iter().any(|word| word == ":") {
        let text = "several programs, separated by ':', are not supported: start one that does what \
                    its rank says (a program with the argument ':' stands behind '--')";
        return Err(invalid(text));
    }
    words.extend(program);
    Ok(words)
}

/// An option with its value, in one word: the value may begin with a dash.
fn joined(option: &str, value: &OsStr) -> OsString {
    [OsStr::new(option), value].join(OsStr::new("="))
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
