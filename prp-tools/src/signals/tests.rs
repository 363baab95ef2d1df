use super::*;

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
