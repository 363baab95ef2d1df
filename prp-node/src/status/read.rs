//! Finds the status pages of a machine's processes, asks for news, and reads them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use prp_proto::addr::NodeId;

use super::{HEAD, NAME, Record, RecordText, VERSION};
use crate::process::program_in;

/// The longest page that is read: 50,000 connections take 16 MiB.
const MAX_LEN: u64 = 64 << 20;

/// How often to check whether a process has written its page: it takes some 100 us.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// What a process says of itself.
#[derive(Clone, Debug)]
pub struct Page {
    /// Its number.
    pub pid: u32,
    /// The name of its program, printable.
    pub program: String,
    /// Its node.
    pub node: u16,
    /// It has not answered in time: what it says is from an earlier request, or nothing.
    pub is_stale: bool,
    /// What it says.
    pub records: Vec<Record>,
}

impl Page {
    /// What this process says of itself, as far as it is `node`, by `records`.
    pub fn of_this_process(node: NodeId, records: &RecordText) -> Self {
        let pid = std::process::id();
        let (program, node) = (program_in(Path::new("/proc/self")), node.number());
        Self { pid, program, node, is_stale: false, records: records.parse() }
    }
}

/// A page that was found.
#[derive(Debug)]
struct OfferedPage {
    pid: u32,
    program: String,
    node: u16,
    file: File,
    /// Its sequence number before it was asked for.
    before: Option<u64>,
}

/// The pages of all processes that this one may read, in order of their numbers; and how many
/// processes the kernel keeps from it, which may have pages or not. Waits `patience` at most for
/// those that do not answer, say because they are stopped.
///
/// # Errors
/// There is no `/proc`.
pub fn pages(patience: Duration) -> io::Result<(Vec<Page>, usize)> {
    let (mut found, mut hidden) = (Vec::new(), 0);
    for entry in fs::read_dir("/proc")?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // Through a descriptor of the folder, all that is read is this process's, also where
        // another one has its number by now.
        let process = File::open(entry.path());
        let by_fd =
            |process: &File| PathBuf::from(format!("/proc/self/fd/{}", process.as_raw_fd()));
        match process.and_then(|process| find(pid, &by_fd(&process))) {
            Ok(pages) => found.extend(pages),
            Err(e) if e.kind() == io::ErrorKind::PermissionDenied => hidden += 1,
            // It has ended meanwhile.
            Err(_) => {}
        }
    }
    let until = Instant::now() + patience;
    let mut pages: Vec<_> = found.into_iter().map(|found| found.read(until)).collect();
    pages.sort_by_key(|page| (page.pid, page.node));
    Ok((pages, hidden))
}

/// The pages of the process with this number and this folder, which is asked to write them.
fn find(pid: u32, process: &Path) -> io::Result<Vec<OfferedPage>> {
    let (folder, infos) = (process.join("fd"), process.join("fdinfo"));
    let page = |fd: fs::DirEntry| {
        let target = fs::read_link(fd.path()).ok()?;
        let (node, requests) = names(target.to_str()?)?;
        if !is_owners(&infos.join(fd.file_name())) {
            return None;
        }
        let file = File::open(fd.path()).ok()?;
        let before = head(&file).map(|head| head.sequence);
        ask(&folder.join(requests));
        Some(OfferedPage { pid, program: program_in(process), node, file, before })
    };
    Ok(fs::read_dir(&folder)?.flatten().filter_map(page).collect())
}

/// The node of the page that a descriptor with this target is, and the descriptor for requests.
fn names(target: &str) -> Option<(u16, &str)> {
    let name = target.strip_prefix("/memfd:")?.strip_suffix(" (deleted)")?;
    let (node, requests) = name.strip_prefix(NAME)?.strip_prefix('.')?.split_once('.')?;
    Some((node.parse().ok()?, requests))
}

/// Whether the descriptor that `info` describes is the owner's of a page: it may be written to.
/// Those who read the pages of others have them open as well.
fn is_owners(info: &Path) -> bool {
    let text = fs::read_to_string(info).unwrap_or_default();
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| libc::c_int::from_str_radix(flags.trim(), 8).ok());
    flags.is_some_and(|flags| flags & libc::O_ACCMODE == libc::O_RDWR)
}

/// Asks by the pipe at `path`. A process that cannot be asked is found stale.
fn ask(path: &PathBuf) {
    let opened = OpenOptions::new().write(true).custom_flags(libc::O_NONBLOCK).open(path);
    if let Ok(mut pipe) = opened {
        let _ = pipe.write(&[1]);
    }
}

/// The first line of a page.
#[derive(Copy, Clone, Debug, Eq, PartialEq)]
pub(super) struct PageHeader {
    pub(super) sequence: u64,
    len: u64,
    crc: u32,
}

pub(super) fn head(file: &File) -> Option<PageHeader> {
    let mut bytes = [0; HEAD];
    file.read_exact_at(&mut bytes, 0).ok()?;
    let mut words = std::str::from_utf8(&bytes).ok()?.split_whitespace();
    let is_ours = words.next()? == NAME && words.next()?.parse() == Ok(VERSION);
    let mut number = || words.next()?.parse().ok();
    let (sequence, len, crc) = (number()?, number()?, number()?);
    (is_ours && len <= MAX_LEN).then_some(PageHeader {
        sequence,
        len,
        crc: u32::try_from(crc).ok()?,
    })
}

/// The records under `head`, if they are those.
pub(super) fn body(file: &File, head: PageHeader) -> Option<String> {
    let mut bytes = vec![0; head.len as usize];
    file.read_exact_at(&mut bytes, HEAD as u64).ok()?;
    (crc32fast::hash(&bytes) == head.crc).then(|| String::from_utf8(bytes).ok())?
}

impl OfferedPage {
    /// Reads it once it is new, or at `until` as it is.
    fn read(self, until: Instant) -> Page {
        let Self { pid, program, node, file, before } = self;
        loop {
            let is_late = Instant::now() >= until;
            let head = head(&file);
            let is_new = head.is_some_and(|head| Some(head.sequence) != before);
            let text = head.filter(|_| is_new || is_late).and_then(|head| body(&file, head));
            if is_late || text.is_some() {
                let records = Record::parse(&text.unwrap_or_default());
                return Page { pid, program, node, is_stale: !is_new, records };
            }
            thread::sleep(POLL_INTERVAL);
        }
    }
}
