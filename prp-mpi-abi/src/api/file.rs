//! Files: opening and closing them, and what is known of them.

mod access;
mod alone;
mod calls;
mod collective;
mod failure;
mod mode;
mod pointer;
mod representation;
mod shared;
mod together;
mod view;

use std::ffi::{c_char, c_int};
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use prp_node::limits::without_size_signal;

pub(crate) use self::access::*;
pub(crate) use self::calls::*;
pub(crate) use self::collective::*;
pub(crate) use self::failure::*;
use self::mode::Mode;
pub(crate) use self::pointer::*;
pub(crate) use self::representation::register_datarep;
pub(crate) use self::view::*;
use super::collective::{allgather_words, bcast_words, intra, plan_of_barrier};
use super::environment::process;
use super::error::{Class, Failure, Outcome};
use super::info::{info_of, merge};
use crate::object::{Comm, FILES, GROUPS, Handle, INFOS, Info, OpenFile, View, forget_gone};
use crate::sys::files;
use crate::sys::pointer::Ptr;

/// The file of a handle.
pub(crate) fn file_of(handle: Handle) -> Result<Arc<OpenFile>, Failure> {
    process()?;
    FILES.at(handle).ok_or_else(|| failure_of_none(Class::File, "no such file"))
}

impl OpenFile {
    pub(super) fn is_first(&self) -> bool {
        self.comm.rank == 0
    }

    /// What all ranks pass must be the same.
    pub(super) fn check_same(&self, handle: Handle, words: &[u64], what: &str) -> Outcome {
        let all = allgather_words(&self.comm, handle, words);
        let all = all.map_err(|failure| self.own(handle, failure))?;
        if all.chunks_exact(words.len()).any(|rank| rank != words) {
            let text = format!("{what} differs from that of another rank");
            return Err(self.failure(handle, Class::NotSame, text));
        }
        Ok(())
    }

    /// The first rank does something to the file; all ranks are told what came of it.
    pub(super) fn at_first(
        &self,
        handle: Handle,
        does: impl FnOnce() -> io::Result<()>,
    ) -> Outcome {
        let outcome = if self.is_first() { without_size_signal(does) } else { Ok(()) };
        let own = outcome.map_err(|error| self.io_failure(handle, &error));
        agree(&self.comm, handle, own).map_err(|failure| self.own(handle, failure))
    }

    /// No rank goes on before all have come.
    pub(super) fn barrier(&self, handle: Handle) -> Outcome {
        let waited = plan_of_barrier(self.comm.clone(), handle).run();
        waited.map_err(|failure| self.own(handle, failure))
    }
}

/// All ranks fail if one does: those that do not get the error of the first that does.
fn agree<T>(comm: &Comm, handle: Handle, own: Result<T, Failure>) -> Result<T, Failure> {
    let code = own.as_ref().map_or_else(|failure| failure.code, |_| 0);
    let codes = allgather_words(comm, handle, &[code.cast_unsigned().into()])?;
    let done = own?;
    match codes.iter().position(|code| *code != 0) {
        None => Ok(done),
        Some(rank) => {
            let text = format!("rank {rank} of the file has failed");
            Err(Failure::with_code(codes[rank] as c_int, handle, text))
        }
    }
}

pub(crate) fn file_open(
    comm: Handle,
    name: Ptr<c_char>,
    amode: c_int,
    info: Handle,
    fh: Ptr<Handle>,
) -> Outcome {
    fh.put(Handle::FILE_NULL);
    let opened = open(comm, &name.path(), amode, info_of(info).unwrap_or_default());
    fh.put(opened.map_err(of_none)?);
    Ok(())
}

/// Opens a file; all ranks of the communicator do. The first rank makes it, if it is to be made.
fn open(comm: Handle, path: &Path, amode: c_int, info: Info) -> Result<Handle, Failure> {
    let parent = intra(comm)?;
    let process = process()?;
    forget_gone(process);
    let context = bcast_words(&parent, comm, 0, &[process.fresh_context()])?[0];
    let own = Arc::new(Comm::new(context, parent.group.clone(), parent.rank, ""));
    for context in [own.messages(), own.collectives()] {
        process.name(context, &format!("file {}", path.display()));
    }
    let modes = allgather_words(&own, comm, &[amode.cast_unsigned().into()])?;
    if modes.iter().any(|mode| *mode != modes[0]) {
        return Err(failure_of_none(Class::NotSame, "the ranks open the file in different modes"));
    }
    let mode = Mode::parse(amode).map_err(|text| failure_of_none(Class::Amode, text))?;
    let failure = |e: io::Error| failure_of_none(class_of(&e), format!("{}: {e}", path.display()));
    let is_first = own.rank == 0;
    let first =
        if is_first { mode.create(path, &info).map(Some).map_err(failure) } else { Ok(None) };
    let first = agree(&own, comm, first)?;
    let opened = first.map_or_else(|| mode.open(path).map_err(failure), Ok);
    let opened = opened.and_then(|file| {
        let end = if mode.appends() { file.metadata().map_err(failure)?.len() } else { 0 };
        Ok((file, end))
    });
    let (file, start) = agree(&own, comm, opened).inspect_err(|_| {
        // Nobody has it but for this job, which fails to open it.
        if is_first && mode.is_new() {
            let _ = fs::remove_file(path);
        }
    })?;
    let opened = OpenFile {
        comm: own,
        path: path.to_owned(),
        file,
        mode: amode,
        errhandler: first_handler().into(),
        info: info.into(),
        view: Arc::new(View::bytes(Handle::BYTE)).into(),
        position: start.into(),
        is_atomic: false.into(),
        locking: ().into(),
        split: None.into(),
    };
    shared::open(&opened, start)?;
    // Nobody asks the first rank for the shared pointer before it is there.
    plan_of_barrier(opened.comm.clone(), comm).run()?;
    Ok(FILES.add(Arc::new(opened)))
}

pub(crate) fn file_close(fh: Ptr<Handle>) -> Outcome {
    let handle = fh.get();
    let file = file_of(handle)?;
    check_no_split(&file, handle)?;
    file.barrier(handle)?;
    shared::close(&file)?;
    FILES.take(handle);
    fh.put(Handle::FILE_NULL);
    let (comm, path) = (file.comm.clone(), file.path.clone());
    let is_deleted = Mode::of(&file).is_deleted_on_close();
    let failure = |e: io::Error| failure_of_none(class_of(&e), format!("{}: {e}", path.display()));
    // Another thread that still has it closes it where it is done.
    let closed = Arc::into_inner(file).map_or(Ok(()), |file| files::close(file.file));
    let mut outcome = agree(&comm, handle, closed.map_err(failure));
    if is_deleted {
        let removed = if comm.rank == 0 { fs::remove_file(&path) } else { Ok(()) };
        let removed = agree(&comm, handle, removed.map_err(failure));
        outcome = outcome.and(removed);
    }
    outcome.map_err(of_none)
}

pub(crate) fn file_delete(name: Ptr<c_char>, _info: Handle) -> Outcome {
    let path = name.path();
    fs::remove_file(&path)
        .map_err(|e| failure_of_none(class_of(&e), format!("{}: {e}", path.display())))
}

pub(crate) fn file_set_size(fh: Handle, size: i64) -> Outcome {
    let file = file_of(fh)?;
    let len = size_of(&file, fh, size)?;
    file.at_first(fh, || file.file.set_len(len))
}

pub(crate) fn file_preallocate(fh: Handle, size: i64) -> Outcome {
    let file = file_of(fh)?;
    size_of(&file, fh, size)?;
    file.at_first(fh, || if size == 0 { Ok(()) } else { files::preallocate(&file.file, size) })
}

/// A size that all ranks pass, of a file that they may write.
fn size_of(file: &OpenFile, fh: Handle, size: i64) -> Result<u64, Failure> {
    file.check_same(fh, &[size.cast_unsigned()], "the size")?;
    check_can(file, fh, true)?;
    u64::try_from(size)
        .map_err(|_| file.failure(fh, Class::Arg, format!("size {size} is negative")))
}

pub(crate) fn file_get_size(fh: Handle, size: Ptr<i64>) -> Outcome {
    let file = file_of(fh)?;
    size.put(file.len(fh)?.cast_signed());
    Ok(())
}

impl OpenFile {
    /// Bytes of the file.
    pub(super) fn len(&self, handle: Handle) -> Result<u64, Failure> {
        self.file.metadata().map(|known| known.len()).map_err(|e| self.io_failure(handle, &e))
    }
}

pub(crate) fn file_get_amode(fh: Handle, amode: Ptr<c_int>) -> Outcome {
    amode.put(file_of(fh)?.mode);
    Ok(())
}

pub(crate) fn file_get_group(fh: Handle, group: Ptr<Handle>) -> Outcome {
    group.put(GROUPS.add(file_of(fh)?.comm.group.clone()));
    Ok(())
}

pub(crate) fn file_set_info(fh: Handle, info: Handle) -> Outcome {
    let file = file_of(fh)?;
    file.take_hints(info);
    file.barrier(fh)
}

impl OpenFile {
    /// Keeps hints, in place of those with the same keys.
    pub(super) fn take_hints(&self, info: Handle) {
        merge(&mut self.info.lock(), info_of(info).unwrap_or_default());
    }
}

pub(crate) fn file_get_info(fh: Handle, info: Ptr<Handle>) -> Outcome {
    let kept = file_of(fh)?.info.lock().clone();
    info.put(INFOS.add(kept));
    Ok(())
}

pub(crate) fn file_set_atomicity(fh: Handle, flag: c_int) -> Outcome {
    let file = file_of(fh)?;
    file.check_same(fh, &[(flag != 0).into()], "atomicity")?;
    file.is_atomic.store(flag != 0, Ordering::Relaxed);
    Ok(())
}

pub(crate) fn file_get_atomicity(fh: Handle, flag: Ptr<c_int>) -> Outcome {
    flag.put(file_of(fh)?.is_atomic.load(Ordering::Relaxed).into());
    Ok(())
}

pub(crate) fn file_sync(fh: Handle) -> Outcome {
    let file = file_of(fh)?;
    let synced = file.file.sync_all().map_err(|error| file.io_failure(fh, &error));
    agree(&file.comm, fh, synced).map_err(|failure| file.own(fh, failure))
}
