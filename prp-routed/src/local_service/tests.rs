use std::time::Instant as Time;

use super::*;
use crate::control::ask;
use crate::report::Question;

const TIMEOUT: Duration = Duration::from_secs(20);

fn node() -> NodeId {
    NodeId::new(65_120).unwrap()
}

fn start(dir: &RunDir) -> ServiceHandle {
    let (service, mut handle) = LocalService::bind(dir, node()).unwrap();
    handle.start(service).unwrap();
    handle
}

/// The next event, once there is one.
fn next(handle: &ServiceHandle) -> Event {
    let begun = Time::now();
    loop {
        if let Some(event) = handle.events().pop() {
            return event;
        }
        assert!(begun.elapsed() < TIMEOUT, "nothing happens");
        let mut fds = [PollFd::new(handle.eventfd(), PollFlags::POLLIN)];
        let _ = ppoll(&mut fds, Some(TimeSpec::from_duration(TIMEOUT)), None);
    }
}

#[test]
fn service__a_question_goes_to_the_loop_and_its_answer_back() {
    let folder = tempfile::tempdir().unwrap();
    let dir = RunDir::at(folder.path().join("run"));
    let handle = start(&dir);
    let asking = {
        let dir = dir.clone();
        std::thread::spawn(move || ask(&dir, node(), &Question::Status))
    };
    let Event::Request(asked) = next(&handle) else { panic!("a question") };
    assert!(matches!(asked.question, Ok(Question::Status)) && asked.may_change);
    handle.answer(asked.client, Reply::Ok(7.into()));
    assert_eq!(asking.join().unwrap().unwrap(), 7);
    drop(handle);
    // Expect: the thread has ended, and its sockets with it.
    assert_eq!(dir.running(), []);
}

#[test]
fn service__a_process_registers_and_its_end_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let dir = RunDir::at(folder.path().join("run"));
    let handle = start(&dir);
    let link = dir.connect(node(), Service::Registry, TIMEOUT).unwrap();
    let registered = |n: usize| {
        let begun = Time::now();
        while handle.processes() != n {
            assert!(begun.elapsed() < TIMEOUT, "not {n} processes");
            std::thread::yield_now();
        }
    };
    registered(1);
    drop(link);
    registered(0);
}
