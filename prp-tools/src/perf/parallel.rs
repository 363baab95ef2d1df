//! Threads that work at the same time.

use std::io;
use std::sync::{Mutex, mpsc};
use std::thread;

/// Does each of `parts` on a thread of its own, begun as soon as it is there, and says what they
/// came to. No thread ends before all are through: giving back what hundreds of them had takes
/// time, and is not to be part of a measurement.
///
/// # Errors
/// The first part that could not be had, and else the first that failed.
pub(super) fn each<T: Send, P: FnOnce() -> io::Result<T> + Send>(
    parts: impl Iterator<Item = io::Result<P>>,
) -> io::Result<Vec<T>> {
    let gate = Mutex::new(());
    let (working, all) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let closed = gate.lock();
        let begin = |part: P| {
            let (working, gate) = (working.clone(), &gate);
            thread::Builder::new().spawn_scoped(scope, move || {
                let came = part();
                drop(working);
                drop(gate.lock());
                came
            })
        };
        let threads = parts.map(|part| begin(part?)).collect::<io::Result<Vec<_>>>()?;
        drop(working);
        // Over when no thread is left that could say something.
        all.iter().for_each(drop);
        drop(closed);
        threads.into_iter().map(|thread| joined(thread.join())).collect()
    })
}

/// What a thread came to; one that panicked has said so.
pub(super) fn joined<T>(ended: thread::Result<io::Result<T>>) -> io::Result<T> {
    ended.unwrap_or_else(|_| Err(io::Error::other("a thread of the measurement panicked")))
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use super::*;

    /// A part that comes to `came`.
    type Part = Box<dyn FnOnce() -> io::Result<u32> + Send>;

    fn part(came: impl FnOnce() -> io::Result<u32> + Send + 'static) -> io::Result<Part> {
        Ok(Box::new(came))
    }

    #[test]
    fn each__says_what_came_of_all_in_order() {
        let came = each((0..20).map(|n| part(move || Ok(n)))).unwrap();
        assert_eq!(came, Vec::from_iter(0..20));
    }

    #[test]
    fn each__ends_with_the_first_error_once_all_are_through() {
        let (done, other) = mpsc::channel();
        let failing = part(move || {
            // Not before the other one is through.
            other.recv().map_err(io::Error::other)?;
            Err(ErrorKind::BrokenPipe.into())
        });
        let working = part(move || done.send(()).map(|()| 1).map_err(io::Error::other));
        let ended = each([failing, working].into_iter()).unwrap_err();
        assert_eq!(ended.kind(), ErrorKind::BrokenPipe);
    }

    #[test]
    fn each__ends_where_a_part_cannot_be_had_and_where_one_panics() {
        let parts = [part(|| Ok(1)), Err(ErrorKind::TimedOut.into()), part(|| Ok(2))];
        assert_eq!(each(parts.into_iter()).unwrap_err().kind(), ErrorKind::TimedOut);
        let parts = [part(|| panic!("on purpose")), part(|| Ok(2))];
        assert!(each(parts.into_iter()).unwrap_err().to_string().contains("panicked"));
    }
}
