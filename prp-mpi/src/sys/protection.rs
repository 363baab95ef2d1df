//! Pages of the application that it may not touch yet: their bytes are still in transit.
//!
//! The pages of a receive that was released early have no access (`mprotect`). Bytes get there
//! through `/proc/self/mem`, which the protection does not hold back, so other threads never see a
//! page that is not whole. A touch raises SIGSEGV; the handler runs in the thread that touched, and
//! calls [`Hooks::touched`], which returns when the page is open.

mod fault;

use std::fs::{File, OpenOptions};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Receives that may be released at the same time. Each costs up to two of the mappings that
/// `vm.max_map_count` allows, of which there are 65,530 as a rule.
const SLOTS: usize = 128;

/// Closed pages: addresses from `start` up to `end`; none if `end` is 0. The fault handler reads
/// them without a lock.
struct Slot {
    start: AtomicUsize,
    end: AtomicUsize,
}

static TABLE: [Slot; SLOTS] =
    [const { Slot { start: AtomicUsize::new(0), end: AtomicUsize::new(0) } }; SLOTS];

/// How many receives have closed pages.
pub type ClosedCount = AtomicUsize;

/// Slots in use.
static USED: ClosedCount = AtomicUsize::new(0);

/// How often pages were opened: by this the fault handler knows a fault that is out of date.
static OPENED: AtomicUsize = AtomicUsize::new(0);

static MEMORY: OnceLock<Memory> = OnceLock::new();

/// What is needed once protection is on.
struct Memory {
    file: File,
    page: usize,
    hooks: Hooks,
}

/// What a touch and a fork call.
#[derive(Copy, Clone, Debug)]
pub struct Hooks {
    /// Returns when the page of this address is open.
    pub touched: fn(usize),
    /// Returns when no page is closed.
    pub about_to_fork: fn(),
    /// Whether pages with these addresses may be closed: no stack is among them.
    pub may_close: fn(&Range<usize>) -> bool,
}

/// Makes protection possible in this process.
///
/// # Errors
/// If the kernel does not let this process write through protection, or no handler can be
/// installed. Says which.
pub fn enable(hooks: Hooks) -> Result<(), String> {
    if MEMORY.get().is_some() {
        return Ok(());
    }
    let file = OpenOptions::new().read(true).write(true).open("/proc/self/mem");
    let file = file.map_err(|e| format!("/proc/self/mem: {e}"))?;
    // SAFETY: asks for a number.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
    let _ = MEMORY.set(Memory { file, page, hooks });
    fault::install().map_err(|e| format!("sigaction: {e}"))?;
    // SAFETY: both are functions of this library, which stays loaded as long as it has handlers.
    unsafe { libc::pthread_atfork(Some(before_fork), None, Some(after_fork)) };
    Ok(())
}

extern "C" fn before_fork() {
    if let Some(memory) = MEMORY.get().filter(|_| !is_idle()) {
        (memory.hooks.about_to_fork)();
    }
}

/// The child has no peers that could fill what another thread of the parent has closed since.
extern "C" fn after_fork() {
    open_all();
}

/// Whether no page is closed.
pub fn is_idle() -> bool {
    USED.load(Ordering::Acquire) == 0
}

/// The counter of receives with closed pages.
pub const fn closed_count() -> &'static ClosedCount {
    &USED
}

/// How often pages were opened so far.
pub fn times_opened() -> u64 {
    OPENED.load(Ordering::Relaxed) as u64
}

/// Bytes of a page, once protection is on.
pub fn page() -> Option<usize> {
    MEMORY.get().map(|m| m.page)
}

/// Whether a page with some of these addresses is closed.
pub fn overlaps(addresses: &Range<usize>) -> bool {
    !is_idle()
        && TABLE.iter().any(|slot| {
            let end = slot.end.load(Ordering::Acquire);
            end > addresses.start && slot.start.load(Ordering::Acquire) < addresses.end
        })
}

/// Opens all pages at once, whole or not: the process ends, or is a child that has no peers.
pub fn open_all() {
    for slot in &TABLE {
        let end = slot.end.swap(0, Ordering::AcqRel);
        if end > 0 {
            set_access(slot.start.load(Ordering::Acquire)..end, true);
        }
    }
}

fn set_access(addresses: Range<usize>, is_open: bool) -> bool {
    let access = if is_open { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_NONE };
    let at = std::ptr::with_exposed_provenance_mut(addresses.start);
    let at: *mut libc::c_void = at;
    // By number: the function of the C library completes what is received into the pages first,
    // where that is preloaded.
    // SAFETY: the pages are wholly inside a buffer that the application has lent to be received
    // into; nothing of this library lies in them.
    unsafe { libc::syscall(libc::SYS_mprotect, at, addresses.len(), access) == 0 }
}

/// Closed pages of one receive. They are filled in the order of their addresses.
#[derive(Debug)]
pub struct Closed {
    slot: usize,
    /// All bytes below are there, or will never come.
    filled: AtomicUsize,
}

impl Closed {
    /// Closes the pages that have some of these addresses, as far as they are wholly inside
    /// `buffer`. `None` if that is not possible: no page, a stack, too many closed already, no
    /// mapping left, memory that is shared or not of plain pages.
    pub fn new(buffer: Range<usize>, addresses: Range<usize>) -> Option<Self> {
        let memory = MEMORY.get()?;
        let first = addresses.start / memory.page * memory.page;
        let last = addresses.end.next_multiple_of(memory.page);
        let pages = first.max(buffer.start.next_multiple_of(memory.page))
            ..last.min(buffer.end / memory.page * memory.page);
        if pages.is_empty() || !(memory.hooks.may_close)(&pages) || fault::install().is_err() {
            return None;
        }
        let slot = TABLE.iter().position(|slot| slot.end.load(Ordering::Acquire) == 0)?;
        let probe = std::ptr::with_exposed_provenance::<u8>(pages.start);
        // SAFETY: the byte is the application's, in a buffer that it has lent.
        let byte = unsafe { probe.read_volatile() };
        TABLE[slot].start.store(pages.start, Ordering::Release);
        TABLE[slot].end.store(pages.end, Ordering::Release);
        USED.fetch_add(1, Ordering::AcqRel);
        let closed = Self { slot, filled: AtomicUsize::new(addresses.start) };
        let is_closed = set_access(pages.clone(), false);
        // Memory that others share cannot be written to through protection.
        let is_writable = is_closed && memory.file.write_at(&[byte], pages.start as u64).is_ok();
        is_writable.then_some(closed)
    }

    /// Puts bytes at an address, closed or not, and opens the pages that are whole then.
    pub fn write(&self, at: usize, bytes: &[u8]) {
        let Some(memory) = MEMORY.get() else { return };
        if memory.file.write_all_at(bytes, at as u64).is_err() {
            // Another mapping has taken the place of the pages: the bytes have nowhere to go.
            return;
        }
        if self.filled.load(Ordering::Relaxed) == at {
            self.filled.store(at + bytes.len(), Ordering::Relaxed);
            self.open_below((at + bytes.len()) / memory.page * memory.page);
        }
    }

    fn open_below(&self, address: usize) {
        let slot = &TABLE[self.slot];
        let (start, end) = (slot.start.load(Ordering::Acquire), slot.end.load(Ordering::Acquire));
        let below = address.min(end);
        // With no mapping left the pages stay closed until the message is whole.
        if below > start && set_access(start..below, true) {
            slot.start.store(below, Ordering::Release);
            OPENED.fetch_add(1, Ordering::Release);
        }
    }
}

impl Drop for Closed {
    fn drop(&mut self) {
        let slot = &TABLE[self.slot];
        let end = slot.end.load(Ordering::Acquire);
        let start = slot.start.load(Ordering::Acquire);
        if end > start {
            // Pages that the application has unmapped need no access.
            set_access(start..end, true);
        }
        OPENED.fetch_add(1, Ordering::Release);
        slot.end.store(0, Ordering::Release);
        USED.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests;
