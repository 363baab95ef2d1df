//! Blocking, nonblocking and timed calls, and the events that wake them.

use std::io::ErrorKind;
use std::net::Shutdown;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use prp_tests::pattern::{Pattern, Tally};
use prp_tests::wait;

use crate::scene::{Scene, until_available};
use crate::stack::{Stack, Stream};

/// A timeout that must pass.
const SHORT_TIMEOUT: Duration = Duration::from_millis(50);

pub(crate) fn nonblocking__nothing_to_read<S: Stack>(scene: &mut Scene<S>) {
    let (client, server) = scene.pair();
    scene.note("server does not block", server.set_nonblocking(true));
    scene.read("server reads", &server, 1);
    scene.note("server peeks", server.peek(&mut [0]));
    scene.write("server writes", &server, b"room enough");
    scene.note("server blocks", server.set_nonblocking(false));
    scene.write("client writes", &client, b"x");
    scene.read("server reads", &server, 1);
}

/// Writes to `stream`, which does not block or has a timeout, until a write fails. Returns the
/// error's kind and the number of bytes written.
pub(crate) fn fill(stream: &impl Stream) -> (ErrorKind, usize) {
    let (block, mut written) = ([7; 16 * 1024], 0);
    loop {
        match stream.put(&block) {
            Ok(n) => written += n,
            Err(e) => return (e.kind(), written),
        }
    }
}

/// Reads `bytes` bytes.
pub(crate) fn empty(stream: &impl Stream, bytes: usize) {
    let (mut buf, mut left) = ([0; 16 * 1024], bytes);
    while left > 0 {
        left -= stream.get(&mut buf).expect("what was written comes");
    }
}

pub(crate) fn nonblocking__full<S: Stack>(scene: &mut Scene<S>) {
    let (client, server) = scene.pair();
    scene.note("client does not block", client.set_nonblocking(true));
    let (kind, written) = fill(&client);
    scene.remark("client writes until", kind);
    scene.remark("something went in", written > 0);
    empty(&server, written);
    // There is room again after the peer has announced that it has read.
    let more = wait::until("room", || client.put(b"x").ok());
    scene.remark("client writes again", more);
    scene.read("server reads", &server, 1);
}

pub(crate) fn nonblocking__is_shared_by_clones<S: Stack>(scene: &mut Scene<S>) {
    let (client, _server) = scene.pair();
    let twin = client.try_clone().expect("a clone");
    scene.note("client does not block", client.set_nonblocking(true));
    scene.read("its twin reads", &twin, 1);
    let third = client.try_clone().expect("a clone");
    scene.read("a later twin reads", &third, 1);
}

pub(crate) fn timeout__reading<S: Stack>(scene: &mut Scene<S>) {
    let (client, server) = scene.pair();
    scene.note("a timeout", server.set_read_timeout(Some(SHORT_TIMEOUT)));
    let start = Instant::now();
    scene.read("server reads nothing", &server, 1);
    scene.remark("it took the time", start.elapsed() >= SHORT_TIMEOUT);
    scene.note("server peeks at nothing", server.peek(&mut [0]));
    scene.write("client writes", &client, b"x");
    until_available(&server, 1);
    scene.read("server reads", &server, 1);
    scene.note("no timeout", server.set_read_timeout(None));
    scene.write("client writes", &client, b"y");
    scene.read("server reads", &server, 1);
}

pub(crate) fn timeout__writing<S: Stack>(scene: &mut Scene<S>) {
    let (client, server) = scene.pair();
    scene.note("a timeout", client.set_write_timeout(Some(SHORT_TIMEOUT)));
    let (kind, written) = fill(&client);
    scene.remark("client writes until", kind);
    empty(&server, written);
    scene.note("no timeout", client.set_write_timeout(None));
    scene.write("client writes again", &client, b"x");
    scene.read("server reads", &server, 1);
}

pub(crate) fn timeout__of_zero<S: Stack>(scene: &mut Scene<S>) {
    let (client, _server) = scene.pair();
    scene.note("reading", client.set_read_timeout(Some(Duration::ZERO)));
    scene.note("writing", client.set_write_timeout(Some(Duration::ZERO)));
    let (from, to) = (scene.nodes.client, scene.nodes.server);
    let port = Scene::<S>::fresh_port();
    scene.note("connecting", S::connect_timeout(from, to, port, Duration::ZERO).map(drop));
}

pub(crate) fn shutdown__wakes_a_reader<S: Stack>(scene: &mut Scene<S>) {
    let (client, _server) = scene.pair();
    let twin = client.try_clone().expect("a clone");
    let reader = std::thread::spawn(move || twin.get(&mut [0]));
    scene.note("client ends reading", client.shutdown(Shutdown::Read));
    scene.note("the reader gets", reader.join().expect("no panic"));
}

pub(crate) fn reset__wakes_a_reader<S: Stack>(scene: &mut Scene<S>) {
    let (client, server) = scene.pair();
    let reader = std::thread::spawn(move || {
        let first = server.get(&mut [0; 100]);
        (first, server.get(&mut [0; 100]), server)
    });
    scene.note("client gives up", client.set_linger(Some(Duration::ZERO)));
    drop(client);
    let (first, second, server) = reader.join().expect("no panic");
    scene.note("the reader gets", first);
    scene.note("and then", second);
    scene.write("server writes", &server, b"x");
}

pub(crate) fn reset__wakes_a_writer<S: Stack>(scene: &mut Scene<S>) {
    let (client, server) = scene.pair();
    let writer = std::thread::spawn(move || (fill(&server).0, server));
    // The writer blocks: otherwise the peer would have read more than both ends buffer.
    until_available(&client, 1000);
    scene.note("client gives up", client.set_linger(Some(Duration::ZERO)));
    drop(client);
    let (kind, server) = writer.join().expect("no panic");
    scene.remark("the writer gets", kind);
    scene.write("server writes again", &server, b"x");
    scene.read("server reads", &server, 1);
}

pub(crate) fn write__blocks_until_the_peer_reads<S: Stack>(scene: &mut Scene<S>) {
    // More than the buffers of either stack hold.
    const BYTES: usize = 32 << 20;
    static WRITTEN: AtomicUsize = AtomicUsize::new(0);
    WRITTEN.store(0, Ordering::Relaxed);
    let (client, server) = scene.pair();
    let writer = std::thread::spawn(move || {
        let (mut pattern, mut tally) = (Pattern::new(1), Tally::default());
        while (tally.bytes() as usize) < BYTES {
            let piece = pattern.next(BYTES - tally.bytes() as usize);
            let mut rest = piece;
            while !rest.is_empty() {
                rest = &rest[client.put(rest).expect("the peer reads")..];
            }
            tally.note(piece);
            WRITTEN.store(tally.bytes() as usize, Ordering::Relaxed);
        }
        tally.to_string()
    });
    // It stalls before all data are written: the count is the same at two successive checks.
    wait::until("the writer to stall", || {
        let before = WRITTEN.load(Ordering::Relaxed);
        std::thread::sleep(SHORT_TIMEOUT);
        (before > 0 && before == WRITTEN.load(Ordering::Relaxed)).then_some(())
    });
    scene.remark("written before anything is read", WRITTEN.load(Ordering::Relaxed) < BYTES);
    let mut tally = Tally::default();
    receive(&server, &mut tally);
    scene.remark("received", tally.to_string() == writer.join().expect("no panic"));
}

pub(crate) fn transfer__large_in_both_directions<S: Stack>(scene: &mut Scene<S>) {
    const BYTES: u64 = 24 << 20;
    let (client, server) = scene.pair();
    let ends = [client, server].map(|end| (end.try_clone().expect("a clone"), end));
    let threads = ends.into_iter().zip([2, 3]).map(|((reader, writer), seed)| {
        let sends = std::thread::spawn(move || {
            let mut pattern = Pattern::new(seed);
            let mut left = BYTES as usize;
            while left > 0 {
                let piece = pattern.next(left);
                let mut rest = piece;
                while !rest.is_empty() {
                    rest = &rest[writer.put(rest).expect("the peer reads")..];
                }
                left -= piece.len();
            }
            writer.shutdown(Shutdown::Write)
        });
        let reads = std::thread::spawn(move || {
            let mut tally = Tally::default();
            receive(&reader, &mut tally);
            tally.to_string()
        });
        (sends, reads)
    });
    let mut arrived = Vec::new();
    for (sends, reads) in threads.collect::<Vec<_>>() {
        scene.note("sent and ended", sends.join().expect("no panic"));
        arrived.push(reads.join().expect("no panic"));
    }
    // The client receives the server's pattern of seed 3, and the server that of the client.
    for (got, seed) in arrived.iter().zip([3, 2]) {
        scene.remark("arrived", *got == Tally::expected(seed, BYTES).to_string());
    }
}

/// Reads to the end.
fn receive(stream: &impl Stream, tally: &mut Tally) {
    let mut buf = vec![0; 128 * 1024];
    loop {
        match stream.get(&mut buf).expect("no error") {
            0 => return,
            n => tally.note(&buf[..n]),
        }
    }
}
