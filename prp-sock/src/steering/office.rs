//! The steward's office: where processes come, and the work for them.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixListener;
use std::time::Duration;

use nix::unistd::geteuid;
use prp_proto::time::Instant;

use super::book::Member;
use super::client::Client;
use super::desk::{Desk, Means};
use crate::device::Interface;
use crate::sys::fork::CloseOnFork;
use crate::sys::rights;

/// Processes whose connections are taken, of all users: as many as `prp-routed` registers, and as
/// many again. A unit test has both ends of each connection, and no more than 1,024 descriptors.
const MAX_CLIENTS: usize = if cfg!(test) { 256 } else { 2048 };

/// ... of one user whom the office serves; others of that user stay by themselves.
const MAX_OF_USER: usize = MAX_CLIENTS / 4;

/// How long no connection is taken after one could not be: there are no descriptors, most likely.
const PAUSE: Duration = Duration::from_secs(1);

/// Whose processes are served.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub enum Whom {
    /// Those of this process's own user: another user's could have our frames sent elsewhere.
    OwnUser,
    /// Everybody's, each user's in rows of their own, with so many descriptors at most.
    Everybody {
        /// Of those that this process may have.
        descriptors: usize,
    },
}

impl Whom {
    /// Whether `held` descriptors leave no room for those of another process.
    pub(super) fn is_short(self, held: usize) -> bool {
        matches!(self, Self::Everybody { descriptors } if held + rights::MAX_FDS > descriptors)
    }
}

/// The steward at work. Its own sockets stay apart.
#[derive(Debug)]
pub struct Office {
    listener: CloseOnFork<UnixListener>,
    devices: Vec<Interface>,
    ethertype: u16,
    whom: Whom,
    /// By user.
    desks: BTreeMap<u32, Desk>,
    next: u32,
    deaf_until: Option<Instant>,
}

impl Office {
    /// An office that takes connections from the steward's `listener`, for sockets on `devices`.
    ///
    /// # Errors
    /// There is no descriptor left.
    pub fn open(
        listener: &UnixListener,
        devices: Vec<Interface>,
        ethertype: u16,
        whom: Whom,
    ) -> io::Result<Self> {
        let listener = CloseOnFork::new(listener.try_clone()?);
        listener.set_nonblocking(true)?;
        let (desks, next, deaf_until) = (BTreeMap::new(), 0, None);
        Ok(Self { listener, devices, ethertype, whom, desks, next, deaf_until })
    }

    /// From now on these are the devices.
    pub fn set_devices(&mut self, devices: Vec<Interface>) {
        self.devices = devices;
    }

    /// What to poll for work.
    pub fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let listener = self.deaf_until.is_none().then(|| self.listener.as_fd());
        listener.into_iter().chain(self.desks.values().flat_map(Desk::fds))
    }

    /// Does what there is to do, which may take the kernel some 10 ms; when to look again by itself.
    pub fn work(&mut self, now: Instant) -> Option<Instant> {
        self.welcome(now);
        let mut held = self.held();
        for desk in self.desks.values_mut() {
            let others = held - desk.held();
            let (devices, ethertype, whom) = (&self.devices[..], self.ethertype, self.whom);
            desk.attend(Means { devices, ethertype, now, whom, others });
            held = others + desk.held();
        }
        let steered = steer(&self.desks);
        let desks = self.desks.iter_mut();
        let due: Vec<_> =
            desks.filter_map(|(user, desk)| desk.conclude(!steered.contains(user), now)).collect();
        self.desks.retain(|_, desk| !desk.is_over());
        due.into_iter().chain(self.deaf_until).min()
    }

    /// Descriptors that all processes cost together.
    fn held(&self) -> usize {
        self.desks.values().map(Desk::held).sum()
    }

    fn welcome(&mut self, now: Instant) {
        if self.deaf_until.is_some_and(|until| now < until) {
            return;
        }
        self.deaf_until = None;
        loop {
            let clients: usize = self.desks.values().map(Desk::len).sum();
            if clients >= MAX_CLIENTS || self.whom.is_short(self.held()) {
                // Who is not taken waits in the kernel's queue, and its connection breaks as well when we end.
                self.deaf_until = Some(now + PAUSE);
                return;
            }
            match self.listener.accept() {
                Ok((link, _)) => {
                    let user = rights::peer_user(link.as_fd()).ok();
                    let desk = self.desks.entry(user.unwrap_or(u32::MAX)).or_default();
                    let deaf = match self.whom {
                        Whom::OwnUser => user != Some(geteuid().as_raw()),
                        Whom::Everybody { .. } => user.is_none() || desk.len() >= MAX_OF_USER,
                    };
                    desk.welcome(Client::new(Member(self.next), link, deaf));
                    self.next += 1;
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => {
                    self.deaf_until = Some(now + PAUSE);
                    return;
                }
            }
        }
    }
}

/// Has the kernel send frames where the books say; the users for whom that failed. It takes its time for each row,
/// so all are told at once.
fn steer(desks: &BTreeMap<u32, Desk>) -> Vec<u32> {
    let mut rows = desks.iter().flat_map(|(user, desk)| {
        let rows = desk.rows_to_steer();
        rows.map(|(row, book)| (*user, move || row.steer(book).is_ok()))
    });
    let first = rows.next();
    std::thread::scope(|scope| {
        let others: Vec<_> = rows.map(|(user, steer)| (user, scope.spawn(steer))).collect();
        let first = first.map(|(user, steer)| (user, steer()));
        let others =
            others.into_iter().map(|(user, thread)| (user, thread.join().unwrap_or(false)));
        first.into_iter().chain(others).filter(|(_, done)| !done).map(|(user, _)| user).collect()
    })
}

#[cfg(test)]
mod tests;
