use std::sync::Arc;

use super::*;

#[test]
fn retire__a_handle_stands_for_nothing_else_while_it_is_used() {
    let table: Table<Arc<i32>> = Table::of_shared(|value| Arc::strong_count(value) > 1);
    let used = Arc::new(1);
    let first = table.add(used.clone());
    assert!(table.retire(first) && !table.retire(first));
    assert_eq!((table.at(first), table.take(first), table.len()), (None, None, 0));
    assert_eq!(within_callback(|| table.at(first)), Some(used.clone()));
    let second = table.add(Arc::new(2));
    assert_ne!(second, first);
    drop(used);
    assert_eq!(table.add(Arc::new(3)), first);
    assert_eq!(table.at(first), Some(Arc::new(3)));
    assert!(table.retire(second));
    assert_eq!(table.add(Arc::new(4)), second, "it was not used");
}

#[test]
fn take_each__none_where_a_handle_stands_for_nothing() {
    let table: Table<i32> = Table::new();
    let [first, second] = [1, 2].map(|value| table.add(value));
    let unknown = Handle(second.0 + 1);
    let asked = [second, unknown, Handle::REQUEST_NULL, first];
    let raised = table.with_each(&asked, |value| {
        *value += 10;
        *value
    });
    assert_eq!(raised, [Some(12), None, None, Some(11)]);
    assert_eq!(table.take_each([first, unknown, first].into_iter()), [Some(11), None, None]);
    assert_eq!((table.len(), table.at(first)), (1, None));
    assert_eq!(table.add(3), first);
}
