//! What the steward does for the other processes of its node: it puts their sockets into rows, one for
//! each device, and has the kernel send every frame to the one it is for. Its own sockets stay apart.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

use prp_proto::time::Instant;

use super::book::{Book, Member};
use super::message::{Reply, Request};
use super::row::{SocketRow, device_of};
use crate::device::Interface;
use crate::sys::rights;

/// How many processes, beside the steward, make rows worth while: with one there is nothing to share.
const WORTH_WHILE: usize = 2;

/// How long a row that is given up is kept for processes that still receive by it.
const GRACE: Duration = Duration::from_secs(10);

/// How long no connection is taken after one could not be: there are no descriptors, most likely.
const PAUSE: Duration = Duration::from_secs(1);

/// A process of the node.
#[derive(Debug)]
struct Client {
    member: Member,
    link: UnixStream,
    bytes: Vec<u8>,
    fds: Vec<OwnedFd>,
    standing: Standing,
    /// It is somebody else's process.
    foreign: bool,
    /// The process has ended.
    over: bool,
}

/// Where a process stands.
#[derive(Debug)]
enum Standing {
    /// By itself.
    Apart,
    /// It would join, with these sockets.
    Waiting(Vec<OwnedFd>),
    /// In rows.
    Enlisted,
    /// In rows that were given up.
    Leaving,
}

/// The steward at work.
#[derive(Debug)]
pub(super) struct Office {
    listener: UnixListener,
    devices: Vec<Interface>,
    ethertype: u16,
    clients: Vec<Client>,
    next: u32,
    book: Book,
    rows: BTreeMap<u32, SocketRow>,
    /// Rows that were given up, when, and who may still receive by them.
    retired: Vec<(Instant, Vec<SocketRow>, Vec<Member>)>,
    /// Somebody's frames go elsewhere than the book says.
    stale: bool,
    answers: Vec<(Member, u32, Reply)>,
    deaf_until: Option<Instant>,
}

impl Office {
    pub(super) fn open(
        listener: &UnixListener,
        devices: Vec<Interface>,
        ethertype: u16,
    ) -> io::Result<Self> {
        let listener = listener.try_clone()?;
        listener.set_nonblocking(true)?;
        Ok(Self {
            listener,
            devices,
            ethertype,
            clients: Vec::new(),
            next: 0,
            book: Book::default(),
            rows: BTreeMap::new(),
            retired: Vec::new(),
            stale: false,
            answers: Vec::new(),
            deaf_until: None,
        })
    }

    /// What to poll for work.
    pub(super) fn fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let listener = self.deaf_until.is_none().then(|| self.listener.as_fd());
        listener.into_iter().chain(self.clients.iter().map(|c| c.link.as_fd()))
    }

    /// Does what there is to do; when to look again by itself.
    pub(super) fn work(&mut self, now: Instant) -> Option<Instant> {
        self.welcome(now);
        for at in 0..self.clients.len() {
            self.clients[at].receive();
            while let Some((number, request)) = Request::take(&mut self.clients[at].bytes) {
                self.serve(at, number, request, now);
            }
        }
        self.bury();
        let joining = self.clients.iter().filter(|c| c.standing.counts()).count();
        if joining >= WORTH_WHILE {
            (0..self.clients.len()).for_each(|at| self.enlist(at));
        }
        if self.rows.values().any(|row| row.order.is_worn()) {
            self.give_up_rows(now);
        }
        self.steer(now);
        self.answer();
        self.retired.retain_mut(|(since, rows, waiting)| {
            let over = waiting.is_empty() || now.since(*since) >= GRACE;
            rows.drain(..if over { rows.len() } else { 0 }).for_each(SocketRow::close);
            !over
        });
        let retired = self.retired.iter().map(|(since, ..)| *since + GRACE).min();
        retired.into_iter().chain(self.deaf_until).min()
    }

    fn welcome(&mut self, now: Instant) {
        if self.deaf_until.is_some_and(|until| now < until) {
            return;
        }
        self.deaf_until = None;
        loop {
            match self.listener.accept() {
                Ok((link, _)) => {
                    // Another user's process could have our frames sent elsewhere: it is on its own.
                    let foreign = rights::peer_user(link.as_fd()).ok() != Some(user());
                    self.clients.push(Client {
                        member: Member(self.next),
                        link,
                        bytes: Vec::new(),
                        fds: Vec::new(),
                        standing: Standing::Apart,
                        foreign,
                        over: false,
                    });
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

    fn serve(&mut self, at: usize, number: u32, request: Request, now: Instant) {
        let client = &mut self.clients[at];
        let member = client.member;
        let mut reply = Some(Reply::Steered);
        match request {
            Request::Hello => {}
            Request::Join(ports) if !self.book.has_room(ports.len()) => {
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
    fn enlist(&mut self, at: usize) {
        let client = &mut self.clients[at];
        let Standing::Waiting(sockets) = &mut client.standing else { return };
        let sockets = std::mem::take(sockets);
        let member = client.member;
        let devices = sockets.iter().map(|s| device_of(s.as_fd(), &self.devices, self.ethertype));
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

    /// Has the kernel send frames where the book says.
    fn steer(&mut self, now: Instant) {
        if !std::mem::take(&mut self.stale) || self.rows.is_empty() {
            return;
        }
        let book = &self.book;
        // The kernel takes its time for each, so they are all told at once.
        let steered = std::thread::scope(|scope| {
            let mut rows = self.rows.values();
            let last = rows.next_back();
            let steer = |row: &SocketRow| row.steer(book);
            let others: Vec<_> = rows.map(|row| scope.spawn(move || steer(row))).collect();
            let last = last.is_none_or(|row| steer(row).is_ok());
            let others = others.into_iter().map(|t| t.join().is_ok_and(|steered| steered.is_ok()));
            others.fold(last, |all, steered| all && steered)
        });
        if !steered {
            self.give_up_rows(now);
        }
    }

    fn answer(&mut self) {
        for (member, number, reply) in std::mem::take(&mut self.answers) {
            let client = self.clients.iter().find(|c| c.member == member);
            // One that does not read its answers is not waiting for them.
            let _ = client.map(|c| c.say(number, reply));
        }
    }
}

impl Standing {
    const fn counts(&self) -> bool {
        matches!(self, Self::Waiting(_) | Self::Enlisted)
    }
}

impl Client {
    /// Takes what has come.
    fn receive(&mut self) {
        let mut buffer = [0; 4096];
        loop {
            match rights::receive(self.link.as_fd(), &mut buffer) {
                Ok((1.., _)) if self.foreign => {}
                Ok((n @ 1.., fds)) => {
                    self.bytes.extend_from_slice(&buffer[..n]);
                    self.fds.extend(fds);
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Ok((0, _)) | Err(_) => {
                    self.over = true;
                    return;
                }
            }
        }
    }

    fn say(&self, number: u32, reply: Reply) -> io::Result<()> {
        rights::send(self.link.as_fd(), &reply.encode(number), &[])
    }
}

/// Who runs this process.
pub(super) fn user() -> u32 {
    nix::unistd::geteuid().as_raw()
}
