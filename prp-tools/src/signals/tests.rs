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
fn set_listener__the_last_one_is_called() {
    let signals = Signals::default();
    let (sender, receiver) = std::sync::mpsc::channel();
    signals.set_listener(|_| panic!("replaced"));
    signals.set_listener(move |signal| sender.send(signal).expect("the test waits"));
    assert!(signals.deliver(Signal::SIGTERM));
    assert_eq!(receiver.recv(), Ok(Signal::SIGTERM));
    signals.set_listener(|_| panic!("taken back"));
    signals.clear_listener();
    assert!(!signals.deliver(Signal::SIGTERM));
}
