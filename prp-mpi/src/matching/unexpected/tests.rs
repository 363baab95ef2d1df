use super::*;
use crate::wire::{Kind, Signature};

const CONTEXT: u64 = 6;

fn header(source: i32, tag: i32) -> Header {
    Header {
        kind: Kind::Message,
        source,
        tag,
        id: 0,
        context: CONTEXT,
        len: 1,
        signature: Signature::default(),
    }
}

fn take(all: &mut UnexpectedMessages, source: Option<i32>, tag: Option<i32>) -> Option<MessageId> {
    let id = all.oldest(&Pattern { context: CONTEXT, source, tag })?;
    all.take(id).map(|_| id)
}

/// As a list that is searched from its beginning.
#[test]
fn take__in_any_order_is_the_oldest_that_fits() {
    let mut random = 1_u64;
    let mut next = move |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) % below
    };
    let mut all = UnexpectedMessages::default();
    let mut list: Vec<(MessageId, i32, i32)> = Vec::new();
    for _ in 0..20_000 {
        let (source, tag) = (next(3) as i32, next(4) as i32);
        if next(2) == 0 {
            list.push((all.add(header(source, tag), 0), source, tag));
            continue;
        }
        let source = (next(3) > 0).then_some(source);
        let tag = (next(3) > 0).then_some(tag);
        let fits =
            |m: &(_, i32, i32)| source.is_none_or(|s| s == m.1) && tag.is_none_or(|t| t == m.2);
        let expected = list.iter().position(fits).map(|at| list.remove(at).0);
        assert_eq!(take(&mut all, source, tag), expected);
        assert_eq!((all.len(), all.bytes()), (list.len(), list.len() as u64));
    }
    let order = |m: &Unexpected| (m.header.source, m.header.tag);
    let expected: Vec<_> = list.iter().map(|m| (m.1, m.2)).collect();
    assert_eq!(all.iter().map(order).collect::<Vec<_>>(), expected);
}

/// Each is found by its key, however many others there are.
#[test]
fn take__backwards_leaves_nothing_to_search() {
    const MANY: i32 = 10_000;
    let mut all = UnexpectedMessages::default();
    let ids: Vec<_> = (0..MANY).map(|tag| all.add(header(0, tag), 0)).collect();
    for tag in (1..MANY).rev() {
        assert!(take(&mut all, Some(0), Some(tag)).is_some());
        let queue = &all.queues[&CONTEXT];
        assert!(queue.order.len() <= 2 * queue.len + 16 && queue.ends.len() == queue.len);
    }
    assert_eq!(take(&mut all, None, None), Some(ids[0]));
    assert!(all.queues.is_empty() && all.all.is_empty());
}

#[test]
fn with_tag__one_of_each_rank() {
    let mut all = UnexpectedMessages::default();
    for (source, tag) in [(2, 5), (0, 5), (0, 5), (1, 4)] {
        all.add(header(source, tag), source as usize);
    }
    let found: Vec<_> = all.with_tag(CONTEXT, 5, 3).map(|m| m.from).collect();
    assert_eq!(found, [0, 2]);
    assert_eq!(all.with_tag(CONTEXT + 1, 5, 3).count(), 0);
}
