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
        len: 10,
        signature: Signature::default(),
    }
}

fn pattern(source: Option<i32>, tag: Option<i32>) -> Pattern {
    Pattern { context: CONTEXT, source, tag }
}

fn post(matching: &mut Matching, request: u32, source: Option<i32>, tag: Option<i32>) {
    let request = RequestId(request);
    matching.post(Posted { pattern: pattern(source, tag), region: Region::owned(0), request });
}

#[test]
fn take_posted__first_posted_of_those_that_match() {
    let mut matching = Matching::default();
    post(&mut matching, 1, Some(3), Some(7));
    post(&mut matching, 2, None, Some(7));
    post(&mut matching, 3, Some(2), None);
    assert_eq!(matching.take_posted(&header(2, 7)).unwrap().request, RequestId(2));
    assert_eq!(matching.take_posted(&header(2, 7)).unwrap().request, RequestId(3));
    assert!(matching.take_posted(&header(2, 7)).is_none());
    assert!(matching.is_awaited(&header(3, 7)));
}

#[test]
fn forget__only_what_nothing_waits_on() {
    let mut matching = Matching::default();
    post(&mut matching, 1, None, None);
    assert!(!matching.forget(CONTEXT));
    assert!(matching.take_posted(&header(0, 0)).is_some());
    let id = matching.hold(header(0, 0), 0);
    assert!(!matching.forget(CONTEXT));
    matching.take(id);
    assert!(matching.forget(CONTEXT));
    assert!(matching.posted.is_empty() && matching.unexpected_len() == 0);
}

#[test]
fn find__first_sent_of_those_that_match() {
    let mut matching = Matching::default();
    let first = matching.hold(header(0, 1), 0);
    let second = matching.hold(header(0, 2), 0);
    let third = matching.hold(header(1, 1), 1);
    assert_eq!(matching.find(&pattern(None, None)).unwrap().0, first);
    assert_eq!(matching.find(&pattern(None, Some(2))).unwrap().0, second);
    assert_eq!(matching.find(&pattern(Some(1), None)).unwrap().0, third);
    assert!(matching.find(&Pattern { context: 8, ..pattern(None, None) }).is_none());
}

#[test]
fn reserve__message_is_for_its_holder_only() {
    let mut matching = Matching::default();
    let id = matching.hold(header(0, 1), 0);
    matching.append(id, b"0123456789");
    matching.reserve(id);
    assert!(matching.find(&pattern(None, None)).is_none());
    assert_eq!(matching.unexpected_bytes(), 10);
    assert_eq!(matching.take(id).unwrap().data, b"0123456789");
    assert_eq!(matching.unexpected_bytes(), 0);
}

#[test]
fn withdraw__only_what_has_no_message_yet() {
    let mut matching = Matching::default();
    post(&mut matching, 1, None, None);
    assert!(matching.withdraw(RequestId(1)));
    assert!(!matching.withdraw(RequestId(1)));
}
