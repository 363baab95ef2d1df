use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write;

use super::*;

fn states() -> Vec<State> {
    let mut all = [State::Close, State::ConnWait, State::Listen].to_vec();
    for send in [SendSide::Open, SendSide::Closing, SendSide::Closed] {
        for receive in [ReceiveSide::Open, ReceiveSide::Closed] {
            all.push(State::Established { send, receive });
        }
    }
    all
}

fn name(state: State) -> String {
    match state {
        State::Close => "CLOSE".into(),
        State::ConnWait => "CONN_WAIT".into(),
        State::Listen => "LISTEN".into(),
        State::Established { send, receive } => format!("ESTABLISHED({send:?}, {receive:?})"),
    }
}

/// SPEC PRP-STATE-2: the whole table, every state with every event.
#[test]
fn on__whole_table() {
    let mut table = String::new();
    for state in states() {
        for event in StateEvent::ALL {
            let next = match state.on(event) {
                Transition::To(next) => name(next),
                Transition::NoOp => "(stays)".into(),
                Transition::Invalid => "invalid".into(),
            };
            writeln!(table, "{:30} {:9} {next}", name(state), format!("{event:?}")).unwrap();
        }
    }
    insta::assert_snapshot!(table);
}

/// Nothing but CLOSE can be reached by ending, and CLOSE cannot be left by the wire except by CREQ.
#[test]
fn on__endings_lead_to_close() {
    for state in states() {
        for event in [StateEvent::Reset, StateEvent::Abort, StateEvent::Timeout] {
            if let Transition::To(next) = state.on(event) {
                assert_eq!(next, State::Close, "{state:?} on {event:?}");
            }
        }
    }
}

/// A direction never reopens.
#[test]
fn on__directions_only_close() {
    let rank = |s: State| match s {
        State::Established { send, receive } => Some((send as u8, receive as u8)),
        _ => None,
    };
    for state in states() {
        for event in StateEvent::ALL {
            if let (Some((s, r)), Transition::To(next)) = (rank(state), state.on(event))
                && let Some((s2, r2)) = rank(next)
            {
                assert!(s2 >= s && r2 >= r, "{state:?} on {event:?} gave {next:?}");
            }
        }
    }
}
