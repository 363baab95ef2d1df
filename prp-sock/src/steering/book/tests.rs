use super::*;

const fn port(number: u16) -> Port {
    Port::new(number)
}

#[test]
fn claim__the_last_one_counts_and_who_lost_the_port_cannot_release_it() {
    let (a, b) = (Member(1), Member(2));
    let mut book = Book::default();
    book.claim(a, port(80));
    book.claim(b, port(80));
    assert!(!book.release(a, port(80)), "a's news are old");
    assert_eq!(book.holder(port(80)), Some(b));
    assert!(!book.release(b, port(80)));
    assert_eq!(book.holder(port(80)), None);
}

#[test]
fn claim__in_the_middle_of_somebodys_stretch_and_back() {
    let (a, b) = (Member(1), Member(2));
    let mut book = Book::default();
    let (first, last) = book.reserve(a, 32).unwrap();
    let within = port(first.number() + 5);
    book.claim(b, within);
    assert_eq!([first, within, last].map(|p| book.holder(p)), [Some(a), Some(b), Some(a)]);
    assert!(book.release(b, within), "frames go to the holder of the stretch again");
    assert_eq!(book.holder(within), Some(a));
}

#[test]
fn reserve__gives_what_nobody_has_above_the_ports_of_servers() {
    let mut book = Book::default();
    book.claim(Member(99), port(FIRST_HIGH + 40));
    let mut seen = std::collections::BTreeSet::new();
    for number in 0..200 {
        let count = [1, 40, 1000][usize::from(number % 3u16)];
        let (first, last) = book.reserve(Member(number.into()), count).unwrap();
        assert_eq!(first.number() % UNIT, 0);
        for p in first.number()..=last.number() {
            assert!(seen.insert(p), "{p} twice");
            assert_eq!(book.holder(port(p)), Some(Member(number.into())));
        }
    }
    assert!(!seen.contains(&(FIRST_HIGH + 40)) && seen.iter().all(|p| *p >= FIRST_HIGH));
    // Everything is given out in the end, and comes back.
    while book.reserve(Member(7), UNIT).is_some() {}
    book.forget(Member(7));
    assert!(book.reserve(Member(8), UNIT).is_some());
}

#[test]
fn map__of_a_row_has_those_who_stand_in_it() {
    let mut book = Book::default();
    let mut row = Row::default();
    for number in [5, 3, 9] {
        row.push(Member(number));
        book.claim(Member(number), port(number as u16));
    }
    book.claim(Member(1), port(1));
    let expected = |p: u16| [(5, 0), (3, 1), (9, 2)].iter().find(|(q, _)| *q == p).map(|x| x.1);
    assert_eq!(book.map(&row), PortMap::new(expected));
    // A gap changes nobody's place.
    row.leave(Member(3));
    book.forget(Member(3));
    assert_eq!(book.map(&row), PortMap::new(|p| expected(p).filter(|_| p != 3)));
}

#[test]
fn row__is_worn_when_gaps_are_many_and_as_many_as_members() {
    let mut row = Row::default();
    (0..40).for_each(|n| row.push(Member(n)));
    for n in 0..20 {
        assert!(!row.is_worn(), "{n} gaps of 40");
        row.leave(Member(n));
    }
    assert!(row.is_worn() && !row.is_deserted());
    (20..40).for_each(|n| row.leave(Member(n)));
    assert!(row.is_deserted());
    let mut few = Row::default();
    few.push(Member(1));
    few.leave(Member(1));
    assert!(!few.is_worn());
}
