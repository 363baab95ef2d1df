//! Connections of other nodes, until they have said which process they are from. Any process of the
//! cluster can connect; only one that was given the card knows the secret.

use std::io::{self, ErrorKind, Read};
use std::time::{Duration, Instant};

use prp_sock::{Awaited, PrpListener, PrpStream, wait_any};

use super::card::{Caller, INTRODUCTION_LEN, Secret};

/// How long a connection may take to say whom it is from: one that does not is a stranger's.
pub(in crate::process) const PATIENCE: Duration = Duration::from_secs(2);

/// Connections that may be without an introduction at a time. Others wait in the listener's queue.
const MAX_UNKNOWN: usize = 256;

/// Accepts connections, and tells those of ranks from those of strangers. None waits for another.
#[derive(Debug)]
pub(in crate::process) struct Introductions<'a> {
    listener: &'a PrpListener,
    secret: Secret,
    patience: Duration,
    unknown: Vec<Unknown>,
}

/// A connection that has not introduced itself yet.
#[derive(Debug)]
struct Unknown {
    stream: PrpStream,
    introduction: [u8; INTRODUCTION_LEN],
    /// Bytes of it that have come.
    len: usize,
    ends_at: Instant,
}

impl<'a> Introductions<'a> {
    /// Of the connections that `listener` accepts.
    pub(in crate::process) const fn new(listener: &'a PrpListener, secret: Secret) -> Self {
        Self { listener, secret, patience: PATIENCE, unknown: Vec::new() }
    }

    /// Waits for the next process.
    ///
    /// # Errors
    /// `TimedOut` at `deadline`; those of the listener.
    pub(in crate::process) fn next(
        &mut self,
        deadline: Instant,
    ) -> io::Result<(Caller, PrpStream)> {
        loop {
            let now = Instant::now();
            self.unknown.retain(|unknown| unknown.ends_at > now);
            if deadline <= now {
                return Err(ErrorKind::TimedOut.into());
            }
            let ends = self.unknown.iter().map(|unknown| unknown.ends_at);
            let until = ends.fold(deadline, Instant::min);
            let ready = self.wait(until - now)?;
            // Others that have said something are found again.
            if let Some(at) = ready {
                match self.unknown[at].read(self.secret) {
                    Err(e) if e.kind() == ErrorKind::WouldBlock => {}
                    Err(_) => drop(self.unknown.swap_remove(at)),
                    Ok(caller) => {
                        let Unknown { stream, .. } = self.unknown.swap_remove(at);
                        stream.set_nonblocking(false)?;
                        return Ok((caller, stream));
                    }
                }
            }
        }
    }

    /// Waits for at most `timeout`, and accepts a connection that has come; the first of the
    /// unknown that has said something.
    fn wait(&mut self, timeout: Duration) -> io::Result<Option<usize>> {
        let mut awaited: Vec<_> =
            self.unknown.iter().map(|unknown| Awaited::read(&unknown.stream)).collect();
        if awaited.len() < MAX_UNKNOWN {
            awaited.push(Awaited::accept(self.listener));
        }
        match wait_any(&mut awaited, None, Some(timeout)) {
            Err(e) if e.kind() != ErrorKind::Interrupted => return Err(e),
            _ => {}
        }
        let (said, come) = awaited.split_at(self.unknown.len());
        let first = said.iter().position(Awaited::is_ready);
        if come.iter().any(Awaited::is_ready) {
            match self.listener.accept_timeout(Duration::ZERO) {
                Ok((stream, _)) => self.admit(stream)?,
                // It has gone again.
                Err(e) if e.kind() == ErrorKind::TimedOut => {}
                Err(e) => return Err(e),
            }
        }
        Ok(first)
    }

    fn admit(&mut self, stream: PrpStream) -> io::Result<()> {
        stream.set_nonblocking(true)?;
        let ends_at = Instant::now() + self.patience;
        let introduction = [0; INTRODUCTION_LEN];
        self.unknown.push(Unknown { stream, introduction, len: 0, ends_at });
        Ok(())
    }
}

impl Unknown {
    /// Reads what has come; the caller, once all of its introduction has.
    ///
    /// # Errors
    /// `WouldBlock` if there is more to come; any other if it is a stranger's.
    fn read(&mut self, secret: Secret) -> io::Result<Caller> {
        while let rest @ [_, ..] = &mut self.introduction[self.len..] {
            match self.stream.read(rest)? {
                0 => return Err(ErrorKind::UnexpectedEof.into()),
                n => self.len += n,
            }
        }
        secret.caller(&self.introduction).ok_or_else(|| ErrorKind::PermissionDenied.into())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::path::Path;

    use prp_sock::Builder;
    use prp_sock::testing::{Pair, within_patience};

    use super::super::card::BusinessCard;
    use super::*;

    /// Later than any test takes.
    fn much_later() -> Instant {
        Instant::now() + Duration::from_secs(600)
    }

    fn introduction(secret: Secret, rank: usize) -> [u8; INTRODUCTION_LEN] {
        BusinessCard::new(None, secret, Path::new("/rank-0")).introduction(rank)
    }

    #[test]
    fn next__strangers_that_say_nothing_keep_no_rank_waiting() {
        within_patience(|| {
            let (pair, builder) = (Pair::new(), Builder::new());
            let listener = pair.beta.listen(0, &builder).expect("a port is free");
            let address = listener.local_addr().expect("it has one");
            let connect = || pair.alpha.connect(address, &builder).expect("beta listens");
            let secret = Secret::random();
            let mut introductions = Introductions::new(&listener, secret);
            introductions.patience = Duration::from_secs(600);
            let _silent = [connect(), connect()];
            let mut liar = connect();
            liar.write_all(&introduction(Secret::random(), 2)).expect("it is connected");
            let mut rank = connect();
            let words = introduction(secret, 3);
            rank.write_all(&words[..7]).expect("it is connected");
            rank.write_all(&words[7..]).expect("it is connected");
            let (caller, mut ours) = introductions.next(much_later()).expect("a rank");
            assert_eq!(caller.identity.number, 3);
            assert!(introductions.unknown.len() >= 2, "both are still waited for");
            // Its stream waits, as those of all ranks.
            rank.write_all(b"x").expect("it is connected");
            assert_eq!(ours.read(&mut [0; 2]).expect("a byte"), 1);
        });
    }

    #[test]
    fn next__a_stranger_has_its_time_and_no_more() {
        within_patience(|| {
            let (pair, builder) = (Pair::new(), Builder::new());
            let listener = pair.beta.listen(0, &builder).expect("a port is free");
            let address = listener.local_addr().expect("it has one");
            let mut introductions = Introductions::new(&listener, Secret::random());
            introductions.patience = Duration::from_millis(1);
            let mut slow = pair.alpha.connect(address, &builder).expect("beta listens");
            slow.write_all(&[7; INTRODUCTION_LEN - 1]).expect("it is connected");
            let later = Instant::now() + Duration::from_millis(200);
            let none = introductions.next(later).expect_err("no rank");
            assert_eq!(none.kind(), ErrorKind::TimedOut);
            assert!(introductions.unknown.is_empty(), "its time is over");
        });
    }
}
