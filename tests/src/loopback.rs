//! Two nodes with IP addresses of this machine, for processes without privileges.

use std::path::Path;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::scratch::TempFile;

/// A client's node and a server's, with UDP between them and no link.
///
/// All tests of a file run at the same time in one network namespace, in which all processes share
/// the ports of a node (SPEC PRP-PORT-1). So each test has two nodes of its own.
#[derive(Debug)]
pub struct Loopback {
    /// The node of the client, which prphosts also calls `alpha`.
    pub client: u8,
    /// The node of the server, which prphosts also calls `beta`.
    pub server: u8,
    net: String,
    hosts: TempFile,
}

impl Loopback {
    /// Two nodes that no other test uses.
    #[allow(clippy::new_without_default, reason = "each is another pair")]
    pub fn new() -> Self {
        static PAIRS: AtomicU8 = AtomicU8::new(0);
        let client = 1 + 2 * PAIRS.fetch_add(1, Ordering::Relaxed);
        let server = client + 1;
        let [_, _, high, low] = std::process::id().to_be_bytes();
        let net = format!("127.{}.{low}", 128 | high);
        let line = |node: u8, name: &str| format!("{node} udp:{net}.{node} {name}\n");
        let hosts = TempFile::new(line(client, "alpha") + &line(server, "beta"));
        Self { client, server, net, hosts }
    }

    /// Its prphosts.
    pub fn hosts(&self) -> &Path {
        self.hosts.path()
    }

    /// The IP address of `node`.
    pub fn ip(&self, node: u8) -> String {
        format!("{}.{node}", self.net)
    }

    /// An IP address of this machine that belongs to no node.
    pub fn other_ip(&self) -> String {
        format!("{}.254", self.net)
    }

    /// The address of `port` at the server's node.
    pub fn at(&self, port: u16) -> String {
        format!("{}:{port}", self.server)
    }
}
