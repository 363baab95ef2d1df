use super::*;

#[test]
fn report__fewest_last() {
    let mut answers: Answers =
        (0..8).map(|r| (r, "MPI_Barrier on MPI_COMM_WORLD\n2.0 s".to_owned())).collect();
    answers.insert(3, "MPI_Recv on MPI_COMM_WORLD, from 1 tag 7\n2.1 s\n1".to_owned());
    let text = report(&answers);
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[0], "  ranks 0-2,4-7: MPI_Barrier on MPI_COMM_WORLD, since 2.0 s");
    assert_eq!(lines[1], "  ranks 3: MPI_Recv on MPI_COMM_WORLD, from 1 tag 7, since 2.1 s");
    assert_eq!(lines.len(), 2);
}

fn waits(state: &str, ticks: u64) -> String {
    format!("MPI_Recv on MPI_COMM_WORLD\n1.0 s\n\n{state}\n{ticks}")
}

#[test]
fn going_on__all_that_do_not_wait_and_have_not_ended() {
    let computes = "not in an MPI call that waits\n0.0 s\n\n\n500".to_owned();
    let answers = [waits("7", 1), computes, ENDED.into(), "is stopped".into(), waits("9", 0)];
    let answers: Answers = answers.into_iter().enumerate().collect();
    assert_eq!(going_on(&answers), [1, 3]);
}

#[test]
fn has_moved__by_messages_and_by_threads_that_compute() {
    let all = |first: String| Answers::from([(0, first), (1, waits("9", 3)), (2, ENDED.into())]);
    let before = all(waits("7 100", 5));
    let between = Duration::from_secs(2);
    let has_moved = |before: &Answers, after: &Answers| has_moved(before, after, between);
    assert!(!has_moved(&before, &before));
    assert!(!has_moved(&before, &all(waits("7 100", 24))));
    assert!(has_moved(&before, &all(waits("7 100", 25))));
    assert!(has_moved(&before, &all(waits("8 100", 5))));
    assert!(has_moved(&before, &all(waits("7 200", 5))));
}

#[test]
fn report__names_a_circle() {
    let waits = |of: usize, r: usize| (r, format!("MPI_Recv from {of}\n1 s\n{of}"));
    let answers: Answers = [waits(1, 0), waits(2, 1), waits(1, 2)].into();
    let text = report(&answers);
    assert!(text.contains("deadlock: rank 1 waits for rank 2 waits for rank 1"), "{text}");
}
