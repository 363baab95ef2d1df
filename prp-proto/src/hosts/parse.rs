//! From text to [`Hosts`]: line by line, then what only the whole file can tell.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::hash::BuildHasher;
use core::net::IpAddr;

use foldhash::fast::FixedState;
use hashbrown::HashTable;

use super::error::{FoundText, HostsError, HostsErrorKind, HostsErrors};
use super::graph::{Step, Visit, walk};
use super::lexer::{Word, Words, column, lines};
use super::tag::{TagFields, segment_name};
use super::{Hosts, MAX_FILE, MAX_HOPS, StoredHop, StoredTarget, Tag, fields};
use crate::addr::{NodeId, UDP_PORTS, UdpPeer};
use crate::key::{MAX_NODE_KEYS, NodeKey};

/// A line given up: what was wrong with it has been noted.
struct LineRejected;

/// The place of a directive, and what it said.
struct Directive {
    line: u32,
    column: u32,
}

#[derive(Default)]
struct Parser {
    hosts: Hosts,
    errors: HostsErrors,
    /// The column of each hop's node or address, beside `hosts.hops`.
    columns: Vec<u32>,
    /// Indices into `hosts.devices`, by hash.
    devices: HashTable<u32>,
    /// The line that mentions each first, beside `hosts.devices`.
    device_lines: Vec<u32>,
    /// Indices into `hosts.udp_peers`, by hash.
    udp_peers: HashTable<u16>,
    /// The line that names the folder of Unix sockets first.
    unix_line: u32,
    /// The line that has each key of a node first.
    key_lines: BTreeMap<NodeKey, u32>,
    self_line: Option<Directive>,
    ethertype_line: Option<Directive>,
    /// A line that might have been any node's was not understood. Then a node without a line is no
    /// news.
    lost: bool,
    /// The line being read.
    line: u32,
}

pub(super) fn parse(bytes: &[u8]) -> Result<Hosts, HostsErrors> {
    let mut parser = Parser::default();
    if bytes.len() > MAX_FILE {
        let size = FoundText::Size(bytes.len());
        parser.errors.add(|| HostsError::new(1, 1, HostsErrorKind::FileSize, size));
        return Err(parser.errors);
    }
    for (number, line) in lines(bytes) {
        parser.line = number;
        parser.line(line);
    }
    parser.finish()
}

impl Parser {
    fn line(&mut self, bytes: &[u8]) {
        let text = match core::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                self.lost = true;
                return self.not_utf8(bytes, error.valid_up_to());
            }
        };
        let mut words = Words::new(text);
        let first = words.next();
        // A line given up has been noted; the next one is read all the same.
        let _: Result<(), LineRejected> = match first.text {
            "" => Ok(()),
            "self" => self.self_directive(first, &mut words),
            "ethertype" => self.ethertype_directive(first, &mut words),
            _ => self.node_line(first, &mut words),
        };
    }

    fn self_directive(
        &mut self,
        keyword: Word<'_>,
        words: &mut Words<'_>,
    ) -> Result<(), LineRejected> {
        let first = self.self_line.as_ref().map(|seen| seen.line);
        self.once(first, words, keyword)?;
        let word = words.next();
        let node = self.check(words, word, fields::node(word.text))?;
        self.hosts.self_node = Some(node);
        self.self_line = Some(Directive { line: self.line, column: words.column(word) });
        self.line_end(words)
    }

    fn ethertype_directive(
        &mut self,
        keyword: Word<'_>,
        words: &mut Words<'_>,
    ) -> Result<(), LineRejected> {
        let first = self.ethertype_line.as_ref().map(|seen| seen.line);
        self.once(first, words, keyword)?;
        let word = words.next();
        self.hosts.ethertype = self.check(words, word, fields::ethertype(word.text))?;
        self.ethertype_line = Some(Directive { line: self.line, column: words.column(word) });
        self.line_end(words)
    }

    fn once(
        &mut self,
        first: Option<u32>,
        words: &Words<'_>,
        keyword: Word<'_>,
    ) -> Result<(), LineRejected> {
        let once = first.map_or(Ok(()), |first| Err(HostsErrorKind::DirectiveAgain { first }));
        self.check(words, keyword, once)
    }

    fn line_end(&mut self, words: &mut Words<'_>) -> Result<(), LineRejected> {
        let word = words.next();
        self.check(words, word, if word.is_end() { Ok(()) } else { Err(HostsErrorKind::LineEnd) })
    }

    fn node_line(&mut self, first: Word<'_>, words: &mut Words<'_>) -> Result<(), LineRejected> {
        let hops = self.hosts.hops.len();
        let entry = self.entry(first, words)?;
        let read = self.hops(words).and_then(|()| self.labels(entry, words));
        if entry.is_none() {
            // Hops of no entry would become those of the entry before.
            self.hosts.hops.truncate(hops);
            self.columns.truncate(hops);
        }
        read
    }

    /// The new entry of the node a line begins with; none if the number is wrong, but the rest of
    /// the line is worth reading.
    fn entry(&mut self, first: Word<'_>, words: &Words<'_>) -> Result<Option<usize>, LineRejected> {
        let Ok(node) = fields::node(first.text) else {
            self.lost = true;
            let number = first.text.starts_with(|c: char| c.is_ascii_digit());
            let kind = if number { HostsErrorKind::NodeNumber } else { HostsErrorKind::LineStart };
            let stop = self.wrong(words, first, kind);
            return if number { Ok(None) } else { Err(stop) };
        };
        if let Some(entry) = self.hosts.entry_index(node) {
            let first_line = self.hosts.stored_entries[entry].line;
            return Err(self.wrong(words, first, HostsErrorKind::NodeAgain { first: first_line }));
        }
        Ok(Some(self.hosts.add_entry(node, self.line)))
    }

    /// `hop {, hop}` (SPEC PRP-HOSTS-3)
    fn hops(&mut self, words: &mut Words<'_>) -> Result<(), LineRejected> {
        let first = self.hosts.hops.len();
        loop {
            let (hop, word) = self.hop(words)?;
            let listed = &self.hosts.hops[first..];
            let place = if listed.iter().any(|other| other.target == hop.target) {
                Err(HostsErrorKind::HopAgain)
            } else if listed.len() == MAX_HOPS {
                Err(HostsErrorKind::TooManyHops)
            } else {
                Ok(())
            };
            self.check(words, word, place)?;
            self.hosts.hops.push(hop);
            self.columns.push(words.column(word));
            if words.peek().text != "," {
                return Ok(());
            }
            words.next();
        }
    }

    /// `via NODE [metric N]`, `ADDRESS DEVICE [vlan=N] [priority=N] [metric N]`, `UDP-ADDRESS
    /// [metric N]` or `unix:FOLDER [metric N]`, and the word that is node or address.
    fn hop<'a>(&mut self, words: &mut Words<'a>) -> Result<(StoredHop, Word<'a>), LineRejected> {
        let mut word = words.next();
        let target = if word.text == "via" {
            word = words.next();
            StoredTarget::Via(self.check(words, word, fields::node(word.text))?)
        } else if fields::is_udp(word.text) {
            let addr = self.check(words, word, fields::udp(word.text))?;
            let peer = self.udp_peer(addr.ip());
            StoredTarget::Udp { peer: self.check(words, word, peer)?, port: addr.port() }
        } else if fields::is_unix(word.text) {
            let folder = fields::unix(word.text).and_then(|folder| self.unix_folder(folder));
            self.check(words, word, folder)?;
            StoredTarget::Unix
        } else {
            let mac = self.check(words, word, fields::mac(word.text))?;
            let name = words.next();
            let device = self.check(words, name, fields::device(name.text))?;
            let (tag, last) = self.tag(words)?;
            let device = self.device(device, tag);
            StoredTarget::Direct { mac, device: self.check(words, last.unwrap_or(name), device)? }
        };
        let mut metric = 0;
        if words.peek().text == "metric" {
            words.next();
            let number = words.next();
            metric = self.check(words, number, fields::metric(number.text))?;
        }
        Ok((StoredHop { target, metric }, word))
    }

    /// `[vlan=N] [priority=N]` in any order, and the last word of it (SPEC PRP-HOSTS-17).
    fn tag<'a>(&mut self, words: &mut Words<'a>) -> Result<(Tag, Option<Word<'a>>), LineRejected> {
        let (mut fields, mut last) = (TagFields::default(), None);
        while let Some(read) = fields.read(words.peek().text) {
            let word = words.next();
            last = Some(word);
            self.check(words, word, read)?;
        }
        Ok((fields.tag(), last))
    }

    /// The number of `device` with the VLAN of `tag`, which is new or known; with one priority.
    fn device(&mut self, device: &str, tag: Tag) -> Result<u32, HostsErrorKind> {
        let hash = |name: &str| FixedState::default().hash_one(name);
        let Hosts { devices, tags, .. } = &mut self.hosts;
        let name = segment_name(device, tag);
        if let Some(&known) = self.devices.find(hash(&name), |&i| devices[i as usize] == *name) {
            let first = self.device_lines[known as usize];
            let is_same = tags[known as usize] == tag;
            return is_same.then_some(known).ok_or(HostsErrorKind::PriorityOther { first });
        }
        let number = devices.len() as u32;
        devices.push(String::from(&*name));
        tags.push(tag);
        self.device_lines.push(self.line);
        self.devices.insert_unique(hash(&name), number, |&i| hash(&devices[i as usize]));
        Ok(number)
    }

    /// The number of an IP address, which is new or known.
    fn udp_peer(&mut self, ip: IpAddr) -> Result<UdpPeer, HostsErrorKind> {
        let hash = |ip: IpAddr| FixedState::default().hash_one(ip);
        let peers = &mut self.hosts.udp_peers;
        if let Some(&known) = self.udp_peers.find(hash(ip), |&i| peers[usize::from(i)] == ip) {
            return Ok(UdpPeer(known));
        }
        if peers.len() >= usize::from(u16::MAX) {
            return Err(HostsErrorKind::TooManyUdp);
        }
        let number = peers.len() as u16;
        peers.push(ip);
        self.udp_peers.insert_unique(hash(ip), number, |&i| hash(peers[usize::from(i)]));
        Ok(UdpPeer(number))
    }

    /// Notes the folder of Unix sockets, which all lines have in common.
    fn unix_folder(&mut self, folder: &str) -> Result<(), HostsErrorKind> {
        let known = &mut self.hosts.unix_folder;
        if known.is_empty() {
            known.push_str(folder);
            self.unix_line = self.line;
        }
        if known == folder {
            Ok(())
        } else {
            Err(HostsErrorKind::UnixOther { first: self.unix_line })
        }
    }

    /// `{NAME | OPTION}` to the end of the line; a wrong one does not hide the next.
    fn labels(&mut self, entry: Option<usize>, words: &mut Words<'_>) -> Result<(), LineRejected> {
        let (mut mtu, mut keys) = (None, Vec::new());
        loop {
            let word = words.next();
            if word.is_end() {
                break;
            }
            let read = match word.text.split_once('=') {
                Some(("mtu", value)) => fields::once(&mut mtu, fields::mtu(value)),
                Some(("key", value)) => self.key(value, keys.len()).map(|key| keys.push(key)),
                Some(_) if TagFields::has(word.text) => Err(HostsErrorKind::LateTag),
                Some(_) => Err(HostsErrorKind::OptionName),
                None => fields::name(word.text).and_then(|name| self.name(entry, name)),
            };
            if let Err(kind) = read {
                // Names that follow a hop without a comma, or a late metric, are none.
                let misplaced =
                    matches!(kind, HostsErrorKind::MissingComma | HostsErrorKind::LateMetric);
                let stop = self.wrong(words, word, kind);
                if misplaced {
                    return Err(stop);
                }
            }
        }
        if let Some(entry) = entry {
            self.hosts.stored_entries[entry].mtu = mtu;
            self.hosts.keys.extend(keys.into_iter().map(|key| (entry as u32, key)));
        }
        Ok(())
    }

    /// The key of a node whose line has `known` of them already.
    fn key(&mut self, word: &str, known: usize) -> Result<NodeKey, HostsErrorKind> {
        let key = fields::node_key(word)?;
        if known == MAX_NODE_KEYS {
            return Err(HostsErrorKind::TooManyKeys);
        }
        if let Some(&first) = self.key_lines.get(&key) {
            return Err(HostsErrorKind::KeyAgain { first });
        }
        self.key_lines.insert(key, self.line);
        Ok(key)
    }

    fn name(&mut self, entry: Option<usize>, name: &str) -> Result<(), HostsErrorKind> {
        let Some(entry) = entry else { return Ok(()) };
        let stored_entries = &self.hosts.stored_entries;
        let taken = |owner: usize| HostsErrorKind::NameAgain { first: stored_entries[owner].line };
        self.hosts.names.add(name, entry).map_err(taken)
    }

    /// The value of a field; if it is wrong, gives up the line and notes the place of `word`.
    fn check<T>(
        &mut self,
        words: &Words<'_>,
        word: Word<'_>,
        value: Result<T, HostsErrorKind>,
    ) -> Result<T, LineRejected> {
        value.map_err(|kind| self.wrong(words, word, kind))
    }

    fn wrong(&mut self, words: &Words<'_>, word: Word<'_>, kind: HostsErrorKind) -> LineRejected {
        let (line, found) = (self.line, FoundText::Word(word.text));
        self.errors.add(|| HostsError::new(line, words.column(word), kind, found));
        LineRejected
    }

    fn not_utf8(&mut self, line: &[u8], valid: usize) {
        let number = self.line;
        self.errors.add(|| {
            let (before, after) = line.split_at(valid);
            let before = core::str::from_utf8(before).unwrap_or_default();
            HostsError::new(
                number,
                column(before),
                HostsErrorKind::NotUtf8,
                FoundText::Bytes(after),
            )
        });
    }

    fn finish(mut self) -> Result<Hosts, HostsErrors> {
        let mut late = HostsErrors::default();
        self.references(&mut late);
        self.overlaps(&mut late);
        self.errors.merge(late);
        let mut loops = HostsErrors::default();
        self.loops(&mut loops);
        self.errors.merge(loops);
        if self.errors.total() > 0 {
            return Err(self.errors);
        }
        self.hosts.shrink();
        Ok(self.hosts)
    }

    /// Nodes named by `self` and `via` that have no line, or are the line's own (SPEC PRP-HOSTS-6
    /// and PRP-HOSTS-9).
    fn references(&self, errors: &mut HostsErrors) {
        let hosts = &self.hosts;
        let missing = |node| !self.lost && hosts.entry_index(node).is_none();
        let mut note = |line, column, kind, node: NodeId| {
            errors.add(|| HostsError::new(line, column, kind, FoundText::Node(node)));
        };
        let directive = self.self_line.as_ref().zip(hosts.self_node);
        if let Some((at, node)) = directive.filter(|(_, node)| missing(*node)) {
            note(at.line, at.column, HostsErrorKind::NodeUnknown, node);
        }
        for (index, entry) in hosts.stored_entries.iter().enumerate() {
            for (hop, column) in hosts.stored_hops(index).iter().zip(self.columns_of(index)) {
                match hop.target {
                    StoredTarget::Via(node) if node == entry.node => {
                        note(entry.line, *column, HostsErrorKind::ViaItself, node);
                    }
                    StoredTarget::Via(node) if missing(node) => {
                        note(entry.line, *column, HostsErrorKind::NodeUnknown, node);
                    }
                    _ => {}
                }
            }
        }
    }

    /// UDP ports of one IP address that two nodes have both, though their own ports differ (SPEC
    /// PRP-HOSTS-16).
    fn overlaps(&self, errors: &mut HostsErrors) {
        let hosts = &self.hosts;
        let mut ports = Vec::new();
        for (index, entry) in hosts.stored_entries.iter().enumerate() {
            for (hop, column) in hosts.stored_hops(index).iter().zip(self.columns_of(index)) {
                if let StoredTarget::Udp { peer, port } = hop.target {
                    ports.push((peer, port, entry.line, *column));
                }
            }
        }
        ports.sort_unstable();
        for pair in ports.windows(2) {
            let [(peer, port, line, column), (next_peer, next, next_line, next_column)] = *pair
            else {
                continue;
            };
            if peer == next_peer && (1..UDP_PORTS).contains(&(next - port)) {
                // Of two places the later one is told of; a node may have both on its line.
                let is_later = (line, column) < (next_line, next_column);
                let (first, line, column, found) = if is_later {
                    (line, next_line, next_column, next)
                } else {
                    (next_line, line, column, port)
                };
                let kind = HostsErrorKind::UdpOverlap { first };
                errors.add(|| HostsError::new(line, column, kind, FoundText::UdpPort(found)));
            }
        }
    }

    /// Routes that never end at a hardware address (SPEC PRP-HOSTS-6).
    fn loops(&self, errors: &mut HostsErrors) {
        let hosts = &self.hosts;
        walk(hosts, |visit| {
            let Visit::Loop(path, back_to) = visit else { return };
            errors.add(|| {
                let from = path.iter().position(|step| step.entry == back_to).unwrap_or(0);
                self.describe_loop(&path[from..])
            });
        });
    }

    /// Describes a loop from the line that comes first in the file.
    fn describe_loop(&self, steps: &[Step]) -> HostsError {
        let stored_entries = &self.hosts.stored_entries;
        let first = steps.iter().enumerate().min_by_key(|(_, step)| step.entry);
        let (start, entry, hop) = first.map_or((0, 0, 0), |(i, step)| (i, step.entry, step.hop()));
        let (before, after) = steps.split_at(start);
        let nodes: Vec<_> =
            after.iter().chain(before).map(|step| stored_entries[step.entry].node).collect();
        let column = self.columns_of(entry).get(hop).copied().unwrap_or(1);
        HostsError::new(
            stored_entries[entry].line,
            column,
            HostsErrorKind::ViaLoop,
            FoundText::Chain(&nodes),
        )
    }

    fn columns_of(&self, entry: usize) -> &[u32] {
        self.columns.get(self.hosts.stored_entries[entry].hops as usize..).unwrap_or_default()
    }
}
