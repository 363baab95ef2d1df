//! The processes of one user: their sockets stand in rows, one for each device, and the kernel sends every frame
//! to the one it is for. Each user's rows are apart, so nobody's frames are in another one's hands.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use prp_proto::time::Instant;

use super::book::{Book, Member};
use super::client::{Client, Standing};
use super::message::{Reply, Request};
use super::office::Whom;
use super::row::{SocketRow, device_of};
use crate::device::Interface;

/// How many processes, beside the steward, make rows worth while: with one there is nothing to share.
const WORTH_WHILE: usize = 2;

/// How long a row that is given up is kept for processes that still receive by it.
const GRACE: Duration = Duration::from_secs(10);

/// The steward's work for one user.
#[derive(Debug, Default)]
pub(super) struct Desk {
    clients: Vec<Client>,
    book: Book,
    rows: BTreeMap<u32, SocketRow>,
    /// Rows that were given up, when, and who may still receive by them.
    retired: Vec<(Instant, Vec<SocketRow>, Vec<Member>)>,
    /// Somebody's frames go elsewhere than the book says.
    stale: bool,
    answers: Vec<(Member, u32, Reply)>,
}

/// The devices there are, and what other users' processes leave of the descriptors.
#[derive(Copy, Clone, Debug)]
pub(super) struct Means<'a> {
    pub(super) devices: &'a [Interface],
    pub(super) ethertype: u16,
    pub(super) now: Instant,
    pub(super) whom: Whom,
    /// Descriptors that the processes of others cost.
    pub(super) others: usize,
}

impl Means<'_> {
    /// Whether there are none for more sockets of a user who has `held`. One user may have half of all, so that others
    /// get rows too.
    fn is_short(&self, held: usize) -> bool {
        self.whom.is_short(self.others + held) || self.whom.is_short(2 * held)
    }
}

impl Desk {
    /// What to poll for work.
    pub(super) fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.clients.iter().map(|c| c.link().as_fd())
    }

    /// Processes it has.
    pub(super) fn len(&self) -> usize {
        self.clients.len()
    }

    /// Whether there is nobody, and nothing left of anybody.
    pub(super) fn is_over(&self) -> bool {
        self.clients.is_empty() && self.rows.is_empty() && self.retired.is_empty()
    }

    /// Descriptors it holds.
    pub(super) fn held(&self) -> usize {
        let rows = self.retired.iter().flat_map(|(_, rows, _)| rows).chain(self.rows.values());
        self.clients.iter().map(Client::held).sum::<usize>()
            + rows.map(SocketRow::len).sum::<usize>()
    }

    /// Takes a process in.
    pub(super) fn welcome(&mut self, client: Client) {
        self.clients.push(client);
    }

    /// Hears what there is to hear, and puts those who wait for it into rows. [`Self::rows_to_steer`] and
    /// [`Self::conclude`] are to follow.
    pub(super) fn attend(&mut self, means: Means<'_>) {
        // Counted as it grows: what comes at once may be more than there is.
        let mut held = self.held();
        for at in 0..self.clients.len() {
            let short = means.is_short(held);
            let before = self.clients[at].held();
            self.clients[at].receive(short);
            while let Some((number, request)) = self.clients[at].next_request() {
                self.serve(at, number, request, short, means.now);
            }
            held = held - before + self.clients[at].held();
        }
        self.bury();
        let joining = self.clients.iter().filter(|c| c.standing.counts()).count();
        if joining >= WORTH_WHILE {
            (0..self.clients.len()).for_each(|at| self.enlist(at, means));
        }
        if self.rows.values().any(|row| row.order.is_worn()) {
            self.give_up_rows(means.now);
        }
    }

    /// Rows whose frames go elsewhere than the book says, with the book.
    pub(super) fn rows_to_steer(&self) -> impl Iterator<Item = (&SocketRow, &Book)> {
        let rows = self.stale.then(|| self.rows.values());
        rows.into_iter().flatten().map(|row| (row, &self.book))
    }

    /// The rows were steered, or not. Answers; when to look again by itself.
    pub(super) fn conclude(&mut self, steered: bool, now: Instant) -> Option<Instant> {
        self.stale = false;
        if !steered {
            self.give_up_rows(now);
        }
        self.answer();
        self.retired.retain_mut(|(since, rows, waiting)| {
            let over = waiting.is_empty() || now.since(*since) >= GRACE;
            rows.drain(..if over { rows.len() } else { 0 }).for_each(SocketRow::close);
            !over
        });
        self.retired.iter().map(|(since, ..)| *since + GRACE).min()
    }

    fn serve(&mut self, at: usize, number: u32, request: Request, short: bool, now: Instant) {
        let client = &mut self.clients[at];
        let member = client.member;
        let mut reply = Some(Reply::Steered);
        match request {
            Request::Hello => {}
            Request::Join(ports) if short || !self.book.has_room(ports.len()) => {
                client.fds.clear();
                reply = Some(Reply::Withdraw);
            }
            Request::Claim(_) | Request::Reserve(_) if !self.book.has_room(1) => {
                reply = Some(Reply::Withdraw);
            }
            Request::Join(ports) => {
                ports.into_iter().for_each(|port| self.book.claim(member, port));
                client.standing = Standing::Waiting(std::mem::take(&mut client.fds));
                self.stale = true;
            }
            Request::Claim(port) => {
                let before = self.book.holder(port);
                self.book.claim(member, port);
                self.stale |= before != Some(member);
            }
            Request::Reserve(count) => {
                let ports = self.book.reserve(member, count);
                reply = Some(ports.map_or(Reply::Withdraw, |(a, b)| Reply::Reserved(a, b)));
                self.stale = true;
            }
            Request::Release(port) => {
                self.stale |= self.book.release(member, port);
                reply = None;
            }
            Request::Leave(disorder) => {
                self.part_with(at);
                if disorder {
                    self.give_up_rows(now);
                }
                reply = None;
            }
        }
        self.answers.extend(reply.map(|reply| (member, number, reply)));
    }

    /// A process has gone, or receives by its own means.
    fn part_with(&mut self, at: usize) {
        let client = &mut self.clients[at];
        client.standing = Standing::Apart;
        client.fds.clear();
        let member = client.member;
        self.book.forget(member);
        self.rows.values_mut().for_each(|row| row.order.leave(member));
        self.retired.iter_mut().for_each(|(.., waiting)| waiting.retain(|m| *m != member));
        let deserted = self.rows.extract_if(.., |_, row| row.order.is_deserted());
        deserted.for_each(|(_, row)| row.close());
    }

    /// Takes those off the books whose connection is over.
    fn bury(&mut self) {
        for at in (0..self.clients.len()).rev() {
            if self.clients[at].over {
                self.part_with(at);
                self.clients.swap_remove(at);
            }
        }
    }

    /// Puts a process that waits for it into rows. If that fails halfway it is to receive by its own
    /// means, as it can at any time.
    fn enlist(&mut self, at: usize, means: Means<'_>) {
        let client = &mut self.clients[at];
        let Standing::Waiting(sockets) = &mut client.standing else { return };
        let sockets = std::mem::take(sockets);
        let member = client.member;
        let devices = sockets.iter().map(|s| device_of(s.as_fd(), means.devices, means.ethertype));
        let Ok(devices) = devices.collect::<io::Result<Vec<_>>>() else {
            client.standing = Standing::Apart;
            return self.answers.push((member, 0, Reply::Withdraw));
        };
        client.standing = Standing::Enlisted;
        // Before the first socket is in a row, lest the process hear nothing of it if we end here.
        let told = client.say(0, Reply::Enlisted);
        let joined = told.and_then(|()| {
            sockets.into_iter().zip(devices).try_for_each(|(socket, device)| {
                match self.rows.get_mut(&device.index) {
                    Some(row) => row.join(member, socket, device),
                    None => SocketRow::begin(member, socket, device)
                        .map(|row| drop(self.rows.insert(device.index, row))),
                }
            })
        });
        self.stale = true;
        if joined.is_err() {
            self.answers.push((member, 0, Reply::Withdraw));
        }
    }

    /// Everybody is to receive by their own means and to come back with new sockets.
    fn give_up_rows(&mut self, now: Instant) {
        let mut waiting = Vec::new();
        for client in &mut self.clients {
            if matches!(client.standing, Standing::Enlisted) {
                client.standing = Standing::Leaving;
                waiting.push(client.member);
                self.answers.push((client.member, 0, Reply::Withdraw));
            }
        }
        let rows = std::mem::take(&mut self.rows);
        self.retired.push((now, rows.into_values().collect(), waiting));
    }

    fn answer(&mut self) {
        for (member, number, reply) in std::mem::take(&mut self.answers) {
            let client = self.clients.iter().find(|c| c.member == member);
            // One that does not read its answers is not waiting for them.
            let _ = client.map(|c| c.say(number, reply));
        }
    }
}
