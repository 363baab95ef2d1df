//! Windows to which memory is attached after they were made.

use std::sync::Arc;

use prp_mpi::datatype::Datatype;

use super::{DYNAMIC, make, window_of};
use crate::api::environment::process;
use crate::api::error::{Class, Failure, Outcome};
use crate::object::{Comm, Extent, Handle, Window, WindowMemory};
use crate::sys::pointer::{Address, Ptr};

pub(crate) fn win_create_dynamic(info: Handle, comm: Handle, win: Ptr<Handle>) -> Outcome {
    let place = |_: &Arc<Comm>, _: &[Extent]| Ok(Ok((0, WindowMemory::OfProgram)));
    make(comm, (0, 1, 1), info, DYNAMIC, &place, win)
}

/// A window to which memory can be attached.
fn dynamic(win: Handle) -> Result<Arc<Window>, Failure> {
    let window = window_of(win)?;
    if window.values.flavor != DYNAMIC {
        let text = "only a window of MPI_Win_create_dynamic has memory attached";
        return Err(window.failure(win, Class::RmaFlavor, text));
    }
    Ok(window)
}

pub(crate) fn win_attach(win: Handle, base: Address, size: isize) -> Outcome {
    let window = dynamic(win)?;
    let bytes = usize::try_from(size)
        .map_err(|_| window.failure(win, Class::Size, format!("memory of {size} bytes")))?;
    if base.is_null() && bytes > 0 {
        return Err(window.failure(win, Class::Base, "no memory to attach"));
    }
    let memory = base.region(bytes, &Datatype::bytes());
    let process = process()?;
    let is_new = process.exchange().attach(window.context(), memory);
    // As where a window is made: receives into it end as always from now on.
    process.complete_released();
    if is_new {
        return Ok(());
    }
    let text = "some of this memory is attached already";
    Err(window.failure(win, Class::RmaAttach, text))
}

pub(crate) fn win_detach(win: Handle, base: Address) -> Outcome {
    let window = dynamic(win)?;
    if process()?.exchange().detach(window.context(), base.address()) {
        return Ok(());
    }
    Err(window.failure(win, Class::Base, "no memory was attached at this address"))
}
