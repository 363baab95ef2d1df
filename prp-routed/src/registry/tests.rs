//! Processes are played here by the other ends of connections.

use std::time::Duration;

use prp_node::registry::Registration;
use prp_node::{DownHop, Ledger};
use prp_proto::addr::{MacAddr, NodeId, PrpAddr};
use prp_proto::endpoint::ConnectionChange;
use prp_proto::route::HopUse;

use super::*;

const MS: Duration = Duration::from_millis(1);
const USER: u32 = 1000;

fn registry() -> ProcessRegistry {
    ProcessRegistry::new().unwrap()
}

/// A process of `user` that has asked to be registered.
fn process(registry: &mut ProcessRegistry, user: u32) -> Registration {
    let (ours, theirs) = UnixStream::pair().unwrap();
    for link in [&ours, &theirs] {
        link.set_nonblocking(true).unwrap();
    }
    registry.admit(theirs, user);
    Registration::new(ours)
}

/// One with connections on `ports`.
fn process_with(registry: &mut ProcessRegistry, user: u32, ports: &[u16]) -> Registration {
    let mut process = process(registry, user);
    let ledger = process.receive().unwrap().ledger.expect("it is registered");
    fill(&ledger, ports);
    process
}

fn fill(ledger: &Ledger, ports: &[u16]) {
    let remote = PrpAddr::new(NodeId::new(7).unwrap(), Port::new(80));
    for (slot, port) in ports.iter().enumerate() {
        let established = EstablishedId {
            local: Port::new(*port),
            remote,
            own_id: 5,
            peer_id: 6,
            is_protected: false,
        };
        ledger.note(ConnectionChange::Enter(slot, established));
    }
}

/// Ports of the connections that are reset until there is nothing to do at `now`.
fn resets(registry: &mut ProcessRegistry, now: Instant, is_free: impl Fn(u16) -> bool) -> Vec<u16> {
    let mut all = Vec::new();
    while registry.next_timeout().is_some_and(|at| at <= now) {
        let some = registry.resets(now, |port| is_free(port.number()));
        assert!(some.len() <= LedgerReader::CHUNK, "frames wait meanwhile");
        all.extend(some.iter().map(|established| established.local.number()));
    }
    all
}

#[test]
fn resets__what_a_dead_process_had_three_times_where_the_port_is_free() {
    let mut registry = registry();
    let mut now = Instant::ZERO + 1000 * MS;
    let _lives = process_with(&mut registry, USER, &[1]);
    let dies = process_with(&mut registry, USER, &[10, 11, 12]);
    registry.poll(now);
    assert_eq!((registry.len(), registry.next_timeout()), (2, None));
    drop(dies);
    registry.poll(now);
    assert_eq!((registry.len(), registry.next_timeout()), (1, Some(now)));
    // Expect: port 11 has a new owner, or a dying process has it still, the first time.
    assert_eq!(resets(&mut registry, now, |port| port != 11), [10, 12]);
    now = now + 50 * MS;
    assert_eq!(registry.next_timeout(), Some(now));
    assert_eq!(resets(&mut registry, now, |_| true), [10, 11, 12]);
    now = now + 350 * MS;
    assert_eq!(resets(&mut registry, now, |_| true), [10, 11, 12]);
    assert_eq!(registry.next_timeout(), None);
}

/// Invented ledgers do not make a router send without end, nor others wait.
#[test]
fn resets__no_more_than_the_limit_a_second_and_users_alternate() {
    let mut registry = registry();
    let mut now = Instant::ZERO + 5000 * MS;
    let ports: Vec<u16> = (1..=16_000).collect();
    let made_up: Vec<_> = (0..4).map(|_| process_with(&mut registry, USER, &ports)).collect();
    drop(made_up);
    registry.poll(now);
    let (mut sent, mut checks) = (0, 0);
    let begun = now;
    while now.since(begun) < 1000 * MS {
        let some = registry.resets(now, |_| {
            checks += 1;
            true
        });
        sent += some.len();
        if registry.next_timeout().is_some_and(|at| at > now) {
            now = now + MS;
        }
    }
    // A second's worth was left from before, and one call's worth is taken on credit.
    let most = 2 * RESETS_PER_SECOND as usize + LedgerReader::CHUNK;
    assert!((most / 2..=most).contains(&sent), "{sent} in a second");
    assert!(checks <= most, "{checks} looks at ports");
    // Expect: another user's dead process does not wait for all of these.
    let other = process_with(&mut registry, USER + 1, &[20_000]);
    drop(other);
    registry.poll(now);
    let mut polls = 0;
    let found = loop {
        let some = registry.resets(now, |_| true);
        polls += 1;
        if let Some(found) = some.iter().find(|established| established.local.number() == 20_000) {
            break *found;
        }
        assert!(polls < 1000, "it waits");
        now = now + MS;
    };
    assert_eq!(found.own_id, 5);
}

#[test]
fn admit__no_user_takes_all_places_not_even_with_dead_processes() {
    let mut registry = registry();
    let now = Instant::ZERO;
    let all: Vec<_> = (0..MAX_OF_USER + 5).map(|_| process(&mut registry, USER)).collect();
    assert_eq!(registry.len(), MAX_OF_USER);
    drop(all);
    registry.poll(now);
    assert_eq!((registry.len(), registry.dead.len()), (0, MAX_OF_USER));
    let _more: Vec<_> = (0..5).map(|_| process(&mut registry, USER)).collect();
    assert_eq!(registry.len(), 0);
    let _others: Vec<_> = (0..5).map(|_| process(&mut registry, USER + 1)).collect();
    let _roots: Vec<_> = (0..MAX_OF_USER + 5).map(|_| process(&mut registry, ROOT)).collect();
    assert_eq!(registry.len(), 5 + MAX_OF_USER + 5);
}

/// What a process says is never received, so it cannot fill this process's memory.
#[test]
fn poll__a_process_that_sends_is_not_read() {
    let mut registry = registry();
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    theirs.set_nonblocking(true).unwrap();
    registry.admit(theirs, USER);
    let mut sent = 0;
    while let Ok(n) = ours.write(&[0; 4096]) {
        sent += n;
        registry.poll(Instant::ZERO);
    }
    assert!(sent < 1 << 20, "{sent} bytes are all that fit");
    assert_eq!(registry.len(), 1);
    drop(ours);
    registry.poll(Instant::ZERO);
    assert_eq!(registry.len(), 0);
}

#[test]
fn announce__at_first_and_when_it_changes() {
    let mut registry = registry();
    let now = Instant::ZERO;
    let mut process = process(&mut registry, USER);
    assert!(process.receive().unwrap().ledger.is_some());
    assert_eq!(process.receive().unwrap().down, Some(DownHops::default()));
    let down = DownHops(vec![DownHop {
        device: "eth0".into(),
        station: MacAddr([2; 6]).into(),
        hop_use: HopUse::LastResort,
    }]);
    registry.announce(now, &down);
    assert_eq!(process.receive().unwrap().down, Some(down.clone()));
    registry.announce(now, &down);
    assert_eq!(process.receive().unwrap().down, None);
}
