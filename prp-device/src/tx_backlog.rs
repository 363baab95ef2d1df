//! Frames that a device did not take yet.

use std::collections::VecDeque;

use prp_proto::addr::LinkAddr;

use crate::{Sent, Underlay};

/// Frames that a device had no room for, in order: copied, since the buffers they came from go on.
#[derive(Debug, Default)]
pub struct TxBacklog {
    frames: VecDeque<(LinkAddr, Vec<u8>)>,
    /// Buffers for the next ones: a device that is often full allocates nothing.
    spare: Vec<Vec<u8>>,
}

impl TxBacklog {
    /// Whether no frame waits.
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// Frames that wait.
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Copies a frame for `to`, behind those that wait.
    pub fn push(&mut self, to: LinkAddr, pieces: [&[u8]; 4]) {
        let mut frame = self.spare.pop().unwrap_or_default();
        frame.clear();
        pieces.iter().for_each(|piece| frame.extend_from_slice(piece));
        self.frames.push_back((to, frame));
    }

    /// Has each frame go to what `renumber` says is now the address that it is for; how many frames
    /// are dropped, since it has none.
    pub fn renumber(&mut self, renumber: impl Fn(LinkAddr) -> Option<LinkAddr>) -> usize {
        let before = self.frames.len();
        self.frames.retain_mut(|(to, _)| {
            let new = renumber(*to);
            *to = new.unwrap_or(*to);
            new.is_some()
        });
        before - self.frames.len()
    }

    /// Sends to `io`, up to `at_once` frames by a call, until it takes no more; whether none waits
    /// any longer. `note` is told of each call, and the bytes of the frame that was refused, if one
    /// was.
    pub fn flush(
        &mut self,
        io: &mut dyn Underlay,
        at_once: usize,
        mut note: impl FnMut(&Sent, usize),
    ) -> bool {
        while !self.frames.is_empty() {
            let some = self.frames.iter().take(at_once);
            let mut some = some.map(|(to, frame)| (*to, [&frame[..], &[], &[], &[]]));
            let sent = io.send(&mut some);
            let refused = sent.refused.map(|_| self.frames[sent.done].1.len());
            note(&sent, refused.unwrap_or(0));
            let gone = sent.gone();
            self.spare.extend(self.frames.drain(..gone).map(|(_, frame)| frame));
            if sent.full || gone == 0 {
                return false;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use prp_proto::addr::UdpPeer;

    use super::*;

    #[test]
    fn renumber__frames_go_where_they_should_or_nowhere() {
        let udp = |peer| LinkAddr::Udp { peer: UdpPeer(peer), port: 5230 };
        let mut backlog = TxBacklog::default();
        for peer in [3, 4, 3, 5] {
            backlog.push(udp(peer), [&[peer as u8], &[], &[], &[]]);
        }
        let new = |addr| {
            if addr == udp(4) { None } else { Some(udp(if addr == udp(3) { 5 } else { 3 })) }
        };
        assert_eq!(backlog.renumber(new), 1);
        let left: Vec<_> = backlog.frames.iter().map(|(to, frame)| (*to, frame[0])).collect();
        assert_eq!(left, [(udp(5), 3), (udp(5), 3), (udp(3), 5)]);
    }
}
