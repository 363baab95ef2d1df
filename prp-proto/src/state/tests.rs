use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

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
        State::Established { send, receive } => {
            format!("{send:?}/{receive:?}").to_ascii_lowercase()
        }
    }
}

/// The name of an event in the SPEC.
const fn event_name(event: StateEvent) -> &'static str {
    match event {
        StateEvent::Listen => "application listens",
        StateEvent::Request => "application connects",
        StateEvent::Creq => "CREQ arrives",
        StateEvent::Cack => "the CACK that was waited for arrives",
        StateEvent::Shutdown => "application ends its direction",
        StateEvent::EocAcked => "own EOC is acknowledged",
        StateEvent::Eoc => "EOC arrives in order",
        StateEvent::Finish => "nothing is left to answer",
        StateEvent::Reset => "credible RST arrives",
        StateEvent::Abort => "application gives up",
        StateEvent::Timeout => "peer was silent for too long",
    }
}

/// SPEC PRP-STATE-1 and 2: the whole table, every state with every event, is in the specification.
#[test]
fn on__is_the_table_of_the_specification() {
    let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let heads = states().into_iter().map(name);
    let mut table = row([String::from("event")].into_iter().chain(heads).collect());
    table += &row(states().iter().map(|_| String::from("---")).chain(["---".into()]).collect());
    for event in StateEvent::ALL {
        let cells = states().into_iter().map(|state| match state.on(event) {
            Transition::To(next) => name(next),
            Transition::NoOp => "*stays*".into(),
            Transition::Invalid => "–".into(),
        });
        table += &row([event_name(event).into()].into_iter().chain(cells).collect());
    }
    let spec = include_str!("../../SPEC.md");
    assert!(spec.contains(&table), "the table is\n{table}");
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
