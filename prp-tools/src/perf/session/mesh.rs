//! A server's part in streams between several nodes.

use std::time::Duration;

use prp_sock::NodeId;

use super::{ANSWER_TIMEOUT, Session};
use crate::exit::Failure;
use crate::perf::control::{self, MeshOutcome, MeshPart, Reply, Request};

impl Session {
    /// The server's node.
    pub(in crate::perf) const fn node(&self) -> NodeId {
        self.node
    }

    /// Has the server wait for streams of other nodes; the port where it does.
    ///
    /// # Errors
    /// It does not, or is gone.
    pub(in crate::perf) fn listen(&self) -> Result<u16, Failure> {
        match self.ask(&Request::Listen).map_err(|e| self.failure(&e))? {
            Reply::Ready { port } => Ok(port),
            Reply::Failed(why) => Err(self.refused(&why)),
            _ => Err(self.refused("an answer out of turn")),
        }
    }

    /// Has the server begin its part, with the port that [`Self::listen`] gave.
    ///
    /// # Errors
    /// It is gone.
    pub(in crate::perf) fn begin_part(&self, part: MeshPart) -> Result<(), Failure> {
        control::send(&self.control, &Request::Mesh(part)).map_err(|e| self.failure(&e))
    }

    /// Waits for the end of the server's part, which may take `long`; what came of it, or in words
    /// why nothing did.
    ///
    /// # Errors
    /// It is gone.
    pub(in crate::perf) fn end_part(
        &self,
        long: Duration,
    ) -> Result<Result<MeshOutcome, String>, Failure> {
        // Streams may be slow to come, and to end.
        let patience = long + 4 * ANSWER_TIMEOUT;
        let answer = self.control.set_read_timeout(Some(patience)).and_then(|()| self.answer());
        match answer.map_err(|e| self.failure(&e))? {
            Reply::Mesh(outcome) => Ok(Ok(outcome)),
            Reply::Failed(why) => Ok(Err(why)),
            _ => Err(self.refused("an answer out of turn")),
        }
    }
}
