//! The messages of an access in two phases.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use prp_mpi::matching::Pattern;
use prp_mpi::process::Process;
use prp_mpi::process::report::Waiting;
use prp_mpi::request::RequestId;
use prp_mpi::sys::memory::Region;
use prp_mpi::wire::{Header, Kind, Signature};
use prp_node::limits::without_size_signal;

use super::domains::Domains;
use super::extent::Extents;
use super::share::Share;
use super::window::Window;
use crate::api::collective::words;
use crate::api::environment::process;
use crate::api::error::{Failure, current_call};
use crate::object::{Comm, OpenFile, View};

/// What a message is.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
enum Tag {
    /// How many bytes a rank has in the window of a round, and how many describe their places.
    Lengths,
    /// Their places.
    Places,
    /// The aggregator has room for them.
    Ready,
    /// They themselves.
    Bytes,
}

/// Bytes of [`Tag::Lengths`].
const LENGTHS: usize = 16;

/// What a rank has in the window of this aggregator.
struct Portion {
    rank: usize,
    places: Vec<u8>,
    /// Where its bytes are, among those of all ranks.
    staged: Range<usize>,
}

/// An access in two phases, of one rank.
pub(in crate::api::file) struct TwoPhase<'a> {
    process: &'static Arc<Process>,
    comm: &'a Comm,
    view: &'a View,
    /// The first byte of the view, and how many there are.
    part: (u64, usize),
    region: Region,
    domains: Domains,
    /// The part that this rank has as an aggregator.
    domain: Option<usize>,
    window: Window<'a>,
    /// The bytes of ranks, packed, on their way to the window or from there.
    staging: Region,
    /// Messages that are leaving.
    sends: Vec<RequestId>,
}

impl<'a> TwoPhase<'a> {
    /// An access of what a region has, or has room for, from a byte of the view on.
    pub(in crate::api::file) fn new(
        file: &'a OpenFile,
        view: &'a View,
        all: &Extents,
        (first, region): (u64, Region),
    ) -> Result<Self, Failure> {
        let process = process()?;
        let comm = &*file.comm;
        let mut nodes: Vec<_> = comm.group.iter().map(|rank| process.nodes().get(*rank)).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let domains = Domains::new(all, comm.size(), nodes.len());
        // A view of no bytes has none, however many are asked for.
        let len = if view.tile.size() == 0 { 0 } else { region.len() };
        Ok(Self {
            process,
            comm,
            view,
            part: (first, len),
            region,
            domain: domains.aggregators.iter().position(|rank| *rank == comm.rank),
            domains,
            window: Window::new(&file.file),
            staging: Region::owned(0),
            sends: Vec::new(),
        })
    }

    /// Does it; how many bytes were written, or read before the end of the file. An aggregator
    /// whose part of the file fails goes on with the messages of all rounds.
    pub(in crate::api::file) fn run(mut self, is_write: bool) -> io::Result<usize> {
        let mut outcome = Ok(());
        let mut done = self.part.1;
        for round in 0..self.domains.rounds() {
            if let Some(domain) = self.domain {
                self.window.move_to(&self.domains.window(domain, round));
            }
            let now = if is_write {
                self.write(round, outcome.is_ok())
            } else {
                self.read(round, &mut done)
            };
            outcome = outcome.and(now);
        }
        outcome.map(|()| done)
    }

    /// The bytes of all ranks go to the aggregators, which write them.
    fn write(&mut self, round: u64, is_well: bool) -> io::Result<()> {
        let mut shares = Vec::new();
        for (rank, share) in self.announce(round) {
            shares.push((self.receive(rank, Tag::Ready, Region::owned(0)), rank, share));
        }
        let mut portions = Vec::new();
        for portion in self.portions() {
            let room = self.staging.part(portion.staged.clone());
            portions.push((self.receive(portion.rank, Tag::Bytes, room), portion));
        }
        for (_, portion) in &portions {
            self.send(portion.rank, Tag::Ready, &Region::owned(0));
        }
        for (ready, rank, share) in shares {
            self.wait(ready);
            self.send(rank, Tag::Bytes, &self.region.packed(share.bytes));
        }
        let mut is_known = true;
        for (request, portion) in portions {
            self.wait(request);
            let staged = self.staging.part(portion.staged);
            let put = self.window.put(&portion.places, staged.bytes().unwrap_or_default());
            is_known &= put.is_some();
        }
        self.end_sends();
        known(is_known)?;
        if is_well { without_size_signal(|| self.window.write()) } else { Ok(()) }
    }

    /// The aggregators read, and the bytes go to the ranks that want them. `done` becomes less
    /// where the file ends.
    fn read(&mut self, round: u64, done: &mut usize) -> io::Result<()> {
        let mut shares = Vec::new();
        for (rank, Share { bytes, .. }) in self.announce(round) {
            let into = match self.region.addresses() {
                Some(_) => self.region.part(bytes.clone()),
                None => Region::owned(bytes.len()),
            };
            shares.push((self.receive(rank, Tag::Bytes, into.clone()), bytes, into));
        }
        let portions = self.portions();
        let is_known = portions.iter().all(|portion| self.window.want(&portion.places).is_some());
        let outcome = known(is_known).and_then(|()| self.window.read());
        for Portion { rank, places, staged } in portions {
            let mut packed = self.staging.part(staged);
            let there = packed.bytes_mut(0).map_or(0, |into| self.window.take(&places, into));
            self.send(rank, Tag::Bytes, &packed.part(0..there));
        }
        for (request, bytes, into) in shares {
            let there = self.wait(request);
            if self.region.addresses().is_none() {
                let read = into.bytes().unwrap_or_default();
                self.region.write(bytes.start, &read[..there]);
            }
            if there < bytes.len() {
                *done = (*done).min(bytes.start + there);
            }
        }
        self.end_sends();
        outcome
    }

    /// Tells each aggregator what this rank has in its window; for each where there is something
    /// its rank and what that is.
    fn announce(&mut self, round: u64) -> Vec<(usize, Share)> {
        let mut shares = Vec::new();
        for (domain, rank) in self.domains.aggregators.clone().into_iter().enumerate() {
            let share = Share::of(self.view, self.part, &self.domains.window(domain, round));
            let lengths = [share.bytes.len(), share.places.len()];
            let lengths = lengths.map(|len| (len as u64).to_le_bytes()).concat();
            self.send(rank, Tag::Lengths, &region_of(&lengths));
            if !share.bytes.is_empty() {
                self.send(rank, Tag::Places, &region_of(&share.places));
                shares.push((rank, share));
            }
        }
        shares
    }

    /// What all ranks have in the window of this one, with room for it. Nothing if this is no
    /// aggregator.
    fn portions(&mut self) -> Vec<Portion> {
        if self.domain.is_none() {
            return Vec::new();
        }
        let mut lengths = Vec::new();
        for rank in 0..self.comm.size() {
            let into = Region::owned(LENGTHS);
            lengths.push((self.receive(rank, Tag::Lengths, into.clone()), into));
        }
        let mut coming = Vec::new();
        let mut end = 0;
        for (rank, (request, into)) in lengths.into_iter().enumerate() {
            self.wait(request);
            let [bytes, places] = *words(&into) else { continue };
            if bytes > 0 {
                let places = Region::owned(places as usize);
                let request = self.receive(rank, Tag::Places, places.clone());
                let start = end;
                end += bytes as usize;
                coming.push((request, rank, places, start..end));
            }
        }
        if self.staging.len() < end {
            self.staging = Region::owned(end);
        }
        let mut portions = Vec::new();
        for (request, rank, places, staged) in coming {
            self.wait(request);
            portions.push(Portion { rank, places: places.to_vec(), staged });
        }
        portions
    }

    fn send(&mut self, to: usize, tag: Tag, body: &Region) {
        let header = Header {
            kind: Kind::Message,
            source: self.comm.rank as i32,
            tag: tag as i32,
            id: 0,
            context: self.comm.messages(),
            len: 0,
            signature: Signature::default(),
        };
        self.sends.push(self.process.exchange().send(self.comm.group[to], header, body));
    }

    fn receive(&self, from: usize, tag: Tag, into: Region) -> RequestId {
        let (source, tag) = (Some(from as i32), Some(tag as i32));
        let pattern = Pattern { context: self.comm.messages(), source, tag };
        self.process.exchange().receive(pattern, into)
    }

    /// Waits for a message; how many bytes it has.
    fn wait(&self, request: RequestId) -> usize {
        let what = || {
            let name = self.process.name_of(self.comm.messages());
            Waiting::new(current_call(), name, String::new())
        };
        self.process.wait(&what, |exchange| exchange.take(request)).bytes as usize
    }

    /// Waits until all messages have left.
    fn end_sends(&mut self) {
        for request in std::mem::take(&mut self.sends) {
            self.wait(request);
        }
    }
}

fn region_of(bytes: &[u8]) -> Region {
    let mut region = Region::owned(bytes.len());
    region.write(0, bytes);
    region
}

/// Fails if a rank has told places that are none.
fn known(is_known: bool) -> io::Result<()> {
    if is_known {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidData, "a rank has told no places of a window"))
}
