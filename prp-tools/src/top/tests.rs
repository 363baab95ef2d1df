use super::*;

/// `press` of a key on a page of 10 rows of 25.
fn press_code(code: KeyCode, view: &mut View) -> bool {
    press(KeyEvent::new(code, KeyModifiers::NONE), view, 10, 25)
}

#[test]
fn press__scrolls_within_the_rows() {
    let mut view = View::default();
    let mut to = |code| {
        assert!(press_code(code, &mut view));
        view.first_row
    };
    assert_eq!(to(KeyCode::Up), 0);
    assert_eq!(to(KeyCode::Down), 1);
    assert_eq!(to(KeyCode::PageDown), 11);
    assert_eq!(to(KeyCode::PageDown), 15);
    assert_eq!(to(KeyCode::PageUp), 5);
    assert_eq!(to(KeyCode::End), 15);
    assert_eq!(to(KeyCode::Char('x')), 15);
    assert_eq!(to(KeyCode::Home), 0);
}

#[test]
fn press__sorts_from_the_top_and_quits() {
    let mut view = View { first_row: 7, ..View::default() };
    assert!(press_code(KeyCode::Char('s'), &mut view));
    assert_eq!((view.first_row, view.sort), (0, Sort::Rtt));
    assert!(!press_code(KeyCode::Char('q'), &mut view));
    assert!(press_code(KeyCode::Char('c'), &mut view), "without Ctrl");
    let ctrl_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
    assert!(!press(ctrl_c, &mut view, 10, 25));
}

#[test]
fn delay__is_no_shorter_than_processes_answer() {
    assert_eq!(delay("0.1"), Ok(Duration::from_millis(100)));
    assert!(delay("0.05").is_err_and(|error| error.contains("at least 0.1")));
    assert!(delay("soon").is_err());
}
