//! Where a rank is in its job, and how it connects to the others.

use std::env;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use prp_sock::{PrpListener, PrpStream};

use super::card::{BusinessCard, Secret};
use super::introductions::Introductions;
use super::local;
use crate::channel::Stream;
use crate::control::{environment, socket};
use crate::process::peers::Identity;
use crate::sys::shared::Bell;

/// How long the other ranks may take to connect once all are known to be there.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Where a rank is in its job.
pub(super) struct JobPosition {
    pub(super) rank: usize,
    /// Number of the node of each rank.
    pub(super) nodes: Vec<usize>,
    /// A folder of this user alone, for the socket at which ranks of this node meet.
    pub(super) folder: PathBuf,
    /// The first rank, among all processes of the launcher.
    pub(super) first: Identity,
}

impl JobPosition {
    /// What the agent has told this rank by its environment.
    pub(super) fn from_environment() -> io::Result<Option<Self>> {
        let Ok(rank) = env::var(environment::RANK) else { return Ok(None) };
        let invalid =
            |name: &str| io::Error::new(io::ErrorKind::InvalidInput, format!("{name} is wrong"));
        let rank = rank.parse().map_err(|_| invalid(environment::RANK))?;
        let nodes = env::var(environment::NODES).map_err(|_| invalid(environment::NODES))?;
        let nodes: Result<Vec<_>, _> = nodes.split(',').map(str::parse).collect();
        let nodes = nodes.map_err(|_| invalid(environment::NODES))?;
        let folder =
            env::var_os(environment::FOLDER).ok_or_else(|| invalid(environment::FOLDER))?;
        let first = env::var(environment::FIRST).ok().and_then(|text| text.parse().ok());
        let first = first.ok_or_else(|| invalid(environment::FIRST))?;
        if rank >= nodes.len() {
            return Err(invalid(environment::RANK));
        }
        Ok(Some(Self { rank, nodes, folder: folder.into(), first }))
    }

    /// Tells where this rank listens, learns where the others do by `exchange`, connects to those
    /// before, and waits for those after.
    pub(super) fn connect_all(
        &self,
        exchange: impl FnOnce(&str) -> io::Result<Vec<String>>,
        bell: &Bell,
    ) -> io::Result<Vec<Option<Stream>>> {
        let path = self.folder.join(format!("rank-{}", self.first.number as usize + self.rank));
        let meeting = socket::bind(&path)?;
        let here = self.nodes.iter().filter(|&&n| n == self.nodes[self.rank]).count();
        let is_spread = self.nodes.iter().any(|n| *n != self.nodes[self.rank]);
        let remote = is_spread.then(|| PrpListener::bind("self:0")).transpose()?;
        let secret = Secret::random();
        let address = match &remote {
            Some(listener) => Some(listener.local_addr()?),
            None => None,
        };
        let cards = exchange(&BusinessCard::new(address, secret, &path).to_string())?;
        let mut streams: Vec<Option<Stream>> = self.nodes.iter().map(|_| None).collect();
        for (rank, slot) in streams.iter_mut().enumerate().take(self.rank) {
            let card: BusinessCard = cards.get(rank).map_or("", String::as_str).parse()?;
            *slot = Some(if self.is_here(rank) {
                let stream = socket::connect(card.socket())?;
                Stream::Local(local::introduce(&stream, self.rank, here, bell)?)
            } else {
                let mut stream = PrpStream::connect(card.address())
                    .map_err(|e| io::Error::new(e.kind(), format!("rank {rank}: {e}")))?;
                stream.write_all(&card.introduction(self.rank))?;
                Stream::Remote(stream)
            });
        }
        let later = self.rank + 1..self.nodes.len();
        for _ in later.clone().filter(|&r| self.is_here(r)) {
            let (rank, end) = local::welcome(&meeting.accept()?.0, self.rank, bell)?;
            place(&mut streams, rank, Stream::Local(end))?;
        }
        if let Some(listener) = &remote {
            let mut introductions = Introductions::new(listener, secret);
            let deadline = Instant::now() + CONNECT_TIMEOUT;
            for _ in later.filter(|&r| !self.is_here(r)) {
                let (caller, stream) = introductions.next(deadline)?;
                place(&mut streams, caller.identity.number as usize, Stream::Remote(stream))?;
            }
        }
        let _ = std::fs::remove_file(path);
        Ok(streams)
    }

    fn is_here(&self, rank: usize) -> bool {
        self.nodes[rank] == self.nodes[self.rank]
    }
}

fn place(streams: &mut [Option<Stream>], rank: usize, stream: Stream) -> io::Result<()> {
    match streams.get_mut(rank) {
        Some(slot @ None) => *slot = Some(stream),
        _ => return Err(io::ErrorKind::InvalidData.into()),
    }
    Ok(())
}
