//! Windows: making and freeing them, and what is known of them.

mod access;
mod dynamic;
mod epoch;

use std::ffi::{c_char, c_int};
use std::io::{self, ErrorKind};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use prp_mpi::datatype::Datatype;
use prp_mpi::sys::shared::{NamedMemory, SharedBlock};

pub(crate) use self::access::*;
pub(crate) use self::dynamic::*;
use self::epoch::complete_among_all;
pub(crate) use self::epoch::*;
use super::PROC_NULL;
use super::collective::{allgather_words, bcast_words, intra};
use super::environment::process;
use super::error::{Class, Failure, Outcome, current_call, handle_by};
use super::info::{alignment_of, info_of, merge};
use crate::object::{
    Comm, Extent, GROUPS, Handle, INFOS, Info, WINDOWS, Window, WindowMemory, WindowValues,
    forget_gone,
};
use crate::sys::pointer::{Address, Counts, Ptr, allocate, free};

/// How a window was made: `MPI_WIN_FLAVOR_*`.
const CREATE: c_int = 311;
const ALLOCATE: c_int = 312;
const DYNAMIC: c_int = 313;
const SHARED: c_int = 314;

/// `MPI_WIN_UNIFIED`: what is written to a window is there for all.
const UNIFIED: c_int = 321;

/// Predefined attributes.
const BASE: c_int = 601;
const DISP_UNIT: c_int = 602;
const SIZE: c_int = 603;
const CREATE_FLAVOR: c_int = 604;
const MODEL: c_int = 605;

impl Window {
    /// A failure of this window, whose error handler it goes to.
    fn failure(&self, handle: Handle, class: Class, text: impl Into<String>) -> Failure {
        self.own(handle, Failure::new(class, handle, text))
    }

    /// A failure as one of this window.
    fn own(&self, handle: Handle, failure: Failure) -> Failure {
        Failure { comm: handle, handler: Some(*self.errhandler.lock()), ..failure }
    }
}

/// The window of a handle.
pub(crate) fn window_of(handle: Handle) -> Result<Arc<Window>, Failure> {
    process()?;
    WINDOWS.at(handle).ok_or_else(|| Failure::new(Class::Win, Handle::SELF, "no such window"))
}

/// Where the memory of this rank is, or why there is none.
type Placed = io::Result<(usize, WindowMemory)>;

/// What is made of the memory of all ranks, once all have told how long theirs is.
type Place<'a> = dyn Fn(&Arc<Comm>, &[Extent]) -> Result<Placed, Failure> + 'a;

/// Makes a window; all ranks of the communicator do.
fn make(
    comm: Handle,
    (bytes, unit, alignment): (isize, i64, usize),
    info: Handle,
    flavor: c_int,
    place: &Place<'_>,
    win: Ptr<Handle>,
) -> Outcome {
    let parent = intra(comm)?;
    let failure = |class, text: String| Failure::new(class, comm, text);
    let size = usize::try_from(bytes)
        .map_err(|_| failure(Class::Size, format!("a window of {bytes} bytes")))?;
    let unit = c_int::try_from(unit).ok().filter(|unit| *unit > 0);
    let unit = unit.ok_or_else(|| failure(Class::Arg, "a unit that is not positive".to_owned()))?;
    let process = process()?;
    forget_gone(process);
    let context = bcast_words(&parent, comm, 0, &[process.fresh_context()])?[0];
    let own = Arc::new(Comm::new(context, parent.group.clone(), parent.rank, ""));
    for context in [own.messages(), own.collectives()] {
        process.name(context, &format!("window {:x}", own.context()));
    }
    let words = allgather_words(&own, comm, &[size as u64, unit as u64, alignment as u64])?;
    let (ranks, _) = words.as_chunks::<3>();
    let extents: Vec<Extent> = ranks
        .iter()
        .map(|rank| {
            let [bytes, unit, alignment] = rank.map(|word| word as usize);
            Extent { bytes, unit, alignment }
        })
        .collect();
    let placed = place(&own, &extents)?;
    // Nobody asks for anything before all are there, and if one has no memory none has a window.
    if let Ok((base, _)) = &placed {
        let memory = Address::from_number(*base).region(size, &Datatype::bytes());
        if flavor == DYNAMIC {
            process.exchange().open_dynamic_window(own.messages());
        } else {
            process.exchange().open_window(own.messages(), memory);
        }
        // Receives into it are not released any more, and those that were are whole before any rank
        // uses it.
        process.complete_released();
    }
    let all_have = allgather_words(&own, comm, &[placed.is_ok().into()])?;
    if all_have.contains(&0) {
        process.exchange().close_window(own.messages());
        let text = match placed {
            Ok((_, memory)) => {
                give_back(&memory);
                "another rank has no memory for its window".to_owned()
            }
            Err(e) => format!("no memory for a window of {size} bytes: {e}"),
        };
        return Err(failure(Class::NoMemory, text));
    }
    let (base, memory) = placed.map_err(|e| failure(Class::NoMemory, e.to_string()))?;
    // Where no thread can be had, others wait until this rank waits, too.
    let _ = process.serve_windows();
    let values = WindowValues { size: bytes, unit, flavor, model: UNIFIED };
    let window = Window {
        comm: own,
        base,
        memory,
        extents,
        values,
        errhandler: Handle::ERRORS_ARE_FATAL.into(),
        attributes: Default::default(),
        info: info_of(info).unwrap_or_default().into(),
        epochs: Default::default(),
    };
    win.put(WINDOWS.add(Arc::new(window)));
    Ok(())
}

/// Frees memory that nobody uses any more, if it is the library's. Memory that ranks share is
/// unmapped with the window.
fn give_back(memory: &WindowMemory) {
    if let WindowMemory::Allocated(address) = memory {
        free(Address::from_number(*address));
    }
}

pub(crate) fn win_create(
    base: Address,
    size: isize,
    unit: i64,
    info: Handle,
    comm: Handle,
    win: Ptr<Handle>,
) -> Outcome {
    if base.is_null() && size > 0 || base.is_in_place() {
        return Err(Failure::new(Class::Base, comm, "no memory for the window"));
    }
    let place = |_: &Arc<Comm>, _: &[Extent]| Ok(Ok((base.address(), WindowMemory::OfProgram)));
    make(comm, (size, unit, 1), info, CREATE, &place, win)
}

pub(crate) fn win_allocate(
    size: isize,
    unit: i64,
    info: Handle,
    comm: Handle,
    base: Address,
    win: Ptr<Handle>,
) -> Outcome {
    let place = |of: &Arc<Comm>, extents: &[Extent]| {
        let Extent { bytes, alignment, .. } = extents[of.rank];
        let block = allocate(bytes, alignment);
        if block.is_null() {
            return Ok(Err(ErrorKind::OutOfMemory.into()));
        }
        Ok(Ok((block.address(), WindowMemory::Allocated(block.address()))))
    };
    make(comm, (size, unit, alignment_of(info)), info, ALLOCATE, &place, win)?;
    base.cast::<usize>().put(window_of(win.get())?.base);
    Ok(())
}

/// Returns the bytes from the beginning of the first rank's memory to the end of the last one's, if
/// they fit in the addresses of a process.
fn together(extents: &[Extent]) -> Option<usize> {
    let end = extents.iter().try_fold(0_usize, |end, extent| {
        end.checked_next_multiple_of(extent.alignment)?.checked_add(extent.bytes)
    });
    end.filter(|end| isize::try_from(*end).is_ok())
}

/// Returns the bytes before the memory of a rank, where those of all fit.
fn before(extents: &[Extent], rank: usize) -> usize {
    together(&extents[..=rank]).map_or(0, |end| end - extents[rank].bytes)
}

/// Opens what the first rank has `made`, which it keeps until all have tried, and describes to the
/// others by a number that is not 0 and another one.
fn open_made<M>(
    of: &Arc<Comm>,
    handle: Handle,
    made: Option<io::Result<M>>,
    describe: impl Fn(&M) -> [u64; 2],
    open: impl Fn(u64, u64) -> io::Result<SharedBlock>,
) -> Result<Opened, Failure> {
    let made = made.transpose();
    let own = made.as_ref().map_or([0; 2], |made| made.as_ref().map_or([0; 2], &describe));
    let words = bcast_words(of, handle, 0, &own)?;
    let block = match &made {
        Err(e) => Err(io::Error::new(e.kind(), e.to_string())),
        Ok(_) if words[0] == 0 => Err(io::Error::other("the first rank has none")),
        Ok(_) => open(words[0], words[1]),
    };
    let is_hidden = block.as_ref().is_err_and(|e| {
        made.is_ok() && matches!(e.kind(), ErrorKind::PermissionDenied | ErrorKind::NotFound)
    });
    let hidden = allgather_words(of, handle, &[is_hidden.into()])?;
    Ok(Opened { block, is_hidden: hidden.contains(&1) })
}

/// What came of opening memory.
struct Opened {
    block: io::Result<SharedBlock>,
    /// A rank could not get at it.
    is_hidden: bool,
}

/// The first rank makes the memory, which the others open by its descriptor; by a name, where its
/// process hides its descriptors, as one with capabilities does.
fn share(of: &Arc<Comm>, handle: Handle, extents: &[Extent]) -> Result<Placed, Failure> {
    // All ranks see the same sizes, and so all of them end here if any does.
    let len = together(extents).ok_or_else(|| {
        let text = "the windows of all ranks have more bytes than fit in one piece";
        Failure::new(Class::Size, handle, text)
    })?;
    let is_first = of.rank == 0;
    let alignment = extents.iter().map(|extent| extent.alignment).max().unwrap_or(1);
    let describe =
        |memory: &OwnedFd| [std::process::id().into(), memory.as_raw_fd().cast_unsigned().into()];
    let open = |pid, number| SharedBlock::of_process(pid as u32, number as u32, len, alignment);
    let made = is_first.then(|| SharedBlock::memory(len));
    let mut opened = open_made(of, handle, made, describe, open)?;
    if opened.is_hidden {
        let made = is_first.then(|| NamedMemory::new(len));
        let describe = |memory: &NamedMemory| [memory.number(), 0];
        let open = |number, _| SharedBlock::of_number(number, len, alignment);
        opened = open_made(of, handle, made, describe, open)?;
    }
    let place = |block: SharedBlock| {
        (block.address() + before(extents, of.rank), WindowMemory::Shared(block))
    };
    Ok(opened.block.map(place))
}

/// Returns whether the memory of a rank need not begin where that of the one before ends.
fn may_have_gaps(info: Handle) -> bool {
    let info = info_of(info).unwrap_or_default();
    info.iter().any(|(key, value)| key == "alloc_shared_noncontig" && value == "true")
}

pub(crate) fn win_allocate_shared(
    size: isize,
    unit: i64,
    info: Handle,
    comm: Handle,
    base: Address,
    win: Ptr<Handle>,
) -> Outcome {
    let of = intra(comm)?;
    let nodes = process()?.nodes();
    // Ranks of other jobs are on no node that this one knows.
    let first = nodes.get(of.group[0]);
    if of.group.iter().any(|&rank| first.is_none() || nodes.get(rank) != first) {
        let text = "the ranks are on several nodes or of several jobs, which share no memory";
        return Err(Failure::new(Class::RmaShared, comm, text));
    }
    let place = |of: &Arc<Comm>, extents: &[Extent]| share(of, comm, extents);
    let alignment = if of.rank == 0 || may_have_gaps(info) { alignment_of(info) } else { 1 };
    make(comm, (size, unit, alignment), info, SHARED, &place, win)?;
    base.cast::<usize>().put(window_of(win.get())?.base);
    Ok(())
}

pub(crate) fn win_shared_query(
    win: Handle,
    rank: c_int,
    size: Ptr<isize>,
    unit: Counts,
    base: Address,
) -> Outcome {
    let window = window_of(win)?;
    if window.values.flavor == DYNAMIC {
        let text = "the memory of a window of MPI_Win_create_dynamic is not shared";
        return Err(window.failure(win, Class::RmaFlavor, text));
    }
    let extents = &window.extents;
    // Nobody stands for the first rank that has any memory.
    let rank = if rank == PROC_NULL {
        extents.iter().position(|extent| extent.bytes > 0).unwrap_or(0)
    } else {
        rank_of(&window, win, rank)?
    };
    let (bytes, address) = match &window.memory {
        WindowMemory::Shared(block) => {
            (extents[rank].bytes, block.address() + before(extents, rank))
        }
        _ if rank == window.comm.rank => (extents[rank].bytes, window.base),
        // What a rank cannot reach has no bytes for it.
        _ => (0, 0),
    };
    size.put(bytes as isize);
    unit.put(extents[rank].unit as i64);
    base.cast::<usize>().put(address);
    Ok(())
}

/// A rank that there is.
fn rank_of(window: &Window, win: Handle, rank: c_int) -> Result<usize, Failure> {
    let ranks = window.extents.len();
    let found = usize::try_from(rank).ok().filter(|&rank| rank < ranks);
    found.ok_or_else(|| {
        window.failure(win, Class::Rank, format!("rank {rank} is not in the window of {ranks}"))
    })
}

pub(crate) fn win_free(win: Ptr<Handle>) -> Outcome {
    let handle = win.get();
    let window = window_of(handle)?;
    let epochs = window.epochs.lock().clone();
    if !epochs.is_free() || epochs.posted.is_some() {
        return Err(window.failure(handle, Class::RmaSync, "the window is still in use"));
    }
    super::attribute::delete_all_of_window(handle)?;
    complete_among_all(&window, handle)?;
    process()?.exchange().close_window(window.context());
    WINDOWS.take(handle);
    give_back(&window.memory);
    win.put(Handle::WIN_NULL);
    Ok(())
}

pub(crate) fn win_get_group(win: Handle, group: Ptr<Handle>) -> Outcome {
    group.put(GROUPS.add(window_of(win)?.comm.group.clone()));
    Ok(())
}

pub(crate) fn win_set_name(win: Handle, name: Ptr<c_char>) -> Outcome {
    let window = window_of(win)?;
    let text = name.text();
    for context in [window.comm.messages(), window.comm.collectives()] {
        process()?.name(context, &text);
    }
    *window.comm.name.lock() = text;
    Ok(())
}

pub(crate) fn win_get_name(win: Handle, name: Ptr<c_char>, length: Ptr<c_int>) -> Outcome {
    if win == Handle::WIN_NULL {
        length.put(name.put_text("MPI_WIN_NULL", 128));
        return Ok(());
    }
    let window = window_of(win)?;
    length.put(name.put_text(&window.comm.name.lock(), 128));
    Ok(())
}

pub(crate) fn win_set_info(win: Handle, info: Handle) -> Outcome {
    merge(&mut window_of(win)?.info.lock(), info_of(info).unwrap_or_default());
    Ok(())
}

pub(crate) fn win_get_info(win: Handle, info: Ptr<Handle>) -> Outcome {
    let kept: Info = window_of(win)?.info.lock().clone();
    info.put(INFOS.add(kept));
    Ok(())
}

pub(crate) fn win_set_errhandler(win: Handle, handler: Handle) -> Outcome {
    let window = window_of(win)?;
    if handler == Handle::ERRHANDLER_NULL {
        return Err(window.failure(win, Class::Errhandler, "no error handler"));
    }
    *window.errhandler.lock() = handler;
    Ok(())
}

pub(crate) fn win_get_errhandler(win: Handle, handler: Ptr<Handle>) -> Outcome {
    handler.put(*window_of(win)?.errhandler.lock());
    Ok(())
}

pub(crate) fn win_call_errhandler(win: Handle, code: c_int) -> Outcome {
    let window = window_of(win)?;
    let failure = Failure::with_code(code, win, "called by the program");
    let handler = *window.errhandler.lock();
    handle_by(handler, current_call(), &failure);
    Ok(())
}

/// The value of a predefined attribute: the base itself, of others the address.
pub(crate) fn value_of_window(window: &Window, key: c_int) -> Option<usize> {
    let values = &window.values;
    let number: *const c_int = match key {
        BASE => return Some(window.base),
        SIZE => return Some((&raw const values.size) as usize),
        DISP_UNIT => &raw const values.unit,
        CREATE_FLAVOR => &raw const values.flavor,
        MODEL => &raw const values.model,
        _ => return None,
    };
    Some(number as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn together__more_than_a_process_has_addresses_is_none() {
        let extent = |&bytes: &usize| Extent { bytes, unit: 1, alignment: 1 };
        let of = |bytes: &[usize]| together(&bytes.iter().map(extent).collect::<Vec<_>>());
        assert_eq!(of(&[]), Some(0));
        assert_eq!(of(&[5, 0, 7]), Some(12));
        assert_eq!(of(&[1 << 62, (1 << 62) - 1]), Some(isize::MAX as usize));
        assert_eq!(of(&[1 << 62; 2]), None);
        assert_eq!(of(&[1 << 62; 4]), None, "the sum is 0 if it is not checked");
    }

    #[test]
    fn before__memory_begins_at_a_multiple_of_its_alignment() {
        let extent = |(bytes, alignment)| Extent { bytes, unit: 1, alignment };
        let all = [(5, 64), (7, 1), (9, 32), (0, 1 << 63)].map(extent);
        assert_eq!([0, 1, 2].map(|rank| before(&all, rank)), [0, 5, 32]);
        assert_eq!(together(&all[..3]), Some(41));
        assert_eq!(together(&all), None);
    }
}
