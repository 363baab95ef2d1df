//! bpf(2): which programs are attached to a device.

use std::io;

use super::bpf;

// From linux/bpf.h.
const PROG_QUERY: libc::c_int = 16;
const TCX_EGRESS: u32 = 47;

#[repr(C)]
#[derive(Default)]
struct ProgQuery {
    target_ifindex: u32,
    attach_type: u32,
    query_flags: u32,
    attach_flags: u32,
    prog_ids: u64,
    count: u32,
    reserved: u32,
    prog_attach_flags: u64,
    link_ids: u64,
    link_attach_flags: u64,
    revision: u64,
}

/// How many programs see each frame that the device with number `index`, in this thread's network
/// namespace, sends.
///
/// # Errors
/// `PermissionDenied` without CAP_NET_ADMIN; what the kernel says.
pub(crate) fn programs_at_egress(index: u32) -> io::Result<u32> {
    let mut attr =
        ProgQuery { target_ifindex: index, attach_type: TCX_EGRESS, ..ProgQuery::default() };
    match bpf(PROG_QUERY, &mut attr) {
        Ok(_) => Ok(attr.count),
        // Older than 6.6: there can be none.
        Err(e) if e.raw_os_error() == Some(libc::EINVAL) => Ok(0),
        Err(e) => Err(e),
    }
}
