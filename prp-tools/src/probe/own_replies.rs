//! What a process sends for its node while it holds the node's own UDP port and no router runs:
//! answers to echoes, and refusals of requests to ports that no process owns.

use std::io;

use prp_node::OwnerProbe;
use prp_proto::addr::{NodeId, Port};
use prp_proto::forward::{Answer, Forwarder, answer, refuse};
use prp_proto::time::Instant;
use prp_proto::token_bucket::TokenBucket;
use prp_proto::wire::Frame;

/// Of each kind: enough for every diagnosis, too little to harm a host (SPEC PRP-NODE-4,
/// PRP-RST-6).
const PER_SECOND: u32 = 1000;

/// The limits of that.
#[derive(Debug)]
pub(super) struct OwnReplies {
    owners: OwnerProbe,
    answers: TokenBucket,
    refusals: TokenBucket,
}

impl OwnReplies {
    /// For node `local`, in the network namespace of the calling thread.
    ///
    /// # Errors
    /// As [`OwnerProbe::new`].
    pub(super) fn new(local: NodeId) -> io::Result<Self> {
        let bucket = TokenBucket::new(PER_SECOND);
        Ok(Self { owners: OwnerProbe::new(local)?, answers: bucket, refusals: bucket })
    }

    /// What is said to `frame`, which is for this node; none for most.
    pub(super) fn answer(
        &mut self,
        now: Instant,
        forwarder: &Forwarder,
        frame: &Frame<'_>,
    ) -> Option<Answer> {
        let port = frame.head.transport.dst_port;
        if port == Port::CONTROL {
            return answer(forwarder, frame, None).filter(|_| self.answers.take(now));
        }
        // A process without UDP may own it, or one that has come since.
        let refusal = refuse(forwarder, frame).filter(|_| self.owners.is_free(port))?;
        self.refusals.take(now).then_some(refusal)
    }
}
