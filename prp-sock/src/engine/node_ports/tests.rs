use std::sync::mpsc::{Sender, channel};
use std::task::Wake;

use prp_node::RouterUdpName;

use super::*;
use crate::testing::{TEST_TIMEOUT, wait_until};

/// Notes that the thread is called that takes ports.
struct Called(Sender<()>);

impl Wake for Called {
    fn wake(self: Arc<Self>) {
        let _ = self.0.send(());
    }
}

/// A process of `node` that has two addresses, and holds none of the node's own ports.
fn process(node: NodeId, port: u16) -> NodePorts {
    let served_port = |host| ServedPort {
        own: SocketAddr::new([127, 0, 0, host].into(), port),
        offset: 1,
        drops: Arc::default(),
        stop: None,
        served: Weak::new(),
    };
    let ports = vec![served_port(1), served_port(2)];
    NodePorts { node, ports, retry_at: Instant::ZERO, caller: Waker::noop().clone() }
}

fn held(ports: &NodePorts) -> Vec<bool> {
    ports.ports.iter().map(ServedPort::is_held).collect()
}

/// Takes the node's own port at an address as if the one before belonged to a router.
fn take(ports: &mut NodePorts, at: usize) {
    let served_port = &mut ports.ports[at];
    let port = NodePort::open(served_port.own, &served_port.drops).unwrap();
    served_port.serve(ports.node, port, &ports.caller);
}

#[test]
fn find_free__one_process_has_them_all() {
    let node = NodeId::new(65_030).unwrap();
    let [mut first, mut second] = [(); 2].map(|()| process(node, 17_430));
    take(&mut first, 0);
    second.find_free();
    assert_eq!(held(&second), [false, false], "it gets no first one, and takes no other one");
    take(&mut second, 1);
    first.find_free();
    assert!(!first.are_held());
    // Expect: the process with the first gets all, so that there is a steward.
    second.find_free();
    wait_until("the second one is free", || held(&second) == [false, false]);
    first.find_free();
    assert!(first.are_held());
    drop(first);
    wait_until("both are free", || {
        second.find_free();
        second.are_held()
    });
}

/// A router has the first alone: the processes have the others.
#[test]
fn find_free__takes_what_a_router_leaves() {
    let node = NodeId::new(65_031).unwrap();
    let (mut router, mut ports) = (process(node, 17_530), process(node, 17_530));
    let name = RouterUdpName::bind(node, 3).unwrap().unwrap();
    take(&mut router, 0);
    ports.find_free();
    assert_eq!(held(&ports), [false, true]);
    ports.find_free();
    assert_eq!(held(&ports), [false, true]);
    drop((name, router));
    wait_until("all are free", || {
        ports.find_free();
        ports.are_held()
    });
}

/// The thread that takes ports sleeps while it has them all.
#[test]
fn serve__calls_for_another_socket_when_one_is_of_no_use() {
    let node = NodeId::new(65_032).unwrap();
    let mut ports = process(node, 17_630);
    let (called, calls) = channel();
    ports.caller = Waker::from(Arc::new(Called(called)));
    take(&mut ports, 1);
    let NodePorts { ports: served, caller, .. } = &mut ports;
    let own = served[0].own;
    served[0].serve(node, NodePort::of_no_use(own).unwrap(), caller);
    calls.recv_timeout(TEST_TIMEOUT).expect("a call");
    assert_eq!(held(&ports), [false, true]);
    ports.find_free();
    assert!(ports.are_held());
}
