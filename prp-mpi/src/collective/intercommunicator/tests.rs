use super::super::algorithms::tests::{Group, first};
use super::*;

/// How the two groups of `left` and the rest of the ranks lie for one of them.
fn sides(left: usize, place: GroupRank) -> Sides {
    let (a, b) = (0..left, left..place.size);
    let (own, other) = if place.rank < left { (a, b) } else { (b, a) };
    Sides { rank: place.rank, own, other }
}

/// All sizes of both groups up to some ranks.
fn sizes() -> impl Iterator<Item = (usize, usize)> {
    (1..=4).flat_map(|left| (1..=4).map(move |right| (left, left + right)))
}

/// The root in the eyes of a rank: `root` is of the left group.
fn root_of(root: usize, left: usize, rank: usize) -> Root {
    match rank {
        rank if rank == root => Root::Here,
        rank if rank < left => Root::Beside,
        _ => Root::Across(root),
    }
}

/// What stands for each rank alone, counted from 0 in its group, and room.
fn spans(left: usize, size: usize, room: usize) -> Vec<Vec<u8>> {
    let number = |rank: usize| if rank < left { rank } else { rank - left } as u8;
    let memory = |rank| [number(rank) << 4 | number(rank)].into_iter().chain(vec![0; room - 1]);
    (0..size).map(|rank| memory(rank).collect()).collect()
}

#[test]
fn movements__the_root_sends_to_and_receives_from_the_other_group() {
    for (left, size) in sizes() {
        for root in 0..left {
            let one = (0..size).map(|r| vec![u8::from(r == root)]).collect();
            let all =
                Group::new(one, |p| sides(left, p).bcast(root_of(root, left, p.rank), &(0..1)));
            let got: Vec<u8> = all.run(first).iter().map(|m| m[0]).collect();
            let wanted = |r: usize| u8::from(r == root || r >= left);
            assert!(got.iter().enumerate().all(|(r, b)| *b == wanted(r)), "bcast {left} {size}");

            let own = (0..size as u8).map(|r| [r + 1].into_iter().chain(vec![0; size]).collect());
            let parts: Vec<_> = (left..size).map(|r| r - left..r - left + 1).collect();
            let all = Group::new(own.collect(), |p| {
                sides(left, p).gather(root_of(root, left, p.rank), &parts)
            });
            let gathered: Vec<u8> = (left as u8..size as u8).map(|r| r + 1).collect();
            assert_eq!(all.run(first)[root][..size - left], gathered, "gather {left} {size}");

            let out = (0..size).map(|_| (0..size as u8).collect()).collect();
            let all = Group::new(out, |p| {
                let root = root_of(root, left, p.rank);
                let last = size - 1..size;
                let own = std::slice::from_ref(&last);
                sides(left, p).scatter(root, if root == Root::Here { &parts } else { own })
            });
            let all = all.run(first);
            assert!((left..size).all(|r| all[r][size - 1] == (r - left) as u8), "scatter");
        }
    }
}

#[test]
fn alltoall__each_part_goes_to_its_rank_of_the_other_group() {
    for (left, size) in sizes() {
        let memory = (0..size as u8).map(|r| {
            let sent = (0..size as u8).map(|to| 16 * r + to);
            sent.chain(std::iter::repeat_n(0, size)).collect()
        });
        let all = Group::new(memory.collect(), |p| {
            let sides = sides(left, p);
            let part = |start: usize| start..start + 1;
            let out: Vec<_> = sides.other.clone().map(part).collect();
            let into: Vec<_> = sides.other.clone().map(|r| part(size + r)).collect();
            sides.alltoall(&out, &into)
        });
        for (rank, memory) in all.run(first).iter().enumerate() {
            let place = GroupRank { rank, size };
            for other in sides(left, place).other {
                assert_eq!(memory[size + other], (16 * other + rank) as u8, "{left} of {size}");
            }
        }
    }
}

#[test]
fn reductions__the_other_group_is_combined_in_the_order_of_ranks() {
    for (left, size) in sizes() {
        let whole = |ranks: usize| ranks as u8 - 1;
        let wanted = |rank: usize| if rank < left { whole(size - left) } else { whole(left) };
        let all = Group::new(spans(left, size, 3), |p| {
            sides(left, p).allreduce(&(0..1), &(1..2), &(2..3))
        });
        let all = all.run(first);
        assert!((0..size).all(|r| all[r][2] == wanted(r)), "allreduce {left} of {size}: {all:?}");
        for root in 0..left {
            let all = Group::new(spans(left, size, 3), |p| {
                let root = root_of(root, left, p.rank);
                sides(left, p).reduce(root, &(0..1), &(1..2), &(2..3))
            });
            assert_eq!(all.run(first)[root][2], wanted(root), "reduce {left} of {size}");
        }
    }
}

#[test]
fn reduce_scatter__each_rank_has_its_part_of_the_other_groups_sum() {
    // As many elements as both groups can share out.
    const LEN: usize = 12;
    for (left, size) in sizes() {
        let memory = |r: u8| (0..3 * LEN as u8).map(|i| if i < 12 { r + i } else { 0 }).collect();
        let parts = |sides: &Sides| -> Vec<Range<usize>> {
            let each = LEN / sides.own.len();
            (0..sides.own.len()).map(|r| 2 * LEN + r * each..2 * LEN + (r + 1) * each).collect()
        };
        let all = Group::new((0..size as u8).map(memory).collect(), |p| {
            let sides = sides(left, p);
            let [mine, scratch, result] = [0, 1, 2].map(|i| i * LEN..(i + 1) * LEN);
            sides.reduce_scatter(&mine, &scratch, &result, &parts(&sides))
        });
        for (rank, memory) in all.run(|a, b| a + b).iter().enumerate() {
            let sides = sides(left, GroupRank { rank, size });
            for at in parts(&sides)[rank - sides.own.start].clone() {
                let sum: usize = sides.other.clone().map(|r| r + at - 2 * LEN).sum();
                assert_eq!(usize::from(memory[at]), sum, "{left} of {size}, element {at}");
            }
        }
    }
}
