//! What ranks, agents and the launcher say to each other: frames on a byte stream.

pub mod names;
pub mod program;
pub mod socket;

use std::io::{self, Read, Write};
use std::time::Duration;

/// What a frame is about.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
#[repr(u8)]
pub enum Topic {
    /// A rank gives its number: the first frame on its stream, and when it is there again.
    Hello = 1,
    /// A rank's card: where others reach it.
    Card,
    /// All cards, to each rank.
    Cards,
    /// A rank has left the job: it may end now.
    Finalized,
    /// A rank ends the job: exit status and a reason.
    Abort,
    /// A rank has waited longer than the limit: for how long nothing may have happened to any, in
    /// milliseconds.
    Stuck,
    /// A rank waits, and has waited longer than the limit once that time has passed.
    NearlyStuck,
    /// Ranks are asked where they are.
    RollCall,
    /// Where a rank is.
    Whereabouts,
    /// Bytes that a rank has written to standard output.
    Output,
    /// Bytes that a rank has written to standard error.
    ErrorOutput,
    /// Bytes for the standard input of a rank; none is its end.
    Input,
    /// A process has ended: its wait status in words.
    Exited,
    /// What an agent is to start.
    Start,
    /// Ranks are sent a signal.
    Signal,
    /// An agent is there.
    Ready,
    /// Bytes that an [`Input`](Self::Input) had are written to the rank.
    InputTaken,
    /// An agent cannot do its work, and why.
    Failed,
    /// An agent has started what it can of the ranks from this one on.
    Started,
    /// A rank asks for programs to be started.
    Spawn,
    /// A rank publishes a name with its port.
    Publish,
    /// A rank withdraws a name.
    Withdraw,
    /// A rank asks for the port of a name.
    LookUp,
    /// What the launcher says to a question of a rank.
    Answer,
}

impl Topic {
    const ALL: [Self; 24] = [
        Self::Hello,
        Self::Card,
        Self::Cards,
        Self::Finalized,
        Self::Abort,
        Self::Stuck,
        Self::NearlyStuck,
        Self::RollCall,
        Self::Whereabouts,
        Self::Output,
        Self::ErrorOutput,
        Self::Input,
        Self::Exited,
        Self::Start,
        Self::Signal,
        Self::Ready,
        Self::InputTaken,
        Self::Failed,
        Self::Started,
        Self::Spawn,
        Self::Publish,
        Self::Withdraw,
        Self::LookUp,
        Self::Answer,
    ];
}

/// Longest content of a frame: more is a stream that carries something else.
const LONGEST: u32 = 64 << 20;

/// One thing said by or about a rank.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Frame {
    /// What it is about.
    pub topic: Topic,
    /// World rank it is of or for.
    pub rank: u32,
    /// The rest.
    pub content: Vec<u8>,
}

impl Frame {
    /// A frame.
    pub fn new(topic: Topic, rank: usize, content: impl Into<Vec<u8>>) -> Self {
        Self { topic, rank: rank as u32, content: content.into() }
    }

    /// The content as a time.
    pub fn milliseconds(&self) -> Duration {
        let number = self.content.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
        Duration::from_millis(number.into())
    }

    /// The content as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.content).into_owned()
    }

    /// Writes the frame.
    ///
    /// # Errors
    /// Those of the stream.
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(9 + self.content.len());
        bytes.push(self.topic as u8);
        bytes.extend_from_slice(&self.rank.to_le_bytes());
        bytes.extend_from_slice(&(self.content.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&self.content);
        to.write_all(&bytes)?;
        to.flush()
    }

    /// Reads the next frame. `None` at the end of the stream.
    ///
    /// # Errors
    /// Those of the stream; `InvalidData` for what is no frame.
    pub fn read(from: &mut impl Read) -> io::Result<Option<Self>> {
        let mut head = [0; 9];
        match from.read_exact(&mut head) {
            Ok(()) => {}
            Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(e) => return Err(e),
        }
        let topic = Topic::ALL.into_iter().find(|t| *t as u8 == head[0]);
        let topic = topic.ok_or(io::ErrorKind::InvalidData)?;
        let number = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| head[at + i]));
        if number(5) > LONGEST {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut content = vec![0; number(5) as usize];
        from.read_exact(&mut content)?;
        Ok(Some(Self { topic, rank: number(1), content }))
    }
}

/// Environment variables of a rank, set by its agent.
pub mod environment {
    /// World rank.
    pub const RANK: &str = "PRP_MPI_RANK";
    /// Ranks of the job.
    pub const SIZE: &str = "PRP_MPI_SIZE";
    /// Folder with the agent's socket and those of the ranks of the node.
    pub const FOLDER: &str = "PRP_MPI_FOLDER";
    /// Whether ranks are on several nodes.
    pub const NODES: &str = "PRP_MPI_NODES";
    /// The [`Identity`](crate::process::Identity) of the job's first rank.
    pub const FIRST: &str = "PRP_MPI_FIRST";
    /// The port at which those that have spawned this job wait for it.
    pub const PARENT: &str = "PRP_MPI_PARENT";
    /// Which of the programs that were started together this rank is of, counted from 0.
    pub const PROGRAM: &str = "PRP_MPI_PROGRAM";
    /// Seconds that a rank may wait before a roll call; 0 is never.
    pub const HANG_SECONDS: &str = "PRP_MPI_HANG_SECONDS";
    /// Whether receives are released early: `1`, `report` to be told how at the end, or `info` for
    /// those of communicators only whose info asks for it.
    pub const EARLY_RELEASE: &str = "PRP_MPI_EARLY_RELEASE";
    /// Algorithms of collective operations, as `allreduce=ring`, and `report` to be told at the end
    /// which were taken; separated by commas.
    pub const COLLECTIVES: &str = "PRP_MPI_COLLECTIVES";
    /// Whether requests and communicators that are left over are told at the end.
    pub const LEAKS: &str = "PRP_MPI_LEAKS";
}
