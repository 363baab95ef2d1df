//! The addresses of both ends of a pair, and its options, as a socket of TCP would have them.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use nix::libc;
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::{Linger, SndBuf};
use prp_run::{OptionValue, PairName, SEND_BUFFER, is_taken};
use socket2::SockRef;

use super::address;
use super::call::Call;
use super::end::{State, is_tcp, state};
use crate::run::holder::Holder;
use crate::sys::seccomp::Outcome;

impl Holder {
    /// Tells the address of this end.
    pub(super) fn tell_local(&self, call: &Call) -> io::Result<Outcome> {
        let socket = call.socket()?;
        let known = match self.name_of(&socket) {
            Some(name) => Some(name.local),
            None => {
                let local = SockRef::from(&socket).local_addr()?.as_socket();
                local.and_then(|local| self.settings.shown(local))
            }
        };
        known.map_or(Ok(Outcome::Continue), |known| tell(call, known))
    }

    /// Tells the address of the peer.
    pub(super) fn tell_peer(&self, call: &Call) -> io::Result<Outcome> {
        let socket = call.socket()?;
        match self.name_of(&socket) {
            None => Ok(Outcome::Continue),
            Some(_) if state(&socket) != State::Connected => Ok(Outcome::Fail(libc::ENOTCONN)),
            Some(name) => tell(call, name.peer),
        }
    }

    /// Reads an option of a pair.
    pub(super) fn tell_option(&self, call: &Call) -> io::Result<Outcome> {
        let socket = call.socket()?;
        let Some(name) = self.name_of(&socket) else { return Ok(Outcome::Continue) };
        let value = match (call.int(1), call.int(2)) {
            (libc::SOL_SOCKET, libc::SO_DOMAIN) => Some(OptionValue::number(match name.local {
                SocketAddr::V4(_) => libc::AF_INET,
                SocketAddr::V6(_) => libc::AF_INET6,
            })),
            (libc::SOL_SOCKET, libc::SO_PROTOCOL) => Some(OptionValue::number(libc::IPPROTO_TCP)),
            (libc::SOL_SOCKET, libc::SO_ERROR) => {
                Some(OptionValue::number(self.error_of(&socket, &name)?))
            }
            (level, option) => OptionValue::of_pair(level, option),
        };
        let Some(value) = value else { return Ok(Outcome::Fail(libc::ENOPROTOOPT)) };
        call.write_sized(3, 4, value.bytes(), true)?;
        Ok(Outcome::Return(0))
    }

    /// Takes the error of a pair, or why its connection has failed.
    fn error_of(&self, socket: &OwnedFd, name: &PairName) -> io::Result<i32> {
        let error = SockRef::from(socket).take_error()?.and_then(|e| e.raw_os_error());
        Ok(match error.unwrap_or(0) {
            libc::ECONNRESET => self.take_reason(name.number).unwrap_or(libc::ECONNRESET),
            other => other,
        })
    }

    /// Sets an option.
    pub(super) fn set_option(&self, call: &Call) -> io::Result<Outcome> {
        let socket = call.socket()?;
        let option = (call.int(1), call.int(2));
        let Some(name) = self.name_of(&socket) else {
            // The holder's connection would be kept from the program until bytes come.
            let is_of_holder =
                option == (libc::IPPROTO_TCP, libc::TCP_DEFER_ACCEPT) && is_tcp(&socket);
            return Ok(if is_of_holder { Outcome::Return(0) } else { Outcome::Continue });
        };
        match option {
            (libc::SOL_SOCKET, libc::SO_LINGER) => self.set_linger(call, &socket, &name),
            // Its size shows that the connection is still to come, or has failed.
            (libc::SOL_SOCKET, libc::SO_SNDBUF) if state(&socket) != State::Connected => {
                Ok(Outcome::Return(0))
            }
            (libc::SOL_SOCKET, libc::SO_SNDBUF) if call.int(4) >= 4 => {
                let size = usize::try_from(call.read_int(call.pointer(3))?).unwrap_or(0);
                setsockopt(&socket, SndBuf, &size.max(SEND_BUFFER))?;
                Ok(Outcome::Return(0))
            }
            (libc::SOL_SOCKET, _) => Ok(Outcome::Continue),
            (level, option) if is_taken(level, option) => Ok(Outcome::Return(0)),
            _ => Ok(Outcome::Fail(libc::ENOPROTOOPT)),
        }
    }

    /// Has the connection be reset when the program closes it, if it asks for that.
    fn set_linger(&self, call: &Call, socket: &OwnedFd, name: &PairName) -> io::Result<Outcome> {
        if (call.int(4).max(0) as usize) < size_of::<libc::linger>() {
            return Ok(Outcome::Continue);
        }
        let at = call.pointer(3);
        let linger = libc::linger { l_onoff: call.read_int(at)?, l_linger: call.read_int(at + 4)? };
        setsockopt(socket, Linger, &linger)?;
        let is_reset = linger.l_onoff != 0 && linger.l_linger == 0;
        self.processes.reset_on_close(name.number, is_reset);
        Ok(Outcome::Return(0))
    }
}

/// Tells an address.
fn tell(call: &Call, known: SocketAddr) -> io::Result<Outcome> {
    call.write_sized(1, 2, &address::to_bytes(known), false)?;
    Ok(Outcome::Return(0))
}
