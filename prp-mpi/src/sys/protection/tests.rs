use std::ptr::with_exposed_provenance_mut as pointer;

use super::*;

/// Where pages begin that may not be closed.
static STACK: AtomicUsize = AtomicUsize::new(0);

/// Pages of the kernel, `flags` as for `mmap`.
fn pages(count: usize, flags: libc::c_int) -> usize {
    let len = count * page().expect("enabled");
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: new pages, where the kernel likes.
    let at = unsafe { libc::mmap(std::ptr::null_mut(), len, access, flags, -1, 0) };
    assert_ne!(at, libc::MAP_FAILED);
    at.expose_provenance()
}

fn enabled() -> usize {
    let hooks = Hooks {
        touched: |_| std::process::abort(),
        about_to_fork: || {},
        may_close: |pages| pages.start != STACK.load(Ordering::Relaxed),
    };
    enable(hooks).expect("here it can");
    page().expect("enabled")
}

fn byte(at: usize) -> u8 {
    // SAFETY: tests ask for bytes of open pages of their own.
    unsafe { pointer::<u8>(at).read() }
}

const PRIVATE: libc::c_int = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;

#[test]
fn write__opens_pages_as_they_become_whole() {
    let page = enabled();
    let at = pages(4, PRIVATE);
    let closed = Closed::new(at..at + 4 * page, at..at + 4 * page).expect("pages");
    closed.write(at, &vec![7; page + 1]);
    assert!(!overlaps(&(at..at + page)), "the first page is whole");
    assert!(overlaps(&(at + page..at + page + 1)), "the second page is not whole");
    assert_eq!(byte(at), 7);
    closed.write(at + page + 1, &vec![8; page]);
    assert!(!overlaps(&(at..at + 2 * page)));
    assert_eq!((byte(at + page), byte(at + page + 1)), (7, 8));
    drop(closed);
    assert!(!overlaps(&(at..at + 4 * page)));
    assert_eq!((byte(at + 2 * page), byte(at + 2 * page + 1)), (8, 0));
}

#[test]
fn new__a_page_that_is_not_all_the_buffers_stays_open() {
    let page = enabled();
    let at = pages(3, PRIVATE);
    let closed =
        Closed::new(at + 1..at + 3 * page - 1, at + 1..at + 3 * page - 1).expect("one page");
    assert!(!overlaps(&(at..at + page)) && !overlaps(&(at + 2 * page..at + 3 * page)));
    assert!(overlaps(&(at + page..at + page + 1)));
    drop(closed);
    assert!(
        Closed::new(at + 1..at + 2 * page - 1, at + 1..at + 2 * page - 1).is_none(),
        "no page is wholly inside"
    );
}

#[test]
fn new__memory_that_is_shared_is_refused() {
    let page = enabled();
    let at = pages(2, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
    assert!(Closed::new(at..at + 2 * page, at..at + 2 * page).is_none());
    assert!(!overlaps(&(at..at + 2 * page)), "it is open again");
    assert_eq!(byte(at), 0);
}

#[test]
fn new__a_page_of_which_a_part_is_to_come_is_closed() {
    let page = enabled();
    let at = pages(3, PRIVATE);
    let closed = Closed::new(at..at + 3 * page, at + page + 9..at + 2 * page + 9).expect("pages");
    assert!(!overlaps(&(at..at + page)));
    assert!(overlaps(&(at + page..at + page + 1)) && overlaps(&(at + 3 * page - 1..at + 3 * page)));
    closed.write(at + page + 9, &vec![1; page]);
    assert!(!overlaps(&(at..at + 2 * page)), "what was there before counts");
}

#[test]
fn new__a_stack_is_refused() {
    let page = enabled();
    let at = pages(2, PRIVATE);
    STACK.store(at, Ordering::Relaxed);
    assert!(Closed::new(at..at + 2 * page, at..at + 2 * page).is_none());
    STACK.store(0, Ordering::Relaxed);
    assert!(Closed::new(at..at + 2 * page, at..at + 2 * page).is_some());
}
