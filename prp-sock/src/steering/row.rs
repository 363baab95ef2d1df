//! A row of sockets on one device, as the steward holds it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use super::book::{Book, Member, Row};
use crate::device::Interface;
use crate::sys::fanout::{self, FanoutId};
use crate::sys::fork::CloseOnFork;
use crate::sys::packet;
use crate::threads;

/// The sockets of a row, all of them: as long as they are open nobody's place changes.
#[derive(Debug)]
pub(super) struct SocketRow {
    id: FanoutId,
    pub(super) order: Row,
    sockets: Vec<CloseOnFork<OwnedFd>>,
}

impl SocketRow {
    /// A row on `device`, with `socket` as its first.
    pub(super) fn begin(
        member: Member,
        socket: CloseOnFork<OwnedFd>,
        device: &Interface,
    ) -> io::Result<Self> {
        let id = fanout::begin(socket.as_fd())?;
        let mut row = Self { id, order: Row::default(), sockets: Vec::new() };
        row.take(member, socket, device)?;
        Ok(row)
    }

    /// Puts `socket` at the end.
    pub(super) fn join(
        &mut self,
        member: Member,
        socket: CloseOnFork<OwnedFd>,
        device: &Interface,
    ) -> io::Result<()> {
        fanout::join(socket.as_fd(), self.id)?;
        self.take(member, socket, device)
    }

    /// From now on the socket is in the row, whatever comes.
    fn take(
        &mut self,
        member: Member,
        socket: CloseOnFork<OwnedFd>,
        device: &Interface,
    ) -> io::Result<()> {
        let up = packet::is_up(socket.as_fd(), &device.name);
        self.order.push(member);
        self.sockets.push(socket);
        // While the device is down sockets are in no order; when it goes down later, they hear of it.
        if up? { Ok(()) } else { Err(io::ErrorKind::NetworkDown.into()) }
    }

    /// How many sockets it has.
    pub(super) fn len(&self) -> usize {
        self.sockets.len()
    }

    /// Sends every port's frames where `book` says.
    ///
    /// # Errors
    /// What the kernel says.
    pub(super) fn steer(&self, book: &Book) -> io::Result<()> {
        let Some(socket) = self.sockets.first() else { return Ok(()) };
        fanout::steer(socket.as_fd(), &book.map(&self.order).program())
    }

    /// Closes the sockets. That takes the kernel long, so a thread of its own does it.
    pub(super) fn close(self) {
        let sockets = self.sockets;
        // Without a thread they are closed here.
        let _ = threads::start("prp-close", move || drop(sockets));
    }
}

/// The device of `devices` that `socket` is a packet socket on.
pub(super) fn device_of<'a>(
    socket: BorrowedFd<'_>,
    devices: &'a [Interface],
    ethertype: u16,
) -> io::Result<&'a Interface> {
    let (index, protocol) = packet::bound_to(socket)?;
    // By name: an interface that was removed and made again has another number than it was listed with.
    let is = |d: &&Interface| packet::index(socket, &d.name).is_ok_and(|found| found == index);
    let device = devices.iter().find(is).filter(|_| protocol == ethertype);
    device.ok_or_else(|| io::ErrorKind::InvalidInput.into())
}
