use super::*;
use crate::datatype::Class;
use crate::exchange::tests::pair;

const CONTEXT: u64 = 40;

fn access(at: isize, count: usize, datatype: &Datatype, operation: Operation) -> Access {
    Access { at, count, datatype: Arc::new(datatype.clone()), operation }
}

fn int() -> Datatype {
    Datatype::basic(Class::Signed, 4)
}

fn region(numbers: &[i32]) -> Region {
    let bytes: Vec<u8> = numbers.iter().flat_map(|n| n.to_le_bytes()).collect();
    let mut region = Region::owned(bytes.len());
    region.write(0, &bytes);
    region
}

fn numbers(region: &Region) -> Vec<i32> {
    let bytes = region.to_vec();
    bytes.chunks_exact(4).map(|c| i32::from_le_bytes(c.try_into().unwrap())).collect()
}

/// Two ranks, of which the second one has a window of these numbers.
fn with_window(numbers: &[i32]) -> ([Exchange; 2], Region) {
    let [origin, mut target] = pair();
    let memory = region(numbers);
    target.open_window(CONTEXT, memory.clone());
    ([origin, target], memory)
}

fn settle(all: &mut [Exchange; 2]) {
    while all[0].progress() | all[1].progress() {}
}

#[test]
fn update__combines_what_the_description_says() {
    let (mut all, memory) = with_window(&[1, 2, 3, 4, 5, 6]);
    let column = Datatype::vector(&int(), 0, 3, 1, 8).unwrap();
    let request = all[0].begin_parts(2);
    let sum = access(4, 1, &column, Operation::Sum);
    all[0].update(1, CONTEXT, &sum, region(&[10, 20, 30]), request);
    let put = access(0, 1, &int(), Operation::Replace);
    all[0].update(1, CONTEXT, &put, region(&[-1]), request);
    settle(&mut all);
    assert!(all[0].take(request).is_some());
    assert_eq!(numbers(&memory), [-1, 12, 3, 24, 5, 36]);
    assert_eq!(all[1].stray, None);
}

#[test]
fn fetch__has_what_was_there_before() {
    let (mut all, memory) = with_window(&[7, 8]);
    let into = Region::owned(12);
    let request = all[0].begin_parts(2);
    let add = access(4, 1, &int(), Operation::Sum);
    all[0].fetch(1, CONTEXT, (Action::Fetch, &add), region(&[5]), (into.clone(), 0), request);
    let get = access(0, 2, &int(), Operation::NoOp);
    let to = (into.clone(), 4);
    all[0].fetch(1, CONTEXT, (Action::Fetch, &get), Region::owned(0), to, request);
    assert!(all[0].take(request).is_none());
    settle(&mut all);
    assert!(all[0].take(request).is_some());
    assert_eq!(numbers(&into), [8, 7, 13]);
    assert_eq!(numbers(&memory), [7, 13]);
}

#[test]
fn compare_and_swap__only_what_is_as_it_was_said() {
    let (mut all, memory) = with_window(&[7]);
    let into = Region::owned(4);
    for (data, old, new) in [([6, 1], 7, 7), ([7, 2], 7, 2)] {
        let request = all[0].begin_parts(1);
        let swap = access(0, 1, &int(), Operation::Replace);
        let to = (into.clone(), 0);
        all[0].fetch(1, CONTEXT, (Action::CompareAndSwap, &swap), region(&data), to, request);
        settle(&mut all);
        assert!(all[0].take(request).is_some());
        assert_eq!((numbers(&into), numbers(&memory)), (vec![old], vec![new]));
    }
}

#[test]
fn act__beyond_the_window_or_without_one_is_refused() {
    let wrong = [
        (CONTEXT, access(4, 2, &int(), Operation::Replace)),
        (CONTEXT, access(-4, 1, &int(), Operation::Replace)),
        (CONTEXT, access(0, usize::MAX / 2, &int(), Operation::Replace)),
        (CONTEXT, access(0, 1, &int(), Operation::Minloc)),
        (CONTEXT + 2, access(0, 1, &int(), Operation::Replace)),
    ];
    for (context, access) in wrong {
        let (mut all, memory) = with_window(&[7, 8]);
        let request = all[0].begin_parts(1);
        let data = Region::owned(access.count.min(2) * 4);
        all[0].update(1, context, &access, data, request);
        settle(&mut all);
        assert_eq!((all[1].stray, numbers(&memory)), (Some(0), vec![7, 8]), "{access:?}");
    }
}

#[test]
fn ask__a_lock_is_granted_once_the_other_one_is_given_back() {
    let (mut all, _memory) = with_window(&[0]);
    let own = all[1].ask(1, CONTEXT, Action::LockExclusive);
    assert!(all[1].take(own).is_some());
    let other = all[0].ask(1, CONTEXT, Action::LockShared);
    settle(&mut all);
    assert!(all[0].take(other).is_none());
    let back = all[1].ask(1, CONTEXT, Action::Unlock);
    settle(&mut all);
    assert!(all[1].take(back).is_some() && all[0].take(other).is_some());
}

#[test]
fn take_posts__one_for_each_time() {
    let (mut all, _memory) = with_window(&[0]);
    all[0].open_window(CONTEXT, Region::owned(0));
    assert!(all[0].take_posts(CONTEXT, &[1]).is_none());
    all[1].tell(0, CONTEXT, Action::Post);
    settle(&mut all);
    assert!(all[0].take_posts(CONTEXT, &[0, 1]).is_none());
    assert!(all[0].take_posts(CONTEXT, &[1]).is_some());
    assert!(all[0].take_posts(CONTEXT, &[1]).is_none());
    let done = all[0].ask(1, CONTEXT, Action::Complete);
    settle(&mut all);
    assert!(all[0].take(done).is_some());
    assert!(all[1].take_completions(CONTEXT, &[0]).is_some());
}

/// Two ranks, each with a window.
fn with_windows() -> [Exchange; 2] {
    let mut all = pair();
    all.iter_mut().for_each(|exchange| exchange.open_window(CONTEXT, region(&[0, 0])));
    all
}

fn put_one(from: &mut Exchange, to: usize) {
    let request = from.begin_parts(1);
    let put = access(0, 1, &int(), Operation::Replace);
    from.update(to, CONTEXT, &put, region(&[1]), request);
    from.free(request);
}

/// Each rank has put so often at the other one, and comes to the fence.
fn begin_fences(all: &mut [Exchange; 2], puts: [usize; 2]) {
    for (me, exchange) in all.iter_mut().enumerate() {
        (0..puts[me]).for_each(|_| put_one(exchange, 1 - me));
        let counts = exchange.begin_fence(CONTEXT, &[0, 1]);
        assert_eq!(counts[1 - me] as usize, puts[me]);
        exchange.tell_counts(CONTEXT, &[0, 1], &counts);
    }
}

#[test]
fn end_fence__once_all_is_done_that_all_have_asked_for() {
    let mut all = with_windows();
    for puts in [[3, 0], [0, 0], [1, 2], [2, 1]] {
        begin_fences(&mut all, puts);
        assert!(all[0].end_fence(CONTEXT, 2, &[1]).is_none());
        settle(&mut all);
        for (me, exchange) in all.iter_mut().enumerate() {
            assert!(exchange.end_fence(CONTEXT, 2, &[1 - me]).is_some(), "{puts:?}");
        }
    }
}

#[test]
fn end_fence__is_told_of_by_all_ranks() {
    let mut all = with_windows();
    let counts = all[1].begin_fence(CONTEXT, &[0, 1]);
    all[1].tell_counts(CONTEXT, &[0, 1], &counts);
    assert!(all[1].end_fence(CONTEXT, 2, &[]).is_none(), "the other rank is not there yet");
    let counts = all[0].begin_fence(CONTEXT, &[0, 1]);
    all[0].tell_counts(CONTEXT, &[0, 1], &counts);
    settle(&mut all);
    assert!(all.iter_mut().all(|exchange| exchange.end_fence(CONTEXT, 2, &[]).is_some()));
}

#[test]
fn end_fence__does_not_count_what_was_asked_for_behind_it() {
    let mut all = with_windows();
    all[0].begin_fence(CONTEXT, &[0, 1]);
    put_one(&mut all[0], 1);
    settle(&mut all);
    all[1].begin_fence(CONTEXT, &[0, 1]);
    all[1].note_counts(CONTEXT, 2, 1);
    assert!(all[1].end_fence(CONTEXT, 2, &[]).is_none(), "what is expected has not come");
    all[1].note_counts(CONTEXT, 2, 0);
    assert!(all[1].end_fence(CONTEXT, 2, &[]).is_some());
    assert_eq!(all[0].begin_fence(CONTEXT, &[0, 1]), [0, 1]);
    all[1].begin_fence(CONTEXT, &[0, 1]);
    all[1].note_counts(CONTEXT, 2, 1);
    assert!(all[1].end_fence(CONTEXT, 2, &[]).is_some(), "it counts for the next one");
}

#[test]
fn end_fence__waits_for_answers() {
    let mut all = with_windows();
    let request = all[0].begin_parts(1);
    let get = access(0, 1, &int(), Operation::NoOp);
    let into = (Region::owned(4), 0);
    all[0].fetch(1, CONTEXT, (Action::Fetch, &get), Region::owned(0), into, request);
    assert_eq!(all[0].begin_fence(CONTEXT, &[0, 1]), [0, 1]);
    all[0].note_counts(CONTEXT, 2, 0);
    assert!(all[0].end_fence(CONTEXT, 2, &[1]).is_none());
    settle(&mut all);
    assert!(all[0].end_fence(CONTEXT, 2, &[1]).is_some());
}

#[test]
fn end_fence__waits_until_the_bytes_of_the_program_are_no_longer_needed() {
    let mut all = with_windows();
    let many = vec![1; 1 << 20];
    all[1].close_window(CONTEXT);
    all[1].open_window(CONTEXT, region(&many));
    let request = all[0].begin_parts(1);
    let put = access(0, many.len(), &int(), Operation::Replace);
    all[0].update(1, CONTEXT, &put, region(&many), request);
    assert!(!all[0].is_done(request), "there is room for all of it: put more");
    all[0].begin_fence(CONTEXT, &[0, 1]);
    all[0].note_counts(CONTEXT, 2, 0);
    assert!(all[0].end_fence(CONTEXT, 2, &[1]).is_none());
    settle(&mut all);
    assert!(all[0].end_fence(CONTEXT, 2, &[1]).is_some() && all[0].is_done(request));
}

#[test]
fn is_in_window__from_its_first_to_its_last_byte_while_it_is_open() {
    let ([_, mut target], memory) = with_window(&[1, 2]);
    let within = memory.addresses().unwrap();
    let (start, end) = (within.start, within.end);
    assert!(target.is_in_window(&within));
    assert!(target.is_in_window(&(start - 9..start + 1)));
    assert!(target.is_in_window(&(end - 1..end + 9)));
    assert!(!target.is_in_window(&(start - 9..start)));
    assert!(!target.is_in_window(&(end..end + 9)));
    assert!(!target.is_in_window(&(start..start)));
    target.close_window(CONTEXT);
    assert!(!target.is_in_window(&within));
}

#[test]
fn attach__what_is_attached_is_reached_by_its_address_until_it_is_detached() {
    let [origin, mut target] = pair();
    target.open_dynamic_window(CONTEXT);
    let (first, second) = (region(&[1, 2]), region(&[3, 4]));
    let address = |memory: &Region| memory.addresses().unwrap().start;
    assert!(target.attach(CONTEXT, first.clone()) && target.attach(CONTEXT, second.clone()));
    assert!(!target.attach(CONTEXT, first.part(4..8)), "it is there already");
    assert!(target.is_in_window(&second.addresses().unwrap()));
    let mut all = [origin, target];
    let put = |all: &mut [Exchange; 2], at: usize| {
        let access = access(at as isize, 1, &int(), Operation::Replace);
        let request = all[0].begin_parts(1);
        all[0].update(1, CONTEXT, &access, region(&[9]), request);
        settle(all);
        all[1].stray.take()
    };
    assert_eq!(put(&mut all, address(&second) + 4), None);
    assert_eq!((numbers(&first), numbers(&second)), (vec![1, 2], vec![3, 9]));
    assert_eq!(put(&mut all, address(&first) + 6), Some(0), "it ends behind the memory");
    assert!(all[1].detach(CONTEXT, address(&first)));
    assert!(!all[1].detach(CONTEXT, address(&first)));
    assert_eq!(put(&mut all, address(&first)), Some(0));
    assert_eq!(numbers(&first), [1, 2]);
    assert_eq!(put(&mut all, address(&second)), None);
    assert!(!all[0].attach(CONTEXT, first), "there is no such window");
}
