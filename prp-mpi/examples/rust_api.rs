//! Every call of the interface for Rust, each with its result checked: on any number of ranks.

use prp_mpi::{Error, Operation, Result, Universe};

fn main() -> Result<()> {
    let universe = prp_mpi::initialize()?;
    messages(&universe)?;
    collectives(&universe)?;
    mistakes(&universe)?;
    if universe.world().rank() == 0 {
        println!("all well");
    }
    Ok(())
}

/// A number passes all ranks, and each rank receives the numbers of its neighbors.
fn messages(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let right = world.process_at_rank((rank + 1) % size)?;
    let left = world.process_at_rank((rank + size - 1) % size)?;
    let own = [rank];
    let mut came = [-1];
    let status = universe.scope(|scope| {
        let write = right.initwrite(scope, &own)?;
        let status = left.initread(scope, &mut came)?.wait()?;
        write.wait()?;
        Ok::<_, Error>(status)
    })?;
    assert_eq!((came[0], status.source, status.bytes), ((rank + size - 1) % size, came[0], 4));

    // The end of the scope completes the requests that were not waited for.
    let mut late = [0.0; 3];
    universe.scope(|scope| {
        let _ = left.initread(scope, &mut late)?;
        right.initwrite(scope, &[1.0, 2.0, 3.0])?.test().map(drop)
    })?;
    assert_eq!(late, [1.0, 2.0, 3.0]);

    if rank == 0 {
        for other in 1..size {
            let (words, status) = world.any_process().receive_vec::<u64>()?;
            assert_eq!(words, vec![7; status.source as usize], "of as many words, all 7");
            world.process_at_rank(other)?.send_with_tag(&[other], 5)?;
        }
    } else {
        let root = world.process_at_rank(0)?;
        root.synchronous_send(&vec![7_u64; rank as usize])?;
        let mut number = [0];
        root.receive_into_with_tag(&mut number, 5)?;
        assert_eq!(number[0], rank);
    }
    Ok(())
}

fn collectives(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let (rank, size) = (world.rank(), world.size());
    let everybody: Vec<i32> = (0..size).collect();
    let mut all = vec![0; everybody.len()];
    world.barrier()?;
    world.all_gather_into(&[rank], &mut all)?;
    assert_eq!(all, everybody);
    let mut sum = [0];
    world.all_reduce_into(&[rank], &mut sum, Operation::Sum)?;
    assert_eq!(sum[0], size * (size - 1) / 2);
    let sent: Vec<i32> = everybody.iter().map(|to| 100 * rank + to).collect();
    world.all_to_all_into(&sent, &mut all)?;
    assert!(all.iter().zip(&everybody).all(|(came, from)| *came == 100 * from + rank));

    for root in &everybody {
        let at_root = world.process_at_rank(*root)?;
        let is_root = rank == *root;
        let mut word = [if is_root { 42 + root } else { 0 }];
        at_root.broadcast_into(&mut word)?;
        assert_eq!(word[0], 42 + root);
        let mut most = [0];
        at_root.reduce_into(&[rank], is_root.then_some(&mut most[..]), Operation::Max)?;
        assert!(!is_root || most[0] == size - 1);
        at_root.gather_into(&[rank], is_root.then_some(&mut all[..]))?;
        assert!(!is_root || all == everybody);
        at_root.scatter_into(is_root.then_some(&everybody[..]), &mut word)?;
        assert_eq!(word[0], rank);
    }

    // A communicator of the ranks with the same parity, in reverse order. Its messages do not mix
    // with those of the others.
    let half = world.split_by_color(Some((rank % 2) as u32), -rank)?;
    let half = half.ok_or(Error::NoRank(rank))?.duplicate()?;
    let members = (size + 1 - rank % 2) / 2;
    assert_eq!((half.size(), half.rank()), (members, members - 1 - rank / 2));
    half.all_reduce_into(&[1], &mut sum, Operation::Sum)?;
    assert_eq!(sum[0], members);
    assert!(world.split_by_color(None, 0)?.is_none());
    Ok(())
}

fn mistakes(universe: &Universe) -> Result<()> {
    let world = universe.world();
    let own = world.process_at_rank(world.rank())?;
    assert!(matches!(world.process_at_rank(world.size()), Err(Error::NoRank(_))));
    assert!(matches!(own.send_with_tag(&[1], -1), Err(Error::Tag(-1))));
    let wrong = world.all_gather_into(&[1], &mut vec![0; world.size() as usize + 1]);
    assert!(matches!(wrong, Err(Error::Length(..))));
    let bits = world.all_reduce_into(&[1.0], &mut [0.0], Operation::Band);
    assert!(matches!(bits, Err(Error::Operation)));
    assert!(matches!(prp_mpi::initialize(), Err(Error::Start(_))));
    universe.scope(|scope| {
        let write = own.initwrite(scope, &[1, 2])?;
        assert!(matches!(own.receive_into(&mut [0]), Err(Error::Truncated(4))));
        write.wait()
    })?;
    Ok(())
}
