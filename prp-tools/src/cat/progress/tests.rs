use super::*;

/// A line that keeps its state though it is not shown.
fn unseen(to_send: Option<u64>) -> Progress {
    let progress = Progress::visible(to_send, false);
    progress.bar.set_draw_target(ProgressDrawTarget::hidden());
    progress
}

#[test]
fn style__templates_parse() {
    for template in [SENDING, OPEN_END] {
        assert!(ProgressStyle::with_template(template).is_ok(), "{template}");
    }
}

#[test]
fn visible__knows_the_length_only_if_there_is_something_to_send() {
    assert_eq!(unseen(Some(10)).bar.length(), Some(10));
    assert_eq!(unseen(Some(0)).bar.length(), None);
    assert_eq!(unseen(None).bar.length(), None);
}

#[test]
fn yield_terminal__ends_the_line_only_on_a_shared_terminal() {
    for shares_terminal in [false, true] {
        let progress = Progress { shares_terminal, ..unseen(None) };
        progress.yield_terminal();
        assert_eq!(progress.bar.is_finished(), shares_terminal);
    }
}

#[test]
fn transferred__leaves_out_the_direction_that_nothing_went() {
    assert_eq!(transferred(0, 0), "sent 0 B");
    assert_eq!(transferred(1500, 0), "sent 1.50 kB");
    assert_eq!(transferred(0, 2_000_000), "received 2.00 MB");
    assert_eq!(transferred(1500, 2_000_000), "sent 1.50 kB, received 2.00 MB");
}
