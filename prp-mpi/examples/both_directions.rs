//! Two ranks send each other more than any window holds, at the same time.
//!
//! `prp-mpirun -n 2 both_directions` begins both messages, computes, and waits for them. With
//! `plain` it sends the same bytes over blocking streams, and first writes and then reads, as a
//! simple program would. Both ranks block in their writes for ever, which a time limit ends here.

use std::error::Error;
use std::io::{ErrorKind, Read, Write};
use std::time::Duration;

use prp_mpi::Universe;
use prp_sock::{PrpListener, PrpStream};

/// Elements of each message: 64 MB.
const ELEMENTS: usize = 8_000_000;

/// The time after which a blocked write counts as a deadlock.
const DEADLOCK_AFTER: Duration = Duration::from_secs(1);

fn main() -> Result<(), Box<dyn Error>> {
    let universe = prp_mpi::initialize()?;
    match std::env::args().nth(1).as_deref() {
        None => overlapped(&universe),
        Some("plain") => plain(&universe),
        Some(word) => Err(format!("no {word}: it is 'plain', or nothing").into()),
    }
}

fn message(rank: i32) -> Vec<u64> {
    (0..ELEMENTS as u64).map(|i| i.wrapping_mul(2654435761) + rank as u64).collect()
}

fn overlapped(universe: &Universe) -> Result<(), Box<dyn Error>> {
    let world = universe.world();
    let other = world.process_at_rank(1 - world.rank())?;
    let own = message(world.rank());
    let mut theirs = vec![0; ELEMENTS];
    // Both begin to receive before either sends, so that no byte is buffered elsewhere.
    let sum = universe.scope(|scope| {
        let read = other.initread(scope, &mut theirs)?;
        world.barrier()?;
        let write = other.initwrite(scope, &own)?;
        let sum = own.iter().fold(0_u64, |sum, x| sum.wrapping_add(*x));
        write.wait()?;
        read.wait()?;
        Ok::<_, prp_mpi::Error>(sum)
    })?;
    assert!(theirs == message(1 - world.rank()), "the other rank's elements");
    let copies = universe.copies();
    println!(
        "rank {}: sum {sum}; {} bytes straight, {} staged, {} held",
        world.rank(),
        copies.straight,
        copies.staged,
        copies.held
    );
    Ok(())
}

fn plain(universe: &Universe) -> Result<(), Box<dyn Error>> {
    let world = universe.world();
    let other = world.process_at_rank(1 - world.rank())?;
    let mut stream = if world.rank() == 0 {
        let listener = PrpListener::bind("self:0")?;
        other.send(listener.local_addr()?.to_string().as_bytes())?;
        listener.accept()?.0
    } else {
        let (address, _) = other.receive_vec::<u8>()?;
        PrpStream::connect(String::from_utf8(address)?.as_str())?
    };
    stream.set_write_timeout(Some(DEADLOCK_AFTER))?;
    let own = vec![7_u8; 8 * ELEMENTS];
    match stream.write_all(&own) {
        Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            println!("rank {}: both write, and nobody reads", world.rank());
        }
        outcome => {
            outcome?;
            stream.read_exact(&mut vec![0; own.len()])?;
            println!("rank {}: both messages have come", world.rank());
        }
    }
    // Waits until the other rank has detected the deadlock, since dropping the stream resets it.
    world.barrier()?;
    Ok(())
}
