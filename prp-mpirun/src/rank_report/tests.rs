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

#[test]
fn report__names_a_circle() {
    let waits = |of: usize, r: usize| (r, format!("MPI_Recv from {of}\n1 s\n{of}"));
    let answers: Answers = [waits(1, 0), waits(2, 1), waits(1, 2)].into();
    let text = report(&answers);
    assert!(text.contains("deadlock: rank 1 waits for rank 2 waits for rank 1"), "{text}");
}
