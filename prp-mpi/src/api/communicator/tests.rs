use super::*;

fn world() -> Arc<Context> {
    Context::of_world(&Process::start().unwrap())
}

#[test]
fn drop__leaves_nothing_of_a_communicator_behind() {
    let context = world();
    let world = Communicator::world(&context);
    for _ in 0..3 {
        let copy = world.duplicate().unwrap();
        copy.barrier().unwrap();
        assert_eq!(context.process.exchange().contexts(), 2, "the world and the copy");
    }
    assert_eq!(context.process.exchange().contexts(), 1);
}

#[test]
fn world__all_handles_count_the_same_calls() {
    let context = world();
    assert_eq!(Communicator::world(&context).next_call(), 0);
    assert_eq!(Communicator::world(&context).next_call(), 1);
}
