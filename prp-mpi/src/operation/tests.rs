use super::*;

/// A datatype of elements of these kinds, one behind the other.
fn of(kinds: &[Basic]) -> Datatype {
    let kinds: Vec<_> = kinds.iter().map(|&basic| Datatype::of(basic)).collect();
    let mut at = 0;
    let blocks = kinds.iter().map(|kind| {
        at += kind.extent();
        (at - kind.extent(), 1, kind)
    });
    Datatype::structure(blocks).unwrap()
}

#[test]
fn takes__locations_of_any_number_of_pairs_and_of_nothing_else() {
    let (int, double) = (Basic::new(Class::Signed, 4), Basic::new(Class::Float, 8));
    let short = Basic::new(Class::Signed, 2);
    let right: [&[Basic]; 5] = [
        &[double, int],
        &[double, int, double, int],
        &[int; 2],
        &[int; 6],
        &[short, int, short, int, short, int],
    ];
    let wrong: [&[Basic]; 7] = [
        &[],
        &[int],
        &[int; 3],
        &[double, int, double],
        &[double, int, int, double],
        &[double, double, int, int],
        &[int, double, int, double],
    ];
    for kinds in right {
        assert!(Operation::Minloc.takes(&of(kinds)), "{kinds:?}");
    }
    for kinds in wrong {
        assert!(!Operation::Maxloc.takes(&of(kinds)), "{kinds:?}");
    }
}
