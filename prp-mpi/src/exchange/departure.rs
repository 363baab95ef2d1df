//! When messages have left, whose requests may have ended before: a message that was copied keeps
//! its sender waiting no longer.

use super::Exchange;
use crate::request::{RequestId, Status};

impl Exchange {
    /// Returns the number of the last message to a rank, if something is still to be sent to it.
    pub fn last_queued(&self, to: usize) -> Option<u64> {
        self.channels.get(to)?.as_ref()?.last_queued()
    }

    /// Returns a request that ends once each of these messages, a rank and a number, has left, and
    /// all before it.
    pub fn departure(&mut self, messages: impl IntoIterator<Item = (usize, u64)>) -> RequestId {
        let request = self.requests.begin(1, Status::EMPTY);
        for (to, number) in messages {
            let channel = self.channels.get_mut(to).and_then(Option::as_mut);
            let waits = channel.is_some_and(|channel| channel.watch(number, request));
            if let Some(request) = self.requests.at(request).filter(|_| waits) {
                request.pending += 1;
            }
        }
        self.requests.advance(request);
        request
    }
}

#[cfg(test)]
mod tests;
