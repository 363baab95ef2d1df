//! Threads that pass the bytes of connections on.
//!
//! Each thread serves many connections, and takes in their frames itself while it waits: a message
//! wakes no other thread in transit. Before it sleeps it polls for a moment, both the streams and
//! what programs send, as a reader of a stream does.

mod passage;

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::{EfdFlags, EventFd};
use parking_lot::Mutex;
use prp_sock::wait_any_polling;

pub(super) use passage::{End, Passage};

use super::{Holder, spawn};

/// Bytes that are passed on at once.
const CHUNK: usize = 64 << 10;

/// Connections of a thread, at most: it looks at each of them when it wakes.
const MOST: usize = 64;

/// How long a thread waits for another connection when its last one has ended.
const KEPT: Duration = Duration::from_secs(1);

/// How long a connection whose program has closed it stays with those in use: mostly the peer ends
/// it in that time.
const CLOSING: Duration = Duration::from_secs(1);

/// How long a thread rests that cannot wait.
const REST: Duration = Duration::from_millis(10);

/// What the epoll set has in place of a connection's number for new connections.
const NEW: u64 = 0;

/// What connections a thread has.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
enum Class {
    /// Those in use.
    Used,
    /// Those that their programs have closed, and the peers have not.
    Closed,
}

/// The threads.
#[derive(Default)]
pub(super) struct Pumps(Mutex<Vec<Arc<Pump>>>);

/// A thread.
struct Pump {
    class: Class,
    epoll: Epoll,
    wake: EventFd,
    inbox: Mutex<Inbox>,
}

/// What comes to a thread.
#[derive(Default)]
struct Inbox {
    new: Vec<Passage>,
    /// Connections that the thread has, with the new ones.
    count: usize,
    /// The thread has ended.
    is_over: bool,
}

impl Pumps {
    /// Removes the threads that have ended.
    fn remove_ended(&self) {
        self.0.lock().retain(|pump| !pump.inbox.lock().is_over);
    }
}

impl Holder {
    /// Has a thread pass on the bytes of a connection until it has ended.
    pub(super) fn pass(self: &Arc<Self>, passage: Passage) {
        self.pass_by(Class::Used, passage);
    }

    fn pass_by(self: &Arc<Self>, class: Class, passage: Passage) {
        let mut pumps = self.pumps.0.lock();
        pumps.retain(|pump| !pump.inbox.lock().is_over);
        for pump in pumps.iter().filter(|pump| pump.class == class) {
            let mut inbox = pump.inbox.lock();
            if inbox.count < MOST && !inbox.is_over {
                inbox.count += 1;
                inbox.new.push(passage);
                drop(inbox);
                let _ = pump.wake.write(1);
                return;
            }
        }
        let Ok(pump) = Pump::new(class) else {
            drop(pumps);
            return self.stop_passing(class, passage);
        };
        let pump = Arc::new(pump);
        *pump.inbox.lock() = Inbox { new: vec![passage], count: 1, is_over: false };
        let (holder, own) = (self.clone(), pump.clone());
        if spawn(move || own.run(&holder)).is_ok() {
            return pumps.push(pump);
        }
        drop(pumps);
        for passage in std::mem::take(&mut pump.inbox.lock().new) {
            self.stop_passing(class, passage);
        }
    }

    /// Ends a connection that no thread can be had for. Of one that its program has closed what was
    /// sent is still delivered.
    fn stop_passing(&self, class: Class, passage: Passage) {
        match class {
            Class::Used => self.end(passage, End::Left),
            Class::Closed => self.processes.remove(passage.number()),
        }
    }

    /// Ends a connection.
    fn end(&self, passage: Passage, end: End) {
        let number = passage.number();
        passage.end(end);
        self.processes.remove(number);
    }
}

impl Pump {
    fn new(class: Class) -> io::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let wake = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)?;
        epoll.add(&wake, EpollEvent::new(EpollFlags::EPOLLIN, NEW))?;
        Ok(Self { class, epoll, wake, inbox: Mutex::default() })
    }

    fn run(&self, holder: &Arc<Holder>) {
        let mut passages = Vec::new();
        let mut bytes = vec![0; CHUNK];
        let mut has_events = true;
        loop {
            if has_events {
                self.note_events(&mut passages);
            }
            self.take_new(holder, &mut passages);
            self.pass_on(holder, &mut passages, &mut bytes);
            if passages.is_empty() && self.is_over() {
                // Its descriptors would stay until the next connection comes.
                return holder.pumps.remove_ended();
            }
            let found = self.wait(&mut passages);
            // Events are looked at every other time at the latest: streams could have something all
            // the time.
            has_events = found == 0 || !has_events;
        }
    }

    /// Takes over new connections.
    fn take_new(&self, holder: &Holder, passages: &mut Vec<Passage>) {
        let mut inbox = self.inbox.lock();
        if inbox.new.is_empty() {
            return;
        }
        let new = std::mem::take(&mut inbox.new);
        drop(inbox);
        for passage in new {
            match self.epoll.add(passage.held(), passage.event()) {
                Ok(()) => passages.push(passage),
                Err(_) => {
                    self.inbox.lock().count -= 1;
                    holder.stop_passing(self.class, passage);
                }
            }
        }
    }

    /// Passes on what is there, and ends what has ended.
    fn pass_on(&self, holder: &Arc<Holder>, passages: &mut Vec<Passage>, bytes: &mut [u8]) {
        let mut at = 0;
        while let Some(passage) = passages.get_mut(at) {
            let mut end = passage.step(bytes);
            let is_left_alone = passage.closed().is_some_and(|since| since.elapsed() >= CLOSING);
            let is_moved = end.is_none() && is_left_alone && self.class == Class::Used;
            if end.is_none() && self.class == Class::Closed {
                end = passage.look(Instant::now());
            }
            if end.is_none() && !is_moved {
                if passage.take_change() {
                    let _ = self.epoll.modify(passage.held(), &mut passage.event());
                }
                at += 1;
                continue;
            }
            let passage = passages.swap_remove(at);
            let _ = self.epoll.delete(passage.held());
            self.inbox.lock().count -= 1;
            match end {
                Some(end) => holder.end(passage, end),
                None => holder.pass_by(Class::Closed, passage),
            }
        }
    }

    /// Waits until something is to be done; how many streams are ready.
    fn wait(&self, passages: &mut [Passage]) -> usize {
        let is_busy = passages.iter().any(Passage::is_busy);
        let due = |it: &Passage| match self.class {
            Class::Used => Some(it.closed()? + CLOSING),
            Class::Closed => it.due(),
        };
        let timeout = if is_busy {
            Some(Duration::ZERO)
        } else {
            let due = passages.iter().filter_map(due).min();
            due.map(|at| at.saturating_duration_since(Instant::now()))
        };
        let (mut owners, mut awaited) = (Vec::new(), Vec::new());
        for (at, passage) in passages.iter().enumerate() {
            if let Some(wanted) = passage.awaited() {
                owners.push(at);
                awaited.push(wanted);
            }
        }
        if awaited.is_empty() {
            self.sleep(timeout);
            return 0;
        }
        let found = wait_any_polling(&mut awaited, Some(self.epoll.0.as_fd()), timeout);
        let ready: Vec<_> = owners
            .iter()
            .zip(&awaited)
            .filter(|(_, it)| it.is_ready())
            .map(|(at, _)| *at)
            .collect();
        for at in ready {
            passages[at].note_ready();
        }
        match found {
            Ok(found) => found,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => 0,
            Err(_) => {
                // What is wrong with the streams they say themselves.
                passages.iter_mut().for_each(Passage::note_ready);
                thread::sleep(REST);
                0
            }
        }
    }

    /// Sleeps until an event is there, or for `timeout`, and leaves it there.
    fn sleep(&self, timeout: Option<Duration>) {
        use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

        let timeout = timeout.and_then(|it| PollTimeout::try_from(it).ok());
        let mut fds = [PollFd::new(self.epoll.0.as_fd(), PollFlags::POLLIN)];
        let _ = poll(&mut fds, timeout.unwrap_or(PollTimeout::NONE));
    }

    /// Notes what has happened to the holder's ends.
    fn note_events(&self, passages: &mut [Passage]) {
        let mut events = [EpollEvent::empty(); MOST];
        let found = self.epoll.wait(&mut events, EpollTimeout::ZERO).unwrap_or(0);
        for event in &events[..found] {
            if event.data() == NEW {
                let _ = self.wake.read();
            } else if let Some(passage) = passages.iter_mut().find(|it| it.number() == event.data())
            {
                passage.note(event.events());
            }
        }
    }

    /// Whether this thread ends: no connection has come for a while.
    fn is_over(&self) -> bool {
        self.sleep(Some(KEPT));
        let mut inbox = self.inbox.lock();
        inbox.is_over = inbox.count == 0;
        inbox.is_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run__leaves_nothing_of_a_thread_that_has_ended() {
        let text = format!("1,{:016x},{:032x},0,1,198.18.0.0/16,0,both,0,0,1", 7, 7);
        let settings = text.parse().expect("settings");
        let holder = Arc::new(Holder::new(settings, "/none".into(), None).expect("descriptors"));
        let pump = Arc::new(Pump::new(Class::Used).expect("descriptors"));
        holder.pumps.0.lock().push(pump.clone());
        pump.run(&holder);
        assert!(holder.pumps.0.lock().is_empty());
    }
}
