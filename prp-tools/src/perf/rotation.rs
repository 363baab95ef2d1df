//! Transports in rotation, and what becomes of the others when one fails.

use super::transport::Transport;
use crate::exit::Failure;

/// The transports that are measured alternately.
#[derive(Debug)]
pub(super) struct Rotation {
    transports: Vec<Transport>,
    failure: Option<Failure>,
    is_over: bool,
}

impl Rotation {
    /// Of these.
    pub(super) fn of(transports: Vec<Transport>) -> Self {
        Self { transports, failure: None, is_over: false }
    }

    /// One round: each `play`s once. A transport that fails is left out from then on, and the
    /// figures of all so far stay. After raw frames, which are not sent again when a link has lost
    /// some, the others go on; after a connection has failed the server may wait for it still.
    pub(super) fn play(&mut self, mut play: impl FnMut(Transport) -> Result<(), Failure>) {
        for transport in self.transports.clone() {
            if self.is_over {
                return;
            }
            if let Err(failure) = play(transport) {
                self.transports.retain(|other| *other != transport);
                self.is_over = transport != Transport::Raw;
                self.failure.get_or_insert(failure);
            }
        }
    }

    /// How it has ended.
    pub(super) fn end(self) -> Result<(), Failure> {
        self.failure.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Code;

    /// The transports that played in three rounds in which `failing` fails in the second.
    fn played(failing: Transport) -> (Vec<Transport>, Result<(), Failure>) {
        let mut rotation = Rotation::of(vec![Transport::Prp, Transport::Tcp, Transport::Raw]);
        let mut all = Vec::new();
        for round in 0..3 {
            rotation.play(|transport| {
                all.push(transport);
                let fails = round == 1 && transport == failing;
                if fails { Err(Failure::new(Code::TimedOut, "lost")) } else { Ok(()) }
            });
        }
        (all, rotation.end())
    }

    #[test]
    fn play__without_raw_frames_the_others_go_on() {
        use Transport::{Prp, Raw, Tcp};
        let (all, end) = played(Raw);
        assert_eq!(all, [Prp, Tcp, Raw, Prp, Tcp, Raw, Prp, Tcp]);
        assert_eq!(end, Err(Failure::new(Code::TimedOut, "lost")));
        let (all, end) = played(Tcp);
        assert_eq!(all, [Prp, Tcp, Raw, Prp, Tcp]);
        assert!(end.is_err());
        assert_eq!(played(Transport::TcpNoOffload).1, Ok(()));
    }
}
