use std::thread;
use std::time::Duration;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::*;

fn page() -> StatusPage {
    StatusPage::new(NodeId::MIN).expect("descriptors")
}

fn ours(patience: Duration) -> Vec<Page> {
    let (pages, _) = pages(patience).expect("/proc");
    pages.into_iter().filter(|page| page.pid == std::process::id()).collect()
}

/// Tests of this file find each other's pages.
static LOCK: std::sync::Mutex<()> = std::sync::Mutex::new(());

#[test]
fn pages__are_written_on_request() {
    let _guard = LOCK.lock();
    let mut page = page();
    assert!(!page.take_requests());
    let asker = thread::spawn(|| ours(Duration::from_secs(60)));
    let mut fds = [PollFd::new(page.as_fd(), PollFlags::POLLIN)];
    poll(&mut fds, PollTimeout::NONE).expect("a pipe");
    assert!(page.take_requests() && !page.take_requests());
    let mut records = RecordText::default();
    records.begin("process").field("hosts", "/tmp/a\tb\n").begin("connection").field("rtt", 17);
    page.write(&records).expect("memory");
    let found = asker.join().expect("no panic");
    let [found] = &found[..] else { panic!("{found:?}") };
    assert_eq!((found.node, found.is_stale, found.records.len()), (1, false, 2));
    assert_eq!(found.records[0].text("hosts"), Some("/tmp/a?b?"));
    assert_eq!(found.records[1].number("rtt"), Some(17));
    assert_eq!(found.records[1].number("rto"), None);
}

/// Any process of the machine may write a page.
#[test]
fn records__of_others_are_printable() {
    let text = "device\tname=e\u{1b}[2Jth\tsent=7\tb\u{1b}ad=8\tx y=9";
    let records = Record::parse(text);
    let [device] = &records[..] else { panic!("{records:?}") };
    let fields: Vec<_> = device.fields().collect();
    assert_eq!(fields, [("name", "e\\u{1b}[2Jth"), ("sent", "7")]);
}

/// A process that is stopped has the page it wrote last.
#[test]
fn pages__of_silent_processes_are_stale() {
    let _guard = LOCK.lock();
    let mut page = page();
    // This process reads its own page, too.
    let reader = format!("/proc/self/fd/{}", page.file.as_fd().as_raw_fd());
    let _reader = File::open(reader).expect("it is there");
    assert_eq!(ours(Duration::ZERO).len(), 1);
    assert!(ours(Duration::ZERO).iter().all(|page| page.is_stale && page.records.is_empty()));
    let mut records = RecordText::default();
    records.begin("process");
    page.write(&records).expect("memory");
    let found = ours(Duration::ZERO);
    assert!(found[0].is_stale && found[0].records[0].kind == "process", "{found:?}");
}

/// A reader that comes in the middle of a write notices.
#[test]
fn body__of_another_head_is_none() {
    let mut page = page();
    let mut records = RecordText::default();
    records.begin("process").field("n", 1);
    page.write(&records).expect("memory");
    let file = page.file.get_ref();
    let head = read::head(file).expect("a head");
    assert_eq!(read::body(file, head).as_deref(), Some("process\tn=1"));
    file.write_all_at(b"2", HEAD as u64 + 10).expect("memory");
    assert_eq!(read::body(file, head), None);
    file.write_all_at(b"prp-status 2", 0).expect("memory");
    assert_eq!(read::head(file), None, "another version");
}
