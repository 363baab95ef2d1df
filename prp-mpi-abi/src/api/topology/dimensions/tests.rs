use super::*;

#[test]
fn closest__multiplies_to_the_number_in_falling_order() {
    for count in 1..5 {
        for ranks in 1..400 {
            let found = closest(ranks, count);
            assert_eq!(found.len(), count, "{ranks}");
            assert_eq!(found.iter().product::<u32>(), ranks, "{found:?}");
            assert!(found.is_sorted_by(|a, b| a >= b), "{found:?}");
        }
    }
}

#[test]
fn closest__two_factors_are_next_to_the_root() {
    for ranks in 1..400_u32 {
        let largest = (1..=ranks).find(|&f| f * f >= ranks && ranks % f == 0).unwrap();
        assert_eq!(closest(ranks, 2), [largest, ranks / largest]);
    }
}

#[test]
fn closest__of_numbers_with_many_factors_or_none() {
    assert_eq!(closest(72, 2), [9, 8]);
    assert_eq!(closest(360, 3), [9, 8, 5]);
    assert_eq!(closest(i32::MAX as u32, 3), [i32::MAX as u32, 1, 1]);
    assert_eq!(closest(1, 100_000).len(), 100_000);
    assert_eq!(closest(735_134_400, 9).iter().product::<u32>(), 735_134_400);
    assert_eq!(closest(7, 0), []);
}
