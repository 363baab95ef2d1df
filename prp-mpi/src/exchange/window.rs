//! One-sided communication: what other ranks do with memory of this one, and this one with theirs.
//!
//! A rank asks another one by messages, which that does in their order, with its exchange locked:
//! so each is done at once as far as others see.

mod access;
mod action;
mod fence;
mod lock;

use std::ops::Range;
use std::sync::Arc;

pub use self::access::Access;
use self::access::LastDatatype;
pub use self::action::Action;
use self::fence::{Epoch, Fence};
use self::lock::Locks;
use super::Exchange;
use crate::datatype::Datatype;
use crate::matching::ByNumber;
use crate::operation::Operation;
use crate::request::{RequestId, Status};
use crate::sys::memory::Region;
use crate::wire::{Header, Kind, Signature};

/// The memory of a window.
#[derive(Debug)]
enum Memory {
    /// In one piece. What others ask for is seen from its beginning.
    Fixed(Region),
    /// In pieces that come and go. What others ask for is seen from address 0.
    Attached(Vec<Region>),
}

impl Memory {
    /// Elements that lie in one piece. `None` if there are none such.
    fn elements(&self, at: isize, count: usize, datatype: &Arc<Datatype>) -> Option<Region> {
        match self {
            Self::Fixed(memory) => memory.elements(at, count, datatype),
            Self::Attached(_) if count == 0 || datatype.size() == 0 => Some(Region::owned(0)),
            Self::Attached(all) => all.iter().find_map(|memory| {
                let start = isize::try_from(memory.addresses()?.start).ok()?;
                memory.elements(at.checked_sub(start)?, count, datatype)
            }),
        }
    }

    /// The pieces that it has.
    fn pieces(&self) -> &[Region] {
        match self {
            Self::Fixed(memory) => std::slice::from_ref(memory),
            Self::Attached(all) => all,
        }
    }

    /// Whether it has some of these addresses.
    fn overlaps(&self, addresses: &Range<usize>) -> bool {
        let mut all = self.pieces().iter().filter_map(Region::addresses);
        all.any(|own| own.start.max(addresses.start) < own.end.min(addresses.end))
    }
}

/// A window of this rank.
#[derive(Debug)]
struct Window {
    memory: Memory,
    locks: Locks,
    /// Ranks that have said that their windows may be used, and how often they have since that was
    /// waited for.
    posts: ByNumber<usize, u64>,
    /// Ranks that have used this window.
    completions: ByNumber<usize, u64>,
    /// Between which fences this rank is.
    epoch: Epoch,
    /// How often this rank has asked others for something since the last fence.
    asked: ByNumber<usize, u32>,
    /// Answers to that which have not come yet.
    unanswered: u64,
    /// What is known of the fence at the end of each epoch.
    fences: [Fence; 2],
}

impl Window {
    fn new(memory: Memory) -> Self {
        Self {
            memory,
            locks: Locks::default(),
            posts: ByNumber::default(),
            completions: ByNumber::default(),
            epoch: Epoch::default(),
            asked: ByNumber::default(),
            unanswered: 0,
            fences: Default::default(),
        }
    }

    /// Does what is asked for; what the elements were before. `None` if there are none such.
    fn access(&self, action: Action, access: &Access, data: &[u8]) -> Option<Vec<u8>> {
        let mut elements = self.memory.elements(access.at, access.count, &access.datatype)?;
        let is_plain = action == Action::Update && access.operation == Operation::Replace;
        let old = if is_plain { Vec::new() } else { elements.to_vec() };
        match action {
            Action::CompareAndSwap => {
                let (expected, new) = data.split_at_checked(data.len() / 2)?;
                if expected == old {
                    elements.write(0, new);
                }
            }
            _ if access.operation == Operation::NoOp => {}
            _ if data.len() > elements.len() => return None,
            _ if access.operation == Operation::Replace => {
                elements.write(0, data);
            }
            _ if !access.operation.takes(&access.datatype) => return None,
            _ => {
                // Elements that there is no data for stay as they are.
                let mut new = [data, &old[data.len()..]].concat();
                access.operation.combine(&access.datatype, &old, &mut new);
                elements.write(0, &new[..data.len()]);
            }
        }
        Some(old)
    }
}

/// Where an answer goes.
#[derive(Debug)]
struct Expected {
    region: Region,
    /// Packed bytes before those of the answer.
    at: usize,
    request: RequestId,
}

/// The windows of this rank, and the answers that it waits for.
#[derive(Debug, Default)]
pub(super) struct Windows {
    all: ByNumber<u64, Window>,
    expected: ByNumber<u32, Expected>,
    asked: u32,
    last_datatype: LastDatatype,
    /// A thread does what other ranks ask for while the program computes.
    are_served: bool,
}

/// Takes one of each of these ranks, if all have one.
fn take_of_each(counts: &mut ByNumber<usize, u64>, ranks: &[usize]) -> Option<()> {
    if !ranks.iter().all(|rank| counts.get(rank).is_some_and(|count| *count > 0)) {
        return None;
    }
    for rank in ranks {
        counts.entry(*rank).and_modify(|count| *count -= 1);
    }
    Some(())
}

impl Exchange {
    /// Others may use this memory from now on.
    pub fn open_window(&mut self, context: u64, memory: Region) {
        self.open(context, Memory::Fixed(memory));
    }

    /// Others may use memory that is attached later, by its addresses.
    pub fn open_dynamic_window(&mut self, context: u64) {
        self.open(context, Memory::Attached(Vec::new()));
    }

    /// Others may use this memory, too, which lies in one piece. `false` if they may use a part of
    /// it already, or if there is no window to which memory can be attached.
    pub fn attach(&mut self, context: u64, memory: Region) -> bool {
        let Some(window) = self.windows.all.get_mut(&context) else { return false };
        let is_used = memory.addresses().is_none_or(|own| window.memory.overlaps(&own));
        match &mut window.memory {
            Memory::Attached(all) if !is_used => {
                all.push(memory);
                true
            }
            _ => false,
        }
    }

    /// Others may not use the memory any more that was attached at this address. `false` if none
    /// was.
    pub fn detach(&mut self, context: u64, address: usize) -> bool {
        let window = self.windows.all.get_mut(&context);
        let Some(Memory::Attached(all)) = window.map(|window| &mut window.memory) else {
            return false;
        };
        let is_it = |memory: &Region| memory.addresses().is_some_and(|own| own.start == address);
        let found = all.iter().position(is_it);
        found.map(|index| all.swap_remove(index)).is_some()
    }

    fn open(&mut self, context: u64, memory: Memory) {
        self.windows.all.insert(context, Window::new(memory));
    }

    /// No rank uses the window any more.
    pub fn close_window(&mut self, context: u64) {
        self.windows.all.remove(&context);
        self.note_change();
    }

    /// Whether other ranks may use some of these addresses.
    pub(super) fn is_in_window(&self, addresses: &Range<usize>) -> bool {
        self.windows.all.values().any(|window| window.memory.overlaps(addresses))
    }

    /// Whether there are any.
    pub fn has_windows(&self) -> bool {
        !self.windows.all.is_empty()
    }

    /// Whether no thread serves windows yet: then the one that asks begins one that does.
    pub const fn begin_serving(&mut self) -> bool {
        !std::mem::replace(&mut self.windows.are_served, true)
    }

    /// The thread that serves windows ends.
    pub const fn end_serving(&mut self) {
        self.windows.are_served = false;
    }

    /// A request that is done once `parts` things are, each of which is told of it.
    pub fn begin_parts(&mut self, parts: usize) -> RequestId {
        self.requests.begin(parts as u32, Status::EMPTY)
    }

    /// Asks a rank of the world for what takes no elements. The request is done when that is.
    pub fn ask(&mut self, to: usize, context: u64, action: Action) -> RequestId {
        let request = self.begin_parts(1);
        self.put_to(to, context, action, request.0, (Vec::new(), Region::owned(0)), None);
        request
    }

    /// Tells a rank of the world something that it does not answer.
    pub fn tell(&mut self, to: usize, context: u64, action: Action) {
        self.put_to(to, context, action, 0, (Vec::new(), Region::owned(0)), None);
    }

    /// Has a rank of the world combine elements with `data`, which lies in one piece and may end
    /// before they do. A part of the request is done when the bytes are no longer needed.
    pub fn update(
        &mut self,
        to: usize,
        context: u64,
        access: &Access,
        data: Region,
        request: RequestId,
    ) {
        self.note_asked(to, context, 0);
        let (action, text) = (Action::Update, access.describe());
        self.put_to(to, context, action, 0, (text, data), Some(request));
    }

    /// The same, and what the elements were before goes to the packed bytes of `into` from `at` on.
    /// A part of the request is done when it is there.
    pub fn fetch(
        &mut self,
        to: usize,
        context: u64,
        what: (Action, &Access),
        data: Region,
        (region, at): (Region, usize),
        request: RequestId,
    ) {
        self.note_asked(to, context, 1);
        let (action, access) = what;
        self.windows.asked = self.windows.asked.wrapping_add(1);
        let id = self.windows.asked;
        self.windows.expected.insert(id, Expected { region, at, request });
        let text = access.describe();
        self.put_to(to, context, action, id, (text, data), None);
    }

    /// Notes that a rank is asked for something, and that so many answers will come.
    fn note_asked(&mut self, to: usize, context: u64, answers: u64) {
        if let Some(window) = self.windows.all.get_mut(&context) {
            let asked = window.asked.entry(to).or_default();
            *asked = asked.wrapping_add(1);
            window.unanswered += answers;
        }
    }

    fn put_to(
        &mut self,
        to: usize,
        context: u64,
        action: Action,
        id: u32,
        (text, data): (Vec<u8>, Region),
        sent: Option<RequestId>,
    ) {
        let mut epoch = self.windows.all.get(&context).map_or(Epoch::Even, |window| window.epoch);
        if action == Action::Fence {
            epoch = epoch.next();
        }
        let header = Header {
            kind: Kind::OneSided,
            source: self.me as i32,
            tag: action.tag(epoch),
            id,
            context,
            len: (text.len() + data.len()) as u64,
            signature: Signature::default(),
        };
        if to == self.me {
            let mut bytes = text;
            bytes.extend_from_slice(data.bytes().unwrap_or_default());
            self.act(to, &header, &bytes);
            sent.into_iter().for_each(|request| self.requests.advance(request));
            return;
        }
        if let Some(channel) = self.channels.get_mut(to).and_then(Option::as_mut) {
            channel.queue_parts(&header, Region::from(text), data, sent);
            // What nobody waits for may leave with what the program does next.
            if matches!(action, Action::Update | Action::Fence) {
                let is_first = channel.is_remote() && !channel.is_in_burst();
                self.in_burst.extend(is_first.then_some(to));
                if channel.may_wait() {
                    return;
                }
            } else {
                channel.end_burst();
            }
            self.flush(to);
            if let Some(channel) = self.channels.get_mut(to).and_then(Option::as_mut) {
                channel.note_burst_sent();
            }
        }
    }

    /// Does what a rank asks for.
    pub(super) fn act(&mut self, from: usize, header: &Header, bytes: &[u8]) {
        if self.try_to_act(from, header, bytes).is_none() {
            self.stray.get_or_insert(from);
        }
    }

    /// As [`Self::act`]; `None` if there is no such window, or nothing of it there.
    fn try_to_act(&mut self, from: usize, header: &Header, bytes: &[u8]) -> Option<()> {
        let (action, epoch) = Action::from_tag(header.tag)?;
        if action == Action::Answer {
            let mut expected = self.windows.expected.remove(&header.id)?;
            if let Some(window) = self.windows.all.get_mut(&header.context) {
                window.unanswered -= 1;
            }
            expected.region.write(expected.at, bytes);
            self.requests.advance(expected.request);
            return Some(());
        }
        let Windows { all, last_datatype, .. } = &mut self.windows;
        let window = all.get_mut(&header.context)?;
        if action.is_access() {
            window.fences[epoch as usize].note_done();
            self.other_changes += 1;
        }
        match action {
            Action::Update | Action::Fetch | Action::CompareAndSwap => {
                let (access, data) = Access::read(bytes, last_datatype)?;
                let old = window.access(action, &access, data)?;
                if action != Action::Update {
                    let answer = (Vec::new(), Region::from(old));
                    self.put_to(from, header.context, Action::Answer, header.id, answer, None);
                }
            }
            Action::LockShared | Action::LockExclusive => {
                window.locks.ask(from, header.id, action == Action::LockExclusive);
                self.grant(header.context);
            }
            Action::Unlock => {
                window.locks.release(from)?;
                self.answer(from, header.id);
                self.grant(header.context);
            }
            Action::Flush => self.answer(from, header.id),
            Action::Post => {
                *window.posts.entry(from).or_default() += 1;
                self.note_change();
            }
            Action::Complete => {
                *window.completions.entry(from).or_default() += 1;
                self.note_change();
                self.answer(from, header.id);
            }
            Action::Fence => {
                window.fences[epoch as usize].note_told(header.id);
                self.note_change();
            }
            Action::Answer => {}
        }
        Some(())
    }

    /// Gives the lock of a window to those that may have it.
    fn grant(&mut self, context: u64) {
        while let Some((rank, id)) =
            self.windows.all.get_mut(&context).and_then(|window| window.locks.next())
        {
            self.answer(rank, id);
        }
    }

    /// What a rank has asked for is done.
    fn answer(&mut self, to: usize, id: u32) {
        if to == self.me {
            self.requests.advance(RequestId(id));
        } else if let Some(channel) = self.channels.get_mut(to).and_then(Option::as_mut) {
            let header = Header {
                kind: Kind::Received,
                source: self.me as i32,
                tag: 0,
                id,
                context: 0,
                len: 0,
                signature: Signature::default(),
            };
            channel.queue(&header, Region::owned(0), None);
            self.flush(to);
        }
    }

    /// Takes it that the windows of all of these ranks of the world may be used, if they may.
    pub fn take_posts(&mut self, context: u64, ranks: &[usize]) -> Option<()> {
        take_of_each(&mut self.windows.all.get_mut(&context)?.posts, ranks)
    }

    /// Takes it that all of these ranks of the world have used the window, if they have.
    pub fn take_completions(&mut self, context: u64, ranks: &[usize]) -> Option<()> {
        take_of_each(&mut self.windows.all.get_mut(&context)?.completions, ranks)
    }
}

#[cfg(test)]
mod tests;
