//! Channels to processes of other jobs, which come and go.

use super::Exchange;
use crate::channel::{Channel, Stream};
use crate::wire::Kind;

impl Exchange {
    /// A channel to a process of another job; what it is called from now on.
    ///
    /// # Errors
    /// If the stream cannot be made nonblocking.
    pub fn add_link(&mut self, stream: Stream) -> std::io::Result<usize> {
        self.channels.push(Some(Channel::new(stream)?));
        self.note_change();
        Ok(self.channels.len() - 1)
    }

    /// Whether a communicator has a process of another job. The process is told if none has any
    /// more: it need not wait for this one at its end then.
    pub fn set_attached(&mut self, index: usize, is_attached: bool) {
        let Some(channel) = self.channels[index].as_mut() else { return };
        // A new channel is attached.
        if channel.is_detached == is_attached {
            channel.is_detached = !is_attached;
            self.send_alone(index, if is_attached { Kind::Return } else { Kind::Leave });
        }
    }

    /// The process at the other end of a channel in shared memory has ended.
    pub fn end_link(&mut self, index: usize) {
        // What it has sent is still there.
        self.progress_channel(index);
        if let Some(channel) = self.channels[index].as_mut() {
            channel.is_over = true;
            self.note_change();
            self.unlink(index);
        }
    }

    /// Forgets a channel that is over. The process at its other end has left, or is missed.
    pub(super) fn unlink(&mut self, index: usize) {
        if let Some(channel) = self.channels[index].take() {
            let has_left = channel.is_detached || channel.has_left || channel.has_finalized;
            self.lost = self.lost.or_else(|| (!has_left).then_some(index));
        }
    }
}
