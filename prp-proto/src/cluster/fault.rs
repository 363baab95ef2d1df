//! What is wrong between two nodes, in words, and what to do about it.

use core::fmt;

use crate::addr::NodeId;

/// Something wrong between two nodes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// The node that sends.
    pub from: NodeId,
    /// The node it sends to.
    pub to: NodeId,
    /// The node whose file is to be fixed.
    pub at: NodeId,
    /// The line of that file, from 1, if there is one.
    pub line: Option<u32>,
    /// What becomes of the frames there.
    pub what: FaultKind,
}

/// What is wrong.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum FaultKind {
    /// The file has no line for the one it is to send to.
    Missing,
    /// There is a line, and still no route.
    NoRoute,
    /// The next hop's own file is not there.
    NoFile {
        /// The next hop.
        next: NodeId,
    },
    /// The next hop's hardware address is another node's own.
    Mistaken {
        /// The next hop.
        next: NodeId,
        /// Whose address it is.
        owner: NodeId,
    },
    /// The next hop's file has another EtherType.
    Deaf {
        /// The next hop.
        next: NodeId,
    },
    /// Frames are sent to where they have been.
    Loop {
        /// The node that gets them again.
        back: NodeId,
    },
    /// It is farther than frames go.
    TooFar,
    /// Frames are dropped, since they come from a neighbour by which their source is not reached.
    Dropped {
        /// The neighbour they come from.
        by: NodeId,
    },
}

impl Fault {
    /// The node whose line in the file is wrong, or missing.
    pub const fn subject(&self) -> NodeId {
        if matches!(self.what, FaultKind::Dropped { .. }) { self.from } else { self.to }
    }

    /// What to do about it.
    pub fn fix(&self) -> Fix<'_> {
        Fix(self)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, to, at, what, .. } = self;
        write!(f, "from {from} to {to}: ")?;
        match what {
            FaultKind::Missing => write!(f, "node {at} has no line for {to}"),
            FaultKind::NoRoute => write!(f, "node {at} has no route to {to}"),
            FaultKind::NoFile { next } => {
                write!(f, "node {at} sends to node {next}, whose prphosts is not there")
            }
            FaultKind::Mistaken { next, owner } => write!(
                f,
                "node {at} sends to node {next} at a hardware address that is node {owner}'s own"
            ),
            FaultKind::Deaf { next } => {
                write!(f, "node {at} sends to node {next}, which listens to another EtherType")
            }
            FaultKind::Loop { back } => write!(
                f,
                "frames go in a circle: node {at} sends them to node {back}, where they have been"
            ),
            FaultKind::TooFar => write!(f, "there are more routers on the path than frames cross"),
            FaultKind::Dropped { by } => write!(
                f,
                "node {at} drops what comes by node {by}: none of its routes to {from} leads there"
            ),
        }
    }
}

/// What to do about a [`Fault`], printed.
#[derive(Copy, Clone, Debug)]
pub struct Fix<'a>(&'a Fault);

impl fmt::Display for Fix<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault { from, to, at, line, what } = self.0;
        match what {
            FaultKind::Missing if at == to => {
                write!(f, "add the node's own line, `{to} ADDRESS DEVICE`")
            }
            FaultKind::Missing => write!(f, "add a line, `{to} via NODE`"),
            FaultKind::NoRoute => {
                f.write_str("name a neighbour: all its routes lead back to itself")
            }
            FaultKind::NoFile { next } => {
                write!(f, "put node {next}'s file beside the others, or name another next hop")
            }
            FaultKind::Mistaken { next, .. } => {
                write!(f, "take the hardware address of the line for {next} from node {next}")
            }
            FaultKind::Deaf { next } => {
                write!(f, "give node {next} and node {at} the same `ethertype`")
            }
            FaultKind::Loop { back } => {
                write!(f, "name another next hop here, or on the line for {to} of node {back}")
            }
            FaultKind::TooFar => f.write_str("link them so that 15 routers are enough"),
            // They are neighbours.
            FaultKind::Dropped { by } if by == from && line.is_some() => {
                write!(f, "name the link to it in its line: `{from} ADDRESS DEVICE`")
            }
            FaultKind::Dropped { by } if by == from => {
                write!(f, "add a line, `{from} ADDRESS DEVICE`")
            }
            FaultKind::Dropped { by } if line.is_some() => {
                write!(f, "list the route back among its next hops: `, via {by} metric 100`")
            }
            FaultKind::Dropped { by } => write!(f, "add a line, `{from} via {by}`"),
        }
    }
}
