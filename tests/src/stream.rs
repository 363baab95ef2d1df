//! A stream `s` between two puppets, and transfers over it.

use std::ffi::OsStr;

use crate::pattern::Tally;
use crate::puppet::Puppet;
use crate::topology::Topology;

/// Starts puppets on two nodes with a stream between them. Returns the client, whose stream has
/// `settings` (` NAME=VALUE` each), the server, and the client's address.
pub fn connected(
    program: impl AsRef<OsStr>,
    topology: &Topology,
    [from, to]: [u8; 2],
    settings: &str,
) -> (Puppet, Puppet, String) {
    let [mut client, mut server] =
        [from, to].map(|node| Puppet::start(&topology.node(node), &program));
    let addr = connect(&mut client, &mut server, &format!("{to}:80"), settings);
    (client, server, addr)
}

/// Connects two puppets by a listener `l` of the server; returns the client's address.
pub fn connect(client: &mut Puppet, server: &mut Puppet, at: &str, settings: &str) -> String {
    server.ok(format!("listen l {at}"));
    let addr = client.ok(format!("connect s {at}{settings}"));
    server.ok("accept l s");
    addr
}

/// Sends `bytes` in one direction.
///
/// # Panics
/// If the digests of both ends differ.
pub fn send(from: &mut Puppet, to: &mut Puppet, seed: u64, bytes: u64) {
    to.ok("bg drain drain s");
    let sent = from.ok(format!("send s {seed} {bytes}"));
    from.ok("shutdown s write");
    assert_eq!(to.ok("join drain"), sent);
}

/// Sends `bytes` in both directions at the same time, with the patterns of `seed` and `seed` + 1,
/// while `meanwhile` runs.
///
/// # Panics
/// If an end receives anything else than the other has sent.
pub fn exchange(
    client: &mut Puppet,
    server: &mut Puppet,
    seed: u64,
    bytes: u64,
    meanwhile: impl FnOnce(&mut Puppet),
) {
    for (end, seed) in [(&mut *client, seed), (&mut *server, seed + 1)] {
        end.ok("bg drain drain s");
        end.ok(format!("bg send send s {seed} {bytes}"));
    }
    meanwhile(client);
    for end in [&mut *client, &mut *server] {
        end.ok("join send");
        end.ok("shutdown s write");
    }
    assert_eq!(client.ok("join drain"), Tally::expected(seed + 1, bytes).to_string());
    assert_eq!(server.ok("join drain"), Tally::expected(seed, bytes).to_string());
}
