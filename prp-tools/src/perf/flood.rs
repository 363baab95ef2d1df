//! Bulk beside a measurement: other connections of the same programs, written to without a break.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread;
use std::time::Instant;

use super::conn::Conn;
use super::meter::gbps;
use super::{flow, parallel};

/// Measures while threads of their own write to `conns`; what the measurement came to, and how many
/// Gbit/s of theirs got through, by the time until the other end had the last byte. `None` without
/// any.
///
/// # Errors
/// Those of `measure`, and of the connections.
pub(super) fn beside<T>(
    conns: &[Conn],
    measure: impl FnOnce() -> io::Result<T>,
) -> io::Result<(T, Option<f64>)> {
    if conns.is_empty() {
        return Ok((measure()?, None));
    }
    thread::scope(|scope| {
        // Gone as soon as the measurement is over, however it ends.
        let measuring = Arc::new(());
        let begun = Instant::now();
        let one = |conn| {
            let measuring = Arc::downgrade(&measuring);
            move || {
                let sent = flow::flood(conn, || measuring.strong_count() > 0)?;
                // The other end ends its direction when it has everything.
                flow::sink(conn, &AtomicU64::new(0), &mut [0])?;
                Ok(sent)
            }
        };
        let begin = |conn| thread::Builder::new().spawn_scoped(scope, one(conn));
        let threads = conns.iter().map(begin).collect::<io::Result<Vec<_>>>()?;
        let came = measure();
        drop(measuring);
        let sent =
            threads.into_iter().map(|t| parallel::joined(t.join())).sum::<io::Result<u64>>()?;
        Ok((came?, Some(gbps(sent, begun.elapsed().as_secs_f64()))))
    })
}

#[cfg(test)]
mod tests;
