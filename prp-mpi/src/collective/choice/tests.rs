use super::*;

fn ask(call: Call, bytes: usize, ranks: usize) -> CallProperties {
    CallProperties { call, bytes, ranks, commutes: true }
}

#[test]
fn choose__by_size_and_ranks() {
    let none = Choices::default();
    let by_size = |call, bytes, ranks| none.choose(&none, ask(call, bytes, ranks));
    for (call, bytes, ranks, wanted) in [
        (Call::Bcast, 8, 4, Algorithm::Tree),
        (Call::Bcast, 1 << 20, 4, Algorithm::Spread),
        (Call::Bcast, 1 << 20, 3, Algorithm::Tree),
        (Call::Allreduce, 8, 4, Algorithm::Doubling),
        (Call::Allreduce, 1 << 20, 4, Algorithm::Ring),
        (Call::Allreduce, 1 << 20, 2, Algorithm::Doubling),
        (Call::Allgather, 8, 4, Algorithm::Doubling),
        (Call::Allgather, 8, 3, Algorithm::Ring),
        (Call::Allgather, 1 << 20, 4, Algorithm::Ring),
        (Call::Alltoall, 8, 4, Algorithm::AtOnce),
        (Call::Alltoall, 1 << 20, 4, Algorithm::Pairs),
    ] {
        assert_eq!(by_size(call, bytes, ranks), wanted, "{call:?} of {bytes} on {ranks}");
    }
}

#[test]
fn choose__what_is_set_unless_it_cannot_do_it() {
    let general = Choices::parse("allreduce=ring, allgather=doubling").expect("both are known");
    let mut own = Choices::default();
    assert_eq!(own.choose(&general, ask(Call::Allreduce, 8, 2)), Algorithm::Ring);
    let in_order = CallProperties { commutes: false, ..ask(Call::Allreduce, 1 << 20, 4) };
    assert_eq!(own.choose(&general, in_order), Algorithm::Doubling);
    assert_eq!(own.choose(&general, ask(Call::Allgather, 1 << 20, 4)), Algorithm::Doubling);
    assert_eq!(own.choose(&general, ask(Call::Allgather, 1 << 20, 3)), Algorithm::Ring);
    own.set("allreduce", "doubling").expect("it is known");
    assert_eq!(own.choose(&general, ask(Call::Allreduce, 1 << 20, 4)), Algorithm::Doubling);
}

#[test]
fn parse__says_what_is_wrong_and_what_there_is() {
    for wrong in ["allreduce", "allreduce=tree", "barrier=tree", "allreduce=ring,x"] {
        let text = Choices::parse(wrong).expect_err(wrong);
        assert!(text.contains("allreduce=doubling|ring"), "{text}");
    }
}
