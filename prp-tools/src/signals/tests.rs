use super::*;

fn names(set: SigSet) -> Vec<Signal> {
    DEADLY.into_iter().filter(|s| set.contains(*s)).collect()
}

#[test]
fn wanted__leaves_ignored_signals_alone() {
    let status = "Name:\tprp\nSigIgn:\t0000000000001001\nSigCgt:\t0000000000000000\n";
    assert_eq!(names(wanted(status)), [Signal::SIGINT, Signal::SIGTERM]);
    let status = "SigIgn:\t0000000000004002\n";
    assert_eq!(names(wanted(status)), [Signal::SIGHUP]);
}

#[test]
fn wanted__without_proc_is_all() {
    assert_eq!(names(wanted("")), DEADLY);
}

#[test]
fn tell__the_last_one_is_told() {
    let signals = Signals::default();
    let (told, heard) = std::sync::mpsc::channel();
    signals.tell(|_| panic!("replaced"));
    signals.tell(move |signal| told.send(signal).expect("the test waits"));
    assert!(signals.deliver(Signal::SIGTERM));
    assert_eq!(heard.recv(), Ok(Signal::SIGTERM));
    signals.tell(|_| panic!("taken back"));
    signals.tell_nobody();
    assert!(!signals.deliver(Signal::SIGTERM));
}
