//! What the launcher has an agent start.

use std::ffi::OsString;
use std::path::PathBuf;

use prp_mpi::control::program::{Program, joined, parsed, word, words};
use prp_mpi::process::Identity;

/// The ranks of a job, of which the agent starts those of its node.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct LaunchRequest {
    /// Number of this node.
    pub(crate) node: usize,
    /// Number of the node of each rank, separated by commas.
    pub(crate) nodes: String,
    /// The first rank of the job.
    pub(crate) first: Identity,
    /// Folder to work in, if it is there.
    pub(crate) folder: PathBuf,
    /// Variables to set.
    pub(crate) variables: Vec<(OsString, OsString)>,
    /// The programs, in the order of ranks.
    pub(crate) programs: Vec<Program>,
}

impl LaunchRequest {
    /// As the content of a frame.
    pub(crate) fn to_content(&self) -> Vec<u8> {
        let mut all: Vec<OsString> = vec![self.node.to_string().into(), (&self.nodes).into()];
        all.extend([self.first.to_string().into(), self.folder.clone().into()]);
        all.push(self.variables.len().to_string().into());
        all.extend(self.variables.iter().flat_map(|(name, value)| [name.clone(), value.clone()]));
        self.programs.iter().for_each(|program| program.append_to(&mut all));
        joined(&all)
    }

    /// Out of the content of a frame.
    pub(crate) fn from_content(content: &[u8]) -> Option<Self> {
        let mut all = words(content);
        let node = parsed(&mut all)?;
        let nodes = word(&mut all)?.into_string().ok()?;
        let first = parsed(&mut all)?;
        let folder = word(&mut all)?.into();
        let count: usize = parsed(&mut all)?;
        let variables: Option<_> =
            (0..count).map(|_| Some((word(&mut all)?, word(&mut all)?))).collect();
        let mut programs = Vec::new();
        while all.clone().next().is_some() {
            programs.push(Program::take_from(&mut all)?);
        }
        Some(Self { node, nodes, first, folder, variables: variables?, programs })
    }

    /// The ranks of this node.
    pub(crate) fn here(&self) -> Vec<usize> {
        let nodes = self.nodes.split(',').enumerate();
        nodes.filter(|(_, node)| node.parse() == Ok(self.node)).map(|(rank, _)| rank).collect()
    }

    /// The program of a rank, and which one of all it is.
    pub(crate) fn program_of(&self, rank: usize) -> Option<(usize, &Program)> {
        let mut end = 0;
        self.programs.iter().enumerate().find(|(_, program)| {
            end += program.ranks;
            rank < end
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request__is_read_as_it_was_written() {
        let program = |ranks, word: &str| Program {
            ranks,
            words: vec![word.into(), "".into()],
            ..Program::default()
        };
        let request = LaunchRequest {
            node: 1,
            nodes: "0,1,1".to_owned(),
            first: "000000000000000a:7".parse().unwrap(),
            folder: "/a folder".into(),
            variables: vec![("A".into(), "".into()), ("B".into(), "1 2".into())],
            programs: vec![program(1, "a"), program(2, "b")],
        };
        let read = LaunchRequest::from_content(&request.to_content()).unwrap();
        assert_eq!(read, request);
        assert_eq!(read.here(), [1, 2]);
        assert_eq!(read.program_of(0), Some((0, &request.programs[0])));
        assert_eq!(read.program_of(2), Some((1, &request.programs[1])));
        assert_eq!(read.program_of(3), None);
    }
}
