//! The tcx receive path of packet devices: opened for a flow to a polling process, and closed if it
//! would bypass rules. No frame is lost, duplicated or reordered when it is opened or closed.
#![allow(non_snake_case, reason = "tests are named function__case")]

mod fast_path_thread;
mod fast_paths;
mod link;
mod others;
mod sleep;
mod streams;
mod surroundings;

use std::process::ExitCode;

use prp_tests::harness::{Load, Test};
use prp_tests::namespace;

/// The tests run one by one, since they share a link.
macro_rules! tests {
    ($($group:ident::$name:ident),+ $(,)?) => {
        [$(Test::new(stringify!($name), Load::Heavy, $group::$name),)+]
    };
}

fn main() -> ExitCode {
    let tests = tests! {
        fast_paths::flow__comes_by_tcx_rx_whole_and_in_order,
        fast_paths::frames__stay_in_order_however_it_is_armed,
        fast_paths::frames__that_waited_at_an_enabled_tcx_rx_come_before_later_ones,
        fast_paths::frames__of_several_pages_come_by_tcx_rx_too,
        fast_paths::slots__that_are_full_close_it_until_they_are_empty,
        fast_paths::flow__ends_and_frames_come_to_the_socket_again,
        others::frames__that_are_not_ours_go_to_the_sockets,
        others::port__is_ours_only_while_it_is,
        others::devices__take_their_own_frames_each,
        others::steward__is_asked_past_tcx_rx,
        others::listener__hears_what_tcx_rx_takes,
        sleep::disable__tells_of_a_frame_that_waits,
        sleep::disable__has_the_next_frame_wake_a_sleeping_thread,
        sleep::sleeper__gets_every_frame_once_and_in_order,
        surroundings::rules__at_the_ingress_are_not_passed_by,
        surroundings::filters__have_a_place_that_is_not_passed_by,
        surroundings::interface__removed_and_made_again,
        surroundings::mtu__changed_is_waited_for,
        streams::stream__comes_by_tcx_rx,
        streams::messages__come_by_tcx_rx,
        streams::message__wakes_a_reader_that_sleeps,
        streams::process__killed_leaves_its_port_to_the_next,
        streams::variable__keeps_frames_from_tcx_rx,
        streams::privilege__keeps_frames_from_tcx_rx,
    };
    namespace::run_on_pair(&tests, |_| None)
}
