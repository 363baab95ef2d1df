//! Once its buffers have the size they need, a connection moves frames without allocating.
#![allow(unsafe_code, reason = "an allocator that counts is unsafe to write")]
#![allow(non_snake_case, reason = "tests are named function__case")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use prp_sock::testing::{Pair, within_patience};
use prp_sock::{Builder, PrpStream};

/// The system's allocator, and how often it was asked for memory.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call goes on to `System` with the arguments it came with, so `System`'s promises
// are ours; counting touches no memory that is allocated.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the promises `alloc` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the promises `dealloc` asks for; all memory is `System`'s.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the promises `realloc` asks for; all memory is `System`'s.
        unsafe { System.realloc(ptr, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What may be allocated while 16000 frames or more pass: queues and buffers that grow once more
/// because threads met as they had not met before. A hundredth of an allocation per frame.
const STRAY: u64 = 160;

/// Expects that `work` allocates next to nothing the second time.
fn expect_no_allocations(what: &str, mut work: impl FnMut()) {
    work();
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    work();
    let allocated = ALLOCATIONS.load(Ordering::Relaxed) - before;
    assert!(allocated <= STRAY, "{what}: {allocated} allocations");
}

fn echo(mut stream: PrpStream) -> JoinHandle<()> {
    thread::spawn(move || {
        let mut buf = [0; 64];
        while stream.read_exact(&mut buf).is_ok() {
            stream.write_all(&buf).unwrap();
        }
    })
}

fn ping_pong(stream: &mut PrpStream, rounds: usize) {
    let mut buf = [0; 64];
    for _ in 0..rounds {
        stream.write_all(&buf).unwrap();
        stream.read_exact(&mut buf).unwrap();
    }
}

fn alone(builder: &Builder) {
    let pair = Pair::new();
    let (mut ours, theirs) = pair.streams_with(builder, builder);
    let echo = echo(theirs);
    expect_no_allocations("20000 frames of ping-pong", || ping_pong(&mut ours, 10_000));
    drop(ours);
    echo.join().unwrap();
}

fn in_bulk() {
    const CHUNK: usize = 1 << 20;
    const CHUNKS: usize = 30;
    let pair = Pair::new();
    let (mut ours, mut theirs) = pair.streams();
    let sink = thread::spawn(move || {
        let mut buf = vec![0; CHUNK];
        while theirs.read_exact(&mut buf).is_ok() {
            if buf[0] == 1 {
                theirs.write_all(&[1]).unwrap();
            }
        }
    });
    let mut chunk = vec![0; CHUNK];
    expect_no_allocations("20000 frames in bulk", || {
        for i in 1..=CHUNKS {
            chunk[0] = u8::from(i == CHUNKS);
            ours.write_all(&chunk).unwrap();
        }
        ours.read_exact(&mut [0]).unwrap();
    });
    drop(ours);
    sink.join().unwrap();
}

/// Threads lead one after another: waiting, following and handing over allocate nothing either.
fn with_followers() {
    const THREADS: usize = 4;
    let pair = Pair::new();
    let (echoes, mut streams): (Vec<_>, Vec<_>) = (0..THREADS)
        .map(|_| {
            let (ours, theirs) = pair.streams();
            (echo(theirs), ours)
        })
        .unzip();
    let start = std::sync::Barrier::new(THREADS + 1);
    thread::scope(|scope| {
        for stream in &mut streams {
            scope.spawn(|| {
                for _ in 0..2 {
                    start.wait();
                    ping_pong(stream, 2000);
                    start.wait();
                }
            });
        }
        expect_no_allocations("16000 frames of four threads", || {
            start.wait();
            start.wait();
        });
    });
    drop(streams);
    echoes.into_iter().for_each(|echo| echo.join().unwrap());
}

/// One test, so that nothing else allocates meanwhile.
#[test]
fn frames__cost_no_allocations() {
    within_patience(|| alone(&Builder::new()));
    within_patience(|| alone(&Builder::new().spin(Duration::ZERO)));
    within_patience(in_bulk);
    within_patience(with_followers);
}
