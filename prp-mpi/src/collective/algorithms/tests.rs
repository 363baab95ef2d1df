use std::collections::{HashMap, VecDeque};

use super::*;

/// Ranks that carry out their steps alternately, and the messages between them.
pub(in crate::collective) struct Group {
    memory: Vec<Vec<u8>>,
    steps: Vec<VecDeque<Step>>,
    /// What a rank still waits for: sender and where it goes.
    awaited: Vec<Vec<(usize, Range<usize>)>>,
    messages: HashMap<(usize, usize), VecDeque<Vec<u8>>>,
}

impl Group {
    pub(in crate::collective) fn new(
        memory: Vec<Vec<u8>>,
        steps: impl Fn(GroupRank) -> Vec<Step>,
    ) -> Self {
        let size = memory.len();
        let steps = (0..size).map(|rank| steps(GroupRank { rank, size }).into()).collect();
        let awaited = vec![Vec::new(); size];
        Self { memory, steps, awaited, messages: HashMap::new() }
    }

    /// Runs until all steps are done; `combine` is for single bytes.
    pub(in crate::collective) fn run(mut self, combine: fn(u8, u8) -> u8) -> Vec<Vec<u8>> {
        loop {
            let mut moved = false;
            for rank in 0..self.memory.len() {
                while self.step(rank, combine) {
                    moved = true;
                }
            }
            if self.steps.iter().all(VecDeque::is_empty) && self.awaited.iter().all(Vec::is_empty) {
                assert!(self.messages.values().all(VecDeque::is_empty), "a message nobody takes");
                return self.memory;
            }
            assert!(moved, "the ranks wait for each other: {:?}", self.steps);
        }
    }

    fn step(&mut self, rank: usize, combine: fn(u8, u8) -> u8) -> bool {
        for i in 0..self.awaited[rank].len() {
            let (from, range) = self.awaited[rank][i].clone();
            let first = self.awaited[rank].iter().position(|(f, _)| *f == from);
            if first == Some(i)
                && let Some(message) = self.messages.entry((from, rank)).or_default().pop_front()
            {
                self.memory[rank][range].copy_from_slice(&message);
                self.awaited[rank].remove(i);
                return true;
            }
        }
        match self.steps[rank].front().cloned() {
            None => return false,
            Some(Step::Wait) if !self.awaited[rank].is_empty() => return false,
            Some(Step::Wait) => {}
            Some(Step::Send(to, range)) => {
                let message = self.memory[rank][range].to_vec();
                self.messages.entry((rank, to)).or_default().push_back(message);
            }
            Some(Step::Receive(from, range)) => self.awaited[rank].push((from, range)),
            Some(Step::Combine(lower, higher)) => {
                for (a, b) in lower.zip(higher) {
                    let memory = &mut self.memory[rank];
                    memory[b] = combine(memory[a], memory[b]);
                }
            }
            Some(Step::Copy(from, to)) => self.memory[rank].copy_within(from, to.start),
        }
        self.steps[rank].pop_front();
        true
    }
}

/// Functions x -> 2x + n, one after the other, by their last bits: does not commute, and is found
/// only in order.
pub(in crate::collective) fn first(a: u8, b: u8) -> u8 {
    // Pairs of the lowest and the highest rank that were combined, which must be neighbours.
    let (low, middle) = (a >> 4, a & 15);
    let (next, high) = (b >> 4, b & 15);
    assert_eq!(middle + 1, next, "ranks combined out of order");
    low << 4 | high
}

/// One byte for each rank, which says that it stands for this rank alone, and room.
fn spans(size: usize, room: usize) -> Vec<Vec<u8>> {
    (0..size as u8)
        .map(|r| {
            let mut memory = vec![0; room];
            memory[0] = r << 4 | r;
            memory
        })
        .collect()
}

#[test]
fn reductions__combine_in_the_order_of_ranks() {
    for size in 1..=13 {
        let whole = size as u8 - 1;
        let all = Group::new(spans(size, 2), |p| p.allreduce(&(0..1), &(1..2))).run(first);
        assert!(all.iter().all(|m| m[0] == whole), "allreduce of {size}: {all:?}");
        for root in 0..size {
            let all = Group::new(spans(size, 2), |p| p.reduce(root, &(0..1), &(1..2))).run(first);
            assert_eq!(all[root][0], whole, "reduce of {size} to {root}");
        }
        let all = Group::new(spans(size, 3), |p| p.scan(&(0..1), &(1..2), &(2..3))).run(first);
        for (rank, memory) in all.iter().enumerate() {
            assert_eq!(memory[0], rank as u8, "scan of {size}");
            assert!(rank == 0 || memory[1] == rank as u8 - 1, "exscan of {size}");
        }
    }
}

#[test]
fn allreduce_ring__every_part_is_combined_once() {
    for size in 2..=9 {
        let parts: Vec<_> = (0..size).map(|r| 2 * r..2 * r + 2).collect();
        let memory = (0..size as u8).map(|r| vec![r + 1; 2 * size + 2]).collect();
        let all = Group::new(memory, |p| p.allreduce_ring(&parts, 2 * size)).run(|a, b| a + b);
        let sum = (1..=size as u8).sum::<u8>();
        assert!(all.iter().all(|m| m[..2 * size].iter().all(|b| *b == sum)), "{size}: {all:?}");
    }
}

#[test]
fn movements__each_part_is_where_it_belongs() {
    for size in 1..=9_usize {
        let parts: Vec<_> = (0..size).map(|r| r..r + 1).collect();
        let own = |rank: usize| {
            let mut memory = vec![0; size];
            memory[rank] = rank as u8 + 1;
            memory
        };
        let whole: Vec<u8> = (1..=size as u8).collect();
        let all = Group::new((0..size).map(own).collect(), |p| p.allgather(&parts)).run(first);
        assert!(all.iter().all(|m| *m == whole), "allgather of {size}");
        if size.is_power_of_two() {
            let memory = (0..size).map(own).collect();
            let all = Group::new(memory, |p| p.allgather_doubling(&parts)).run(first);
            assert!(all.iter().all(|m| *m == whole), "allgather by doubling of {size}");
        }
        for root in 0..size {
            let all = Group::new((0..size).map(own).collect(), |p| p.gather(root, &parts));
            assert_eq!(all.run(first)[root], whole, "gather of {size} to {root}");
            let one = (0..size).map(|r| vec![u8::from(r == root)]).collect();
            let all = Group::new(one, |p| p.bcast(root, &(0..1))).run(first);
            assert!(all.iter().all(|m| m[0] == 1), "bcast of {size} from {root}");
            for len in [0, 1, size, 3 * size + 1] {
                let sent = |r: usize| (0..len).map(move |i| if r == root { i as u8 } else { 99 });
                let memory = (0..size).map(|r| sent(r).collect()).collect();
                let all = Group::new(memory, |p| p.bcast_spread(root, &(0..len))).run(first);
                let is_there = |m: &Vec<u8>| m.iter().copied().eq(0..len as u8);
                assert!(all.iter().all(is_there), "spread of {len} to {size} from {root}");
            }
        }
        let out: Vec<_> = (0..size).map(|r| r..r + 1).collect();
        let into: Vec<_> = (size..2 * size).map(|r| r..r + 1).collect();
        let memory = (0..size as u8).map(|r| {
            let sent = (0..size as u8).map(|to| 16 * r + to);
            sent.chain(std::iter::repeat_n(0, size)).collect()
        });
        let memory: Vec<Vec<u8>> = memory.collect();
        for steps in [GroupRank::alltoall, GroupRank::alltoall_at_once] {
            let all = Group::new(memory.clone(), |p| steps(p, &out, &into)).run(first);
            for (rank, memory) in all.iter().enumerate() {
                let came = (0..size).map(|from| (16 * from + rank) as u8);
                assert!(memory[size..].iter().copied().eq(came), "alltoall of {size}");
            }
        }
        Group::new(vec![Vec::new(); size], GroupRank::barrier).run(first);
    }
}
