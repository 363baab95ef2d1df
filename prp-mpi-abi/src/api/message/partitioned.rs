//! Messages whose parts are sent when the program says that they are ready.

use std::ffi::c_int;
use std::sync::Arc;

use super::{Part, part};
use crate::api::environment::process;
use crate::api::error::{Class, Failure, Outcome, fail, length};
use crate::object::{Handle, Partitioned, REQUESTS, Req, forget_gone};
use crate::sys::pointer::{Address, Ptr};

/// A number that only the two ends of this message know: of the communicator, both ranks, the tag,
/// and of how many messages were made with these before.
fn context_of(words: [u64; 5]) -> u64 {
    // FNV-1a, apart from the contexts of communicators.
    let bytes = words.into_iter().flat_map(u64::to_le_bytes);
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    1 << 63 | hash
}

/// Makes one end of a message.
fn make(
    buf: Address,
    (partitions, count, datatype): (c_int, i64, Handle),
    (peer, tag, comm): (c_int, c_int, Handle),
    is_receive: bool,
    request: Ptr<Handle>,
) -> Outcome {
    let wrong = |class, text: String| Failure::new(class, comm, text);
    let parts = length(partitions, Class::Arg, comm)?;
    if partitions == c_int::MAX {
        return Err(wrong(Class::Arg, format!("a message of {partitions} parts")));
    }
    length(count, Class::Count, comm)?;
    let all = count.checked_mul(partitions.into());
    let all = all.ok_or_else(|| wrong(Class::Count, format!("{count} elements a part")))?;
    let whole = part(buf, all, datatype, peer, tag, comm, false)?;
    let detail = whole.detail(is_receive);
    let Part { of, region, .. } = whole;
    let regions = match crate::object::datatype(datatype) {
        Some(of) => {
            let step = (count as isize).saturating_mul(of.extent());
            let at = |part: usize| buf.offset((part as isize).wrapping_mul(step));
            (0..parts).map(|part| at(part).region(count as usize, &of)).collect()
        }
        None => vec![region.clone(); parts],
    };
    let numbered = of.comm.next_partitioned(is_receive, peer, tag);
    let other = usize::try_from(peer).map_or(0, |peer| of.comm.peers()[peer]);
    forget_gone(process()?);
    let own = process()?.rank();
    let (from, to) = if is_receive { (other, own) } else { (own, other) };
    let words = [of.comm.context(), from as u64, to as u64, tag as u64, numbered];
    let made = Partitioned::new(of, detail, context_of(words), region.clone(), regions);
    let made = Arc::new(made);
    let start = move || {
        let process = process()?;
        if is_receive {
            process.complete(|| region.span());
        }
        process.settle(|| 0..0);
        made.start(&mut process.exchange());
        Ok(Req::Partitioned(made.clone()))
    };
    request.put(REQUESTS.add(Req::Persistent(Arc::new(start), None)));
    Ok(())
}

pub(crate) fn psend_init(
    buf: Address,
    partitions: c_int,
    count: i64,
    datatype: Handle,
    to: c_int,
    tag: c_int,
    comm: Handle,
    _info: Handle,
    request: Ptr<Handle>,
) -> Outcome {
    make(buf, (partitions, count, datatype), (to, tag, comm), false, request)
}

pub(crate) fn precv_init(
    buf: Address,
    partitions: c_int,
    count: i64,
    datatype: Handle,
    from: c_int,
    tag: c_int,
    comm: Handle,
    _info: Handle,
    request: Ptr<Handle>,
) -> Outcome {
    make(buf, (partitions, count, datatype), (from, tag, comm), true, request)
}

/// The message of a request that was started. `None` if it was not.
fn started(request: Handle) -> Result<Option<Arc<Partitioned>>, Failure> {
    let active = match REQUESTS.at(request) {
        Some(Req::Persistent(_, None)) => return Ok(None),
        Some(Req::Persistent(_, Some(active))) => *active,
        _ => return fail(Class::Request, "no request of a message in parts"),
    };
    match active {
        Req::Partitioned(own) => Ok(Some(own)),
        _ => fail(Class::Request, "no message in parts"),
    }
}

/// Sends parts that are ready.
fn send_parts(request: Handle, parts: impl IntoIterator<Item = c_int>) -> Outcome {
    let Some(own) = started(request)? else {
        return fail(Class::Request, "the message in parts was not started");
    };
    let process = process()?;
    process.settle(|| 0..usize::MAX);
    let mut exchange = process.exchange();
    for part in parts {
        if !usize::try_from(part).is_ok_and(|part| own.send_part(&mut exchange, part)) {
            let text = format!("no part {part} to send, or it was ready before");
            return Err(Failure::of_held(Class::Arg, &own.of, text));
        }
    }
    // Another thread may wait for the message.
    exchange.note_change();
    Ok(())
}

pub(crate) fn pready(partition: c_int, request: Handle) -> Outcome {
    send_parts(request, [partition])
}

pub(crate) fn pready_range(low: c_int, high: c_int, request: Handle) -> Outcome {
    send_parts(request, low..=high)
}

pub(crate) fn pready_list(count: c_int, partitions: Ptr<c_int>, request: Handle) -> Outcome {
    send_parts(request, partitions.list(length(count, Class::Count, Handle::SELF)?))
}

pub(crate) fn parrived(request: Handle, partition: c_int, flag: Ptr<c_int>) -> Outcome {
    let Some(own) = started(request)? else {
        flag.put(1);
        return Ok(());
    };
    let part = usize::try_from(partition).unwrap_or(usize::MAX);
    let mut known = None;
    process()?.try_now(|exchange| {
        known = own.has_arrived(exchange, part);
        (known != Some(false)).then_some(())
    });
    match known {
        Some(has_arrived) => flag.put(has_arrived.into()),
        None => {
            let text = format!("no part {partition} to receive");
            return Err(Failure::of_held(Class::Arg, &own.of, text));
        }
    }
    Ok(())
}
