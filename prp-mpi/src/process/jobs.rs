//! How processes of other jobs reach this one: it takes in their channels, and messages for its
//! ports. It does not listen before that is needed.

mod contact;
mod watch;

use std::collections::{HashMap, VecDeque};
use std::io::{self, Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use nix::unistd::geteuid;
use parking_lot::Mutex;
use prp_sock::{PrpListener, PrpStream};

pub use self::contact::Contact;
use self::watch::Watch;
use super::Process;
use super::peers::Identity;
use super::start::card::{Caller, INTRODUCTION_LEN, LINK, Secret};
use super::start::introductions::{Introductions, PATIENCE};
use super::start::{local, machine};
use crate::channel::Stream;

/// How long another process may take to answer.
const ANSWER: Duration = Duration::from_secs(30);

/// The longest message: the contacts of as many processes as a job may have.
const LONGEST_MESSAGE: u32 = 64 << 20;

/// Answers to a message: it was taken, and there is no such port.
const TAKEN: u8 = 1;
const NO_PORT: u8 = 0;

/// Where a process listens for those of other jobs.
#[derive(Debug)]
pub(super) struct JobListener {
    contact: Contact,
    ports: Mutex<Ports>,
    watch: Watch,
}

/// Ports by their numbers, each with the messages that wait there.
#[derive(Debug, Default)]
struct Ports {
    open: HashMap<u64, VecDeque<String>>,
    opened: u64,
}

/// A connection to another process.
enum Call {
    /// On this machine.
    Here(UnixStream),
    /// On another one.
    Away(PrpStream),
}

/// The name of the socket of a process, for processes of its machine. Nothing has to be removed at
/// the end of the process; whether another user listens there is seen by whom the socket is of.
fn name(identity: Identity) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("prp-mpi-{identity}"))
}

/// Whether the process at the other end is this user's.
fn is_ours(stream: &UnixStream) -> io::Result<()> {
    match getsockopt(stream, PeerCredentials)?.uid() == geteuid().as_raw() {
        true => Ok(()),
        false => Err(io::ErrorKind::PermissionDenied.into()),
    }
}

impl Process {
    /// Lets processes of other jobs reach this one that have its contact, which it returns.
    ///
    /// # Errors
    /// Those of sockets and threads. Where there is no PRP only this machine is reached.
    pub fn listen_for_jobs(self: &Arc<Self>) -> io::Result<Contact> {
        let mut place = self.job_listener.lock();
        if let Some(listener) = &*place {
            return Ok(listener.contact.clone());
        }
        // What is taken in wakes the thread that waits for it.
        self.is_shared.store(true, Ordering::Relaxed);
        let identity = self.first.plus(self.rank);
        let local = UnixListener::bind_addr(&name(identity)?)?;
        let remote = PrpListener::bind("self:0").ok();
        let address = remote.as_ref().map(PrpListener::local_addr).transpose()?;
        let secret = Secret::random();
        let contact = Contact::new(identity, machine()?, address, secret);
        let (own, watch) = (contact.clone(), Watch::new()?);
        let own = Arc::new(JobListener { contact: own, ports: Mutex::default(), watch });
        let named = || thread::Builder::new().name("prp-mpi-jobs".into());
        {
            let (process, own) = (self.clone(), own.clone());
            named().spawn(move || process.attend_local(&own, &local))?;
        }
        if let Some(listener) = remote {
            let (process, own) = (self.clone(), own.clone());
            named().spawn(move || process.attend_remote(&own, &listener))?;
        }
        *place = Some(own);
        Ok(contact)
    }

    /// Whether processes of other jobs may reach this one.
    pub fn listens_for_jobs(&self) -> bool {
        self.job_listener.lock().is_some()
    }

    fn job_listener(&self) -> io::Result<Arc<JobListener>> {
        self.job_listener.lock().clone().ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    /// Takes in what comes from this machine, and notes which linked processes have ended.
    fn attend_local(&self, own: &JobListener, listener: &UnixListener) {
        loop {
            let (has_caller, ended) = own.watch.wait(listener);
            for index in ended {
                self.exchange().end_link(index);
            }
            if has_caller && let Ok((stream, _)) = listener.accept() {
                // One that is not what it should be is of no concern.
                let _ = self.take_local(own, stream);
            }
        }
    }

    fn take_local(&self, own: &JobListener, mut stream: UnixStream) -> io::Result<()> {
        is_ours(&stream)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut introduction = [0; INTRODUCTION_LEN];
        stream.read_exact(&mut introduction)?;
        let caller = own.contact.secret().caller(&introduction);
        let Caller { identity, wants } = caller.ok_or(io::ErrorKind::PermissionDenied)?;
        if wants != LINK {
            return self.take_message_in(own, wants, &mut stream);
        }
        let (_, end) = local::welcome(&stream, self.rank, &self.bell)?;
        let index = self.add_link(identity, Stream::Local(end))?;
        own.watch.add(index, stream);
        self.announce();
        Ok(())
    }

    /// Takes in what comes from other nodes.
    fn attend_remote(&self, own: &JobListener, listener: &PrpListener) {
        const DAY: Duration = Duration::from_secs(24 * 3600);
        let mut introductions = Introductions::new(listener, own.contact.secret());
        loop {
            match introductions.next(Instant::now() + DAY) {
                Ok((Caller { identity, wants: LINK }, stream)) => {
                    let _ = self.add_link(identity, Stream::Remote(stream));
                    self.announce();
                }
                Ok((caller, mut stream)) => {
                    let _ = stream.set_read_timeout(Some(PATIENCE));
                    let _ = self.take_message_in(own, caller.wants, &mut stream);
                }
                Err(e) if e.kind() == io::ErrorKind::TimedOut => {}
                Err(_) => return,
            }
        }
    }

    fn take_message_in(
        &self,
        own: &JobListener,
        port: u64,
        stream: &mut (impl Read + Write),
    ) -> io::Result<()> {
        let mut len = [0; 4];
        stream.read_exact(&mut len)?;
        let len = u32::from_le_bytes(len);
        let mut text = Vec::new();
        let most = u64::from(len.min(LONGEST_MESSAGE));
        Read::by_ref(stream).take(most).read_to_end(&mut text)?;
        if text.len() as u64 != u64::from(len) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let message = String::from_utf8(text).map_err(|_| io::ErrorKind::InvalidData)?;
        let mut ports = own.ports.lock();
        let answer = match ports.open.get_mut(&port) {
            Some(messages) => {
                messages.push_back(message);
                TAKEN
            }
            None => NO_PORT,
        };
        drop(ports);
        self.announce();
        stream.write_all(&[answer])?;
        stream.flush()
    }

    /// Opens a port; its number.
    ///
    /// # Errors
    /// `NotConnected` if it does not listen.
    pub fn open_port(&self) -> io::Result<u64> {
        let own = self.job_listener()?;
        let mut ports = own.ports.lock();
        ports.opened += 1;
        let number = ports.opened;
        ports.open.insert(number, VecDeque::new());
        Ok(number)
    }

    /// Closes a port; the messages that wait there. `None` if there is no such port.
    pub fn close_port(&self, port: u64) -> Option<Vec<String>> {
        let closed = self.job_listener().ok()?.ports.lock().open.remove(&port);
        closed.map(Into::into)
    }

    /// Takes the oldest message that waits at a port.
    pub fn take_message(&self, port: u64) -> Option<String> {
        self.job_listener().ok()?.ports.lock().open.get_mut(&port)?.pop_front()
    }

    /// Whether this process has this port.
    pub fn has_port(&self, contact: &Contact, port: u64) -> bool {
        self.job_listener()
            .is_ok_and(|own| own.contact == *contact && own.ports.lock().open.contains_key(&port))
    }

    /// Sends a message to a port of a process.
    ///
    /// # Errors
    /// `NotFound` if it has no such port; those of connections if it is not reached.
    pub fn send_to_port(&self, to: &Contact, port: u64, message: &str) -> io::Result<()> {
        fn deliver(stream: &mut (impl Read + Write), message: &str) -> io::Result<()> {
            stream.write_all(&(message.len() as u32).to_le_bytes())?;
            stream.write_all(message.as_bytes())?;
            stream.flush()?;
            let mut answer = [NO_PORT];
            stream.read_exact(&mut answer)?;
            match answer[0] {
                TAKEN => Ok(()),
                _ => Err(io::Error::new(io::ErrorKind::NotFound, "nobody listens at this port")),
            }
        }
        match self.call(to, port)? {
            Call::Here(mut stream) => deliver(&mut stream, message),
            Call::Away(mut stream) => deliver(&mut stream, message),
        }
    }

    fn call(&self, to: &Contact, wants: u64) -> io::Result<Call> {
        let own = self.job_listener()?;
        let caller = Caller { identity: own.contact.identity(), wants };
        let introduction = to.secret().introduction(caller);
        if to.machine() == own.contact.machine() {
            let mut stream = UnixStream::connect_addr(&name(to.identity())?)?;
            is_ours(&stream)?;
            stream.set_read_timeout(Some(ANSWER))?;
            stream.write_all(&introduction)?;
            return Ok(Call::Here(stream));
        }
        let none = || io::Error::other("it is on another machine, and was started without PRP");
        let mut stream = PrpStream::connect(to.address().ok_or_else(none)?)?;
        stream.set_read_timeout(Some(ANSWER))?;
        stream.write_all(&introduction)?;
        Ok(Call::Away(stream))
    }

    /// Channels this process with those of these that it is not linked with.
    ///
    /// # Errors
    /// Those of the first that is not reached.
    pub fn link_with(&self, others: &[Contact]) -> io::Result<()> {
        let here = self.nodes.iter().filter(|&&node| node == self.nodes[self.rank]).count();
        for other in others {
            if self.index_of(other.identity()).is_some() {
                continue;
            }
            match self.call(other, LINK)? {
                Call::Here(stream) => {
                    let ranks = here + self.peers.lock().len() + 1;
                    let end = local::introduce(&stream, self.rank, ranks, &self.bell)?;
                    let index = self.add_link(other.identity(), Stream::Local(end))?;
                    self.job_listener()?.watch.add(index, stream);
                }
                Call::Away(stream) => {
                    self.add_link(other.identity(), Stream::Remote(stream))?;
                }
            }
        }
        Ok(())
    }

    /// What these processes are called here, once all are linked with this one.
    pub fn linked(&self, others: &[Contact]) -> Option<Vec<usize>> {
        others.iter().map(|other| self.index_of(other.identity())).collect()
    }
}
