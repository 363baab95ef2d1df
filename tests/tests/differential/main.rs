//! The same programs over kernel TCP and over PRP: every step must have the same outcome, down to
//! the kind of every error. [`differences`] lists where PRP differs by design, and the reason.
//!
//! Every behaviour runs four times: over each stack, with both ends on one node and on two.
#![allow(non_snake_case, reason = "tests are named function__case")]

mod blocking;
mod closing;
mod differences;
mod listening;
mod model;
mod random;
mod readiness;
mod reading;
mod resetting;
mod scene;
mod stack;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::ExitCode;

use prp_tests::harness::{Load, Test};
use prp_tests::namespace;

use differences::{DIFFERENCES, Difference};
use scene::{NODE_PAIRS, NodePair, Note, Scene};
use stack::{Kernel, Prp, Stack};

/// Tests that compare a behaviour of both stacks.
macro_rules! behaviours {
    ($($load:ident: $($group:ident::$name:ident),+ $(,)?;)+) => {
        &[$($(Test::new(stringify!($name), Load::$load, || {
            compare(stringify!($name), $group::$name::<Kernel>, $group::$name::<Prp>);
        }),)+)+]
    };
}

fn main() -> ExitCode {
    let mut tests = behaviours();
    tests.push(Test::new("random__programs", Load::Heavy, random::programs));
    tests.push(Test::new("differences__are_of_behaviours_that_exist", Load::Light, check_table));
    namespace::run_on_pair(&tests, |_| None)
}

fn behaviours() -> Vec<Test> {
    behaviours! {
        Heavy:
            blocking::transfer__large_in_both_directions,
            blocking::write__blocks_until_the_peer_reads;
        Light:
            reading::read__gets_what_was_written,
            reading::read__zero_bytes,
            reading::read__vectored,
            reading::peek__keeps_the_bytes,
            reading::write__vectored_and_empty,
            reading::clone__shares_the_stream,
            reading::addresses__of_both_ends,
            blocking::nonblocking__nothing_to_read,
            blocking::nonblocking__full,
            blocking::nonblocking__is_shared_by_clones,
            blocking::timeout__reading,
            blocking::timeout__writing,
            blocking::timeout__of_zero,
            blocking::shutdown__wakes_a_reader,
            blocking::reset__wakes_a_reader,
            blocking::reset__wakes_a_writer,
            closing::half_close__client_first,
            closing::half_close__server_first,
            closing::shutdown__twice,
            closing::shutdown__reading_only,
            closing::shutdown__reading_then_data,
            closing::shutdown__both,
            closing::shutdown__both_then_data,
            closing::shutdown__after_the_peer_is_gone,
            closing::close__by_both,
            closing::close__simultaneous_half,
            closing::drop__after_writing,
            closing::drop__then_peer_writes,
            closing::drop__then_peer_writes_with_data_unread,
            closing::drop__one_of_two_clones,
            resetting::reset__by_unread_data,
            resetting::reset__by_linger_zero,
            resetting::reset__read_then_write,
            resetting::reset__write_then_read,
            resetting::reset__take_error,
            resetting::reset__take_error_after_read,
            resetting::reset__peek,
            resetting::reset__zero_length,
            resetting::reset__with_data_unread,
            resetting::reset__after_a_vectored_read,
            resetting::reset__after_half_close,
            resetting::reset__after_the_peers_half_close,
            resetting::reset__shutdown_after,
            resetting::reset__addresses_after,
            resetting::reset__seen_by_a_clone,
            readiness::readiness__of_data_and_ends,
            readiness::readiness__of_ones_own_end,
            readiness::readiness__of_an_end_that_reads_no_more,
            readiness::readiness__of_a_shutdown_in_both_directions,
            readiness::readiness__of_a_reset,
            readiness::readiness__of_a_reset_with_data_unread,
            readiness::readiness__of_a_peer_that_is_gone,
            readiness::readiness__of_full_buffers,
            readiness::readiness__of_a_request,
            readiness::readiness__of_a_listener,
            listening::connect__refused,
            listening::connect__refused_after_the_listener_is_gone,
            listening::connect__timeout_is_not_needed,
            listening::bind__twice,
            listening::bind__any_port,
            listening::bind__again_after_drop,
            listening::bind__again_with_a_connection_open,
            listening::bind__not_this_node,
            listening::accept__in_order,
            listening::accept__nonblocking,
            listening::accept__of_a_connection_that_was_closed,
            listening::accept__of_a_connection_that_was_reset,
            listening::accept__by_a_clone,
            listening::drop__with_connections_pending,
            listening::drop__with_accepted_connections;
    }
    .to_vec()
}

type Behaviour<S> = fn(&mut Scene<S>);

/// Runs a behaviour over both stacks, on every pair of nodes, and compares the outcomes.
fn compare(name: &'static str, tcp: Behaviour<Kernel>, prp: Behaviour<Prp>) {
    for nodes in NODE_PAIRS {
        let tcp = observe(nodes, tcp);
        let prp = observe(nodes, prp);
        let mut expected = tcp.clone();
        for difference in differences::of(name) {
            apply(difference, &mut expected);
        }
        if prp != expected {
            panic!("{name} differs on {nodes:?}:\n{}", table(&tcp, &prp));
        }
    }
}

fn observe<S: Stack>(nodes: NodePair, behaviour: Behaviour<S>) -> Vec<Note> {
    let mut scene = Scene::new(nodes);
    let outcome = catch_unwind(AssertUnwindSafe(|| behaviour(&mut scene)));
    if let Err(payload) = outcome {
        println!("over {} at {nodes:?}, after:\n{}", S::NAME, list(&scene.notes));
        resume_unwind(payload);
    }
    assert!(!scene.notes.is_empty(), "nothing was noted over {}", S::NAME);
    scene.notes
}

/// Replaces TCP's outcome, which must be that of the table, by PRP's.
fn apply(difference: &Difference, notes: &mut [Note]) {
    let Difference { behaviour, step, tcp, prp, reason } = difference;
    let note = notes.iter_mut().find(|note| note.step == *step && note.outcome == *tcp);
    let note = note.unwrap_or_else(|| panic!("{behaviour}: TCP has no {step}: {tcp} ({reason})"));
    (*prp).clone_into(&mut note.outcome);
}

fn list(notes: &[Note]) -> String {
    notes.iter().map(|note| format!("  {}: {}\n", note.step, note.outcome)).collect()
}

fn table(tcp: &[Note], prp: &[Note]) -> String {
    let line = |at: usize| {
        let (t, p) = (tcp.get(at), prp.get(at));
        let text = |note: Option<&Note>| note.map_or_else(|| "-".into(), |n| n.outcome.clone());
        let step = t.or(p).map_or("", |note| note.step.as_str());
        let mark = if t == p { ' ' } else { '!' };
        format!("{mark} {step}: TCP {}, PRP {}\n", text(t), text(p))
    };
    (0..tcp.len().max(prp.len())).map(line).collect()
}

/// The comparison of a behaviour checks that its entries occur at all.
fn check_table() {
    let source = include_str!("main.rs");
    for Difference { behaviour, step, tcp, prp, reason } in DIFFERENCES {
        assert!(source.contains(&format!("::{behaviour}")), "no behaviour {behaviour}");
        println!("by design: {behaviour}: {step}: TCP {tcp}, PRP {prp}: {reason}");
    }
}
