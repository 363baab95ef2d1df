//! What the program on the host and the agent in a machine send each other: JSON, a line each.

use serde::{Deserialize, Serialize};

/// The number of a run, given by the host.
pub(crate) type RunId = u64;

/// Where a script runs in a machine.
#[derive(Copy, Clone, Debug, Deserialize, Serialize, Eq, PartialEq)]
pub(crate) enum Place {
    /// In the machine's first namespaces.
    Root,
    /// On a node: in its network and mount namespaces.
    Node(u8),
}

/// From the host.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum Request {
    /// Runs a script in bash. The answer comes when it has ended.
    Run {
        /// Names the run in the answer.
        id: RunId,
        /// Where.
        place: Place,
        /// The text of the script.
        script: String,
        /// Seconds after which the agent kills it.
        seconds: u64,
    },
    /// Sends a signal to the processes of a run.
    Signal {
        /// Which run.
        id: RunId,
        /// The number of the signal.
        signal: i32,
    },
    /// Makes a node. The answer comes when it is there.
    AddNode {
        /// Names the request in the answer.
        id: RunId,
        /// The node's number.
        node: u8,
    },
    /// Kills all processes of the machine but the agent and the first one, and forgets all nodes.
    Reset,
}

/// From the agent.
#[derive(Debug, Deserialize, Serialize)]
pub(crate) enum Answer {
    /// The machine takes requests.
    Ready,
    /// A run has ended.
    Ended {
        /// Which run.
        id: RunId,
        /// How: the exit status, 128 and the number of a signal, or [`KILLED_LATE`].
        status: i32,
        /// The end of what it printed, on standard output and standard error.
        output: String,
    },
}

/// The status of a run that took too long, as timeout(1) has it.
pub(crate) const KILLED_LATE: i32 = 124;
